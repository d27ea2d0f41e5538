"""The thread that talks to Slack, and its side of the loop: one message at a time, so that the order holds.

The loop owns the database.  It marks a row `sending` with a durable commit, hands it over, and takes the outcome back
at a later wake-up; nothing of it waits for Slack.
"""

import queue
import random
import threading
from collections.abc import Callable
from typing import Literal, Protocol

import msgspec
import structlog

from responder.publish.slack.errors import Failure, read
from responder.publish.slack.thread_reader import ReadPresses
from responder.publish.slack.transport import Transport
from responder.store import outbox, presses
from responder.store.database import Database, StoreUnavailableError
from responder.store.outbox import Outcome, Row

log = structlog.get_logger(__name__)

PER_CHANNEL = 1.0
"""Seconds between two messages in a channel: Slack's documented rate."""
FIRST_WAIT = 2.0
LONGEST_WAIT = 300.0
DOUBT_WAIT = 5.0
"""Least seconds before asking for a message that may have arrived: it may still be on its way."""
REVIVED = 24 * 3600.0
"""Seconds for which a message that was refused is worth another attempt at the next start."""
GIVE_UP = 3 * 24 * 3600.0
"""Seconds after which a message that never got through is a dead letter."""


class WallClock(Protocol):
    """Whatever tells the time of day."""

    def wall(self) -> float:
        """Seconds since the epoch."""
        ...


class Sender:
    """The thread.  `submit` a row, `take` its outcome; one row at a time."""

    def __init__(
        self,
        transport: Transport,
        clock: WallClock,
        wake: Callable[[], None],
        pause: Callable[[float], bool] | None = None,
    ) -> None:
        self._transport = transport
        self._clock = clock
        self._wake = wake
        self._stopping = threading.Event()
        self._pause = pause or self._stopping.wait
        """Waits that many seconds; true: the sender is to stop."""
        self._rows: queue.SimpleQueue[Row | None] = queue.SimpleQueue()
        self._outcomes: queue.SimpleQueue[Outcome] = queue.SimpleQueue()
        self._posted: dict[str, float] = {}
        self._thread = threading.Thread(target=self._run, name="slack-sender", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self, patience: float) -> bool:
        """Take no new row; wait for the one under way at most `patience` seconds.  Whether it has ended."""
        self._stopping.set()
        self._rows.put(None)
        self._thread.join(patience)
        return not self._thread.is_alive()

    def submit(self, row: Row) -> None:
        """Hand over a row that was durably marked as `sending`."""
        self._rows.put(row)

    def take(self) -> Outcome | None:
        """The outcome of a row, once; None: there is none yet."""
        try:
            return self._outcomes.get_nowait()
        except queue.Empty:
            return None

    def _run(self) -> None:
        while (row := self._rows.get()) is not None:
            if self._pause(self._wait_for(row)) or self._stopping.is_set():
                # Not a byte has gone out; it keeps the state it had.
                untouched: Literal["ambiguous", "queued"] = "ambiguous" if row.state == "ambiguous" else "queued"
                self._outcomes.put(Outcome(key=row.key, state=untouched, due=row.due))
                continue
            self._outcomes.put(self._attempt(row))
            self._wake()

    def _wait_for(self, row: Row) -> float:
        last = self._posted.get(row.channel)
        # The clock may have been set since: never longer than if the last one had gone just now.
        return 0.0 if last is None else max(0.0, min(PER_CHANNEL, last + PER_CHANNEL - self._clock.wall()))

    def _attempt(self, row: Row) -> Outcome:
        try:
            outcome, failure = self._transport.deliver(row)
        except Exception as error:  # noqa: BLE001  A mistake in one message must not silence all that follow.
            failure = read(error)
            outcome = Outcome(key=row.key, state="ambiguous", error=failure.error)
        now = self._clock.wall()
        self._posted[row.channel] = now
        return outcome if failure is None else _scheduled(outcome, failure, row, now)


