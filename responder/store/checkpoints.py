"""How far each followed file has been read, and how to know the file again."""

import os
import sqlite3
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple


class Marker(NamedTuple):
    """A fingerprint of a few bytes of a file."""

    size: int
    digest: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """One file: which it is, and where to go on reading."""

    device: int
    inode: int
    file_id: str
    """Its name for good; empty while nothing has been read of it."""
    generation: int
    """How often a file with this device and inode has begun anew: truncated, or deleted and the inode reused."""
    path: str
    """As named to the user."""
    real_path: str
    """With symbolic links resolved: its rotated siblings lie beside it."""
    offset: int
    """Of the first byte still to be read: the start of a line, except where `cut`."""
    shown: int = 0
    """That many bytes behind `offset` went out already, as an unfinished line."""
    held: int | None = None
    """Where to go on all the same: the start of a line that was read and is still needed; None: at `offset`."""
    cut: bool = False
    """The offset lies inside an overlong line whose beginning went out."""
    head: Marker
    """Of the file's first bytes."""
    tail: Marker
    """Of the bytes before `offset`."""
    modified_ns: int
    """The file's modification time when it was last looked at under `path`."""
    seen: float
    """Wall clock, seconds, when the file was last known to exist."""
    forget: bool = False
    """The file has been gone for long: `save` deletes the row."""


@dataclass(frozen=True, slots=True)
class Saved:
    """What an earlier run left."""

    checkpoints: tuple[Checkpoint, ...] = ()
    targets: Mapping[str, float] = field(default_factory=dict)
    """The paths and globs that were followed, with the wall clock's seconds since when.  A file that is new under one
    of them appeared after that: it is read whole."""


_COLUMNS = (
    "device, inode, file_id, generation, path, real_path, offset, shown, cut, head_size, head, tail_size, tail,"
    " modified_ns, seen, held"
)
_SAVE = f"INSERT OR REPLACE INTO checkpoint ({_COLUMNS}) VALUES ({', '.join('?' * (_COLUMNS.count(',') + 1))})"


def load(connection: sqlite3.Connection) -> Saved:
    """Everything known of followed files."""
    rows = connection.execute(f"SELECT {_COLUMNS} FROM checkpoint")
    targets = connection.execute("SELECT target, since FROM followed_target")
    return Saved(tuple(map(_checkpoint, rows)), {os.fsdecode(target): since for target, since in targets})


def save(connection: sqlite3.Connection, checkpoints: Iterable[Checkpoint]) -> None:
    """Store them, each in the place of what was known of its device and inode.  Inside the caller's transaction."""
    for checkpoint in checkpoints:
        if checkpoint.forget:
            key = (str(checkpoint.device), str(checkpoint.inode))
            connection.execute("DELETE FROM checkpoint WHERE device = ? AND inode = ?", key)
        else:
            connection.execute(_SAVE, _row(checkpoint))


def remember_targets(connection: sqlite3.Connection, targets: Iterable[str], wall: float) -> None:
    """Note what is being followed from now on, for the next start.  Inside the caller's transaction."""
    connection.executemany(
        "INSERT OR IGNORE INTO followed_target (target, since) VALUES (?, ?)",
        [(os.fsencode(target), wall) for target in targets],
    )


def _row(c: Checkpoint) -> tuple[object, ...]:
    where = (os.fsencode(c.path), os.fsencode(c.real_path), c.offset, c.shown, int(c.cut))
    named = (str(c.device), str(c.inode), c.file_id, c.generation)
    return (*named, *where, *c.head, *c.tail, c.modified_ns, c.seen, c.held)


def _checkpoint(row: tuple[Any, ...]) -> Checkpoint:
    device, inode, file_id, generation, path, real_path, offset, shown, cut, *markers, modified_ns, seen, held = row
    return Checkpoint(
        device=int(device),
        inode=int(inode),
        file_id=file_id,
        generation=generation,
        path=os.fsdecode(path),
        real_path=os.fsdecode(real_path),
        offset=offset,
        shown=shown,
        held=held,
        cut=bool(cut),
        head=Marker(*markers[:2]),
        tail=Marker(*markers[2:]),
        modified_ns=modified_ns,
        seen=seen,
    )
