"""The loop that owns the sources, the diagnosis and the database.

Each wake-up reads what is new, diagnoses it and stores the incidents, what is to be said of them and how far the logs
were read in one transaction.  Where storing fails (a full disk), all of it is offered again at the next wake-up.
"""

import sqlite3
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from time import monotonic_ns
from typing import Protocol

import structlog
from msgspec.structs import replace

from responder.advise.advise import advise
from responder.catalogue import Rule
from responder.diagnose import Finding
from responder.nouns import Incident
from responder.publish.publisher import Publisher
from responder.run.catch_up import CatchUp
from responder.run.gpu_watch import GpuWatch
from responder.run.health import Health, Inquiry, ServerHealth
from responder.run.notify import Notifier
from responder.run.real_checks import RealChecks
from responder.run.watched import Watched
from responder.sources import sources
from responder.sources.clock import Clock, Waker
from responder.sources.follower import POLL_SECONDS
from responder.sources.schedule import HOT_SECONDS
from responder.store import checkpoints, crashes, incidents, launches, moments, outbox
from responder.store.checkpoints import Checkpoint
from responder.store.cursors import Cursor
from responder.store.database import Database, StoreUnavailableError

log = structlog.get_logger(__name__)

QUIET_SECONDS = 0.3
"""How long the loop waits while no log has got a line for HOT_SECONDS: a guest on an idle host is lighter still."""

PLACES_SECONDS = 1.0
"""How often it is stored how far the logs were read while nothing is found: what is read twice changes nothing."""

STATUS_SECONDS = 10.0
"""How often systemd is told how many lines were read."""

PRUNE_SECONDS = 24 * 3600.0
"""How often what is long over is deleted from the state."""

CLOCK_STEP = 2.0
"""Seconds between two wake-ups by which the time of day may leave the other clock before it counts as set."""

PATIENCE = 10.0
"""Seconds that a message under way gets when the daemon stops."""


class Delivery(Protocol):
    """Whatever takes messages out of the outbox; the sending itself is a thread of its own."""

    failing: str | None
    """The last error, until a message gets through."""

    def pump(self) -> float | None:
        """Note what was sent and start what is due, without waiting."""
        ...

    def clock_was_set(self, by: float) -> None:
        """The time of day was set forward by so many seconds; waits stay as long as they were."""
        ...

    def close(self, patience: float) -> None:
        """Give the message under way that many seconds."""
        ...


