"""Reads the flags of one sglang release from its wheel and writes them into the table.

    python -m responder.advise.flags.extract WHEEL_OR_FOLDER --sglang VERSION

Static: the release is parsed, never imported, so no torch and no GPU are needed.  sglang declares flags in two ways,
and both are read: calls of `parser.add_argument` in `ServerArgs.add_cli_args`, and (since 0.5.14) fields annotated
`A[type, Arg(...)]`, in ServerArgs itself or (since 0.5.20) in the classes of `arg_groups/fields`.
"""

import argparse
import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from responder.advise.flags.evaluate import Class, Evaluator, Member, Unknown
from responder.advise.flags.flag import Action, Flag
from responder.advise.flags.table import TABLE, Table
from responder.advise.flags.wheel import Wheel, statements

MODULE = "sglang.srt.server_args"
TYPES = {
    "int": "int",
    "float": "float",
    "str": "str",
    "bool": "bool",
    "human_readable_int": "size",
    "json.loads": "json",
    "json_list_type": "json_list",
    "nullable_str": "nullable",
    "parse_cuda_graph_config_arg": "graph",
    "parse_cuda_graph_backend_arg": "graph_backend",
}
ACTIONS: dict[str, Action] = {
    "store_true": "true",
    "BooleanOptionalAction": "switch",
    "DeprecatedStoreTrueAction": "true",
    "DeprecatedStoreConstAction": "const",
    "DeprecatedAliasStoreAction": "store",
    "DeprecatedAction": "ignored",
    "LoRAPathAction": "store",
    "append": "append",
}


