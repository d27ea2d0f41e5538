"""The loop that owns the sources, the diagnosis and the database.

Each wake-up reads what is new, diagnoses it and stores the incidents, what is to be said of them and how far the logs
were read in one transaction.  Where storing fails (a full disk), all of it is offered again at the next wake-up.
"""

import sqlite3
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Protocol

import structlog
from msgspec.structs import replace

from responder.advise.advise import advise
from responder.catalogue import Rule
from responder.diagnose import Finding
from responder.nouns import Incident
from responder.publish.publisher import Publisher
from responder.run.gpu_watch import GpuWatch
from responder.run.notify import Notifier
from responder.run.watched import Watched
from responder.sources.clock import Clock, Waker
from responder.sources.follower import POLL_SECONDS
from responder.store import checkpoints, crashes, incidents
from responder.store.database import Database, StoreUnavailableError

log = structlog.get_logger(__name__)

STATUS_SECONDS = 10.0
"""How often systemd is told how many lines were read."""


PATIENCE = 10.0
"""Seconds that a message under way gets when the daemon stops."""


class Delivery(Protocol):
    """Whatever takes messages out of the outbox; the sending itself is a thread of its own."""

    def pump(self) -> float | None:
        """Note what was sent and start what is due, without waiting."""
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
        notifier: Notifier | None = None,
        watchdog: float | None = None,
    ) -> None:
        self.watched = watched
        self._database, self._publisher, self._rules = database, publisher, rules
        self._gpu, self._clock, self._waker = gpu, clock, waker
        self._delivery, self._notifier, self._watchdog = delivery, notifier or Notifier(), watchdog
        self._unsaved: dict[str, dict[str, Finding]] = {server.config.name: {} for server in watched}
        self._gone: set[str] = set()
        self._alive_at = self._status_at = float("-inf")
        self._reported: set[tuple[str, int]] = set()
        self._facts = gpu.facts
        self._stopping = self._storing_fails = False

    def stop(self) -> None:
        """End after the wake-up that is under way.  Safe in a signal handler."""
        self._stopping = True
        self._waker.wake()

    def run(self) -> None:
        """Wake up again and again until `stop`."""
        self._notifier.say("READY=1", f"STATUS=following {self._targets()}")
        while not self._stopping:
            self.wake_up()
            self._tell_systemd()
            self._waker.wait(POLL_SECONDS)
        self._notifier.say("STOPPING=1")
        self.wake_up()
        if self._delivery is not None:
            self._delivery.close(PATIENCE)

    def wake_up(self) -> None:
        """One wake-up's work."""
        now = self._clock.monotonic()
        for server in self.watched:
            server.read(now)
            self._report(server)
            changed, gone = server.pipeline.diagnosis.changes()
            self._unsaved[server.config.name].update({finding.id: finding for finding in changed})
            self._gone.update(gone)
            if changed:
                self._gpu.refresh()
            # Advice given before the launch command was known is given anew.
            self._unsaved[server.config.name].update({finding.id: finding for finding in server.advised_anew()})
        if self._gpu.facts != self._facts:
            # Advice given before the GPUs were known is given anew.
            self._facts = self._gpu.facts
            for server in self.watched:
                findings = server.pipeline.diagnosis.findings()
                self._unsaved[server.config.name].update({finding.id: finding for finding in findings})
        self._store(now)
        if self._delivery is not None:
            self._delivery.pump()

    def _store(self, now: float) -> None:
        """Write all that is new in one transaction; where that fails, keep it for the next wake-up."""
        positions = [(server, server.follower.positions()) for server in self.watched]
        recovered = [server for server in self.watched if server.recovered(now)]
        # Asked each time, for another process may have set it: `responder incidents ack`, a hub.
        look_at = incidents.next_look(self._database.connection)
        due = look_at is not None and look_at <= self._clock.wall()
        news = any(self._unsaved.values()) or bool(recovered or due or self._gone)
        if not news and not any(saved for _, saved in positions):
            return
        try:
            with self._database.transaction() as connection:
                self._offer(connection, recovered)
                for server, saved in positions:
                    checkpoints.save(connection, saved)
                    checkpoints.remember_targets(connection, server.follower.targets, self._clock.wall())
        except StoreUnavailableError as error:
            if not self._storing_fails:
                log.error("the state cannot be written; nothing is lost, it is tried again", reason=str(error))
            self._storing_fails = True
            return
        if self._storing_fails:
            log.info("the state can be written again")
        self._storing_fails = False
        self._gone.clear()
        for server, _ in positions:
            server.follower.stored()
            self._unsaved[server.config.name].clear()

    def _offer(self, connection: sqlite3.Connection, recovered: Sequence[Watched]) -> None:
        """Hand the publisher every incident that is new, has changed or is over."""
        wall = self._clock.wall()
        for server in self.watched:
            for finding in self._unsaved[server.config.name].values():
                incident = advise(finding, server.host(self._facts, finding), self._rules)
                incident = crashes.fold(connection, incident, finding.crashes, wall)
                self._publisher.offer(connection, incident, wall)
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
