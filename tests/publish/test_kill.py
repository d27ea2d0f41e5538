"""kill -9 at random instants, with a Slack that drops and refuses: every message arrives once.

A child process does the work of the loop: it queues messages and delivers them, on a clock that runs fifty times as
fast as the world's, so that waiting costs nothing.
"""

import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.fake_slack import FakeSlack

SPEED = 50.0
MESSAGES = 40


class FastClock:
    """The world's clock, and fifty times as fast; the same in every process that is given its start."""

    def __init__(self, start: float) -> None:
        self.start = start

    def wall(self) -> float:
        return self.start + (time.time() - self.start) * SPEED

    def pause(self, seconds: float) -> bool:
        time.sleep(seconds / SPEED)
        return False


def child(state: str, base_url: str, start: str) -> None:
    """Queue what is not queued yet, a message per turn, and deliver; end when all of it has arrived."""
    import threading

    from responder.publish.slack.sender import Delivery, Sender
    from responder.publish.slack.token import Secret
    from responder.publish.slack.transport import BotTransport, client
    from responder.store import outbox
    from responder.store.database import open_database
    from tests.fake_slack import TOKEN

    clock, woken = FastClock(float(start)), threading.Event()
    database = open_database(Path(state), clock)
    sender = Sender(BotTransport(client(Secret(value=TOKEN, source="t"), base_url, 2)), clock, woken.set, clock.pause)
    sender.start()
    delivery = Delivery(database, sender, clock)
    delivery.recover()
    print("ready", flush=True)
    while True:
        (done,) = database.connection.execute("SELECT count(*) FROM outbox WHERE parent IS NULL").fetchone()
        if done < MESSAGES:
            with database.transaction() as connection:
                post, now = f"i{done}:post:1", clock.wall()
                payload = {"text": post}
                outbox.put(
                    connection, key=post, incident=f"i{done}", kind="post", channel="alerts", payload=payload, now=now
                )
                key = f"{post}:reply:1"
                outbox.put(
                    connection, key=key, incident=f"i{done}", kind="reply", channel="alerts", payload=payload, now=now,
                    parent=post,
                )  # fmt: skip
        due = delivery.pump()
        counts = outbox.counts(database.connection)
        if counts["sent"] == 2 * MESSAGES or counts["dead"]:
            print(counts, flush=True)
            return
        patience = 0.5 if due is None else max(0.0, due - clock.wall()) / SPEED
        woken.wait(min(patience, 0.5) if done == MESSAGES else 0.005)
        woken.clear()


@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.fleet) for seed in range(2, 20))])
def test_every_message_arrives_once_however_often_the_process_is_killed(tmp_path: Path, seed: int) -> None:
    chance, start = random.Random(seed), time.time()
    with FakeSlack(clock=FastClock(start).wall) as slack:
        slack.fail_at_random(0.3, ["429:1", "500", "503", "drop-before", "drop-after", "half", "slow:0.05"], seed)
        command = [sys.executable, "-c", f"from {__name__} import child; child(*__import__('sys').argv[1:])"]
        command += [str(tmp_path / "state.db"), slack.base_url, repr(start)]
        root = Path(__file__).parents[2]
        for kills in range(100):
            with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=root) as process:
                assert process.stdout is not None
                assert process.stdout.readline() == "ready\n"
                try:
                    process.wait(chance.uniform(0.0, 0.4) if kills < 8 else 60)
                except subprocess.TimeoutExpired:
                    process.send_signal(signal.SIGKILL)
                    continue
                assert process.returncode == 0
                break
        keys = [message["metadata"]["event_payload"]["row"] for message in slack.messages]
        assert len(keys) == len(set(keys))
        assert len(keys) == 2 * MESSAGES
        posts = {message["ts"]: message["text"] for message in slack.roots()}
        assert all(posts[m["thread_ts"]] == m["text"] for m in slack.messages if m.get("thread_ts"))
