"""Why sglang refused: the conditions around the line that raised, where its source lies on this host.

Told as fact, never as a remedy.  The path comes from a log, so only a file of an installed sglang is opened, and it is
believed only where it is the very code that raised: same function, same line of source, same text.
"""

import ast
import operator
import re
import stat
from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import pairwise
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from responder.advise.command.secret import mask_shapes, names_a_secret
from responder.advise.facts import Known
from responder.advise.flags import FlagTable
from responder.advise.guards import Guards, guards_of
from responder.diagnose import Finding
from responder.scan.seen import Frame, Traceback

LIMIT = 1 << 20
"""Bytes of a source file; sglang's largest has 450,000."""

MOST_CONDITIONS = 4
LONGEST_CONDITION, LONGEST = 160, 400
"""Characters."""

_HOLDERS = ("server_args", "args", "cfg", "view", "raw_args")
"""What sglang calls the object that holds its arguments."""

_PROBE = re.compile(r"\bis_(?:sm\d|blackwell|hopper|ampere)|get_device_capability|\bdevice_sm\b")

_ENVIRONMENT = ("getenv", "get_bool_env_var", "get_int_env_var", "get_float_env_var", "get_str_env_var")


def why_refused(finding: Finding, known: Known) -> str | None:
    """One sentence: `sglang refused because attn_cp_size > 1 and … (attn_cp_size = 2).`; None where nobody can say."""
    traceback = finding.evidence.traceback
    if traceback is None or not traceback.frames or (finding.rule is not None and finding.phase != "arguments"):
        return None
    frame = traceback.frames[-1]
    path = installed(frame.path)
    guards = _guards(str(path), path.stat().st_mtime_ns, frame.line) if path is not None else None
    if path is None or guards is None or not _is_the_one(guards, path, frame, traceback):
        return None
    reading = _Reading(guards, known, own=path.name == "server_args.py")
    conditions = reading.conditions()
    if not conditions:
        return None
    values = "; ".join(reading.values())
    said = " and ".join(conditions)
    where = f"{PurePosixPath(*path.parts[path.parts.index('sglang') + 1 :])}:{frame.line}"
    return f"Raised at {where} because {_cut(said, LONGEST)}{f' ({values})' if values else ''}."


def installed(path: str) -> Path | None:
    """A regular file of moderate size below `site-packages/sglang`, wherever links may lead; else None."""
    try:
        real = Path(path).resolve(strict=True)
        info = real.stat()
    except (OSError, ValueError, RuntimeError):
        return None
    fits = path.startswith("/") and _below_sglang(path) and _below_sglang(str(real))
    regular = stat.S_ISREG(info.st_mode) and info.st_size <= LIMIT and real.suffix == ".py"
    return real if fits and regular else None


def _below_sglang(path: str) -> bool:
    folders = ("site-packages", "dist-packages")
    return any(outer in folders and inner == "sglang" for outer, inner in pairwise(path.split("/")))


@lru_cache(maxsize=64)
def _guards(path: str, _modified: int, line: int) -> Guards | None:
    try:
        return guards_of(ast.parse(Path(path).read_bytes()), line)
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _is_the_one(guards: Guards, path: Path, frame: Frame, traceback: Traceback) -> bool:
    """Whether the file is the code that raised, not another release's."""
    if frame.function and guards.function and frame.function.rpartition(".")[2] != guards.function:
        return False
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    if not frame.source or frame.line > len(lines) or lines[frame.line - 1].strip() != frame.source.strip():
        return False
    fixed = [part.strip() for text in guards.message for part in text.split("\n")[:1] if len(part.strip()) >= 8]
    said = f"{traceback.message}"
    return not fixed or any(part in said or said in part for part in fixed if said)


