"""The daemon follows a log that grows, rotates and is truncated, and tells each fault once."""

import pytest
from structlog.testing import capture_logs

from responder.run.daemon import PLACES_SECONDS, QUIET_SECONDS
from responder.sources.follower import POLL_SECONDS
from responder.sources.schedule import HOT_SECONDS
from responder.store import checkpoints
from tests.run.daemon_at_hand import AtHand, HandClock

SEED_RULE = "trtllm-mha-prefill-cp-needs-sm100"


@pytest.fixture
def texts(logs):
    return {
        name: (logs / f"real-{name}.log").read_text()
        for name in ("seed-0523-sm90", "cp-strategy", "mla-sm90", "cp-tp", "accepted-0523")
    }


@pytest.fixture
def at_hand(tmp_path, program, catalogue):
    made = AtHand(tmp_path, program, catalogue)
    yield made
    made.close()


def test_a_fault_is_told_once_after_a_short_hold(at_hand, texts):
    at_hand.write(texts["seed-0523-sm90"])
    assert at_hand.rules() == []
    at_hand.pass_time(6)
    assert at_hand.rules() == [SEED_RULE]
    at_hand.pass_time(60)
    assert at_hand.rules() == [SEED_RULE]


def test_a_traceback_written_in_pieces_is_one_fault(at_hand, texts):
    for line in texts["seed-0523-sm90"].splitlines(keepends=True):
        at_hand.write(line[: len(line) // 2])
        at_hand.write(line[len(line) // 2 :])
    at_hand.pass_time(6)
    assert at_hand.rules() == [SEED_RULE]


def test_the_loop_looks_less_often_while_no_log_grows(at_hand):
    at_hand.write("a line\n")
    assert at_hand.daemon.rest == POLL_SECONDS
    at_hand.pass_time(HOT_SECONDS + 1)
    assert at_hand.daemon.rest == QUIET_SECONDS
    at_hand.write("another\n")
    assert at_hand.daemon.rest == POLL_SECONDS


def test_how_far_a_log_was_read_is_stored_once_a_second_and_at_the_end(at_hand):
    def stored() -> int:
        return checkpoints.load(at_hand.database.connection).checkpoints[0].offset

    at_hand.write("one\n")
    at_hand.write("two\n")
    assert stored() < at_hand.log.stat().st_size
    at_hand.pass_time(PLACES_SECONDS)
    assert stored() == at_hand.log.stat().st_size
    at_hand.write("three\n")
    assert stored() < at_hand.log.stat().st_size
    at_hand.daemon.stop()
    at_hand.daemon.run()
    assert stored() == at_hand.log.stat().st_size


def test_a_launch_that_is_accepted_tells_nothing(at_hand, texts):
    at_hand.write(texts["accepted-0523"])
    at_hand.pass_time(60)
    assert at_hand.rules() == []


def test_growing_rotating_and_truncating_lose_nothing(at_hand, texts):
    at_hand.write(texts["seed-0523-sm90"])
    at_hand.pass_time(6)
    at_hand.log.rename(at_hand.log.with_suffix(".log.1"))
    at_hand.write(texts["cp-strategy"])
    at_hand.pass_time(6)
    at_hand.log.write_text("")
    at_hand.pass_time(0.1)
    at_hand.write(texts["mla-sm90"])
    at_hand.pass_time(6)
    assert at_hand.rules() == [SEED_RULE, "cp-strategy-missing", "trtllm-mla-needs-blackwell"]


def test_a_traceback_that_a_rotation_cuts_is_one_fault(at_hand, texts):
    lines = texts["seed-0523-sm90"].splitlines(keepends=True)
    at_hand.write("".join(lines[:-3]))
    at_hand.log.rename(at_hand.log.with_suffix(".log.1"))
    at_hand.write("".join(lines[-3:]))
    at_hand.pass_time(6)
    assert at_hand.rules() == [SEED_RULE]


def test_restarts_of_the_server_are_counted_and_a_crash_loop_is_told(at_hand, texts):
    for _ in range(3):
        at_hand.write(texts["seed-0523-sm90"])
        at_hand.pass_time(20)
    assert at_hand.rules()[0] == SEED_RULE
    assert [reason for reason, _ in at_hand.told] == ["first", "crash-loop"]
    assert at_hand.told[-1][1].attempts == 3


def test_a_restart_of_the_daemon_tells_nothing_twice(tmp_path, program, catalogue, texts):
    clock = HandClock()
    first = AtHand(tmp_path, program, catalogue, clock=clock)
    first.write(texts["seed-0523-sm90"])
    first.pass_time(6)
    first.close()
    second = AtHand(tmp_path, program, catalogue, clock=clock)
    second.pass_time(60)
    assert (first.rules(), second.rules()) == ([SEED_RULE], [])
    second.close()


def test_a_fault_held_when_the_daemon_stops_is_told_by_the_next(tmp_path, program, catalogue, texts):
    clock = HandClock()
    first = AtHand(tmp_path, program, catalogue, clock=clock)
    first.write(texts["seed-0523-sm90"])
    first.close()
    second = AtHand(tmp_path, program, catalogue, clock=clock)
    second.pass_time(6)
    assert (first.rules(), second.rules()) == ([], [SEED_RULE])
    second.close()


def test_a_restart_inside_a_traceback_tells_it_once_and_whole(tmp_path, program, catalogue, texts):
    clock = HandClock()
    lines = texts["seed-0523-sm90"].splitlines(keepends=True)
    first = AtHand(tmp_path, program, catalogue, clock=clock)
    first.write("".join(lines[:-3]))
    first.close()
    second = AtHand(tmp_path, program, catalogue, clock=clock)
    second.write("".join(lines[-3:]))
    second.pass_time(6)
    assert second.rules() == [SEED_RULE]
    assert second.told[0][1].attempts == 1
    second.close()


def test_a_server_that_is_ready_for_ten_minutes_has_got_over_its_fault(at_hand, texts):
    at_hand.write(texts["seed-0523-sm90"])
    at_hand.pass_time(6)
    launch = texts["seed-0523-sm90"].splitlines(keepends=True)[0]
    at_hand.write(f"{launch}[2026-11-30 13:00:00] The server is fired up and ready to roll!\n")
    at_hand.pass_time(599)
    (status,) = at_hand.database.connection.execute("SELECT status FROM incident").fetchone()
    assert status == "open"
    at_hand.pass_time(2)
    (status,) = at_hand.database.connection.execute("SELECT status FROM incident").fetchone()
    assert status == "resolved"


def test_53_a_full_disk_delays_and_drops_nothing(at_hand, texts, disk_full):
    with capture_logs() as said, disk_full(at_hand.database):
        at_hand.write(texts["seed-0523-sm90"])
        at_hand.pass_time(6)
        assert at_hand.rules() == []
    at_hand.pass_time(6)
    at_hand.pass_time(6)
    assert at_hand.rules() == [SEED_RULE]
    (said_full,) = [line for line in said if line["log_level"] == "error"]
    assert said_full["event"] == "the state cannot be written; nothing is lost, it is tried again"


def test_53_a_disk_that_fills_before_an_alert_is_told_does_not_tell_it_twice(at_hand, texts, disk_full):
    at_hand.write(texts["seed-0523-sm90"])
    with disk_full(at_hand.database):
        for _ in range(20):
            at_hand.pass_time(6)
            assert at_hand.rules() in ([], [SEED_RULE])
    at_hand.pass_time(6)
    assert at_hand.rules() == [SEED_RULE]
