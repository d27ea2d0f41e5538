"""Reading a release's flags from its source: both ways in which sglang has declared them, from a folder and a wheel."""

import json
import zipfile
from pathlib import Path

import pytest

from responder.advise.flags import Flag
from responder.advise.flags.extract import main
from responder.advise.flags.table import Table

CALLS = """
import argparse
from sglang.srt.lists import BACKENDS, Registry, Mode

class DeprecatedAction(argparse.Action):
    def __call__(self, parser, namespace, values, option_string=None):
        raise ValueError(self.help)

class ServerArgs:
    model_path: str
    tp_size: int = 1
    backend: str = BACKENDS[0]
    seed: int = sys.maxsize

    def add_cli_args(parser):
        names = list(Registry.TABLE.keys())
        parser.add_argument("--model-path", type=str, required=True)
        parser.add_argument("--tensor-parallel-size", "--tp-size", type=int, default=ServerArgs.tp_size)
        parser.add_argument("--backend", choices=BACKENDS + ["extra"], default=ServerArgs.backend)
        parser.add_argument("--mode", choices=["auto"] + [m.name.lower() for m in Mode])
        parser.add_argument("--parser", choices=names)
        parser.add_argument("--seed", type=int, default=ServerArgs.seed)
        parser.add_argument("--on", action="store_true")
        parser.add_argument("--old", action=DeprecatedAction, help="gone")
        parser.add_argument("--sizes", type=int, nargs="+")

    def from_cli_args(cls, args):
        args.tp_size = args.tensor_parallel_size
"""
LISTS = """
from enum import Enum
BACKENDS = ["fa3", *["triton"]]
class Registry:
    TABLE = {"a": Unknown, "b": Other}
class Mode(Enum):
    FAST = 1
    SAFE = 2
"""
FIELDS = """
class ServerArgs:
    @staticmethod
    def add_cli_args(parser):
        add_cli_args_from_dataclass(parser, ServerArgs)
        parser.add_argument("--late", action=DeprecatedAliasStoreAction, new_flag="--tp-size", dest="tp_size", type=int)

from sglang.srt.fields import Model
_INPUT_NAMESPACES = [Model]
"""
NAMESPACE = """
class Model(msgspec.Struct):
    model_path: A[str, Arg(help="x", aliases=["--model"])]
    tp_size: A[int, Arg(help="x", aliases=["--tensor-parallel-size"])] = 1
    hidden: A[int, Arg(help="x", no_cli=True)] = 1
    plain: int = 2
    kind: A[Optional[Literal["a", "b"]], Arg(help="x")] = None
    sizes: A[Optional[List[int]], "x"] = None
    both: A[bool, Arg(help="x", action=argparse.BooleanOptionalAction)] = True
    on: A[bool, "x"] = False
    names: A[List[str], "x"] = msgspec.field(default_factory=lambda: ["z"])
"""


def tree(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        file = folder / "sglang" / "srt" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return folder


def extracted(source: Path, table: Path, version: str) -> dict[str, Flag]:
    assert main([str(source), "--sglang", version, "--table", str(table)]) == 0
    return {flag.name: flag for flag in Table.read(table).of(version)}


def test_calls_of_add_argument_are_read_with_their_constants(tmp_path: Path) -> None:
    source = tree(tmp_path / "old", {"server_args.py": CALLS, "lists.py": LISTS})
    flags = extracted(source, tmp_path / "t.json", "0.1.0")
    assert flags["--tensor-parallel-size"] == Flag(
        names=("--tensor-parallel-size", "--tp-size"), dest="tp_size", type="int", default=1
    )
    assert (flags["--backend"].choices, flags["--backend"].default) == (("fa3", "triton", "extra"), "fa3")
    assert flags["--mode"].choices == ("auto", "fast", "safe")
    assert flags["--parser"].choices == ("a", "b")
    assert (flags["--seed"].default, flags["--seed"].computed) == (None, True)
    assert (flags["--on"].action, flags["--old"].action) == ("true", "refused")
    assert (flags["--sizes"].nargs, flags["--sizes"].type) == ("+", "int")


def test_annotated_fields_and_their_namespaces_are_read(tmp_path: Path) -> None:
    source = tree(tmp_path / "new", {"server_args.py": FIELDS, "fields.py": NAMESPACE})
    flags = extracted(source, tmp_path / "t.json", "0.2.0")
    assert list(flags) == [
        "--model-path", "--tp-size", "--kind", "--sizes", "--both", "--on", "--names", "--late",
    ]  # fmt: skip
    assert flags["--model-path"].required
    assert flags["--kind"].choices == ("a", "b")
    assert (flags["--sizes"].nargs, flags["--names"].default) == ("+", ["z"])
    assert flags["--both"].options == ("--both", "--no-both")
    assert (flags["--late"].dest, flags["--late"].instead) == ("tp_size", "--tp-size")


def test_a_wheel_reads_like_the_folder_it_unpacks_to(tmp_path: Path) -> None:
    source = tree(tmp_path / "old", {"server_args.py": CALLS, "lists.py": LISTS})
    wheel = tmp_path / "sglang-0.1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as packed:
        for file in source.rglob("*.py"):
            packed.write(file, file.relative_to(source))
    folder = extracted(source, tmp_path / "a.json", "0.1.0")
    assert extracted(wheel, tmp_path / "b.json", "0.1.0") == folder


def test_a_release_more_adds_only_what_changed(tmp_path: Path) -> None:
    table = tmp_path / "t.json"
    source = tree(tmp_path / "old", {"server_args.py": CALLS, "lists.py": LISTS})
    extracted(source, table, "0.1.0")
    extracted(source, table, "0.10.0")
    tree(tmp_path / "old", {"server_args.py": CALLS.replace('"extra"', '"more"')})
    extracted(source, table, "0.9.0")
    file = json.loads(table.read_text())
    assert file["releases"] == ["0.1.0", "0.9.0", "0.10.0"]
    backends = [run for run in file["flags"] if run["dest"] == "backend"]
    assert [(run["since"], run["until"]) for run in backends] == [
        ("0.1.0", "0.1.0"), ("0.9.0", "0.9.0"), ("0.10.0", "0.10.0"),
    ]  # fmt: skip
    assert len([run for run in file["flags"] if run["dest"] == "tp_size"]) == 1


def test_a_folder_without_sglang_says_what_to_give(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path), "--sglang", "0.1.0", "--table", str(tmp_path / "t.json")]) == 69
    assert "give a wheel or the folder it unpacks to" in capsys.readouterr().err
