"""Which way an operator has just turned a flag: advice must not send them back.

"CUDA out of memory" and "increase --mem-fraction-static" ask for opposite moves, and operators who follow each message
go to and fro between the two.  Whoever stands there has a model that does not fit, and no fraction will mend that.
"""

import re
from collections.abc import Iterable, Mapping

from responder.catalogue import RemedySpec, Rule
from responder.catalogue.conditions import evaluate

_CAPTURE = re.compile(r"captures\.(\w+)")
_BASE = 0.5
"""A value to try an expression on; only the direction of the result is looked at."""

Steps = Mapping[str, int]
"""By flag: +1 where it was raised last, -1 where it was lowered."""


def directions(spec: RemedySpec) -> dict[str, int]:
    """Which way a remedy moves each flag whose new value it computes from the old one."""
    found: dict[str, int] = {}
    for flag, value in spec.set.items():
        if not isinstance(value, str) or not value.startswith("="):
            continue
        dest = flag.removeprefix("--").replace("-", "_")
        captures = dict.fromkeys(_CAPTURE.findall(value), str(_BASE))
        computed = evaluate(value[1:], {"args": {dest: _BASE}, "typed": {dest: _BASE}, "captures": captures})
        moved = _number(computed)
        if moved is not None and moved != _BASE:
            found[flag] = 1 if moved > _BASE else -1
    return found


def steps_after(earlier: Iterable[Rule]) -> dict[str, int]:
    """The steps that follow from the advice for failures before this one, the last of them deciding."""
    steps: dict[str, int] = {}
    for rule in earlier:
        for spec in reversed(rule.remedy):
            steps |= directions(spec)
    return steps


def reverses(spec: RemedySpec, steps: Steps) -> str | None:
    """The flag that a remedy would turn back, or None."""
    return next((flag for flag, way in directions(spec).items() if steps.get(flag, way) != way), None)


def _number(value: object) -> float | None:
    try:
        return float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return None
