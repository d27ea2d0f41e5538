"""A start on logs that hold old failures tells them in one message, and new ones as ever."""

import re
from datetime import datetime

import pytest

from tests.run.daemon_at_hand import AtHand, HandClock

NIGHT = ("seed-0523-sm90", "cp-strategy", "mla-sm90", "cp-tp")
"""Logs of launches that fail, each of something else."""


@pytest.fixture
def morning():
    """A clock that stands well after every line of the logs."""
    clock = HandClock()
    clock.now = datetime(2026, 12, 24, 8).timestamp()
    return clock


@pytest.fixture
def night(logs):
    return [(logs / f"real-{name}.log").read_text() for name in NIGHT]


def posts(at_hand):
    """Keys and texts of what the channel would get."""
    query = "SELECT key, payload FROM outbox WHERE kind = 'post' ORDER BY number"
    return [key.partition(":")[0] for key, _ in at_hand.database.connection.execute(query)]


def settle(at_hand):
    """Let it read what is there, and then the time go by that a first message waits."""
    at_hand.pass_time(1)
    at_hand.pass_time(60)


def kept(at_hand):
    return {rule for (rule,) in at_hand.database.connection.execute("SELECT rule FROM incident")}


def test_many_old_failures_are_one_summary(tmp_path, program, catalogue, morning, night):
    (tmp_path / "server.log").write_text("".join(night))
    at_hand = AtHand(tmp_path, program, catalogue, clock=morning, mode="bot")
    settle(at_hand)
    assert posts(at_hand) == ["summary"]
    assert len(kept(at_hand)) == 4
    at_hand.pass_time(3600)
    assert posts(at_hand) == ["summary"]
    at_hand.close()


def test_a_few_old_failures_get_a_message_each(tmp_path, program, catalogue, morning, night):
    (tmp_path / "server.log").write_text("".join(night[:3]))
    at_hand = AtHand(tmp_path, program, catalogue, clock=morning, mode="bot")
    settle(at_hand)
    assert len(posts(at_hand)) == 3
    assert "summary" not in posts(at_hand)
    at_hand.close()


def test_what_happens_after_the_start_gets_its_own_message_whatever_its_lines_say(
    tmp_path, program, catalogue, morning, night
):
    at_hand = AtHand(tmp_path, program, catalogue, clock=morning, mode="bot")
    at_hand.pass_time(1)
    at_hand.write("".join(night))
    settle(at_hand)
    assert len(posts(at_hand)) == 4
    assert "summary" not in posts(at_hand)
    at_hand.close()


def test_a_failure_of_just_now_is_told_by_itself_beside_the_summary(tmp_path, program, catalogue, morning, night, logs):
    now = datetime.fromtimestamp(morning.now).strftime("[%Y-%m-%d %H:%M:%S")
    fresh = re.sub(r"\[20[0-9-]{8} [0-9:]{8}", now, (logs / "real-mha-prefill-sm89.log").read_text())
    (tmp_path / "server.log").write_text("".join(night) + fresh)
    at_hand = AtHand(tmp_path, program, catalogue, clock=morning, mode="bot")
    settle(at_hand)
    assert sorted(post == "summary" for post in posts(at_hand)) == [False, True]
    assert len(kept(at_hand)) == 5
    at_hand.close()


def test_the_summary_survives_a_kill_before_it_is_told(tmp_path, program, catalogue, morning, night, monkeypatch):
    log = tmp_path / "server.log"
    log.write_text("".join(night))
    first = AtHand(tmp_path, program, catalogue, clock=morning, mode="bot")
    with monkeypatch.context() as patched:
        patched.setattr(type(first.daemon.watched[0]), "behind", True)
        settle(first)
    assert (posts(first), len(kept(first))) == ([], 4)
    first.close()
    second = AtHand(tmp_path, program, catalogue, clock=morning, mode="bot")
    settle(second)
    assert posts(second) == ["summary"]
    second.close()


def test_a_restart_summarises_nothing_again(tmp_path, program, catalogue, morning, night):
    (tmp_path / "server.log").write_text("".join(night))
    for _ in range(3):
        at_hand = AtHand(tmp_path, program, catalogue, clock=morning, mode="bot")
        settle(at_hand)
        assert posts(at_hand) == ["summary"]
        at_hand.close()


def test_a_terminal_gets_each_of_them(tmp_path, program, catalogue, morning, night):
    (tmp_path / "server.log").write_text("".join(night))
    at_hand = AtHand(tmp_path, program, catalogue, clock=morning)
    settle(at_hand)
    assert len(at_hand.rules()) == 4
    at_hand.close()
