"""The arguments a server runs with: what was typed, else by umbrella and alias, else its release's default there.

sglang's own resolution as data (`defaults.toml`): steps in its order, each with a condition.  What a step cannot decide
becomes unknown, and unknown arguments are simply not in the result.
"""

import re
import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
from packaging.version import Version

from responder.advise.command import Arguments
from responder.catalogue.conditions import Bound, evaluate, holds

STEPS = Path(__file__).with_name("defaults.toml")


class Step(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One pass of sglang's resolution."""

    source: str
    when: str
    set: dict[str, Any] = {}
    forget: tuple[str, ...] = ()
    since: str | None = None
    until: str | None = None


class Steps(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All of them, in order."""

    step: tuple[Step, ...]

    @staticmethod
    @cache
    def load() -> "Steps":
        """Those of the package."""
        return msgspec.convert(tomllib.loads(STEPS.read_text()), Steps)


@cache
def _steps(release: str) -> tuple[Step, ...]:
    """The steps that `release` takes."""
    at = Version(release)
    return tuple(
        step
        for step in Steps.load().step
        if (step.since is None or Version(step.since) <= at) and (step.until is None or at <= Version(step.until))
    )


def effective(
    found: Arguments,
    *,
    gpu: Mapping[str, Any] | None = None,
    model: Mapping[str, Any] | None = None,
    env: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """dest -> value, as `args` in a rule's conditions: a dest that is not there is unknown.

    `gpu` and `model` are those of the conditions too (`sm`, `memory_gib`, sglang's probes; see `model_facts`).
    """
    known = {"gpu": gpu or {}, "model": model or {}} | ({} if env is None else {"env": env})
    state = _State(_given(found), known)
    for step in _steps(found.release.version):
        answer = holds(step.when, state.facts)
        if answer is not False:
            state.take(step, sure=answer is True)
    return state.args


def typed_facts(found: Arguments) -> dict[str, Any]:
    """dest -> what was typed, as `typed` in a rule's conditions: null where nothing was, absent where hidden."""
    untyped = {} if found.open else dict.fromkeys(found.release.by_dest)
    return {dest: value for dest, value in (untyped | found.values).items() if dest not in found.unknown}


def _given(found: Arguments) -> dict[str, Any]:
    """The state before any resolution: defaults, and what was typed over them."""
    defaults = {} if found.open else found.release.defaults()
    return {dest: value for dest, value in (defaults | found.values).items() if dest not in found.unknown}


_UNKNOWN = object()
_ARGUMENT = re.compile(r"\bargs\.(\w+)")


@cache
def _read_by_steps() -> frozenset[str]:
    """The arguments that any step asks about: the others need not be handed to CEL at all."""
    texts = [text for step in Steps.load().step for text in (step.when, *map(str, step.set.values()))]
    return frozenset(name for text in texts for name in _ARGUMENT.findall(text))


class _State:
    """The arguments on their way through the steps."""

    def __init__(self, args: dict[str, Any], known: Mapping[str, Any]) -> None:
        self.args, self._known = args, known
        self._facts: Bound | None = None

    @property
    def facts(self) -> Bound:
        """The state as conditions see it."""
        if self._facts is None:
            seen = {name: self.args[name] for name in _read_by_steps() if name in self.args}
            self._facts = Bound({**self._known, "args": seen})
        return self._facts

    def take(self, step: Step, *, sure: bool) -> None:
        """Writes what the step writes; all of it is computed on the state before it."""
        values = {dest: self._computed(value) for dest, value in step.set.items()}
        for dest, value in (values | dict.fromkeys(step.forget, _UNKNOWN)).items():
            self._write(dest, value, sure=sure)

    def _computed(self, value: Any) -> Any:
        if not isinstance(value, str) or not value.startswith("="):
            return value
        if value == "=null":
            return None
        computed = evaluate(value[1:], self.facts)
        return _UNKNOWN if computed is None else computed

    def _write(self, dest: str, value: Any, *, sure: bool) -> None:
        """A value that is unknown, or that may or may not be written, leaves the argument unknown."""
        if self.args.get(dest, _UNKNOWN) == value:
            return
        if value is _UNKNOWN or not sure:
            self.args.pop(dest, None)
        else:
            self.args[dest] = value
        self._facts = None
