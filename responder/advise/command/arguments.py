"""sglang's arguments as its own argparse would read them, each with the words it stands in.

The same rules: abbreviations, `--flag=value`, the last of repeated flags wins, `nargs`, a negative number is a value.
What an expansion hides (`--tp-size $TP`) is unknown, never a default.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import takewhile
from pathlib import Path
from typing import Any

from responder.advise.command.config_file import read_config
from responder.advise.command.launch import Command, parse
from responder.advise.command.shell import Word
from responder.advise.flags import Ambiguous, Flag, FlagTable, ReleaseFlags, Unknown

_NEGATIVE = re.compile(r"-\d+|-\d*\.\d+")
_SIZE = re.compile(r"(\d+(?:\.\d+)?)(k|[KMGT](?=i)|[MGT])(i?)")
_UNITS = {"k": 1, "K": 1, "M": 2, "G": 3, "T": 4}


@dataclass(frozen=True)
class Occurrence:
    """A flag as typed: the word that names it and those that hold its values."""

    flag: Flag
    option: str
    """The flag as spelled (abbreviations as they stand)."""
    word: Word
    values: tuple[Word, ...] = ()
    """The words after it that it takes."""
    glued: int | None = None
    """Where the value begins in `word`, for `--flag=value`."""
    known: bool = True
    """Whether this release knows the flag."""

    @property
    def texts(self) -> tuple[str, ...]:
        """Its values."""
        return (self.word.text[self.glued :],) if self.glued is not None else tuple(w.text for w in self.values)

    @property
    def open(self) -> bool:
        """Whether an expansion hides a value of it."""
        return any(word.open for word in ((self.word,) if self.glued is not None else self.values))

    @property
    def last(self) -> Word:
        """The last word that belongs to it."""
        return self.values[-1] if self.values else self.word


@dataclass(frozen=True)
class Problem:
    """Something argparse would refuse: its own words, and the token at fault."""

    text: str
    token: str


@dataclass
class Arguments:
    """What a command says to one release of sglang."""

    release: ReleaseFlags
    values: dict[str, Any] = field(default_factory=dict)
    """dest -> value, for what is typed (on the line or in its `--config` file) and can be read."""
    unknown: set[str] = field(default_factory=set)
    """dests that are typed with a value that cannot be read here."""
    occurrences: list[Occurrence] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    open: bool = False
    """More arguments may be hidden in an expansion or in a file that cannot be read."""
    notes: list[str] = field(default_factory=list)
    from_config: set[str] = field(default_factory=set)
    """dests whose value stands in the `--config` file alone."""

    def of(self, dest: str) -> list[Occurrence]:
        """The occurrences that set `dest`."""
        return [o for o in self.occurrences if o.known and o.flag.dest == dest]

    def spelled(self, name: str) -> list[Occurrence]:
        """The occurrences of exactly this flag (aliases and abbreviations of it included)."""
        return [o for o in self.occurrences if name in o.flag.options]


def read(
    command: Command | str | Sequence[str],
    release: str | ReleaseFlags | None,
    *,
    files: bool = True,
    base: Path | None = None,
) -> Arguments:
    """The arguments of `command` as `release` reads them.

    `files=False`: a `--config` file is not opened.  `base`: the server's working directory, where it is known.
    """
    parsed = command if isinstance(command, Command) else parse(command)
    flags = release if isinstance(release, ReleaseFlags) else FlagTable.load().release(release)
    reader = _Reader(Arguments(flags))
    words = list(parsed.arguments)
    if parsed.entry == "serve" and words and not words[0].text.startswith("-"):
        reader.model(words.pop(0))
    reader.read(words)
    if parsed.entry == "router":
        reader.found.problems.clear()  # it has flags of its own
    return _with_config(reader.found, files, base)


def typed(
    command: Command | str | Sequence[str], release: str | ReleaseFlags | None, *, files: bool = True
) -> dict[str, Any]:
    """dest -> value of what the operator typed, as far as it can be read."""
    return read(command, release, files=files).values


class _Reader:
    def __init__(self, found: Arguments) -> None:
        self.found, self.flags = found, found.release
        self._extras: list[str] = []
        """What argparse has no use for; it complains of all of it at once, after everything else."""

    def model(self, word: Word) -> None:
        """`sglang serve MODEL`: the same as `--model-path MODEL`."""
        self._store("model_path", word.text, word.open)

    def read(self, words: list[Word]) -> None:
        """Reads words up to the end, or up to `--`."""
        at = 0
        while at < len(words):
            word = words[at]
            at += 1
            if word.text == "--":
                self._extra(words[at:])
                break
            if not self._is_option(word):
                self._extra([word])
                continue
            at += self._option(word, words[at:])
        self._missing()
        if self._extras:
            text = f"unrecognized arguments: {' '.join(self._extras)}"
            self.found.problems.append(Problem(text, self._extras[0]))

    def _is_option(self, word: Word) -> bool:
        """Whether argparse takes this word for a flag."""
        if len(word.text) < 2 or not word.text.startswith("-") or _NEGATIVE.fullmatch(word.text):
            return False
        return " " not in word.text or not isinstance(self.flags.resolve(word.text), Unknown)

    def _values(self, flag: Flag, rest: list[Word]) -> list[Word]:
        """The words after a flag that it takes."""
        if not flag.takes_value:
            return []
        most = rest[:1] if flag.nargs in (None, "?") else rest
        return list(takewhile(lambda word: word.text != "--" and not self._is_option(word), most))

    def _extra(self, words: list[Word]) -> None:
        for word in words:
            if word.splits:
                self.found.open = True
            else:
                self._extras.append(word.text)

    def _option(self, word: Word, rest: list[Word]) -> int:
        """Reads one flag; how many of the words after it are its values."""
        name, equals, _ = word.text.partition("=")
        flag = self.flags.resolve(word.text)
        if word.open and re.search(r"[$`]", name):
            self.found.open = True
            return 0
        if isinstance(flag, Ambiguous):
            matches = ", ".join(flag.candidates)
            self.found.problems.append(Problem(f"ambiguous option: {word.text} could match {matches}", word.text))
        elif isinstance(flag, Flag):
            return self._known(flag, word, name, len(name) + 1 if equals else None, rest)
        else:
            self._extras.append(word.text)
            taken = self._stranger(word, name, len(name) + 1 if equals else None, rest)
            self._extras += [value.text for value in rest[:taken]]
            return taken
        return self._stranger(word, name, len(name) + 1 if equals else None, rest)

    def _stranger(self, word: Word, name: str, glued: int | None, rest: list[Word]) -> int:
        """A flag of another release, or of none: its values are guessed from the release that had it."""
        flag = FlagTable.load().ever(name) or Flag(names=(name,), dest="", action="store", nargs="*")
        taken = [] if glued is not None else self._values(flag, rest)
        self.found.occurrences.append(Occurrence(flag, name, word, tuple(taken), glued, known=False))
        return len(taken)

    def _known(self, flag: Flag, word: Word, option: str, glued: int | None, rest: list[Word]) -> int:
        taken = [] if glued is not None else self._values(flag, rest)
        found = Occurrence(flag, option, word, tuple(taken), glued)
        self.found.occurrences.append(found)
        if flag.nargs is not None and any(word.splits for word in taken):
            self.found.open = True
        problem = _arity(found)
        if problem is None and flag.action == "refused":
            problem = flag.instead or f"{option} is no longer accepted"
        if problem:
            self.found.problems.append(Problem(problem, word.text))
        else:
            self._set(found)
        return len(taken)

    def _set(self, found: Occurrence) -> None:
        flag = found.flag
        if flag.dest == "help" or flag.action == "ignored":
            return
        if not found.texts:
            self._store(flag.dest, _without_value(found), False)
            return
        if found.open:
            self._store(flag.dest, None, True)
            return
        values = []
        for text in found.texts:
            try:
                values.append(_converted(flag.type, text))
            except ValueError:
                said = _INVALID.get(flag.type, "invalid {type} value: {text!r}").format(type=flag.type, text=text)
                self.found.problems.append(Problem(f"argument {'/'.join(flag.names)}: {said}", found.word.text))
                return
        wrong = [v for v in values if flag.choices is not None and v not in flag.choices]
        if wrong:
            names, choices = "/".join(flag.names), ", ".join(map(repr, flag.choices or ()))
            text = f"argument {names}: invalid choice: {wrong[0]!r} (choose from {choices})"
            self.found.problems.append(Problem(text, found.word.text))
            return
        value = values if flag.nargs in ("+", "*") else flag.const if flag.action == "const" else values[0]
        if flag.action == "append":
            value = [*self.found.values.get(flag.dest, []), *values]
        self._store(flag.dest, value, False)

    def _store(self, dest: str, value: Any, hidden: bool) -> None:
        if hidden:
            self.found.unknown.add(dest)
            self.found.values.pop(dest, None)
        else:
            self.found.unknown.discard(dest)
            self.found.values[dest] = value

    def _missing(self) -> None:
        if self.found.open:
            return
        for flag in (flag for flag in self.flags.flags if flag.required):
            given = flag.dest in self.found.values or flag.dest in self.found.unknown
            tried = any(o.flag is flag for o in self.found.occurrences)
            if not given and not tried:
                names = "/".join(flag.names)
                text = f"the following arguments are required: {names}"
                self.found.problems.append(Problem(text, flag.name))


def _arity(found: Occurrence) -> str | None:
    flag, names = found.flag, "/".join(found.flag.options)
    if found.glued is not None and not flag.takes_value:
        return f"argument {names}: ignored explicit argument {found.texts[0]!r}"
    if flag.takes_value and flag.nargs in (None, "+") and found.glued is None and not found.values:
        wanted = "one argument" if flag.nargs is None else "at least one argument"
        return f"argument {names}: expected {wanted}"
    return None


def _without_value(found: Occurrence) -> Any:
    flag = found.flag
    if flag.action == "switch":
        return not found.option.startswith("--no-")
    if flag.action == "true":
        return True
    return [] if flag.nargs == "*" else flag.const


_INVALID = {
    "size": "Invalid integer value: {text!r}",
    "json": "invalid loads value: {text!r}",
    "json_list": "Invalid JSON list: {text}",
    "graph_backend": "tc_piecewise was removed; select breakable, full, or disabled",
    "graph": "--cuda-graph-config: {text!r} is not a mapping of decode and prefill",
}
"""What a type says of a text that it refuses, where it is not argparse's own sentence."""


