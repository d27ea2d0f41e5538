"""Argument lists that try every flag of a release: each spelling, abbreviations, wrong values, missing ones."""

from collections.abc import Iterator

from responder.advise.flags import Flag, ReleaseFlags

MODEL = ["--model-path", "m"]


def trials(release: ReleaseFlags) -> Iterator[list[str]]:
    """One flag (and its value) per list; every list names a model, so that nothing else is missing."""
    for flag in release.flags:
        value = value_for(flag)
        for option in flag.options:
            yield [*MODEL, option, *value]
            yield [*MODEL, option[:-1], *value]
            yield [*MODEL, option[: len(option) // 2 + 2], *value]
        yield [*MODEL, f"{flag.name}={' '.join(value) or 'x'}"]
        yield [*MODEL, flag.name]
        yield [*MODEL, flag.name, "-1"]
        yield [*MODEL, flag.name, "nonsense"]
        yield [*MODEL, flag.name, *value, flag.name, *value]
    yield [*MODEL, "--no-such-flag", "1"]
    yield ["--tp-size", "2"]
    yield [*MODEL, "stray"]


def value_for(flag: Flag, turn: int = 0) -> list[str]:
    """Words that the flag takes; another `turn`, another value where there is one."""
    if not flag.takes_value:
        return []
    if flag.choices:
        return [str(flag.choices[turn % len(flag.choices)])]
    values = {"int": ("4", "16"), "float": ("0.5", "0.25"), "size": ("4k", "2048"), "bool": ("x", "y")}
    values |= {
        "graph": ('{"decode": {"backend": "full"}}', "{}"),
        "json": ('{"a": [1]}', "{}"),
        "json_list": ("[1, 2]", "[]"),
    }
    found = values.get(flag.type, ("word", "/a/path.x"))[turn % 2]
    return [found, found] if flag.nargs in ("+", "*") else [found]
