"""Which files are one log: a rotated family, or pieces that follow each other in time."""

import re
from collections.abc import Iterable
from datetime import datetime, timedelta
from pathlib import Path

import msgspec

from responder.sources.prefix import parse_prefix

_ROTATED = re.compile(
    r"(?:[.-](?:\d{1,3}|\d{4}-?\d\d-?\d\d(?:[-T_]?\d{2,6})*))*(?:\.(?:gz|zst|xz|bz2))?$", re.IGNORECASE
)
_NUMBER = re.compile(r"\.(\d{1,3})(?:\.(?:gz|zst|xz|bz2))?$")
_LAUNCH = re.compile(rb"server_args=|Attention backend not s|'python -m sglang\.launch_server' is still supported")
"""What only a launch prints, of all releases; the catalogue's markers say the same at more length."""
_PACKED = (".gz", ".zst", ".xz", ".bz2")
_PROBE = 64 * 1024

LONGEST_GAP = timedelta(hours=1)
"""Between the end of one piece of a log and the beginning of the next."""

_NAMELESS = frozenset({"server", "sglang", "log", "logs", "out", "output", "stdout", "stderr", "current", "0", "nohup"})


class Piece(msgspec.Struct, kw_only=True):
    """One file, and when its first and last stamped lines were written."""

    path: Path
    first: datetime | None = None
    last: datetime | None = None
    launches: bool = False
    """A server starts near its beginning, so nothing before it belongs to it."""
    goes_on: bool = False
    """Its first line is the inside of a traceback."""

    @property
    def family(self) -> tuple[Path, str]:
        """Alike for a log and its rotated siblings."""
        return self.path.parent, _ROTATED.sub("", self.path.name)

    @property
    def age(self) -> int:
        """The rotation number: `log.2` is older than `log.1`, which is older than `log`."""
        number = _NUMBER.search(self.path.name)
        return int(number[1]) if number else 0


def chains(paths: Iterable[Path]) -> list[list[Path]]:
    """The files, grouped into logs, each in the order it was written.

    Rotated siblings are one log, from old to new.  So are files of one folder of which each begins where the last one
    ended, without a launch of its own; pieces whose times overlap were written side by side, by servers of their own.
    """
    families: dict[tuple[Path, str], list[Piece]] = {}
    for path in paths:
        piece = probe(path)
        families.setdefault(piece.family, []).append(piece)
    logs = [sorted(family, key=lambda piece: -piece.age) for family in families.values()]
    if all(log[0].first for log in logs):
        logs.sort(key=lambda log: log[0].first or datetime.min)
    joined: list[list[Piece]] = []
    for log in logs:
        if joined and _continues(joined[-1][-1], log[0]):
            joined[-1] += log
        else:
            joined.append(log)
    return [[piece.path for piece in log] for log in joined]


def probe(path: Path) -> Piece:
    """The times at both ends of a file; none for an archive's or standard input's."""
    if str(path) == "-" or path.suffix.lower() in _PACKED:
        return Piece(path=path)
    try:
        with path.open("rb") as file:
            head = file.read(_PROBE)
            file.seek(max(0, file.seek(0, 2) - _PROBE))
            tail = file.read(_PROBE)
    except OSError:
        return Piece(path=path)
    return Piece(
        path=path,
        first=_first_time(head.splitlines()),
        last=_first_time(reversed(tail.splitlines())),
        launches=_LAUNCH.search(head) is not None,
        goes_on=head[:1] in (b" ", b"\t"),
    )


def server_name(chain: list[Path]) -> str:
    """What to call the server of a log: the file's name, or its folder's where that says nothing."""
    path = chain[-1]
    if str(path) == "-":
        return "stdin"
    name = _ROTATED.sub("", path.name).removesuffix(".log").removesuffix(".txt") or path.name
    return (path.resolve().parent.name or name) if name.lower() in _NAMELESS else name


def _continues(before: Piece, after: Piece) -> bool:
    """Whether a file may be the next piece of the log that another one ends."""
    if before.path.parent != after.path.parent or "-" in (str(before.path), str(after.path)) or after.launches:
        return False
    if before.last is None or after.first is None:
        return after.goes_on or _series(before.path) == _series(after.path)
    return timedelta(0) <= after.first - before.last <= LONGEST_GAP


def _series(path: Path) -> str:
    """The name without what tells its pieces apart: `part-1`, `part-2`; `a.log`, `b.log`."""
    return re.sub(r"\d+|(?<![a-z])[a-z](?![a-z])", "#", path.name.lower())


def _first_time(lines: Iterable[bytes]) -> datetime | None:
    for line in lines:
        time = parse_prefix(line[:4096].decode("utf-8", "replace")).time
        if time is not None:
            return time.replace(tzinfo=None)
    return None
