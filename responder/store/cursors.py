"""How far each journal has been read."""

import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Cursor:
    """Where to go on in the journal of one unit, or of the kernel."""

    source: str
    """For whom which journal is read: `llama/journal:sglang.service`, `llama/journal:kernel`."""
    file_id: str
    """Its name for good: with an offset it names a line."""
    cursor: str = ""
    """journald's own name of the last entry that is behind us; empty while there is none."""
    offset: int = 0
    """Bytes of entries before that place, as journalctl writes them."""
    since: float = 0.0
    """Wall clock, seconds: where to go on while there is no cursor, or where journald does not know it any more."""


_SAVE = "INSERT OR REPLACE INTO journal_cursor (source, file_id, cursor, offset, since) VALUES (?, ?, ?, ?, ?)"


def load(connection: sqlite3.Connection) -> dict[str, Cursor]:
    """Every journal's place, by its source."""
    rows = connection.execute("SELECT source, file_id, cursor, offset, since FROM journal_cursor")
    return {
        source: Cursor(source=source, file_id=file_id, cursor=cursor, offset=offset, since=since)
        for source, file_id, cursor, offset, since in rows
    }


def save(connection: sqlite3.Connection, cursors: Iterable[Cursor]) -> None:
    """Store them, each in the place of what was known of its source.  Inside the caller's transaction."""
    connection.executemany(_SAVE, [(c.source, c.file_id, c.cursor, c.offset, c.since) for c in cursors])
