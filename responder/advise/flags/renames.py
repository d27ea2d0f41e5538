"""What became of renamed, split and removed flags, read forward (old to new) and backward (new to old).

The data, with its sources, is `renames.toml`.
"""

import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

import msgspec

RENAMES = Path(__file__).with_name("renames.toml")

Setting = tuple[str, str | bool]
"""A flag and its value; True is a flag without one."""


class Rename(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One change: a command that holds every flag of `old` says the same with `new`."""

    old: dict[str, str | bool]
    new: dict[str, str | bool]
    source: str
    values: dict[str, str] = {}

    @property
    def first(self) -> str:
        """The flag of `new` that stands for the whole when read backward."""
        return next(iter(self.new))

    def forward(self, typed: Mapping[str, str | bool]) -> tuple[Setting, ...] | None:
        """What replaces the old flags, given the values of those typed (and `--tp-size`); None where unsure."""
        value = next((typed.get(flag) for flag, given in self.old.items() if given == "{value}"), None)
        known = {"{value}": self.values.get(str(value)) if self.values else value, "{tp_size}": typed.get("--tp-size")}
        settings = [(flag, known.get(str(given), given)) for flag, given in self.new.items()]
        sure = tuple((flag, given) for flag, given in settings if given is not None)
        return sure if len(sure) == len(settings) else None

    def backward(self, value: str | bool) -> tuple[Setting, ...] | None:
        """How `first` = `value` is spelled with the old flags; None where they cannot say it."""
        given = self.new[self.first]
        if given != "{value}":
            return tuple(self.old.items()) if given == value and "{value}" not in self.old.values() else None
        if self.values:
            value = next((old for old, new in self.values.items() if new == value), False)
        return tuple((f, value if g == "{value}" else g) for f, g in self.old.items()) if value is not False else None


class ValueRename(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A value of some flags that got another name."""

    flags: tuple[str, ...]
    old: str
    new: str
    source: str


class Renames(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All of them."""

    rename: tuple[Rename, ...]
    value: tuple[ValueRename, ...] = ()

    @staticmethod
    @cache
    def load() -> "Renames":
        """Those of the package."""
        return msgspec.convert(tomllib.loads(RENAMES.read_text()), Renames)

    def to(self, flag: str) -> Iterator[Rename]:
        """The renames that ended in `flag`."""
        return (rename for rename in self.rename if flag in rename.new)

    def of(self, flag: str) -> Iterator[Rename]:
        """The renames that `flag` went through."""
        return (rename for rename in self.rename if flag in rename.old)

    def old_value(self, flag: str, value: str) -> str | None:
        """The earlier name of a value, if it had one."""
        return next((v.old for v in self.value if flag in v.flags and v.new == value), None)
