"""The flag table against argparse of the real sglang, which was asked once and is asked again by the `oracle` tests.

SGLANG_ORACLE_PYTHON=… pytest -m oracle tests/advise/flags      compares the records with the real code
SGLANG_ORACLE_PYTHON=… python -m tests.advise.flags.record      writes them anew
"""

import json
import lzma
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from responder.advise.command.arguments import read
from responder.advise.flags import FlagTable, ReleaseFlags
from tests.advise.flags.trials import trials
from tests.advise.oracles import ask, pythons, release_of

RECORDS = Path(__file__).with_name("records")
RECORDED = sorted(path.name.removesuffix(".jsonl.xz") for path in RECORDS.glob("*.jsonl.xz"))

ACTIONS = {
    "_StoreAction": "store",
    "_StoreTrueAction": "true",
    "BooleanOptionalAction": "switch",
    "DeprecatedStoreTrueAction": "true",
    "DeprecatedStoreConstAction": "const",
    "LoRAPathAction": "store",
    "DeprecatedAliasStoreAction": "store",
}
TYPES = {"human_readable_int": "size", "nullable_str": "nullable", "loads": "json", "json_list_type": "json_list"}
TYPES |= {"parse_cuda_graph_config_arg": "graph", "parse_cuda_graph_backend_arg": "graph_backend"}


@cache
def record(release: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in lzma.decompress((RECORDS / f"{release}.jsonl.xz").read_bytes()).splitlines()]


def flags(release: str) -> ReleaseFlags:
    found = FlagTable.load().release(release)
    assert found.exact
    return found


@pytest.mark.parametrize("release", RECORDED)
def test_every_option_of_the_real_parser_is_in_the_table_and_no_other(release: str) -> None:
    real = {name for option in record(release)[0]["options"] for name in option["names"]}
    assert set(flags(release).options) == real


@pytest.mark.parametrize("release", RECORDED)
def test_every_option_is_declared_as_the_real_parser_has_it(release: str) -> None:
    for option in record(release)[0]["options"][1:]:
        flag = flags(release).options[option["names"][0]]
        assert list(flag.options) == option["names"]
        assert (flag.dest, flag.required, flag.nargs) == (option["dest"], option["required"], option["nargs"] or None)
        retired = "refused" if option["instead"] else "ignored"
        assert flag.action == ACTIONS.get(option["action"], retired), option
        assert flag.instead == option["instead"]
        if flag.action == "store":
            assert flag.type == TYPES.get(option["type"], option["type"])
            assert set(flag.choices or ()) == set(option["choices"] or ())
        if not flag.computed:
            assert flag.default == (None if option["default"] == "==SUPPRESS==" else option["default"]), option


def refusal(text: str) -> str:
    """A refusal without its explanation and in one order: sglang keeps some choices in sets."""
    text = text.partition(" (choose from")[0].partition(". Use a plain")[0].partition(". Please provide")[0]
    said, found, candidates = text.partition(" could match ")
    if "--cuda-graph-config: " in text:
        return "argument --cuda-graph-config"  # its reasons are sglang's own
    return said + found + ", ".join(sorted(candidates.split(", ")))


def changes(values: dict[str, Any], default: dict[str, Any]) -> dict[str, Any]:
    return {dest: value for dest, value in values.items() if value != default.get(dest)}


@pytest.mark.parametrize("release", RECORDED)
def test_every_trial_is_read_as_the_real_parser_reads_it(release: str) -> None:
    wrong = []
    for trial in record(release)[1:]:
        found = read(["sglang", "serve", *trial["argv"]], flags(release))
        default = found.release.defaults()
        ours = (
            {"refused": refusal(found.problems[0].text)} if found.problems else {"args": changes(found.values, default)}
        )
        theirs = (
            {"refused": refusal(trial["refused"])} if "refused" in trial else {"args": changes(trial["args"], default)}
        )
        if ours != theirs:
            wrong.append((trial["argv"][2:], ours, theirs))
    assert not wrong, (len(wrong), wrong[:10])


@pytest.mark.oracle
@pytest.mark.parametrize("python", pythons())
def test_the_record_is_what_the_real_parser_says(python: str) -> None:
    release = release_of(python)
    answers = ask(python, trials(flags(release)))
    assert answers == record(release)
