"""Parts that the tests of publishing share: a clock, a database, a fake Slack and the real sender between them."""

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from responder.publish.slack.sender import Delivery, Sender
from responder.publish.slack.token import Secret
from responder.publish.slack.transport import BotTransport, Transport, WebhookTransport, client
from responder.store import outbox
from responder.store.database import Database, open_database
from tests.fake_slack import TOKEN, FakeSlack


class Clock:
    """A clock that moves only when it is told to."""

    def __init__(self, now: float = 1_796_000_000.0) -> None:
        self.now = now
        self._lock = threading.Lock()

    def wall(self) -> float:
        return self.now

    def advance(self, seconds: float) -> bool:
        """Also stands in for the sender's pause, hence the answer: nobody asked it to stop."""
        with self._lock:
            self.now += max(0.0, seconds)
        return False


class Rig:
    """The outbox, its delivery and the sender's thread, on a clock of their own."""

    def __init__(
        self, path: Path, slack: FakeSlack, clock: Clock, transport: Transport | None = None, name: str = "state.db"
    ) -> None:
        self.slack, self.clock, self.path = slack, clock, path / name
        self.transport = transport or BotTransport(
            client(Secret(value=TOKEN, source="test"), slack.base_url, timeout=1)
        )
        self.woken = threading.Event()
        self.start()

    def start(self) -> None:
        self.database: Database = open_database(self.path, self.clock)
        self.sender = Sender(self.transport, self.clock, self.woken.set, self.clock.advance)
        self.sender.start()
        self.delivery = Delivery(self.database, self.sender, self.clock)
        self.delivery.recover()

    def die(self) -> None:
        """As kill -9 would leave it: nothing is settled, and the next process starts from the disk."""
        self.sender.stop(5)
        self.database.close()
        self.start()

    def run(self, attempts: int = 200) -> None:
        """Pump until nothing waits, with the clock moved on to whenever something falls due."""
        for _ in range(attempts):
            self.woken.clear()
            due = self.delivery.pump()
            counts = outbox.counts(self.database.connection)
            if not counts["queued"] + counts["sending"] + counts["ambiguous"]:
                return
            if due is None:
                assert self.woken.wait(10), "the sender did not answer"
            else:
                self.clock.now = max(self.clock.now, due)
        raise AssertionError(f"it never came to rest: {outbox.counts(self.database.connection)}")

    def close(self) -> None:
        self.delivery.close(5)
        self.database.close()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def slack(clock: Clock) -> Iterator[FakeSlack]:
    """A workspace; at the end, nothing that was posted in it may be live."""
    with FakeSlack(clock=clock.wall) as fake:
        yield fake
        assert fake.dangers == []


@pytest.fixture
def rig(tmp_path: Path, slack: FakeSlack, clock: Clock) -> Iterator[Rig]:
    made = Rig(tmp_path, slack, clock)
    yield made
    made.close()


@pytest.fixture
def webhook_rig(tmp_path: Path, slack: FakeSlack, clock: Clock) -> Iterator[Rig]:
    made = Rig(tmp_path, slack, clock, WebhookTransport(Secret(value=slack.webhook, source="test"), timeout=1))
    yield made
    made.close()