class _Reading:
    """The guards in words, and the values of what they rest on."""

    def __init__(self, guards: Guards, known: Known, *, own: bool) -> None:
        """`own`: `self` is the object that holds the arguments."""
        self._guards, self._known = guards, known
        self._names = Names(frozenset(FlagTable.load().release(known.release).by_dest) | known.args.keys(), own)
        self._shown = _Shown(self._names)
        self._chosen = self._choose()

    def conditions(self) -> list[str]:
        """The conditions as text."""
        return [self._said(one) for one in self._chosen]

    def _said(self, condition: ast.expr) -> str:
        shown = self._shown.visit(_copy(condition))
        text = _cut(_text(shown), LONGEST_CONDITION)
        return f"({text})" if isinstance(shown, ast.BoolOp | ast.IfExp) and len(self._chosen) > 1 else text

    def values(self) -> Iterator[str]:
        """`name = value` of every argument, variable and probe that the conditions name."""
        seen: set[str] = set()
        for one in self._chosen:
            for name, value in self._named(one, depth=2):
                if name not in seen:
                    seen.add(name)
                    yield f"{name} = {value}"
        sm = self._known.gpu.sm
        if sm is not None and any(_PROBE.search(_text(one)) for one in self._chosen):
            yield f"the GPU is SM{sm}"

    def _choose(self) -> list[ast.expr]:
        """The innermost conditions, and of the early returns those that speak of arguments."""
        inner = [one for test in self._guards.conditions for one in _conjuncts(test)][-MOST_CONDITIONS:]
        early = [one for one in self._guards.early if any(True for _ in self._named(one, depth=1))]
        return [*early[len(early) - max(0, min(len(early), 2, MOST_CONDITIONS - len(inner))) :], *inner]

    def _named(self, expression: ast.expr, depth: int) -> Iterator[tuple[str, str]]:
        for node in ast.walk(expression):
            name = self._names.argument(node)
            if name is not None:
                yield from self._argument(name, expression)
            elif (variable := variable_of(node)) is not None and variable in (self._known.env or {}):
                yield from _shown_value(variable, (self._known.env or {})[variable])
            elif isinstance(node, ast.Name) and depth and node.id in self._guards.assigned:
                value = self._guards.assigned[node.id]
                inside = list(self._named(value, depth - 1))
                if inside:
                    yield node.id, _cut(_text(self._shown.visit(_copy(value))), 80)
                    yield from inside

    def _argument(self, name: str, expression: ast.expr) -> Iterator[tuple[str, str]]:
        """The argument and its value, unless that says that the condition did not hold: sglang had another one then."""
        typed = (self._known.typed or {}).get(name)
        if typed is None and name not in self._known.args:
            return
        value = typed if typed is not None else self._known.args[name]
        if not any(self._contradicts(test, name, value) for test in _conjuncts(expression)):
            yield from _shown_value(name, value)

    def _contradicts(self, test: ast.expr, name: str, value: Any) -> bool:
        if self._names.argument(test) == name:
            return not value
        if (
            isinstance(test, ast.UnaryOp)
            and isinstance(test.op, ast.Not)
            and self._names.argument(test.operand) == name
        ):
            return bool(value)
        if not isinstance(test, ast.Compare) or len(test.ops) != 1 or self._names.argument(test.left) != name:
            return False
        try:
            return not _COMPARE[type(test.ops[0])](value, ast.literal_eval(test.comparators[0]))
        except (ValueError, TypeError):
            return False


class Names(NamedTuple):
    """The names of arguments."""

    known: frozenset[str]
    own: bool
    """Whether `self` holds them."""

    def argument(self, node: ast.AST) -> str | None:
        """The argument that an expression reads: `cfg.tp_size`, `self.tp_size`, `get_server_args().tp_size`."""
        if not isinstance(node, ast.Attribute) or node.attr not in self.known:
            return None
        base = node.value
        if isinstance(base, ast.Name):
            return node.attr if base.id in _HOLDERS or (base.id == "self" and self.own) else None
        return node.attr if "server_args" in ast.dump(base) else None


def variable_of(node: ast.AST) -> str | None:
    """The environment variable that an expression reads: `envs.NAME`, `os.environ["NAME"]`, `os.getenv("NAME")`."""
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "envs":
        return node.attr if node.attr.isupper() else None
    if isinstance(node, ast.Subscript) and _text(node.value).endswith("environ"):
        return _constant(node.slice)
    if isinstance(node, ast.Call) and node.args:
        name = _text(node.func)
        if name.endswith("environ.get") or name.rpartition(".")[2] in _ENVIRONMENT:
            return _constant(node.args[0])
    return None


class _Shown(ast.NodeTransformer):
    """Arguments and variables by their bare names."""

    def __init__(self, names: Names) -> None:
        self._names = names

    def visit(self, node: ast.AST) -> Any:
        name = self._names.argument(node) or variable_of(node)
        if name is not None:
            return ast.Name(id=name, ctx=ast.Load())
        node = self.generic_visit(node)
        if isinstance(node, ast.Attribute) and _text(node.value) == "get_platform()":
            return ast.Name(id=node.attr, ctx=ast.Load())
        # envs.NAME.get() is the variable's value.
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "get":
            holder = node.func.value
            return holder if isinstance(holder, ast.Name) and holder.id.isupper() and not node.args else node
        return node


_COMPARE: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt,
    ast.GtE: operator.ge, ast.Is: operator.eq, ast.IsNot: operator.ne,
    ast.In: lambda value, many: value in many, ast.NotIn: lambda value, many: value not in many,
}  # fmt: skip


def _conjuncts(test: ast.expr) -> Iterator[ast.expr]:
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
        for one in test.values:
            yield from _conjuncts(one)
    else:
        yield test


def _shown_value(name: str, value: Any) -> Iterator[tuple[str, str]]:
    """A value as it may be shown; none of a secret."""
    text = repr(value) if isinstance(value, str) else str(value)
    if not names_a_secret(name.replace("_", "-"), str(value)) and mask_shapes(text) == text:
        yield name, _cut(text, 60)


def _constant(node: ast.AST) -> str | None:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def _text(node: ast.AST) -> str:
    return " ".join(ast.unparse(node).split())


def _copy(node: ast.expr) -> ast.expr:
    return ast.parse(ast.unparse(node), mode="eval").body


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else f"{text[: length - 1]}…"
