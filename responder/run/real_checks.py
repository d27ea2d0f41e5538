"""The real argument check beside the loop: one command at a time, in a thread of its own, each asked once."""

import queue
import threading
from collections.abc import Callable, Mapping
from typing import NamedTuple

import structlog

from responder.advise.environment import versions_of
from responder.advise.real_check import RealCheck, real_check

log = structlog.get_logger(__name__)

MOST_REMEMBERED = 64


class _Question(NamedTuple):
    command: str
    env: tuple[tuple[str, str], ...]


class RealChecks:
    """Answers that are known, at once; the others are asked for."""

    def __init__(
        self,
        python: str,
        on_change: Callable[[], None] = lambda: None,
        *,
        check: Callable[[str, str, Mapping[str, str]], RealCheck] = real_check,
    ) -> None:
        """`python` is the interpreter beside which sglang is installed."""
        self._python, self._on_change, self._check = python, on_change, check
        self._release = versions_of(python).sglang
        self._answers: dict[_Question, RealCheck | None] = {}
        self._questions: queue.SimpleQueue[_Question | None] = queue.SimpleQueue()
        self.version = 0
        """Grows with each answer."""
        self._thread: threading.Thread | None = None

    def __call__(self, command: str, env: Mapping[str, str], release: str | None) -> RealCheck | None:
        """What sglang said of a command, or None while it is being asked.

        A server of another release is not asked about: its checks are others.
        """
        if release is not None and self._release is not None and release != self._release:
            return RealCheck(outcome="failed", text=f"the interpreter has sglang {self._release}, not {release}")
        question = _Question(command, tuple(sorted(env.items())))
        if question not in self._answers:
            self._answers[question] = None
            self._questions.put(question)
        return self._answers[question]

    def start(self) -> None:
        """Begin to answer."""
        self._thread = threading.Thread(target=self._run, name="real-check", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Answer no more.  A check under way is left to its end, which its limits set."""
        self._questions.put(None)

    def _run(self) -> None:
        while (question := self._questions.get()) is not None:
            answer = self._check(self._python, question.command, dict(question.env))
            if answer.outcome == "failed":
                log.warning("the real argument check could not be made", reason=answer.text)
            self._answers[question] = answer
            while len(self._answers) > MOST_REMEMBERED:
                del self._answers[next(iter(self._answers))]
            self.version += 1
            self._on_change()
