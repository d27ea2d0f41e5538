"""The arguments a server runs with: what was typed, else by umbrella and alias, else its release's default there.

sglang's own resolution as data (`defaults.toml`): steps in its order, each with a condition.  What a step cannot decide
becomes unknown, and unknown arguments are simply not in the result.
"""

import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
from packaging.version import Version

from responder.advise.command import Arguments
from responder.catalogue.conditions import evaluate, holds

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
    args = _given(found)
    facts: dict[str, Any] = {"args": args, "typed": typed_facts(found), "gpu": gpu or {}, "model": model or {}}
    if env is not None:
        facts["env"] = env
    for step in _steps(found.release.version):
        answer = holds(step.when, facts)
        if answer is not False:
            for dest in step.forget:
                args.pop(dest, None)
            for dest, value in _values(step, facts).items():
                _write(args, dest, value, sure=answer is True)
    return args


def typed_facts(found: Arguments) -> dict[str, Any]:
    """dest -> what was typed, as `typed` in a rule's conditions: null where nothing was, absent where hidden."""
    untyped = {} if found.open else dict.fromkeys(found.release.by_dest)
    return {dest: value for dest, value in (untyped | found.values).items() if dest not in found.unknown}


def _given(found: Arguments) -> dict[str, Any]:
    """The state before any resolution: defaults, and what was typed over them."""
    defaults = {} if found.open else found.release.defaults()
    return {dest: value for dest, value in (defaults | found.values).items() if dest not in found.unknown}


_UNKNOWN = object()


def _values(step: Step, facts: Mapping[str, Any]) -> dict[str, Any]:
    """What the step writes, computed on the state before it."""
    return {dest: _computed(value, facts) for dest, value in step.set.items()}


def _computed(value: Any, facts: Mapping[str, Any]) -> Any:
    if not isinstance(value, str) or not value.startswith("="):
        return value
    if value == "=null":
        return None
    computed = evaluate(value[1:], facts)
    return _UNKNOWN if computed is None else computed


def _write(args: dict[str, Any], dest: str, value: Any, *, sure: bool) -> None:
    """Writes a value; one that is unknown, or that may or may not be written, leaves the argument unknown."""
    if value is _UNKNOWN or (not sure and args.get(dest, _UNKNOWN) != value):
        args.pop(dest, None)
    elif sure:
        args[dest] = value
