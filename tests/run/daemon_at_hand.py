"""A daemon on real files and a real database, with time in the test's hands."""

from pathlib import Path

from responder.catalogue import Catalogue
from responder.nouns import GpuFacts, Incident
from responder.publish.decision import Decision, Policy
from responder.publish.publisher import Publisher
from responder.run.config import ServerConfig
from responder.run.daemon import Daemon
from responder.run.gpu_watch import GpuWatch
from responder.run.watched import Watched
from responder.scan import Program
from responder.sources.clock import SystemWaker
from responder.sources.follower import Follower
from responder.store import checkpoints
from responder.store.database import Database, open_database


class HandClock:
    """Both clocks, moved by the test."""

    def __init__(self) -> None:
        self.now = 1_000_000.0

    def monotonic(self) -> float:
        return self.now

    def wall(self) -> float:
        return self.now


class AtHand:
    """One server's log, its daemon and what it told."""

    def __init__(
        self, folder: Path, program: Program, catalogue: Catalogue, *, clock: HandClock | None = None, **server: str
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
        publisher = Publisher(posting=Policy(hold=5.0), on_loud=self._on_loud)
        self.daemon = Daemon(
            [Watched(config, program, follower)],
            self.database,
            publisher,
            catalogue.by_id,
            GpuWatch(GpuFacts),
            self.clock,
            self.waker,
        )

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

    def close(self) -> None:
        """As a clean stop does."""
        for server in self.daemon.watched:
            server.follower.close()
        self.database.close()

    def _on_loud(self, incident: Incident, decision: Decision) -> None:
        self.told.append((decision.reason, incident))
