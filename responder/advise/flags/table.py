"""The flags of every sglang release, and what one release makes of a token.

The data is `flags.json`, written by `responder.advise.flags.extract` from the released wheels: per flag the runs of
releases in which its declaration is the same.
"""

import difflib
from collections.abc import Iterable, Iterator
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import msgspec
from packaging.version import InvalidVersion, Version

from responder.advise.flags.flag import Flag
from responder.advise.flags.renames import Renames, Setting

TABLE = Path(__file__).with_name("flags.json")

HELP = Flag(names=("-h", "--help"), dest="help", action="ignored")
"""argparse's own; it takes part in abbreviations."""


class Run(Flag, frozen=True, kw_only=True, omit_defaults=True):
    """A flag as it stands in a run of releases."""

    since: str
    until: str


class Table(msgspec.Struct, frozen=True, kw_only=True):
    """The file: the releases that were read, oldest first, and the runs of their flags."""

    releases: tuple[str, ...] = ()
    flags: tuple[Run, ...] = ()

    @staticmethod
    def read(path: Path) -> "Table":
        """The table in `path`."""
        return msgspec.json.decode(path.read_bytes(), type=Table)

    def write(self, path: Path) -> None:
        """Writes the table, one run a line: a release more is a readable change."""
        lines = ",\n".join(msgspec.json.encode(run).decode() for run in self.flags)
        releases = msgspec.json.encode(self.releases).decode()
        path.write_text(f'{{"releases":{releases},\n"flags":[\n{lines}\n]}}\n')

    def of(self, release: str) -> list[Flag]:
        """The flags of a release that was read."""
        at = self.releases.index(release)
        index = self.releases.index
        return [_strip(run) for run in self.flags if index(run.since) <= at <= index(run.until)]

    def with_release(self, release: str, flags: Iterable[Flag]) -> "Table":
        """This table with `release` added, or read anew."""
        every = {r: self.of(r) for r in self.releases} | {release: list(flags)}
        releases = tuple(sorted(every, key=Version))
        return Table(releases=releases, flags=tuple(_runs(releases, every)))


def _strip(run: Run) -> Flag:
    return Flag(**{field: getattr(run, field) for field in Flag.__struct_fields__})


def _runs(releases: tuple[str, ...], every: dict[str, list[Flag]]) -> Iterator[Run]:
    """The runs of releases in which a flag is declared alike, in the order of the newest release's flags."""
    names = dict.fromkeys(flag.name for release in reversed(releases) for flag in every[release])
    by_name = {release: {flag.name: flag for flag in flags} for release, flags in every.items()}
    for name in names:
        start: str | None = None
        last, flag = "", None
        for release in releases:
            now = by_name[release].get(name)
            if now != flag:
                if flag is not None and start is not None:
                    yield _run(flag, start, last)
                start, flag = release, now
            last = release
        if flag is not None and start is not None:
            yield _run(flag, start, last)


def _run(flag: Flag, since: str, until: str) -> Run:
    return Run(**msgspec.structs.asdict(flag), since=since, until=until)


class Ambiguous(msgspec.Struct, frozen=True):
    """An abbreviation that several flags begin with: argparse refuses it."""

    token: str
    candidates: tuple[str, ...]


class Unknown(msgspec.Struct, frozen=True):
    """A token that is no flag of this release: argparse refuses it."""

    token: str
    close: tuple[str, ...] = ()
    """Flags of this release that look like it."""


