"""A daemon on real files and a real database, with time in the test's hands."""

from collections.abc import Callable
from pathlib import Path

from responder.catalogue import Catalogue
from responder.nouns import GpuFacts, Incident
from responder.publish.decision import Decision, Policy
from responder.publish.publisher import Mode, Publisher
from responder.run.config import ServerConfig
from responder.run.daemon import Daemon, Delivery
from responder.run.gpu_watch import GpuWatch
from responder.run.health import Inquiry
from responder.run.watched import Watched
from responder.scan import Program
from responder.sources.clock import SystemWaker
from responder.sources.follower import Follower
from responder.store import checkpoints, launches
from responder.store.database import Database, open_database


class HandClock:
    """Both clocks, moved by the test."""

    def __init__(self) -> None:
        self.now = 1_000_000.0
        self.set_by = 0.0
        """By how much the time of day was set."""

    def monotonic(self) -> float:
        return self.now

    def wall(self) -> float:
        return self.now + self.set_by


class NoDelivery:
    """Sends nothing."""

    failing: str | None = None

    def pump(self) -> None:
        pass

    def clock_was_set(self, by: float) -> None:
        pass

    def close(self, patience: float) -> None:
        pass


class AtHand:
    """One server's log, its daemon and what it told."""

    def __init__(
        self,
        folder: Path,
        program: Program,
        catalogue: Catalogue,
        *,
        clock: HandClock | None = None,
        mode: Mode = "none",
        delivered_by: Callable[["AtHand"], Delivery] | None = None,
        **server: str,
    ) -> None:
        self.log = folder / "server.log"
        self.log.touch()
        self.clock = clock or HandClock()
        self.told: list[tuple[str, Incident]] = []
        self.database: Database = open_database(folder / "responder.db", self.clock)
        config = ServerConfig(name="llama", logs=(str(self.log),), **server)
        saved = checkpoints.load(self.database.connection)
        self.waker = SystemWaker()
        follower = Follower(config.logs, saved, self.clock, self.waker, from_start=True)
        publisher = Publisher("alerts", mode=mode, posting=Policy(hold=5.0), on_loud=self._on_loud)
        memory = launches.load(self.database.connection, config.name)
        self.inquiry = Inquiry(self.waker)
        self._delivery = delivered_by(self) if delivered_by else NoDelivery()
        self.daemon = Daemon(
            [Watched(config, program, follower, memory=memory)],
            self.database,
            publisher,
            catalogue.by_id,
            GpuWatch(GpuFacts),
            self.clock,
            self.waker,
            delivery=self._delivery,
            inquiry=self.inquiry,
        )

    def fail_sink(self, error: str) -> None:
        """Let the way out be broken."""
        self._delivery.failing = error

    def write(self, text: str) -> None:
        """Append to the log, and let the daemon see it."""
        with self.log.open("a") as file:
            file.write(text)
        self.pass_time(0.1)

    def pass_time(self, seconds: float) -> None:
        """Let time pass, in wake-ups."""
        self.clock.now += seconds
        self.daemon.wake_up()
        self.daemon.wake_up()

    def rules(self) -> list[str | None]:
        """The rules of the alerts so far."""
        return [incident.rule for _, incident in self.told]

    def die(self) -> None:
        """As kill -9 does: what no wake-up has stored is gone."""
        for server in self.daemon.watched:
            server.follower.close()
        self.database.close()

    def close(self) -> None:
        """As a clean stop does."""
        self.daemon.wake_up()
        self._delivery.close(5)
        for server in self.daemon.watched:
            server.follower.close()
        self.database.close()

    def _on_loud(self, incident: Incident, decision: Decision) -> None:
        self.told.append((decision.reason, incident))