def _converted(type: str, text: str) -> Any:
    """One value as argparse's `type=` makes it.  Raises ValueError where it would refuse."""
    match type:
        case "int":
            return int(text)
        case "float":
            return float(text)
        case "bool":
            return bool(text)
        case "size":
            return _size(text)
        case "json" | "json_list":
            return json.loads(text)
        case "graph":
            phases = json.loads(text)
            if not isinstance(phases, dict) or not phases.keys() <= {"decode", "prefill"}:
                raise ValueError(text)
            return phases
        case "graph_backend" if text == "tc_piecewise":
            raise ValueError(text)
        case "nullable":
            return None if text in ("None", "") else text
    return text


def _size(text: str) -> int:
    """`4096`, `4k` and `25.6k` (powers of 1000) or `4Ki` (powers of 1024), as sglang reads sizes."""
    found = _SIZE.fullmatch(text.strip())
    if not found:
        return int(text)
    number, unit, binary = found.groups()
    if "." in number and binary:
        raise ValueError(text)
    return int(Decimal(number) * (1024 if binary else 1000) ** _UNITS[unit])


def _with_config(found: Arguments, files: bool, base: Path | None) -> Arguments:
    """The arguments with those of the `--config` file below them, as sglang merges them."""
    given = [
        o for o in found.occurrences if o.known and o.flag.dest == "config" and o.word.text == "--config" and o.texts
    ]
    if not given:
        return found
    config = read_config(given[0].texts[0], base) if files and not given[0].open else "it is not read here"
    if isinstance(config, str):
        found.open = True
        found.notes.append(f"the arguments in {given[0].texts[0]} are not known: {config}")
        return found
    below = _Reader(Arguments(found.release))
    below.read(_tokens(config, found.release))
    for dest, value in below.found.values.items():
        if dest not in found.values and dest not in found.unknown:
            found.values[dest] = value
            found.from_config.add(dest)
    required = [p for p in below.found.problems if not p.text.startswith("the following arguments")]
    found.problems = [p for p in found.problems if _still_missing(p, found)] + required
    return found


def _still_missing(problem: Problem, found: Arguments) -> bool:
    flag = found.release.options.get(problem.token)
    return not (problem.text.startswith("the following arguments") and flag and flag.dest in found.values)


def _tokens(config: dict[str, Any], release: ReleaseFlags) -> list[Word]:
    """A config file's entries as the words that sglang turns them into.

    A key becomes `--key` as it stands: `tp_size` is no flag to argparse, `tp-size` is.
    """
    tokens: list[str] = []
    for key, value in config.items():
        flag = release.options.get(f"--{key.replace('_', '-')}")
        if isinstance(value, bool):
            on_off = flag is not None and flag.action == "true"
            tokens += ([f"--{key}"] if value else []) if on_off else [f"--{key}", str(value).lower()]
        elif isinstance(value, list):
            tokens += [f"--{key}", *map(str, value)] if value else []
        else:
            tokens += [f"--{key}", json.dumps(value) if isinstance(value, dict) else str(value)]
    return [Word(start=0, text=token) for token in tokens]
