"""A hub on the real Socket Mode client, a daemon's publishing beside it or on another host, and a fake Slack."""

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from slack_sdk.socket_mode import SocketModeClient

from responder.hub.allow_list import AllowList
from responder.hub.hub import Hub
from responder.hub.socket import listen
from responder.nouns import Incident
from responder.publish.publisher import Publisher
from responder.publish.redact import Policy as RedactionPolicy
from responder.publish.slack.sender import Delivery, Sender
from responder.publish.slack.thread_reader import ReadPresses, ThreadReader
from responder.publish.slack.token import Secret
from responder.publish.slack.transport import BotTransport, client
from responder.sources.clock import SystemWaker
from responder.store import outbox
from responder.store.database import open_database
from tests.fake_slack import APP_TOKEN, TOKEN, FakeSlack
from tests.publish.conftest import Clock, Rig, clock, slack
from tests.publish.incidents import seed_incident

__all__ = ["clock", "slack"]

ADA, EVE, BEN = "U00000ADA", "U00000EVE", "U00000BEN"
GROUP = "S0000ONCALL"


def bot(slack: FakeSlack) -> Secret:
    return Secret(value=TOKEN, source="test")


class Host:
    """What publishes on one host: the daemon's outbox, its sender and its look into its threads."""

    def __init__(self, folder: Path, slack: FakeSlack, clock: Clock) -> None:
        folder.mkdir()
        self.rig = Rig(folder, slack, clock, name="responder.db")
        self.publisher = Publisher("alerts", mode="bot", buttons=True)
        self.reader = ThreadReader(client(bot(slack), slack.base_url, timeout=1), clock, lambda: None)
        self.presses = ReadPresses(self.rig.database, self.reader, clock)

    def alert(self, incident: Incident | None = None) -> Incident:
        """Post an alert; returns its incident."""
        incident = incident or seed_incident()
        with self.rig.database.transaction() as connection:
            self.publisher.offer(connection, incident, self.rig.clock.wall())
        self.pass_time(60)
        return incident

    def pass_time(self, seconds: float) -> None:
        """As the loop does: decide again where that is due, and send."""
        self.rig.clock.now += seconds
        with self.rig.database.transaction() as connection:
            self.publisher.look_again(connection, self.rig.clock.wall())
        self.rig.run()

    def read_threads(self) -> float:
        """One look of the reader, and what the loop makes of it; the pause that the reader asks for."""
        self.rig.clock.now += 10
        self.presses.pump()
        pause = self.reader.look()
        self.presses.pump()
        self.pass_time(0)
        return pause

    def close(self) -> None:
        self.rig.close()


class HubAtHand:
    """The hub with its own outbox, connected to the fake by the SDK's Socket Mode client."""

    def __init__(self, folder: Path, slack: FakeSlack, clock: Clock) -> None:
        folder.mkdir(exist_ok=True)
        self.slack, self.clock = slack, clock
        self.database = open_database(folder / "hub.db", clock)
        self.waker = SystemWaker()
        transport = BotTransport(client(bot(slack), slack.base_url, timeout=1))
        self.sender = Sender(transport, clock, self.waker.wake, clock.advance)
        self.sender.start()
        web = client(bot(slack), slack.base_url, timeout=1)
        self.hub = Hub(
            web,
            AllowList(web, [ADA], [GROUP], clock.wall),
            self.database,
            Delivery(self.database, self.sender, clock),
            folder / "responder.db",
            _Clock(clock),
            self.waker,
            RedactionPolicy(),
        )
        self.connection: SocketModeClient = listen(web, Secret(value=APP_TOKEN, source="test"), self.hub.hear)
        slack.wait_for(lambda: slack.sockets)

    def press(self, incident: Incident, action: str, user: str = ADA, *, times: int = 1) -> None:
        """Press a button, and let the hub do all that follows."""
        before = len(self.slack.acks)
        self.slack.press(incident.id, f"responder.{action}", user, times=times)
        self.slack.wait_for(lambda: len(self.slack.acks) >= before + times)
        self.settle()

    def settle(self) -> None:
        """Act on what was pressed, and send until nothing waits."""
        for _ in range(200):
            self.hub.wake_up()
            counts = outbox.counts(self.database.connection)
            if not counts["queued"] + counts["sending"] + counts["ambiguous"]:
                return
            if not self.waker.wait(0.2):
                self.clock.now += 1.0
        raise AssertionError("the hub never came to rest")

    def close(self) -> None:
        # The SDK takes three seconds for it, and nothing waits for that.
        threading.Thread(target=self.connection.close, daemon=True).start()
        self.sender.stop(5)
        self.database.close()


class _Clock:
    """The test's clock, for those who ask for durations too."""

    def __init__(self, clock: Clock) -> None:
        self.wall = self.monotonic = clock.wall


@pytest.fixture
def hosts(tmp_path: Path, slack: FakeSlack, clock: Clock) -> Iterator[Callable[[str], Host]]:
    made: list[Host] = []

    def host(name: str) -> Host:
        made.append(Host(tmp_path / name, slack, clock))
        return made[-1]

    yield host
    for one in made:
        one.close()


@pytest.fixture
def host(hosts: Callable[[str], Host]) -> Host:
    """The host on which the hub runs, too."""
    return hosts("hub-host")


@pytest.fixture
def hub(tmp_path: Path, slack: FakeSlack, clock: Clock, host: Host) -> Iterator[HubAtHand]:
    made = HubAtHand(tmp_path / "hub-host", slack, clock)
    yield made
    made.close()
