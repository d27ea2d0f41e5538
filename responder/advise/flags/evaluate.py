"""Constant expressions of a release, evaluated from its syntax tree alone.

Enough for what sglang writes beside a flag: literals, names (also imported ones), sums of lists, `list(TABLE.keys())`,
enumerations, a class's own defaults.  Whatever else stands there is `UNKNOWN`, never a guess.
"""

import ast
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from responder.advise.flags.wheel import Wheel, statements


class Unknown:
    """The value of an expression that only running the code could tell."""

    def __repr__(self) -> str:
        return "UNKNOWN"


UNKNOWN = Unknown()


@dataclass(frozen=True)
class Class:
    """A class of the release: where it stands and its definition."""

    module: str
    node: ast.ClassDef


@dataclass(frozen=True)
class Member:
    """One member of an enumeration."""

    name: str
    value: Any


class Evaluator:
    """Evaluates expressions of one release."""

    def __init__(self, wheel: Wheel) -> None:
        self._wheel = wheel
        self._names: dict[str, dict[str, ast.AST]] = {}
        self._busy: set[tuple[str, str]] = set()

    def value(self, module: str, node: ast.AST | None, local: dict[str, Any] | None = None) -> Any:
        """What `node` evaluates to where it stands in `module`, or UNKNOWN."""
        evaluate = _EVALUATE.get(type(node)) if node is not None else None
        return evaluate(self, module, node, local or {}) if evaluate else UNKNOWN

    def name(self, module: str, name: str) -> Any:
        """What `name` means in `module`: a value, a Class or UNKNOWN."""
        if (module, name) in self._busy:
            return UNKNOWN
        self._busy.add((module, name))
        try:
            return self._look_up(module, name)
        finally:
            self._busy.discard((module, name))

    def returned(self, module: str, name: str) -> Any:
        """What a function without parameters returns by its last, unconditional `return`."""
        function = self._scope(module).get(name)
        if not isinstance(function, ast.FunctionDef) or not isinstance(function.body[-1], ast.Return):
            return UNKNOWN
        imports = [n for n in function.body if isinstance(n, ast.ImportFrom)]
        local = {a.asname or a.name: self.name(n.module or "", a.name) for n in imports for a in n.names}
        return self.value(module, function.body[-1].value, local)

    def attribute(self, of: Any, name: str) -> Any:
        """`of.name` for a Class (its attribute, or the member of an enumeration) or a Member."""
        if isinstance(of, Member):
            return {"name": of.name, "value": of.value}.get(name, UNKNOWN)
        if not isinstance(of, Class):
            return UNKNOWN
        body = self._assigned(of.node.body)
        node = body.get(name)
        # A class attribute may be made of the attributes above it.
        plain = {n: v.value for n, v in body.items() if isinstance(v, ast.Constant)}
        found = self.value(of.module, node, plain) if node is not None else UNKNOWN
        return Member(name, found) if node is not None and _is_enum(of.node) else found

    def members(self, of: Class) -> list[Member]:
        """The members of an enumeration, in order."""
        return [Member(name, self.value(of.module, node)) for name, node in self._assigned(of.node.body).items()]

    def _look_up(self, module: str, name: str) -> Any:
        names = self._scope(module)
        node = names.get(name)
        if isinstance(node, ast.ClassDef):
            return Class(module, node)
        if isinstance(node, ast.ImportFrom):
            original = next(a.name for a in node.names if (a.asname or a.name) == name)
            return self.name(node.module or "", original)
        return self.value(module, node)

    def _scope(self, module: str) -> dict[str, ast.AST]:
        if module not in self._names:
            tree = self._wheel.module(module) if module.startswith("sglang") else None
            self._names[module] = self._defined(tree.body) if tree else {}
        return self._names[module]

    def _defined(self, body: list[ast.stmt]) -> dict[str, ast.AST]:
        names: dict[str, ast.AST] = {}
        for node in statements(body):
            if isinstance(node, (ast.ClassDef, ast.FunctionDef)):
                names.setdefault(node.name, node)
            elif isinstance(node, ast.ImportFrom):
                names.update({a.asname or a.name: node for a in node.names})
        return names | self._assigned(body)

    @staticmethod
    def _assigned(body: list[ast.stmt]) -> dict[str, ast.AST]:
        names: dict[str, ast.AST] = {}
        for node in statements(body):
            if isinstance(node, ast.Assign):
                names.update({t.id: node.value for t in node.targets if isinstance(t, ast.Name)})
            elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value is not None:
                names[node.target.id] = node.value
        return names


