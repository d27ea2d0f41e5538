"""What Slack would not take, and what it has not taken yet: for `responder check`."""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, NamedTuple

from responder.store import outbox
from responder.store.database import StoreError, WallClock, open_database
from responder.store.outbox import Row

SHOWN = 3


class Letter(NamedTuple):
    """One thing to say, and what to do about it."""

    state: Literal["ok", "warn", "fail"]
    text: str
    advice: str = ""


def undelivered(database: Path, clock: WallClock) -> Iterator[Letter]:
    """How the outbox in this state is doing; nothing where there is no state yet."""
    if not database.exists():
        return
    try:
        opened = open_database(database, clock)
    except StoreError as error:
        yield Letter("fail", f"the outbox cannot be read: {error}")
        return
    with contextlib.closing(opened):
        counts, dead = outbox.counts(opened.connection), outbox.dead(opened.connection)
        stuck = outbox.stuck(opened.connection)
        newest_failed = outbox.newest_finished_is_dead(opened.connection)
    for row in dead[:SHOWN]:
        yield Letter("fail" if newest_failed else "warn", f"dead letter: {_named(row)}", _mend(row))
    if len(dead) > SHOWN:
        yield Letter("warn", f"and {len(dead) - SHOWN} older dead letters")
    if stuck is not None:
        waiting = counts["queued"] + counts["ambiguous"]
        advice = "they go out by themselves once Slack answers"
        yield Letter("warn", f"{_messages(waiting)}: {_named(stuck)}", advice)
    elif not dead:
        yield Letter("ok", f"every message went out ({counts['sent']} so far)" if counts["sent"] else "nothing waits")


def _named(row: Row) -> str:
    return f"{row.key} to {row.channel}: {row.error or 'not sent'}"


def _messages(count: int) -> str:
    return "1 message waits" if count == 1 else f"{count} messages wait"


def _mend(row: Row) -> str:
    read = f"`responder incidents show {row.incident}` has it; " if row.incident else ""
    again = "Slack refused its content" if row.plain else "mend the cause and restart responder within a day to send it"
    return f"{read}{again}"
