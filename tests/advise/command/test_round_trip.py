"""Editing, then reading: the intended arguments, and nothing else is different.  A thousand made-up commands."""

from collections.abc import Mapping
from typing import Any

import pytest

from responder.advise.command import Arguments, Command, edit, parse, read
from responder.advise.flags import FlagTable
from tests.advise.command.generated import Case, case
from tests.advise.oracles import ask, pythons, release_of

CASES = 1000


def arguments(command: Command | str, release: str) -> Arguments:
    return read(command, release)


def expected(before: Mapping[str, Any], made: Case) -> dict[str, Any]:
    """The arguments after the change, worked out without editing anything."""
    flags = FlagTable.load().release(made.release)
    after = {dest: value for dest, value in before.items() if flags.by_dest[dest][0].name not in made.unset}
    for name, value in made.set.items():
        words = ["--model-path", "m", name, *([value] if isinstance(value, str) else [])]
        flag = flags.options[name]
        if isinstance(value, str) and flag.nargs in ("+", "*"):
            words = ["--model-path", "m", name, *value.split()]
        after[flag.dest] = read(["sglang", "serve", *words], flags).values[flag.dest]
    return after


def untouched(command: Command, release: str, made: Case) -> list[str]:
    """The words of every flag that was not to change, exactly as typed."""
    text = command.layers[-1].text
    return [
        text[o.word.start : o.last.end] for o in read(command, release).occurrences if o.flag.dest not in made.touched
    ]


@pytest.mark.parametrize("block", range(10))
def test_editing_gives_the_intended_arguments_and_no_other_change(block: int) -> None:
    for seed in range(block * CASES // 10, (block + 1) * CASES // 10):
        made = case(seed)
        command = parse(made.command)
        before = read(command, made.release)
        assert before.problems == [], made
        assert before.values.keys() == made.before.keys(), made
        edited = edit(command, made.set, made.unset, release=made.release)
        after = read(edited.parsed, made.release)
        assert after.problems == [], (made, edited.parsed.text)
        assert after.values == expected(before.values, made), (made, edited.parsed.text)
        assert untouched(edited.parsed, made.release, made) == untouched(command, made.release, made), made
        assert around(edited.parsed) == around(command), (made, edited.parsed.text)


def around(command: Command) -> tuple[str, str]:
    """What stands before the program and after the last argument, in the layer that launches."""
    text, words = command.layers[-1].text, command.words
    return text[: words[command.first - 1].end], text[words[-1].end :]


@pytest.mark.parametrize("block", range(10))
def test_editing_a_value_and_back_gives_the_same_bytes(block: int) -> None:
    for seed in range(block * CASES // 10, (block + 1) * CASES // 10):
        made = case(seed)
        command = parse(made.command)
        before = read(command, made.release)
        flags = before.release
        there = {name: value for name, value in made.set.items() if flags.options[name].dest in before.values}
        texts = {name: before.spelled(name)[-1].texts for name in there}
        back = {name: " ".join(texts[name]) if texts[name] else True for name in there}
        edited = edit(edit(command, there, release=flags).parsed, back, release=flags)
        switched = any(flags.options[name].action == "switch" for name in there)
        assert edited.parsed.text == made.command or switched, (made, there)


def test_a_change_that_changes_nothing_leaves_every_byte() -> None:
    for seed in range(CASES):
        made = case(seed)
        assert edit(made.command, release=made.release).parsed.text == made.command


@pytest.mark.oracle
@pytest.mark.parametrize("python", pythons())
def test_the_real_parser_reads_the_intended_arguments(python: str) -> None:
    release = release_of(python)
    cases = [case(seed, release) for seed in range(CASES)]
    edits = [(made, edit(made.command, made.set, made.unset, release=release)) for made in cases]
    answers = ask(python, [[word.text for word in edited.parsed.arguments] for _, edited in edits])[1:]
    default = FlagTable.load().release(release).defaults()
    for (made, edited), answer in zip(edits, answers, strict=True):
        wanted = expected(read(made.command, release).values, made)
        assert answer.get("args") == {d: v for d, v in wanted.items() if v != default.get(d)}, (made, edited.command)