class Extraction:
    """The flags of one release."""

    def __init__(self, wheel: Wheel) -> None:
        self._evaluate = Evaluator(wheel)
        tree = wheel.module(MODULE)
        assert tree is not None  # Wheel refuses a tree without it
        args = next(n for n in tree.body if isinstance(n, ast.ClassDef) and n.name == "ServerArgs")
        self._args = Class(MODULE, args)
        self._methods = {n.name: n for n in statements(args.body) if isinstance(n, ast.FunctionDef)}
        self._fields = dict(self._declared())
        self._renamed = dict(self._renames())

    def flags(self) -> list[Flag]:
        """Every flag, in the order in which argparse learns them (which is the order it lists candidates in)."""
        found = [flag for name, (module, node) in self._fields.items() if (flag := self._annotated(name, module, node))]
        found += [self._added(call) for call in _calls(self._methods["add_cli_args"])]
        return found

    # -- fields annotated `A[type, Arg(...)]`

    def _declared(self) -> Iterator[tuple[str, tuple[str, ast.AnnAssign]]]:
        """The fields of ServerArgs and of the namespaces it collects, in argparse's order."""
        namespaces = self._evaluate.name(MODULE, "_INPUT_NAMESPACES")
        sources = [self._args] if isinstance(namespaces, Unknown) else [*namespaces, self._args]
        found: dict[str, tuple[str, ast.AnnAssign]] = {}
        for source in sources:
            for node in source.node.body:
                if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                    found.setdefault(node.target.id, (source.module, node))
        order = self._evaluate.name("sglang.srt.arg_groups.field_order", "POSITIONAL_FIELD_ORDER")
        first = [] if isinstance(order, Unknown) else [name for name in order if name in found]
        for name in dict.fromkeys([*first, *found]):
            yield name, found[name]

    def _annotated(self, name: str, module: str, node: ast.AnnAssign) -> Flag | None:
        hint, given = _annotation(node.annotation)
        if given is None or given.get("no_cli"):
            return None
        keys = {key: self._evaluate.value(module, value) for key, value in given.items()}
        if isinstance(keys.get("no_cli"), bool) and keys["no_cli"]:
            return None
        names = (keys.get("cli_name") or f"--{name.replace('_', '-')}", *(keys.get("aliases") or ()))
        action = _action(given.get("action"))
        kind = _Type.of(hint, module, self._evaluate)
        extra = given.get("action_kwargs")
        extra_keys = self._evaluate.value(module, extra) if extra is not None else {}
        default = self._default(name)
        if action is None:
            action = "true" if kind.name == "bool" and not given.get("type_parser") else "store"
        parser = given.get("type_parser")
        nargs = keys.get("nargs") or (extra_keys or {}).get("nargs")
        if nargs is None and kind.is_list and parser is None and action == "store":
            nargs = "+"
        return _flag(
            names=names,
            dest=name,
            action=action,
            type="bool" if action in ("true", "switch") else _type_name(parser) if parser is not None else kind.name,
            nargs=nargs,
            choices=keys.get("choices") or kind.choices,
            default=default,
            const=keys.get("const"),
            required=(node.value is None and keys.get("required") is None) or keys.get("required") is True,
        )

    # -- calls of parser.add_argument

    def _added(self, call: ast.Call) -> Flag:
        keys = {k.arg: k.value for k in call.keywords if k.arg}
        local = self._locals()
        value = {key: self._evaluate.value(MODULE, node, local) for key, node in keys.items()}
        names = tuple(self._evaluate.value(MODULE, node) for node in call.args)
        dest = value.get("dest") or next(n for n in names if n.startswith("--"))[2:].replace("-", "_")
        action = _action(keys.get("action")) or "store"
        if action == "ignored" and (value.get("error_message") or self._always_raises(keys["action"])):
            action = "refused"
        return _flag(
            names=names,
            dest=self._renamed.get(dest, dest),
            action=action,
            type="bool" if action in ("true", "switch") else _type_name(keys["type"]) if "type" in keys else "str",
            nargs=value.get("nargs"),
            choices=value.get("choices"),
            default=self._added_default(keys.get("default"), action),
            const=value.get("const_value", value.get("const")),
            required=value.get("required") is True,
            instead=value.get("new_flag") or value.get("error_message"),
            valued="nargs" in keys and value["nargs"] is None,
        )

    def _added_default(self, node: ast.expr | None, action: Action) -> Any:
        if node is None:
            return False if action == "true" else None
        match node:
            case ast.Attribute(value=ast.Name(id="argparse"), attr="SUPPRESS"):
                return None
            case ast.Attribute(value=ast.Name(id="ServerArgs"), attr=field):
                return self._default(field)
            case ast.Call(func=ast.Name(id="_declared_default"), args=[ast.Constant(value=str() as field)]):
                return self._default(field)
        return self._evaluate.value(MODULE, node)

    def _default(self, field: str) -> Any:
        """The default that the record declares for `field`."""
        module, declared = self._fields.get(field, (MODULE, None))
        node = declared.value if declared is not None else None
        if isinstance(node, ast.Call):
            return self._factory(module, node)
        return self._evaluate.value(module, node) if node is not None else None

    def _factory(self, module: str, call: ast.Call) -> Any:
        factory = next((k.value for k in call.keywords if k.arg in ("default_factory", "default")), None)
        match factory:
            case ast.Lambda(body=body):
                return self._evaluate.value(module, body)
            case ast.Name(id="list") | ast.Name(id="dict"):
                return [] if factory.id == "list" else {}
        return self._evaluate.value(module, factory or call)

    def _locals(self) -> dict[str, Any]:
        """The names that add_cli_args assigns before it uses them as choices."""
        local: dict[str, Any] = {}
        for node in self._methods["add_cli_args"].body:
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                local[node.targets[0].id] = self._evaluate.value(MODULE, node.value, local)
        return local

    def _renames(self) -> Iterator[tuple[str, str]]:
        """`args.tp_size = args.tensor_parallel_size`: argparse's dest and the field it ends in (up to 0.5.13)."""
        method = self._methods.get("from_cli_args")
        for node in ast.walk(method) if method else ():
            match node:
                case ast.Assign(targets=[ast.Attribute(attr=field)], value=ast.Attribute(value=ast.Name(), attr=dest)):
                    yield dest, field

    def _always_raises(self, action: ast.expr) -> bool:
        """Whether this action's `__call__` refuses whatever it is given (0.4.x)."""
        found = self._evaluate.value(MODULE, action)
        if not isinstance(found, Class):
            return False
        call = next((n for n in found.node.body if isinstance(n, ast.FunctionDef) and n.name == "__call__"), None)
        return call is not None and isinstance(call.body[-1], ast.Raise)


