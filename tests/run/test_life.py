"""The life of one fault, from the log to the channel: one message, edited in place, and aloud what none may miss."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from responder.catalogue import Catalogue
from responder.publish.slack.sender import Delivery, Sender
from responder.publish.slack.token import Secret
from responder.publish.slack.transport import BotTransport, client
from responder.scan import Program
from responder.store import outbox
from tests.fake_slack import TOKEN, FakeSlack
from tests.run.daemon_at_hand import AtHand, HandClock
from tests.slack_blocks import texts_of

LAUNCH = "[2026-11-30 12:00:00] server_args=ServerArgs(model_path='/models/llama')\n"
READY = LAUNCH + "[2026-11-30 13:00:00] The server is fired up and ready to roll!\n"


class Channel:
    """A daemon that posts to a strict Slack."""

    def __init__(
        self, folder: Path, program: Program, catalogue: Catalogue, slack: FakeSlack, clock: HandClock
    ) -> None:
        self.slack = slack
        self.at_hand = AtHand(folder, program, catalogue, clock=clock, mode="bot", delivered_by=self._delivery)

    def _delivery(self, at_hand: AtHand) -> Delivery:
        transport = BotTransport(client(Secret(value=TOKEN, source="test"), self.slack.base_url))
        sender = Sender(transport, at_hand.clock, at_hand.waker.wake, pause=lambda _: False)
        sender.start()
        return Delivery(at_hand.database, sender, at_hand.clock)

    def write(self, text: str) -> None:
        """Append to the log, let half a minute pass, and send what is to be sent."""
        self.at_hand.write(text)
        self.pass_time(30)

    def pass_time(self, seconds: float) -> None:
        """Let time pass, and send what is to be sent."""
        self.at_hand.pass_time(seconds)
        for _ in range(100):
            counts = outbox.counts(self.at_hand.database.connection)
            if not counts["queued"] + counts["sending"] + counts["ambiguous"]:
                return
            self.at_hand.waker.wait(0.2)
            self.at_hand.daemon.wake_up()
        raise AssertionError(f"it never came to rest: {counts}")

    @property
    def header(self) -> str:
        """What the one message says first."""
        (root,) = self.slack.roots()
        return str(root["blocks"][0]["text"]["text"])

    def aloud(self) -> list[str]:
        """What the channel heard after the message itself."""
        return [texts_of(message) for message in self.slack.messages if message.get("reply_broadcast")]


@pytest.fixture
def channel(tmp_path: Path, program: Program, catalogue: Catalogue) -> Iterator[Channel]:
    clock = HandClock()
    with FakeSlack(clock=clock.wall) as slack:
        made = Channel(tmp_path, program, catalogue, slack, clock)
        yield made
        made.at_hand.close()
        assert slack.dangers == []


def test_a_fault_is_one_message_through_its_whole_life(channel: Channel, logs: Path) -> None:
    crash = LAUNCH + (logs / "real-seed-0523-sm90.log").read_text()
    channel.write(crash)
    assert channel.header.startswith("🔴 llama did not start: ")
    assert "Evidence" in texts_of(channel.slack.replies(channel.slack.roots()[0]["ts"])[0])
    channel.write(crash)
    assert channel.header.startswith("🔴 llama failed to start 2 times: ")
    assert channel.aloud() == []
    channel.write(crash)
    assert ["It is a crash loop" in text for text in channel.aloud()] == [True]
    channel.write(READY)
    channel.pass_time(571)
    assert channel.header.startswith("✅ Resolved: ")
    assert len(channel.aloud()) == 1
    channel.write(crash)
    assert channel.header.startswith("🔴 Again: llama failed to start 4 times: ")
    assert ["It is back" in text for text in channel.aloud()] == [False, True]
    channel.pass_time(4 * 3600)
    assert ["It is still open" in text for text in channel.aloud()] == [False, False, True]
