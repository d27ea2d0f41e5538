"""How the daemon is: asked by another thread, answered by the loop, which owns all that there is to know."""

import threading
from collections.abc import Callable, Mapping

import msgspec

from responder.sources.clock import Waker
from responder.store.outbox import State


class ServerHealth(msgspec.Struct, frozen=True, kw_only=True):
    """What was read of one server's logs."""

    lines: int
    cut: int
    """Lines that were longer than is kept of one."""
    unreadable: int
    """Logs that are there and cannot be read."""
    matches: Mapping[str, int]
    """Lines on which a rule fired, by its id."""
    lag: float
    """Seconds since all that was there had been read; 0 where nothing waits."""


class Health(msgspec.Struct, frozen=True, kw_only=True):
    """One answer."""

    servers: Mapping[str, ServerHealth]
    incidents: Mapping[str, int]
    """How many there are, by status."""
    outbox: Mapping[State, int]
    rules_left_out: int
    """Rules that could not be loaded or compiled."""
    patterns_set_aside: int
    """Patterns that took too long on some line and fire no more."""
    sink_error: str | None = None
    """The last error of the way out, until a message gets through."""
    storing_fails: bool = False
    """The state cannot be written; nothing is told meanwhile."""


class Inquiry:
    """Carries one question at a time from a thread to the loop and the answer back."""

    def __init__(self, waker: Waker) -> None:
        self._waker = waker
        self._asking = threading.Lock()
        self._asked = threading.Event()
        self._answered = threading.Event()
        self._answer: Health | None = None

    def ask(self, patience: float) -> Health | None:
        """Any thread: what the loop says, or None where it does not answer in that many seconds."""
        with self._asking:
            self._answered.clear()
            self._asked.set()
            self._waker.wake()
            return self._answer if self._answered.wait(patience) else None

    def answer(self, look: Callable[[], Health]) -> None:
        """The loop: look, if somebody asked."""
        if self._asked.is_set():
            self._asked.clear()
            self._answer = look()
            self._answered.set()