class _Type:
    """What a field's type says of its flag."""

    def __init__(self, name: str, is_list: bool = False, choices: list[Any] | None = None) -> None:
        self.name, self.is_list, self.choices = name, is_list, choices

    @classmethod
    def of(cls, hint: ast.expr, module: str, evaluate: Evaluator) -> "_Type":
        match hint:
            case ast.Subscript(value=ast.Name(id="Optional"), slice=inner):
                return cls.of(inner, module, evaluate)
            case ast.BinOp(op=ast.BitOr(), left=left, right=ast.Constant(value=None)):
                return cls.of(left, module, evaluate)
            case ast.Subscript(value=ast.Name(id="List" | "list"), slice=inner):
                return cls(cls.of(inner, module, evaluate).name, is_list=True)
            case ast.Subscript(value=ast.Name(id="Literal"), slice=inner):
                values = evaluate.value(module, inner)
                values = values if isinstance(values, list) else [values]
                return cls(type(next(v for v in values if v is not None)).__name__, choices=values)
            case ast.Name(id="int" | "float" | "bool" as name):
                return cls(name)
        return cls("str")


def _annotation(node: ast.expr) -> tuple[ast.expr, dict[str, ast.expr] | None]:
    """`A[type, "help"]` or `A[type, Arg(...)]` taken apart: the type, and Arg's keywords (None: no flag)."""
    match node:
        case ast.Constant(value=str() as text):
            return _annotation(ast.parse(text, mode="eval").body)
        case ast.Subscript(value=ast.Name(id="A" | "Annotated"), slice=ast.Tuple(elts=[hint, *rest])):
            for item in rest:
                match item:
                    case ast.Call(func=ast.Name(id="Arg"), keywords=keywords):
                        return hint, {k.arg: k.value for k in keywords if k.arg}
                    case ast.Constant(value=str()) | ast.JoinedStr() | ast.BinOp():
                        return hint, {}
    return node, None


def _calls(method: ast.FunctionDef) -> Iterator[ast.Call]:
    for node in ast.walk(method):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "add_argument":
            yield node


def _action(node: ast.expr | None) -> Action | None:
    if node is None:
        return None
    name = str(node.value) if isinstance(node, ast.Constant) else ast.unparse(node).rpartition(".")[2]
    if name not in ACTIONS:
        raise ValueError(f"an action this reader does not know: {name} (line {node.lineno}); teach ACTIONS about it")
    return ACTIONS[name]


def _type_name(node: ast.expr) -> str:
    name = ast.unparse(node)
    return TYPES.get(name, name)


def _flag(*, names: tuple[str, ...], default: Any, choices: Any, const: Any, **keys: Any) -> Flag:
    """A Flag of what was evaluated; what was not is left out, and an unknown default is marked as such."""
    nargs = keys.pop("nargs")
    return Flag(
        names=names,
        default=None if isinstance(default, Unknown) else _plain(default),
        computed=isinstance(default, Unknown),
        choices=tuple(_plain(c) for c in choices) if isinstance(choices, (list, tuple)) else None,
        const=None if isinstance(const, Unknown) else _plain(const),
        nargs=nargs if nargs in ("+", "*", "?") else None,
        **keys,
    )


def _plain(value: Any) -> Any:
    """A member of an enumeration as its value."""
    return value.value if isinstance(value, Member) else value


def main(argv: list[str] | None = None) -> int:
    """The command line: reads one release and rewrites the table with it."""
    parser = argparse.ArgumentParser(description="Reads the flags of one sglang release.")
    parser.add_argument("source", type=Path, help="a wheel of sglang, or the folder it unpacks to")
    parser.add_argument("--sglang", required=True, metavar="VERSION", help="the release, as 0.5.23")
    parser.add_argument("--table", type=Path, default=TABLE, help="the table to update (default: the package's own)")
    options = parser.parse_args(argv)
    if not re.fullmatch(r"\d+(\.\d+)+((a|b|rc|\.post)\d+)?", options.sglang):
        parser.error(f"not a release: {options.sglang}")
    try:
        flags = Extraction(Wheel(options.source)).flags()
    except (OSError, SyntaxError, ValueError) as error:
        print(f"{options.source}: {error}", file=sys.stderr)
        return 69
    table = Table.read(options.table) if options.table.exists() else Table()
    table.with_release(options.sglang, flags).write(options.table)
    print(f"{options.sglang}: {len(flags)} flags")
    return 0


if __name__ == "__main__":
    sys.exit(main())