class Delivery:
    """The loop's side: rows out, outcomes in."""

    def __init__(
        self, database: Database, sender: Sender, clock: WallClock, presses: ReadPresses | None = None
    ) -> None:
        self._database = database
        self._sender = sender
        self._presses = presses
        """Buttons that were pressed at a hub elsewhere, where messages have buttons."""
        self._clock = clock
        self._under_way: str | None = None
        self._unsettled: Outcome | None = None
        self._not_before = 0.0
        self._disk_is_full = False
        self.failing: str | None = None
        """The last error, until a message gets through; for the health page and `responder check`."""

    def recover(self) -> int:
        """At the start: what was on its way when the process died is in doubt.  Says how many rows.

        Young dead letters get another chance, for a restart is how a mended token comes in; old rows are deleted.
        """
        now = self._clock.wall()
        with self._database.transaction() as connection:
            outbox.prune(connection, now)
            presses.prune(connection, now - outbox.KEPT)
            revived = outbox.revive(connection, now, now - REVIVED)
            doubtful = outbox.recover(connection, now)
        if revived:
            log.info("dead letters are sent again", count=revived)
        return doubtful

    def pump(self) -> float | None:
        """Settle what has ended and start what is due.  Never waits.

        Returns when there is something to do again, in wall clock seconds; None: at the sender's wake-up.  When the
        disk is full nothing is sent, for it could not be noted; a later call goes on from there.
        """
        if self._presses is not None:
            self._presses.pump()
        try:
            again_at = self._start_next() if self._settle() else None
        except StoreUnavailableError as error:
            if not self._disk_is_full:  # said once, not at every wake-up: the disk is full enough
                log.warning("the outbox waits for the disk", error=str(error))
            self._disk_is_full = True
            return self._clock.wall() + FIRST_WAIT
        self._disk_is_full = False
        return again_at

    def clock_was_set(self, by: float) -> None:
        """The time of day was set forward by so many seconds; waits stay as long as they were."""
        self._not_before += by

    def close(self, patience: float) -> None:
        """At the end: give the row under way that many seconds, and note what became of it."""
        self._sender.stop(patience)
        if self._presses is not None:
            self._presses.close(1.0)
        try:
            self._settle()
        except StoreUnavailableError as error:
            log.warning("what was sent last could not be noted; the next start will ask Slack", error=str(error))

    def _settle(self) -> bool:
        """Note the outcome of the row under way.  Whether the sender is free."""
        if self._under_way is None:
            return True
        self._unsettled = self._unsettled or self._sender.take()
        if self._unsettled is None:
            return False
        outcome, now = self._unsettled, self._clock.wall()
        with self._database.transaction() as connection:
            outbox.settle(connection, outcome, now)
        self._under_way = self._unsettled = None
        self._report(outcome)
        return True

    def _start_next(self) -> float | None:
        now = self._clock.wall()
        if now < self._not_before:
            return self._not_before
        row = outbox.next_due(self._database.connection, now)
        if row is None:
            return outbox.next_wake(self._database.connection)
        known_as = row.channel_id or outbox.channel_id(self._database.connection, row.channel)
        with self._database.transaction(durable=True) as connection:
            outbox.begin(connection, row.key, now)
        self._under_way = row.key
        self._sender.submit(msgspec.structs.replace(row, channel_id=known_as))
        return None

    def _report(self, outcome: Outcome) -> None:
        if outcome.state == "sent":
            self.failing = None
            log.info("told Slack", row=outcome.key, plain=outcome.plain)
            return
        if outcome.error is None:
            return
        self.failing = outcome.error
        if outcome.state == "dead":
            log.error("Slack will not take this message; it is a dead letter", row=outcome.key, error=outcome.error)
        else:
            # Whatever ails Slack or the way to it ails the next row too.
            self._not_before = outcome.due or 0.0
            log.warning("Slack did not take it yet", row=outcome.key, state=outcome.state, error=outcome.error)


def _scheduled(outcome: Outcome, failure: Failure, row: Row, now: float) -> Outcome:
    """The outcome with the time of the next attempt: what Slack asked for, else ever longer, and never in step."""
    if outcome.state in ("sent", "dead"):
        return outcome
    if now - row.queued > GIVE_UP:
        return Outcome(key=row.key, state="dead", error=f"given up: {outcome.error}")
    wait = min(LONGEST_WAIT, FIRST_WAIT * 2.0 ** min(row.attempts, 20)) * random.uniform(0.5, 1.0)
    if failure.retry_after is not None:
        wait = max(wait, failure.retry_after + random.uniform(0.0, 1.0))
    if outcome.state == "ambiguous":
        wait = max(wait, DOUBT_WAIT)
    return Outcome(key=row.key, state=outcome.state, due=now + wait, error=outcome.error, plain=outcome.plain)
