"""What is to be sent, and how far each of it has come: a queue on the disk, so that nothing waits in memory.

A row is `queued`, then `sending`, then `sent`; or `ambiguous`, when nobody knows whether Slack took it; or `dead`, when
it never will.  Every function that writes takes the connection of the caller's transaction.  The one commit that must
be durable is that of `begin`: after it, and only after it, the row may be on its way, and a row that a kill left in
`sending` is `ambiguous` to the next start.
"""

import sqlite3
from typing import Any, Literal

import msgspec

Kind = Literal["post", "reply", "broadcast", "update"]
State = Literal["queued", "sending", "ambiguous", "sent", "dead"]

KEPT = 30 * 24 * 3600.0
"""Seconds that finished rows are kept; posts longer, for as long as there may be an edit or a reply to them."""

_NAMES = (
    "key", "incident", "kind", "parent", "channel", "payload", "state", "attempts", "plain", "queued", "due",
    "first_sent", "channel_id", "ts", "error",
)  # fmt: skip
_COLUMNS = ", ".join(_NAMES)


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One message to send, and what is known of it."""

    key: str
    incident: str
    kind: Kind
    parent: str | None
    channel: str
    payload: dict[str, Any]
    state: State
    attempts: int
    plain: bool
    queued: float
    due: float
    first_sent: float | None
    channel_id: str | None
    ts: str | None
    error: str | None
    parent_ts: str | None = None
    """Timestamp of the post it belongs to."""
    parent_channel_id: str | None = None


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """How an attempt to send a row ended."""

    key: str
    state: Literal["sent", "queued", "ambiguous", "dead"]
    """`queued`: it surely did not arrive and goes again; `ambiguous`: it may have arrived."""
    due: float | None = None
    """When to try again."""
    channel_id: str | None = None
    ts: str | None = None
    error: str | None = None
    plain: bool = False


def put(
    connection: sqlite3.Connection,
    *,
    key: str,
    incident: str,
    kind: Kind,
    channel: str,
    payload: dict[str, Any],
    now: float,
    parent: str | None = None,
    due: float | None = None,
) -> None:
    """Queue a message.  One that was queued under this key before is left as it is."""
    connection.execute(
        "INSERT OR IGNORE INTO outbox (key, incident, kind, parent, channel, payload, state, queued, due)"
        " VALUES (?, ?, ?, ?, ?, ?, 'queued', ?, ?)",
        (key, incident, kind, parent, channel, _encode(payload), now, now if due is None else due),
    )
    _bury_orphans(connection, now)


def adopt(connection: sqlite3.Connection, *, key: str, channel_id: str, ts: str, now: float) -> None:
    """Know a post that another process sent, so that a reply can go into its thread."""
    connection.execute(
        "INSERT OR IGNORE INTO outbox (key, incident, kind, channel, payload, state, queued, due, done, channel_id, ts)"
        " VALUES (:key, '', 'post', :channel, '{}', 'sent', :now, :now, :now, :channel, :ts)",
        {"key": key, "channel": channel_id, "ts": ts, "now": now},
    )


def put_update(
    connection: sqlite3.Connection, *, incident: str, parent: str, channel: str, payload: dict[str, Any], now: float
) -> None:
    """Queue an edit of the post `parent`.  It takes the place of one that still waits: only the last state matters."""
    waiting = connection.execute(
        "UPDATE outbox SET payload = ?, plain = 0 WHERE parent = ? AND kind = 'update' AND state = 'queued'",
        (_encode(payload), parent),
    )
    if waiting.rowcount == 0:
        # By the newest row, not by how many there are: old ones are deleted, and a key that is taken queues nothing.
        (newest,) = connection.execute("SELECT coalesce(max(number), 0) FROM outbox").fetchone()
        put(
            connection,
            key=f"{parent}:update:{newest + 1}",
            incident=incident,
            kind="update",
            channel=channel,
            payload=payload,
            now=now,
            parent=parent,
        )


def replace_queued(connection: sqlite3.Connection, key: str, payload: dict[str, Any]) -> None:
    """Say something else than was queued, as long as it has not gone out."""
    connection.execute(
        "UPDATE outbox SET payload = ? WHERE key = ? AND state = 'queued' AND attempts = 0", (_encode(payload), key)
    )


def next_due(connection: sqlite3.Connection, now: float) -> Row | None:
    """The row to send now: a reply or an edit waits until its post is known to be there.

    The oldest goes first, but one that failed before lets the others pass, for what ails it may be its own.
    """
    found = connection.execute(
        f"SELECT {', '.join(f'o.{name}' for name in _NAMES)}, p.ts, p.channel_id"
        " FROM outbox o LEFT JOIN outbox p ON p.key = o.parent"
        " WHERE o.state IN ('queued', 'ambiguous') AND o.due <= ? AND (o.parent IS NULL OR p.ts IS NOT NULL)"
        " ORDER BY o.attempts > 0, o.number LIMIT 1",
        (now,),
    ).fetchone()
    return _row(found) if found else None


def next_wake(connection: sqlite3.Connection) -> float | None:
    """When the next row that has what it needs falls due; None where there is none."""
    (due,) = connection.execute(
        "SELECT min(o.due) FROM outbox o LEFT JOIN outbox p ON p.key = o.parent"
        " WHERE o.state IN ('queued', 'ambiguous') AND (o.parent IS NULL OR p.ts IS NOT NULL)"
    ).fetchone()
    return None if due is None else float(due)


def begin(connection: sqlite3.Connection, key: str, now: float) -> None:
    """The row is about to be sent.  Commit this durably before a byte goes out."""
    connection.execute(
        "UPDATE outbox SET state = 'sending', attempts = attempts + 1, first_sent = coalesce(first_sent, ?)"
        " WHERE key = ?",
        (now, key),
    )


def settle(connection: sqlite3.Connection, outcome: Outcome, now: float) -> None:
    """Note how sending ended."""
    connection.execute(
        "UPDATE outbox SET state = :state, due = coalesce(:due, due), channel_id = coalesce(:channel_id, channel_id),"
        " ts = coalesce(:ts, ts), error = :error, plain = max(plain, :plain),"
        " done = CASE WHEN :state IN ('sent', 'dead') THEN :now END WHERE key = :key",
        msgspec.structs.asdict(outcome) | {"now": now},
    )
    if outcome.state == "dead":
        _bury_orphans(connection, now)


def recover(connection: sqlite3.Connection, now: float) -> int:
    """At the start: what was on its way when the process died may or may not have arrived.  Says how many."""
    return connection.execute("UPDATE outbox SET state = 'ambiguous', due = ? WHERE state = 'sending'", (now,)).rowcount


def revive(connection: sqlite3.Connection, now: float, since: float) -> int:
    """Queue dead rows again that are younger than `since`: the token or the channel may have been put right.

    What Slack refused for its content stays dead, and what was ever on its way is asked for before it goes again: an
    attempt before the last one may have arrived.  Says how many.
    """
    return connection.execute(
        "UPDATE outbox SET state = CASE WHEN first_sent IS NULL THEN 'queued' ELSE 'ambiguous' END, due = ?,"
        " attempts = 0, done = NULL WHERE state = 'dead' AND queued >= ? AND plain = 0",
        (now, since),
    ).rowcount


def counts(connection: sqlite3.Connection) -> dict[State, int]:
    """How many rows are in each state."""
    found: dict[State, int] = {"queued": 0, "sending": 0, "ambiguous": 0, "sent": 0, "dead": 0}
    found.update(connection.execute("SELECT state, count(*) FROM outbox GROUP BY state").fetchall())
    return found


def dead(connection: sqlite3.Connection, limit: int = 20) -> list[Row]:
    """The newest dead letters, for `responder check`; what only fell with its post is not named besides it."""
    rows = connection.execute(
        f"SELECT {_COLUMNS} FROM outbox WHERE state = 'dead' AND error IS NOT ? ORDER BY number DESC LIMIT ?",
        (_ORPHAN, limit),
    ).fetchall()
    return [_row((*row, None, None)) for row in rows]


def newest_finished_is_dead(connection: sqlite3.Connection) -> bool:
    """Whether the message that ended last was one that Slack would not take."""
    found = connection.execute("SELECT state FROM outbox WHERE done IS NOT NULL ORDER BY done DESC LIMIT 1").fetchone()
    return found is not None and found[0] == "dead"


def stuck(connection: sqlite3.Connection) -> Row | None:
    """The oldest row that failed and goes again."""
    found = connection.execute(
        f"SELECT {_COLUMNS} FROM outbox WHERE state IN ('queued', 'ambiguous') AND error IS NOT NULL"
        " ORDER BY number LIMIT 1"
    ).fetchone()
    return _row((*found, None, None)) if found else None


def get(connection: sqlite3.Connection, key: str) -> Row | None:
    """The row under this key."""
    found = connection.execute(f"SELECT {_COLUMNS} FROM outbox WHERE key = ?", (key,)).fetchone()
    return _row((*found, None, None)) if found else None


def channel_id(connection: sqlite3.Connection, channel: str) -> str | None:
    """The id that Slack last answered with for a channel that is configured by name."""
    found = connection.execute(
        "SELECT channel_id FROM outbox WHERE channel = ? AND channel_id IS NOT NULL ORDER BY number DESC LIMIT 1",
        (channel,),
    ).fetchone()
    return str(found[0]) if found else None


class Post(msgspec.Struct, frozen=True, kw_only=True):
    """The message about one incident, as Slack knows it."""

    incident: str
    channel_id: str
    ts: str


def open_posts(connection: sqlite3.Connection, limit: int = 100) -> list[Post]:
    """The messages of incidents that are not over, newest first."""
    rows = connection.execute(
        "SELECT i.id, o.channel_id, o.ts FROM incident i JOIN telling t ON t.incident = i.id"
        " JOIN outbox o ON o.key = t.post WHERE i.status <> 'resolved' AND o.incident = i.id AND o.ts IS NOT NULL"
        " AND o.channel_id IS NOT NULL ORDER BY o.number DESC LIMIT ?",
        (limit,),
    ).fetchall()
    return [Post(incident=incident, channel_id=channel_id, ts=ts) for incident, channel_id, ts in rows]


def loud_since(connection: sqlite3.Connection, since: float) -> int:
    """How many messages that ping were queued after `since`."""
    (count,) = connection.execute(
        "SELECT count(*) FROM outbox WHERE kind IN ('post', 'broadcast') AND queued > ?", (since,)
    ).fetchone()
    return int(count)


def prune(connection: sqlite3.Connection, now: float, kept: float = KEPT) -> None:
    """Delete rows that were finished long ago, but not the posts of incidents that are still known."""
    connection.execute(
        "DELETE FROM outbox WHERE state IN ('sent', 'dead') AND done < ?"
        " AND key NOT IN (SELECT post FROM telling WHERE post IS NOT NULL)",
        (now - kept,),
    )


def _bury_orphans(connection: sqlite3.Connection, now: float) -> None:
    """What belongs to a post that will never be there has nowhere to go."""
    connection.execute(
        "UPDATE outbox SET state = 'dead', done = ?, error = ?"
        " WHERE state IN ('queued', 'ambiguous') AND parent IS NOT NULL"
        " AND parent NOT IN (SELECT key FROM outbox WHERE state <> 'dead')",
        (now, _ORPHAN),
    )


_ORPHAN = "its post was never sent"


def _encode(payload: dict[str, Any]) -> str:
    return msgspec.json.encode(payload).decode()


def _row(values: tuple[Any, ...]) -> Row:
    names = [*_NAMES, "parent_ts", "parent_channel_id"]
    found = dict(zip(names, values, strict=True))
    found["payload"] = msgspec.json.decode(found["payload"])
    found["plain"] = bool(found["plain"])
    return Row(**found)
