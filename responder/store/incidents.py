"""Incidents at rest: the newest state of each, what was said of it, and what people decided about it.

Every function that writes takes the connection of the caller's transaction.
"""

import sqlite3
from datetime import UTC, datetime

import msgspec

from responder.nouns import Incident, Status

KEPT = 90 * 24 * 3600.0
"""Seconds that incidents are kept after their last change."""


class Silence(msgspec.Struct, frozen=True, kw_only=True):
    """Nothing is told aloud of what this matches, until it ends."""

    number: int
    incident: str | None
    rule: str | None
    server: str | None
    until: float
    by: str
    at: float


def save(connection: sqlite3.Connection, incident: Incident, now: float) -> None:
    """Store the newest state of an incident.  Saving what is stored already changes nothing."""
    text = msgspec.json.encode(incident).decode()
    connection.execute(
        "INSERT INTO incident (id, fingerprint, server, rule, status, severity, known, changed, json)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
        " ON CONFLICT (id) DO UPDATE SET fingerprint = excluded.fingerprint, server = excluded.server,"
        " rule = excluded.rule, status = excluded.status, severity = excluded.severity, changed = excluded.changed,"
        " json = excluded.json WHERE json <> excluded.json",
        (
            incident.id,
            incident.fingerprint,
            incident.server.name,
            incident.rule,
            incident.status,
            incident.severity,
            now,
            now,
            text,
        ),
    )


def load(connection: sqlite3.Connection, incident_id: str) -> Incident | None:
    """The incident as people see it: with its acknowledgement and silence."""
    found = connection.execute("SELECT json FROM incident WHERE id = ?", (incident_id,)).fetchone()
    return _seen(connection, found[0]) if found else None


def known_since(connection: sqlite3.Connection, incident_id: str) -> float | None:
    """When responder first saw it, in wall clock seconds."""
    found = connection.execute("SELECT known FROM incident WHERE id = ?", (incident_id,)).fetchone()
    return float(found[0]) if found else None


def find(connection: sqlite3.Connection, prefix: str) -> list[Incident]:
    """Incidents whose id starts with `prefix`, as a person types it."""
    escaped = prefix.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    rows = connection.execute(
        "SELECT json FROM incident WHERE id LIKE ? ESCAPE '\\' ORDER BY changed DESC LIMIT 50", (f"{escaped}%",)
    )
    return [_seen(connection, text) for (text,) in rows.fetchall()]


def newest(connection: sqlite3.Connection, *, status: Status | None = None, limit: int = 100) -> list[Incident]:
    """The incidents that changed last, newest first."""
    found: list[Incident] = []
    for (text,) in connection.execute("SELECT json FROM incident ORDER BY changed DESC"):
        incident = _seen(connection, text)
        if status is None or incident.status == status:
            found.append(incident)
        if len(found) == limit:
            break
    return found


def unresolved(connection: sqlite3.Connection) -> list[Incident]:
    """What is still open or acknowledged, oldest first: what a restart goes on with."""
    rows = connection.execute("SELECT json FROM incident WHERE status <> 'resolved' ORDER BY known").fetchall()
    return [msgspec.json.decode(text, type=Incident) for (text,) in rows]


def counts(connection: sqlite3.Connection) -> dict[str, int]:
    """How many there are, by status; an acknowledgement counts as such."""
    found = {"open": 0, "acknowledged": 0, "resolved": 0}
    rows = connection.execute(
        "SELECT CASE WHEN status = 'open' AND id IN (SELECT incident FROM acknowledgement) THEN 'acknowledged'"
        " ELSE status END AS seen, count(*) FROM incident GROUP BY seen"
    )
    found.update(rows.fetchall())
    return found


def acknowledge(connection: sqlite3.Connection, incident_id: str, by: str, now: float) -> None:
    """A person has it in hand.  It ends when the incident is resolved."""
    connection.execute(
        "INSERT OR REPLACE INTO acknowledgement (incident, by, at) VALUES (?, ?, ?)", (incident_id, by, now)
    )
    look_at(connection, incident_id, now)


def acknowledged_by(connection: sqlite3.Connection, incident_id: str) -> str | None:
    """Who has it in hand."""
    found = connection.execute("SELECT by FROM acknowledgement WHERE incident = ?", (incident_id,)).fetchone()
    return str(found[0]) if found else None


def forget_acknowledgement(connection: sqlite3.Connection, incident_id: str) -> None:
    """It was resolved; should it come back, somebody has to take it in hand anew."""
    connection.execute("DELETE FROM acknowledgement WHERE incident = ?", (incident_id,))


def silence(
    connection: sqlite3.Connection,
    *,
    until: float,
    by: str,
    now: float,
    incident: str | None = None,
    rule: str | None = None,
    server: str | None = None,
) -> None:
    """Tell nothing aloud, until then, of what matches all that is given.  Raises ValueError where nothing is."""
    if incident is None and rule is None and server is None:
        raise ValueError("a silence needs an incident, a rule or a server")
    connection.execute(
        "INSERT INTO silence (incident, rule, server, until, by, at) VALUES (?, ?, ?, ?, ?, ?)",
        (incident, rule, server, until, by, now),
    )
    _look_at_matching(connection, incident, rule, server, now)


