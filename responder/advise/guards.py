"""The conditions under which a line of Python raises, read from its source.

Enclosing `if`s, the test of an `assert`, and the early returns that were not taken.  Nothing is run.
"""

import ast
from collections.abc import Iterator, Sequence
from itertools import pairwise

import msgspec

_FLIPPED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Lt: ast.GtE, ast.GtE: ast.Lt, ast.Gt: ast.LtE, ast.LtE: ast.Gt,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_LEAVES = (ast.Return, ast.Continue, ast.Break)


class Guards(msgspec.Struct, frozen=True, kw_only=True):
    """Why a statement was reached."""

    function: str
    """The function around it; empty at the top of a module."""
    conditions: tuple[ast.expr, ...]
    """What held, the outermost first; of an assert its failed test last."""
    early: tuple[ast.expr, ...] = ()
    """What held because the function had not returned before."""
    assigned: dict[str, ast.expr]
    """What local variables were last set to before it, as far as that is one plain assignment."""
    message: tuple[str, ...] = ()
    """The fixed parts of the text that it raises."""


def guards_of(tree: ast.Module, line: int) -> Guards | None:
    """The guards of the `raise` or `assert` that stands on `line`; None where none does."""
    path = _path_to(tree, line)
    if path is None:
        return None
    statement = path[-1]
    start = max((at for at, node in enumerate(path) if isinstance(node, _FUNCTIONS)), default=0)
    function, inside = path[start], path[start:]
    conditions: list[ast.expr] = []
    early: list[ast.expr] = []
    for outer, inner in pairwise(inside):
        early += _not_left(outer, inner)
        conditions += _held(outer, inner)
    if isinstance(statement, ast.Assert):
        conditions.append(negated(statement.test))
    return Guards(
        function=getattr(function, "name", ""),
        conditions=tuple(conditions),
        early=tuple(early),
        assigned=_assigned(inside, line),
        message=tuple(_fixed_parts(statement)),
    )


def negated(test: ast.expr) -> ast.expr:
    """The opposite of a test, in its shortest form."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return test.operand
    if isinstance(test, ast.Compare) and len(test.ops) == 1:
        return ast.Compare(left=test.left, ops=[_FLIPPED[type(test.ops[0])]()], comparators=test.comparators)
    return ast.UnaryOp(op=ast.Not(), operand=test)


def _path_to(tree: ast.Module, line: int) -> list[ast.AST] | None:
    """The nodes from the module down to the innermost raise or assert that covers `line`."""
    path: list[ast.AST] = [tree]
    found: list[ast.AST] | None = None
    while True:
        inner = next((node for node in _statements(path[-1]) if node.lineno <= line <= (node.end_lineno or 0)), None)
        if inner is None:
            return found
        path.append(inner)
        if isinstance(inner, ast.Raise | ast.Assert):
            found = list(path)


def _statements(node: ast.AST) -> Iterator[ast.stmt | ast.excepthandler]:
    """What stands in the blocks of a node; the cases of a `match` have no lines of their own."""
    for block in _blocks(node):
        for inner in block:
            if isinstance(inner, ast.stmt | ast.excepthandler):
                yield inner
            else:
                yield from _statements(inner)


def _blocks(node: ast.AST) -> list[Sequence[ast.AST]]:
    parts = (getattr(node, name, None) for name in ("body", "handlers", "orelse", "finalbody", "cases"))
    return [part for part in parts if isinstance(part, list)]


def _held(outer: ast.AST, inner: ast.AST) -> list[ast.expr]:
    """The condition under which `outer` runs its part `inner`."""
    if isinstance(outer, ast.If):
        return [outer.test if inner in outer.body else negated(outer.test)]
    if isinstance(outer, ast.While) and inner in outer.body:
        return [outer.test]
    return []


def _not_left(outer: ast.AST, inner: ast.AST) -> list[ast.expr]:
    """What the statements before `inner` prove: those that would have left the block quietly did not."""
    block = next((block for block in _blocks(outer) if inner in block), [])
    found: list[ast.expr] = []
    for statement in block:
        if statement is inner:
            break
        if isinstance(statement, ast.If) and not statement.orelse and isinstance(statement.body[-1], _LEAVES):
            found.append(negated(statement.test))
    return found


def _assigned(inside: Sequence[ast.AST], line: int) -> dict[str, ast.expr]:
    """Of the blocks that lead to the statement: the last plain assignment to each name before it."""
    found: dict[str, ast.expr] = {}
    for outer, inner in pairwise(inside):
        block = next((block for block in _blocks(outer) if inner in block), [])
        for statement in block:
            if statement is inner:
                break
            for name in _stored(statement):
                found.pop(name, None)
            if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
                target = statement.targets[0]
                if isinstance(target, ast.Name):
                    found[target.id] = statement.value
    return found


def _stored(statement: ast.AST) -> Iterator[str]:
    for node in ast.walk(statement):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id


def _fixed_parts(statement: ast.AST) -> Iterator[str]:
    """The literal text in what is raised."""
    source = statement.exc if isinstance(statement, ast.Raise) else getattr(statement, "msg", None)
    if source is None:
        return
    for node in ast.walk(source):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value
