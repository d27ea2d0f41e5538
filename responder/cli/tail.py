"""`responder tail`: each line as the sources read it, as JSON."""

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import click
import msgspec

from responder.cli.errors import USAGE, Failure
from responder.cli.say import say
from responder.sources.block import Block
from responder.sources.clock import SystemClock, SystemWaker
from responder.sources.discovery import STDIN
from responder.sources.events import SourceEvent
from responder.sources.follower import POLL_SECONDS, Follower
from responder.sources.watcher import FolderWatcher
from responder.store.checkpoints import Saved, load, remember_targets, save
from responder.store.database import Database, StoreError, StoreUnavailableError, open_database

DATABASE = "tail.db"
"""In the state folder, beside the daemon's own: two followers must not share their places."""
GRACE = 2.0
"""Seconds after a signal in which our reader may still take what was read for it."""
_WORTH_SAYING = {"missing", "unreadable", "readable", "ignored", "truncated", "stale", "watch-failed"}


@click.command()
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@click.option(
    "--state", type=click.Path(path_type=Path, readable=False), metavar="DIR", help="Go on where the last run stopped."
)
@click.option("--from-start", is_flag=True, help="Begin at the first line of files that were not followed before.")
def tail(paths: tuple[str, ...], state: Path | None, from_start: bool) -> int:
    """Print each line of the logs, as the sources read it, as a JSON object: path, offset, text, partial.

    PATH is a file, a glob or - for standard input.  A line that reached the length limit has "truncated": true.
    """
    for path in paths:
        if path != STDIN and Path(path).is_dir():
            raise Failure(f"{path}: is a folder; name the files in it, as in '{path.rstrip('/')}/*.log'", USAGE)
    clock, waker = SystemClock(), SystemWaker()
    ended: list[int] = []

    def end(number: int, _frame: FrameType | None) -> None:
        ended.append(number)
        waker.wake()
        signal.setitimer(signal.ITIMER_REAL, GRACE)

    def give_up(_number: int, _frame: FrameType | None) -> None:
        raise BrokenPipeError

    signal.signal(signal.SIGALRM, give_up)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, end)
    places = _Places(state, paths, clock)
    follower = Follower(
        paths,
        places.saved,
        clock,
        waker,
        from_start=from_start,
        events=_say,
        watcher=FolderWatcher(waker, _say),
    )
    try:
        while not ended and not follower.finished:
            for block in follower.poll():
                _write(block)
            sys.stdout.buffer.flush()
            places.store(follower)
            if not ended and not follower.finished:
                waker.wait(POLL_SECONDS)
    except BrokenPipeError:
        # Whoever read our output has gone.  Nothing that it did not get is noted as read.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        follower.close()
        places.close()
    return 128 + ended[0] if ended else 0


class _Places:
    """Where the last run stopped, if a state folder was named."""

    def __init__(self, state: Path | None, targets: tuple[str, ...], clock: SystemClock) -> None:
        self._database: Database | None = None
        self._failed = False
        self.saved = Saved()
        if state is None:
            return
        try:
            self._database = open_database(state / DATABASE, clock)
            if self._database.set_aside:
                say(f"{state / DATABASE}: was damaged; kept as {self._database.set_aside.name}, starting anew")
            self.saved = load(self._database.connection)
            with self._database.transaction() as connection:
                remember_targets(connection, targets, clock.wall())
        except StoreUnavailableError as error:
            if self._database is None:
                raise Failure(str(error), 69) from error
            self._complain(error)

    def store(self, follower: Follower) -> None:
        """Note how far the lines were printed.  A full disk only means that they may be printed again."""
        if self._database is None:
            return
        positions = follower.positions()
        if not positions:
            return
        try:
            with self._database.transaction() as connection:
                save(connection, positions)
        except StoreError as error:
            self._complain(error)
            return
        follower.stored()
        if self._failed:
            self._failed = False
            say("state: can be stored again")

    def close(self) -> None:
        """Let go of the database."""
        if self._database:
            self._database.close()

    def _complain(self, error: StoreError) -> None:
        if not self._failed:
            self._failed = True
            say(f"state: {error}; going on, a restart may repeat lines")


def _write(block: Block) -> None:
    path = os.fsencode(block.path).decode("utf-8", "backslashreplace")
    encode = msgspec.json.encode
    write = sys.stdout.buffer.write
    for position, line in _lines(block.data):
        text = line.decode("utf-8", "backslashreplace")
        record: dict[str, Any] = {
            "path": path,
            "offset": block.locate(position).offset,
            "text": text,
            "partial": block.partial,
        }
        if block.truncated:
            record["truncated"] = True
        write(encode(record) + b"\n")


def _lines(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Each line, without its CR LF or LF, and its position."""
    position = 0
    lines = data.split(b"\n")
    if not lines[-1]:
        lines.pop()
    for line in lines:
        yield position, line.removesuffix(b"\r")
        position += len(line) + 1


def _say(event: SourceEvent) -> None:
    if event.kind in _WORTH_SAYING:
        say(f"{event.path}: {event.kind}{f': {event.detail}' if event.detail else ''}")
