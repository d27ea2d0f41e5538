"""What argparse refuses, spelled as the release wants it: computed from the flag table and from what became of flags.

A rule can say what the message means; which flag took the place of the one that was typed, with which value, stands in
the tables.
"""

import difflib
from collections.abc import Iterator

from responder.advise.command.arguments import Occurrence, read
from responder.advise.command.launch import Command
from responder.advise.flags import FlagTable, ReleaseFlags, Renames
from responder.advise.flags.renames import Setting
from responder.catalogue import RemedySpec

CLOSE = 0.82
"""How alike two words must be for one to be a slip of the other (difflib's ratio)."""


def respelled(command: Command, release: str | None, message: str) -> Iterator[RemedySpec]:
    """For each flag of the command that argparse's message names, the change that says the same in this release.

    Nothing for a flag whose successor is not known.
    """
    found = read(command, release)
    flags = found.release
    typed = {one.option: _value(one) for one in found.occurrences if not one.open}
    for one in found.occurrences:
        if one.option not in message and one.flag.name not in message:
            continue
        if not one.known:
            yield from _unknown_flag(one, typed, flags)
        elif not one.open:
            yield from _unknown_value(one, flags)


def _unknown_flag(one: Occurrence, typed: dict[str, str | bool], flags: ReleaseFlags) -> Iterator[RemedySpec]:
    name = one.option
    for settings, rename in _successors(name, typed, flags):
        said = " ".join(flag if value is True else f"{flag} {value}" for flag, value in settings)
        yield RemedySpec(
            title=f"Say it as {said}: {name} was renamed",
            set=dict(settings),
            unset=tuple(flag for flag in rename if flag not in dict(settings)),
            why=f"sglang {flags.version} has no {name}; what it did is now said this way.",
        )
        return
    near = difflib.get_close_matches(name, [f for f in flags.options if flags.has(f)], 2, CLOSE)
    known_elsewhere = FlagTable.load().ever(name) is not None
    if near and not known_elsewhere and flags.accepts(near[0], typed.get(name, True)):
        yield RemedySpec(
            title=f"Write {near[0]}: {name} looks like a slip of it",
            set={near[0]: typed.get(name, True)},
            unset=(name,),
            why=f"No release of sglang has {name}.",
        )


def _successors(
    name: str, typed: dict[str, str | bool], flags: ReleaseFlags
) -> Iterator[tuple[tuple[Setting, ...], tuple[str, ...]]]:
    """What a flag became, through as many renames as it went, with the old flags that it replaces."""
    for rename in Renames.load().of(name):
        if not all(flag in typed or given is not True for flag, given in rename.old.items()):
            continue
        settings = rename.forward(typed)
        if settings is None:
            continue
        if all(flags.accepts(flag, value) for flag, value in settings):
            yield settings, tuple(rename.old)
            continue
        for flag, value in settings:
            for later, _ in _successors(flag, typed | {flag: value}, flags):
                yield later, tuple(rename.old)


def _unknown_value(one: Occurrence, flags: ReleaseFlags) -> Iterator[RemedySpec]:
    choices = one.flag.choices
    value = _value(one)
    if choices is None or not isinstance(value, str) or value in {str(choice) for choice in choices}:
        return
    name = one.flag.name
    renamed = [v.new for v in Renames.load().value if v.old == value and name in v.flags]
    near = [*renamed, *difflib.get_close_matches(value, [str(choice) for choice in choices], 1, CLOSE)]
    chosen = next((word for word in near if flags.accepts(name, word)), None)
    if chosen is not None:
        yield RemedySpec(
            title=f"Use {name} {chosen}: {value} is not offered",
            set={name: chosen},
            why=f"It is the value of this release that {value} comes nearest to.",
        )


def _value(one: Occurrence) -> str | bool:
    return " ".join(one.texts) if one.texts else True