def _is_enum(node: ast.ClassDef) -> bool:
    return any("Enum" in ast.unparse(base) for base in node.bases)


def _sequence(ev: Evaluator, module: str, node: Any, local: dict[str, Any]) -> Any:
    items: list[Any] = []
    for element in node.elts:
        if isinstance(element, ast.Starred):
            inner = ev.value(module, element.value, local)
            if isinstance(inner, Unknown):
                return UNKNOWN
            items += list(inner)
        else:
            items.append(ev.value(module, element, local))
    return items


def _dict(ev: Evaluator, module: str, node: ast.Dict, local: dict[str, Any]) -> Any:
    if any(key is None for key in node.keys):
        return UNKNOWN
    return {
        ev.value(module, key, local): ev.value(module, value, local)
        for key, value in zip(node.keys, node.values, strict=True)
    }


def _name(ev: Evaluator, module: str, node: ast.Name, local: dict[str, Any]) -> Any:
    return local[node.id] if node.id in local else ev.name(module, node.id)


def _add(ev: Evaluator, module: str, node: ast.BinOp, local: dict[str, Any]) -> Any:
    left, right = ev.value(module, node.left, local), ev.value(module, node.right, local)
    if isinstance(left, Unknown) or isinstance(right, Unknown):
        return UNKNOWN
    operate = _OPERATORS.get(type(node.op))
    try:
        return operate(left, right) if operate else UNKNOWN
    except TypeError:
        return UNKNOWN


def _minus(ev: Evaluator, module: str, node: ast.UnaryOp, local: dict[str, Any]) -> Any:
    value = ev.value(module, node.operand, local)
    return -value if isinstance(node.op, ast.USub) and isinstance(value, (int, float)) else UNKNOWN


def _comprehension(ev: Evaluator, module: str, node: ast.ListComp, local: dict[str, Any]) -> Any:
    (loop, *others) = node.generators
    values = _iterable(ev, ev.value(module, loop.iter, local))
    if others or loop.ifs or values is None or not isinstance(loop.target, ast.Name):
        return UNKNOWN
    return [ev.value(module, node.elt, {**local, loop.target.id: value}) for value in values]


def _iterable(ev: Evaluator, value: Any) -> list[Any] | None:
    if isinstance(value, Class):
        return list(ev.members(value)) if _is_enum(value.node) else None
    return list(value) if isinstance(value, (list, dict, tuple)) else None


def _subscript(ev: Evaluator, module: str, node: ast.Subscript, local: dict[str, Any]) -> Any:
    of, at = ev.value(module, node.value, local), ev.value(module, node.slice, local)
    try:
        return of[at] if isinstance(of, (list, dict)) else UNKNOWN
    except (LookupError, TypeError):
        return UNKNOWN


def _call(ev: Evaluator, module: str, node: ast.Call, local: dict[str, Any]) -> Any:
    if isinstance(node.func, ast.Name) and len(node.args) == 1 and node.func.id in _COLLECTIONS:
        values = _iterable(ev, ev.value(module, node.args[0], local))
        return UNKNOWN if values is None else sorted(values) if node.func.id == "sorted" else values
    if isinstance(node.func, ast.Name) and not node.args and not node.keywords:
        return ev.returned(module, node.func.id)
    if not isinstance(node.func, ast.Attribute) or node.args:
        return UNKNOWN
    of = ev.value(module, node.func.value, local)
    if isinstance(of, dict) and node.func.attr in ("keys", "values"):
        return list(of) if node.func.attr == "keys" else list(of.values())
    if isinstance(of, str) and node.func.attr in ("lower", "upper"):
        return of.lower() if node.func.attr == "lower" else of.upper()
    return UNKNOWN


_COLLECTIONS = ("list", "tuple", "set", "frozenset", "sorted")
_OPERATORS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.Pow: lambda a, b: a**b,
    ast.LShift: lambda a, b: a << b,
    ast.Div: lambda a, b: a / b,
    ast.FloorDiv: lambda a, b: a // b,
}
_EVALUATE: dict[type[ast.AST], Callable[[Evaluator, str, Any, dict[str, Any]], Any]] = {
    ast.Constant: lambda ev, module, node, local: node.value,
    ast.List: _sequence,
    ast.Tuple: _sequence,
    ast.Set: _sequence,
    ast.Dict: _dict,
    ast.Name: _name,
    ast.BinOp: _add,
    ast.UnaryOp: _minus,
    ast.ListComp: _comprehension,
    ast.Call: _call,
    ast.Subscript: _subscript,
    ast.Attribute: lambda ev, module, node, local: ev.attribute(ev.value(module, node.value, local), node.attr),
}