class Daemon:
    """Runs until it is told to stop."""

    def __init__(
        self,
        watched: Sequence[Watched],
        database: Database,
        publisher: Publisher,
        rules: Mapping[str, Rule],
        gpu: GpuWatch,
        clock: Clock,
        waker: Waker,
        *,
        delivery: Delivery | None = None,
        checks: RealChecks | None = None,
        notifier: Notifier | None = None,
        watchdog: float | None = None,
        inquiry: Inquiry | None = None,
        rules_left_out: int = 0,
    ) -> None:
        self.watched = watched
        self._database, self._publisher, self._rules = database, publisher, rules
        self._gpu, self._clock, self._waker = gpu, clock, waker
        self._ahead = clock.wall() - clock.monotonic()
        self._delivery, self._notifier, self._watchdog = delivery, notifier or Notifier(), watchdog
        self._unsaved: dict[str, dict[str, Finding]] = {server.config.name: {} for server in watched}
        self._gone: set[str] = set()
        self._catch_up = CatchUp(self._unsaved)
        self._pruned_at = float("-inf")
        self._inquiry, self._rules_left_out = inquiry, rules_left_out
        self._alive_at = self._status_at = self._busy_at = self._stored_at = float("-inf")
        self._reported: set[tuple[str, int]] = set()
        self._facts = gpu.facts
        self._checks, self._answers = checks, 0
        self._stopping = self._ending = self._reload_asked = self._storing_fails = self._targets_noted = False

    def stop(self) -> None:
        """End after the wake-up that is under way.  Safe in a signal handler."""
        self._stopping = True
        self._waker.wake()

    def reload(self) -> None:
        """End after this wake-up if there is something to reload.  Safe in a signal handler."""
        self._reload_asked = True
        self._waker.wake()

    def run(self, may_reload: Callable[[], bool] = lambda: False) -> bool:
        """Wake up again and again until `stop`, or until `reload` where `may_reload` consents: then true."""
        reloads = False
        # Ready is who knows where each log ends: what is written from now on is read, whatever happens.
        self.wake_up()
        self._notifier.say("READY=1", f"STATUS=following {self._targets()}")
        while not (self._stopping or reloads):
            self.wake_up()
            self._tell_systemd()
            self._waker.wait(self.rest)
            if self._reload_asked:
                self._reload_asked, reloads = False, may_reload()
        self._ending = True
        self._notifier.say(
            *(["RELOADING=1", f"MONOTONIC_USEC={monotonic_ns() // 1000}"] if reloads else ["STOPPING=1"])
        )
        self.wake_up()
        if self._delivery is not None:
            self._delivery.close(PATIENCE)
        return reloads

    @property
    def rest(self) -> float:
        """Seconds until the logs are looked at again."""
        return POLL_SECONDS if self._clock.monotonic() - self._busy_at < HOT_SECONDS else QUIET_SECONDS

    def wake_up(self) -> None:
        """One wake-up's work."""
        now = self._clock.monotonic()
        self._mind_the_clock(now)
        for server in self.watched:
            if server.read(now):
                self._busy_at = now
            if not server.behind:
                self._catch_up.reached_end(server.config.name)
            self._report(server)
            changed, gone = server.pipeline.diagnosis.changes()
            self._unsaved[server.config.name].update({finding.id: finding for finding in changed})
            self._gone.update(gone)
            if changed:
                self._gpu.refresh()
            # Advice given before the launch command was known is given anew.
            self._unsaved[server.config.name].update({finding.id: finding for finding in server.advised_anew()})
        answers = self._checks.version if self._checks is not None else 0
        if self._gpu.facts != self._facts or answers != self._answers:
            # Advice given before the GPUs were known, or before sglang was asked about it, is given anew.
            self._facts, self._answers = self._gpu.facts, answers
            for server in self.watched:
                findings = server.pipeline.diagnosis.findings()
                self._unsaved[server.config.name].update({finding.id: finding for finding in findings})
        self._store(now)
        if self._delivery is not None:
            self._delivery.pump()
        if self._inquiry is not None:
            self._inquiry.answer(self.health)

    def _mind_the_clock(self, now: float) -> None:
        """Where the time of day was set, move what is counted by it along."""
        ahead = self._clock.wall() - now
        by = ahead - self._ahead
        if abs(by) >= CLOCK_STEP:
            try:
                with self._database.transaction() as connection:
                    moments.move(connection, by)
            except StoreUnavailableError:
                return  # `_store` says so; it is tried again
            if self._delivery is not None:
                self._delivery.clock_was_set(by)
            log.warning("the clock was set", seconds=round(by))
        self._ahead = ahead

    def health(self) -> Health:
        """How it is now."""
        now, connection = self._clock.monotonic(), self._database.connection
        servers = {
            server.config.name: ServerHealth(
                lines=server.lines_seen,
                cut=server.lines_cut,
                unreadable=len(server.follower.unreadable()),
                matches=dict(server.pipeline.matched),
                lag=server.lag(now),
            )
            for server in self.watched
        }
        return Health(
            servers=servers,
            incidents=incidents.counts(connection),
            outbox=outbox.counts(connection),
            rules_left_out=self._rules_left_out,
            patterns_set_aside=len({index for _, index in self._reported}),
            sink_error=self._delivery.failing if self._delivery is not None else None,
            storing_fails=self._storing_fails,
        )

    def _store(self, now: float) -> None:
        """Write all that is new in one transaction; where that fails, keep it for the next wake-up."""
        recovered = [server for server in self.watched if server.recovered(now)]
        # Asked each time, for another process may have set it: `responder incidents ack`, a hub.
        look_at = incidents.next_look(self._database.connection)
        due = look_at is not None and look_at <= self._clock.wall()
        news = any(self._unsaved.values()) or bool(recovered or due or self._gone or self._catch_up.due)
        if not (news or self._ending) and now - self._stored_at < PLACES_SECONDS:
            return
        positions = [(server, server.follower.positions()) for server in self.watched]
        if not news and not any(places for _, places in positions):
            return
        memories = {server.config.name: server.to_store() for server in self.watched}
        caught_up, prunes = self._catch_up.due, now - self._pruned_at >= PRUNE_SECONDS
        try:
            with self._database.transaction() as connection:
                self._offer(connection, recovered)
                self._save(connection, positions, memories)
                if prunes:
                    self._prune(connection)
        except StoreUnavailableError as error:
            if not self._storing_fails:
                log.error("the state cannot be written; nothing is lost, it is tried again", reason=str(error))
            self._storing_fails = True
            return
        if self._storing_fails:
            log.info("the state can be written again")
        self._storing_fails, self._targets_noted, self._stored_at = False, True, now
        self._publisher.stored()
        self._gone.clear()
        if caught_up:
            self._catch_up.told()
        if prunes:
            self._pruned_at = now
        for server in self.watched:
            server.stored()
            self._unsaved[server.config.name].clear()

    def _save(
        self,
        connection: sqlite3.Connection,
        positions: Sequence[tuple[Watched, Sequence[Checkpoint | Cursor]]],
        memories: Mapping[str, str | None],
    ) -> None:
        """Write how far the logs were read, and what is to be remembered of the launches."""
        for server, places in positions:
            sources.save(connection, places)
            if not self._targets_noted:
                checkpoints.remember_targets(connection, server.follower.targets, self._clock.wall())
        for name, memory in memories.items():
            if memory is not None:
                launches.save(connection, name, memory)

    def _prune(self, connection: sqlite3.Connection) -> None:
        """Delete what is long over."""
        wall = self._clock.wall()
        incidents.prune(connection, wall)
        crashes.prune(connection)
        outbox.prune(connection, wall)

    def _offer(self, connection: sqlite3.Connection, recovered: Sequence[Watched]) -> None:
        """Hand the publisher every incident that is new, has changed or is over."""
        wall = self._clock.wall()
        for server in self.watched:
            for finding in self._unsaved[server.config.name].values():
                incident = advise(finding, server.host(self._facts, finding), self._rules, self._checks)
                incident = crashes.fold(connection, incident, finding.crashes, wall)
                if self._catch_up.keeps_quiet(incident, wall) and incidents.told(connection, incident.id) is None:
                    self._publisher.keep(connection, incident, wall)
                else:
                    self._publisher.offer(connection, incident, wall)
        if self._catch_up.due:
            self._catch_up.tell(connection, self._publisher, wall)
        # What was told under its own id and then turned out to be part of another incident is over, too.
        over = [gone for key in self._gone if (gone := incidents.load(connection, key)) is not None]
        names = {server.config.name for server in recovered}
        over += [incident for incident in incidents.unresolved(connection) if incident.server.name in names]
        for incident in over:
            if incident.status != "resolved":
                self._publisher.offer(connection, resolved(incident, wall), wall)
        self._publisher.look_again(connection, wall)

    def _report(self, server: Watched) -> None:
        """Say once what the scan had to give up."""
        aside = server.pipeline.scanner.set_aside
        for index in [index for index in aside if (server.config.name, index) not in self._reported]:
            self._reported.add((server.config.name, index))
            log.warning("a pattern was set aside", server=server.config.name, reason=aside[index])

    def _targets(self) -> str:
        return ", ".join(server.config.name for server in self.watched)

    def _tell_systemd(self) -> None:
        now = self._clock.monotonic()
        if self._watchdog is not None and now - self._alive_at >= self._watchdog:
            self._alive_at = now
            self._notifier.say("WATCHDOG=1")
        if now - self._status_at >= STATUS_SECONDS:
            self._status_at = now
            lines = sum(server.lines_seen for server in self.watched)
            self._notifier.say(f"STATUS=following {self._targets()}; {lines} lines read")


def resolved(incident: Incident, wall: float) -> Incident:
    """The incident, over since now."""
    at = datetime.fromtimestamp(wall, UTC).isoformat(timespec="seconds")
    return replace(incident, status="resolved", resolved_at=at)