class ReleaseFlags:
    """The flags of one release."""

    def __init__(self, version: str, flags: tuple[Flag, ...], *, asked: str | None = None) -> None:
        self.version = version
        """The release whose table this is."""
        self.asked = asked
        """The release that was asked for; None where nobody knew it."""
        self.flags = flags

    @property
    def exact(self) -> bool:
        """Whether this is the very release that was asked for."""
        return self.asked == self.version

    @property
    def note(self) -> str:
        """One sentence on the guess, or nothing."""
        if self.exact:
            return ""
        if self.asked is None:
            return f"sglang's version is not known; flags are spelled as in {self.version}"
        return f"the flags of sglang {self.asked} are not known; those of {self.version} are used"

    @cached_property
    def options(self) -> dict[str, Flag]:
        """Every option string of the release, in argparse's order."""
        every = dict.fromkeys(HELP.names, HELP)
        return every | {option: flag for flag in self.flags for option in flag.options}

    @cached_property
    def by_dest(self) -> dict[str, tuple[Flag, ...]]:
        """The flags that set a dest; the plain one first, deprecated spellings after it."""
        found: dict[str, list[Flag]] = {}
        for flag in sorted(self.flags, key=lambda f: (f.instead is not None, f.action == "const")):
            found.setdefault(flag.dest, []).append(flag)
        return {dest: tuple(flags) for dest, flags in found.items()}

    def resolve(self, token: str) -> Flag | Ambiguous | Unknown:
        """The flag that `token` (`--tp`, `--tp-size=2`) means to argparse, abbreviations included."""
        name = token.partition("=")[0]
        exact = self.options.get(name)
        if exact is not None:
            return exact
        candidates = tuple(o for o in self.options if o.startswith(name)) if name.startswith("--") else ()
        if len(candidates) == 1:
            return self.options[candidates[0]]
        if candidates:
            return Ambiguous(token, candidates)
        return Unknown(token, tuple(difflib.get_close_matches(name, self.options, n=3, cutoff=0.75)))

    def has(self, name: str) -> bool:
        """Whether the release knows exactly this flag and would act on it (a retired one does not count)."""
        flag = self.options.get(name)
        return flag is not None and flag.action not in ("refused", "ignored")

    def accepts(self, name: str, value: str | bool) -> bool:
        """Whether the release would take this flag with this value, as far as its declaration tells."""
        flag = self.options.get(name)
        if flag is None or not self.has(name):
            return False
        if isinstance(value, bool):
            return not flag.takes_value
        return flag.takes_value and (flag.choices is None or set(value.split()) <= {str(c) for c in flag.choices})

    def spell(self, flag: str, value: str | bool) -> list[Setting] | None:
        """How this release spells a flag of the newest one; None where it cannot be said there at all."""
        if self.accepts(flag, value):
            return [(flag, value)]
        if self.has(flag) and isinstance(value, str):
            old = Renames.load().old_value(flag, value)
            return [(flag, old)] if old is not None and self.accepts(flag, old) else None
        for settings in self.older(flag, value):
            return list(settings)
        return None

    def older(self, flag: str, value: str | bool) -> Iterator[tuple[Setting, ...]]:
        """The earlier spellings of `flag` = `value` that this release still takes."""
        for rename in Renames.load().to(flag):
            settings = rename.backward(value) if rename.first == flag else None
            if settings is not None and all(self.accepts(name, given) for name, given in settings):
                yield settings

    def defaults(self) -> dict[str, Any]:
        """dest -> default, for every dest whose default is a constant of the release."""
        return {dest: flags[0].default for dest, flags in self.by_dest.items() if not flags[0].computed}


class FlagTable:
    """The flags of every release from 0.4.0 on."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self._release = cache(self._make)

    @staticmethod
    @cache
    def load() -> "FlagTable":
        """The table of the package."""
        return FlagTable(Table.read(TABLE))

    def ever(self, name: str) -> Flag | None:
        """The flag of this name in the newest release that had it."""
        return next((run for run in reversed(self._table.flags) if name in run.options), None)

    @property
    def releases(self) -> tuple[str, ...]:
        """The releases that were read, oldest first."""
        return self._table.releases

    def release(self, version: str | None) -> ReleaseFlags:
        """The flags of the nearest release that was read and is not newer than `version`; the newest for None."""
        return self._release(version)

    def _make(self, version: str | None) -> ReleaseFlags:
        nearest = self._nearest(version)
        return ReleaseFlags(nearest, tuple(self._table.of(nearest)), asked=version)

    def _nearest(self, version: str | None) -> str:
        if version in self.releases:
            return str(version)
        try:
            wanted = Version(version) if version else None
        except InvalidVersion:
            wanted = None
        if wanted is None:
            return self.releases[-1]
        older = [r for r in self.releases if Version(r) <= wanted]
        return older[-1] if older else self.releases[0]
