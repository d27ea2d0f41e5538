"""What people decided by pressing a button under a message: who, when, what.  Each press counts once."""

import sqlite3
from typing import Literal, get_args

import msgspec

Action = Literal["acknowledge", "silence", "silence-rule"]
ACTIONS: tuple[Action, ...] = get_args(Action)


class Press(msgspec.Struct, frozen=True, kw_only=True):
    """One button pressed once, by somebody who may."""

    key: str
    """Names this press and no other, so that hearing of it twice changes nothing."""
    incident: str
    action: Action
    by: str
    at: float
    """Wall clock seconds."""


def note(connection: sqlite3.Connection, press: Press) -> bool:
    """Record a press.  False where it was known."""
    done = connection.execute(
        "INSERT OR IGNORE INTO press (key, incident, action, by, at) VALUES (:key, :incident, :action, :by, :at)",
        msgspec.structs.asdict(press),
    )
    return done.rowcount == 1


def of(connection: sqlite3.Connection, incident: str) -> list[Press]:
    """The presses under one incident's message, oldest first."""
    rows = connection.execute(
        "SELECT key, incident, action, by, at FROM press WHERE incident = ? ORDER BY at", (incident,)
    )
    return [Press(**dict(zip(Press.__struct_fields__, row, strict=True))) for row in rows.fetchall()]


def prune(connection: sqlite3.Connection, before: float) -> None:
    """Delete presses older than that moment."""
    connection.execute("DELETE FROM press WHERE at < ?", (before,))
