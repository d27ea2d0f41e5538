"""Crashes that were counted: what makes reading a log twice harmless, and what makes a restart's crash the same fault.

A crash's id names the place of its first line, so the same crash is the same row however often it is read.
"""

import sqlite3
from collections.abc import Mapping

import msgspec

from responder.nouns import Incident
from responder.store import incidents


def fold(
    connection: sqlite3.Connection, incident: Incident, crashes: Mapping[str, tuple[int, int]], now: float
) -> Incident:
    """The incident with the crashes of its fault that were counted before, under the id it was first known by.

    `crashes` gives lines and attempts by crash id.  Writes them in the caller's transaction.
    """
    known = _known_as(connection, incident, crashes)
    for crash, (lines, attempts) in crashes.items():
        connection.execute(
            "INSERT INTO crash (id, incident, lines, attempts, known) VALUES (?, ?, ?, ?, ?)"
            " ON CONFLICT (id) DO UPDATE SET incident = excluded.incident,"
            " lines = max(lines, excluded.lines), attempts = max(attempts, excluded.attempts)",
            (crash, known, lines, attempts, now),
        )
    lines, attempts = connection.execute(
        "SELECT sum(lines), sum(attempts) FROM crash WHERE incident = ?", (known,)
    ).fetchone()
    incident = msgspec.structs.replace(incident, id=known, lines=lines, attempts=attempts)
    before = incidents.load(connection, known)
    return incident if before is None else _as_first_seen(before, incident)


def prune(connection: sqlite3.Connection) -> None:
    """Forget the crashes of incidents that are no more.  Inside the caller's transaction."""
    connection.execute("DELETE FROM crash WHERE incident NOT IN (SELECT id FROM incident)")


def _known_as(connection: sqlite3.Connection, incident: Incident, crashes: Mapping[str, tuple[int, int]]) -> str:
    """The id under which the fault is known: of the incident that one of its crashes was counted for, else of an open
    one that looks the same."""
    marks = ", ".join("?" * len(crashes))
    row = connection.execute(
        f"SELECT incident FROM crash WHERE id IN ({marks}) ORDER BY known LIMIT 1", tuple(crashes)
    ).fetchone()
    if row is None:
        row = connection.execute(
            "SELECT id FROM incident WHERE fingerprint = ? AND status <> 'resolved' ORDER BY known LIMIT 1",
            (incident.fingerprint,),
        ).fetchone()
    return str(row[0]) if row else incident.id


def _as_first_seen(before: Incident, now: Incident) -> Incident:
    """What was seen first stays: when, and (while the cause is the same) the line that proved it."""
    same = before.rule == now.rule
    return msgspec.structs.replace(
        now,
        first_seen=before.first_seen or now.first_seen,
        # A restart reads again from the crash's first line, and not the stamp above it.
        last_seen=now.last_seen or before.last_seen,
        clock=before.clock if before.first_seen else now.clock,
        evidence=before.evidence if same else now.evidence,
        ranks=tuple(dict.fromkeys([*before.ranks, *now.ranks])),
    )
