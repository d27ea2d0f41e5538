"""Conditions in CEL, with three answers: yes, no and unknown.

`when`, `refused_when`, `escalate_when` and computed flag values are written in CEL over maps of facts.
A fact that nobody knows is simply absent from its map; CEL then reports a missing key, unless another term of
`&&` or `||` decides alone, and that is exactly what "unknown" means here.
Documentation of the language: https://github.com/google/cel-spec
"""

import math
from collections.abc import Mapping
from functools import cache
from typing import Any

VARIABLES = ("args", "typed", "env", "gpu", "model", "server", "captures", "phase", "count", "span")
"""The names a condition may use.  `count` and `span` exist for `escalate_when` only: how often a noise came in a row
(at most 200 lines apart), and over how many seconds."""

Facts = Mapping[str, Any]
"""Values by variable name; a variable or a key that is not there is unknown."""


class ConditionError(ValueError):
    """A condition that is not valid CEL or names an unknown variable."""


def check(expression: str) -> None:
    """Raise ConditionError, with CEL's own message in one line, where the expression does not compile."""
    _compile(expression)


class Bound:
    """Facts made ready for many conditions: handing hundreds of arguments over costs more than most answers."""

    def __init__(self, facts: Facts) -> None:
        self.activation = _environment().Activation(dict(facts))


def holds(expression: str | None, facts: Facts | Bound) -> bool | None:
    """Whether a condition is true for these facts; None where that rests on something unknown.

    No condition at all is true.  Raises ConditionError for an expression that does not compile.
    """
    if expression is None:
        return True
    value = evaluate(expression, facts)
    return value if isinstance(value, bool) else None


def evaluate(expression: str, facts: Facts | Bound) -> Any:
    """The value of an expression, or None where it rests on something unknown (or is no value, like 1/0)."""
    bound = facts if isinstance(facts, Bound) else Bound(facts)
    result = _compile(expression).eval(bound.activation)
    if result.type().name() in ("ERROR", "*error*", "UNKNOWN", "*unknown*"):
        return None
    return result.value()


@cache
def _compile(expression: str) -> Any:
    try:
        return _environment().compile(expression)
    except Exception as error:  # noqa: BLE001 - the binding raises a bare RuntimeError or its own types
        first = " ".join(line.strip() for line in str(error).splitlines()[:2])
        raise ConditionError(f"not a valid condition: {first}") from None


@cache
def _environment() -> Any:
    # Imported here: reading a rule must not cost the import of a native library.
    from cel_expr_python import cel

    kind = cel.Type

    def function(name: str, result: Any, parameters: list[Any], body: Any) -> Any:
        return cel.FunctionDecl(
            name, [cel.Overload(f"{name}_{len(parameters)}", return_type=result, parameters=parameters, impl=body)]
        )

    return cel.NewEnv(
        variables=dict.fromkeys(VARIABLES, kind.DYN),
        functions=[
            function("gcd", kind.INT, [kind.INT, kind.INT], math.gcd),
            function("minimum", kind.INT, [kind.INT, kind.INT], min),
            function("maximum", kind.INT, [kind.INT, kind.INT], max),
            function("largest_divisor", kind.INT, [kind.INT, kind.INT], largest_divisor),
            function("round2", kind.DOUBLE, [kind.DOUBLE], lambda value: round(value, 2)),
            function("replace", kind.STRING, [kind.STRING, kind.STRING, kind.STRING], str.replace),
        ],
    )


def largest_divisor(number: int, limit: int) -> int:
    """The largest divisor of `number` that is not above `limit`, at least 1."""
    return next((n for n in range(min(number, limit), 0, -1) if number % n == 0), 1)