def silences(connection: sqlite3.Connection, now: float) -> list[Silence]:
    """Those in force, the one that ends first in front."""
    rows = connection.execute(
        "SELECT number, incident, rule, server, until, by, at FROM silence WHERE until > ? ORDER BY until", (now,)
    ).fetchall()
    names = Silence.__struct_fields__
    return [Silence(**dict(zip(names, row, strict=True))) for row in rows]


def end_silence(connection: sqlite3.Connection, number: int, now: float) -> bool:
    """End one before its time.  False where there is none in force under this number."""
    found = connection.execute(
        "UPDATE silence SET until = ? WHERE number = ? AND until > ? RETURNING incident, rule, server",
        (now, number, now),
    ).fetchone()
    if found is None:
        return False
    incident, rule, server = found
    _look_at_matching(connection, incident, rule, server, now)
    return True


def silenced_until(connection: sqlite3.Connection, incident: Incident) -> float | None:
    """When the last silence that matches the incident ends (it may have ended); None where none ever did."""
    (until,) = connection.execute(
        "SELECT max(until) FROM silence WHERE (incident IS NULL OR incident = ?) AND (rule IS NULL OR rule = ?)"
        " AND (server IS NULL OR server = ?)",
        (incident.id, incident.rule, incident.server.name),
    ).fetchone()
    return None if until is None else float(until)


def as_people_left_it(connection: sqlite3.Connection, incident: Incident, now: float = 0.0) -> Incident:
    """The incident with the acknowledgement and the silence that people gave it, unless that has ended by `now`."""
    until = silenced_until(connection, incident)
    until = until if until is not None and until > now else None
    stamp = datetime.fromtimestamp(until, UTC).isoformat(timespec="seconds") if until else None
    by = acknowledged_by(connection, incident.id) if incident.status == "open" else None
    status: Status = "acknowledged" if by else incident.status
    return msgspec.structs.replace(incident, status=status, acknowledged_by=by, silenced_until=stamp)


# --- What was said of it ---------------------------------------------------------------------------------------------


def told(connection: sqlite3.Connection, incident_id: str) -> str | None:
    """What was last said of the incident, as `note_told` got it."""
    found = connection.execute("SELECT told FROM telling WHERE incident = ?", (incident_id,)).fetchone()
    return found[0] if found else None


def note_told(
    connection: sqlite3.Connection, incident_id: str, told: str | None, look_at: float | None, post: str | None = None
) -> None:
    """Remember what was said, in which message, and when to decide again."""
    connection.execute(
        "INSERT OR REPLACE INTO telling (incident, told, post, look_at) VALUES (?, ?, ?, ?)",
        (incident_id, told, post, look_at),
    )


def look_at(connection: sqlite3.Connection, incident_id: str, when: float | None) -> None:
    """Decide again about the incident at that time; None: when it changes."""
    connection.execute(
        "INSERT INTO telling (incident, look_at) VALUES (?, ?)"
        " ON CONFLICT (incident) DO UPDATE SET look_at = excluded.look_at",
        (incident_id, when),
    )


def to_look_at(connection: sqlite3.Connection, now: float) -> list[Incident]:
    """The incidents whose time to decide again has come, oldest first."""
    rows = connection.execute(
        "SELECT json FROM incident JOIN telling ON incident = id WHERE look_at <= ? ORDER BY known", (now,)
    ).fetchall()
    return [msgspec.json.decode(text, type=Incident) for (text,) in rows]


def told_in(connection: sqlite3.Connection, post: str, limit: int) -> tuple[list[Incident], int]:
    """The first incidents that one shared message names, and how many it names in all."""
    (count,) = connection.execute("SELECT count(*) FROM telling WHERE post = ?", (post,)).fetchone()
    rows = connection.execute(
        "SELECT json FROM telling JOIN incident ON incident = id WHERE post = ? ORDER BY telling.rowid LIMIT ?",
        (post, limit),
    ).fetchall()
    return [msgspec.json.decode(text, type=Incident) for (text,) in rows], int(count)


def next_look(connection: sqlite3.Connection) -> float | None:
    """When the next of them falls due."""
    (when,) = connection.execute("SELECT min(look_at) FROM telling").fetchone()
    return None if when is None else float(when)


def prune(connection: sqlite3.Connection, now: float, kept: float = KEPT) -> None:
    """Delete what was resolved and changed long ago, with all that belongs to it."""
    connection.execute("DELETE FROM incident WHERE status = 'resolved' AND changed < ?", (now - kept,))
    for table in ("telling", "acknowledgement"):
        connection.execute(f"DELETE FROM {table} WHERE incident NOT IN (SELECT id FROM incident)")
    connection.execute("DELETE FROM silence WHERE until < ?", (now - kept,))


def _look_at_matching(
    connection: sqlite3.Connection, incident: str | None, rule: str | None, server: str | None, now: float
) -> None:
    connection.execute(
        "UPDATE telling SET look_at = :now WHERE incident IN (SELECT id FROM incident WHERE status <> 'resolved'"
        " AND (:incident IS NULL OR id = :incident) AND (:rule IS NULL OR rule = :rule)"
        " AND (:server IS NULL OR server = :server))",
        {"incident": incident, "rule": rule, "server": server, "now": now},
    )


def _seen(connection: sqlite3.Connection, text: str) -> Incident:
    return as_people_left_it(connection, msgspec.json.decode(text, type=Incident))
