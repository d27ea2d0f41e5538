"""The scenarios of following logs that only the whole daemon can show: a slow Slack, and records of several lines."""

import os
import threading

import pytest

from responder.publish.slack.sender import Delivery, Sender
from responder.publish.slack.token import Secret
from responder.publish.slack.transport import BotTransport, client
from responder.run.watched import CUT_SECONDS
from responder.store import outbox
from tests.fake_slack import TOKEN, FakeSlack
from tests.run.daemon_at_hand import AtHand, HandClock

FAILED_LAUNCHES = ("seed-0523-sm90", "cp-strategy", "mla-sm90")


FANCY = [("Unknown failure: FancyError in forward", 1)]


def traceback(rank: str = "TP0", exception: str = "FancyError: nothing that anybody knows") -> list[str]:
    """A traceback that no rule knows, line by line."""
    text = f"""\
[2026-11-30 12:00:00 {rank}] Scheduler hit an exception: Traceback (most recent call last):
  File "/opt/sglang/srt/managers/scheduler.py", line 4112, in run_scheduler_process
    scheduler = Scheduler(
                ^^^^^^^^^^
  File "/opt/sglang/srt/model_executor/model_runner.py", line 318, in forward
    self._run(batch)
{exception}
"""
    return text.splitlines(keepends=True)


@pytest.fixture
def at_hand(tmp_path, program, catalogue):
    made = AtHand(tmp_path, program, catalogue)
    yield made
    made.close()


def told(*runs: AtHand) -> list[tuple[str, int]]:
    """Title and attempts of each alert."""
    return [(incident.title, incident.attempts) for run in runs for _, incident in run.told]


def copy_and_truncate(at_hand: AtHand) -> None:
    """Rotate as logrotate does with `copytruncate`."""
    at_hand.log.with_suffix(".log.1").write_bytes(at_hand.log.read_bytes())
    os.truncate(at_hand.log, 0)


class Gate:
    """A way to Slack that is shut until somebody opens it."""

    def __init__(self, slack: FakeSlack) -> None:
        self.open, self.reached = threading.Event(), threading.Event()
        self._transport = BotTransport(client(Secret(value=TOKEN, source="test"), slack.base_url, timeout=5))

    def deliver(self, row):
        self.reached.set()
        assert self.open.wait(30)
        return self._transport.deliver(row)


def test_52_backpressure_slow_slack(tmp_path, program, catalogue, logs):
    clock = HandClock()

    def advance(seconds: float) -> bool:
        clock.now += seconds
        return False

    with FakeSlack(clock=clock.wall) as slack:
        gate = Gate(slack)

        def delivered_by(at_hand: AtHand) -> Delivery:
            sender = Sender(gate, clock, at_hand.waker.wake, advance)
            sender.start()
            return Delivery(at_hand.database, sender, clock)

        at_hand = AtHand(tmp_path, program, catalogue, clock=clock, mode="bot", delivered_by=delivered_by)
        written = 0
        for name in FAILED_LAUNCHES:
            text = (logs / f"real-{name}.log").read_text()
            written += text.count("\n")
            at_hand.write(text)
            at_hand.pass_time(20)
        assert gate.reached.is_set()
        assert at_hand.daemon.watched[0].lines_seen == written
        assert len(at_hand.told) == 3
        counts = outbox.counts(at_hand.database.connection)
        assert (counts["sending"], counts["sent"]) == (1, 0)
        assert slack.messages == []
        gate.open.set()
        while any(outbox.counts(at_hand.database.connection)[state] for state in ("queued", "sending", "ambiguous")):
            at_hand.waker.wait(5)
            at_hand.daemon.wake_up()
        roots = [message["metadata"]["event_payload"]["incident_id"] for message in slack.roots()]
        assert sorted(roots) == sorted({incident.id for _, incident in at_hand.told})
        at_hand.close()


@pytest.mark.parametrize("jump", [-3600.0, 3600.0])
def test_58_clock_jump_wall(at_hand, jump):
    at_hand.write("".join(traceback()))
    at_hand.pass_time(1)
    at_hand.clock.set_by += jump
    at_hand.pass_time(15)
    assert told(at_hand) == []
    at_hand.pass_time(10)
    assert told(at_hand) == FANCY
    at_hand.clock.set_by -= jump
    at_hand.pass_time(4 * 3600 - 60)
    assert len(at_hand.told) == 1
    at_hand.pass_time(120)
    assert [reason for reason, _ in at_hand.told] == ["first", "repeat"]


def test_58_a_clock_that_is_set_back_does_not_keep_messages_waiting(tmp_path, program, catalogue, logs):
    clock = HandClock()
    pauses = []

    def advance(seconds: float) -> bool:
        pauses.append(seconds)
        clock.now += seconds
        return False

    with FakeSlack(clock=clock.wall) as slack:

        def delivered_by(at_hand: AtHand) -> Delivery:
            transport = BotTransport(client(Secret(value=TOKEN, source="test"), slack.base_url, timeout=5))
            sender = Sender(transport, clock, at_hand.waker.wake, advance)
            sender.start()
            return Delivery(at_hand.database, sender, clock)

        at_hand = AtHand(tmp_path, program, catalogue, clock=clock, mode="bot", delivered_by=delivered_by)
        slack.fail("503")
        at_hand.write((logs / "real-seed-0523-sm90.log").read_text())
        at_hand.pass_time(6)
        while not outbox.stuck(at_hand.database.connection):
            at_hand.waker.wait(5)
            at_hand.daemon.wake_up()
        clock.set_by -= 3600
        for _ in range(100):
            at_hand.pass_time(1)
            at_hand.waker.wait(0.05)
        assert [bool(slack.replies(root["ts"])) for root in slack.roots()] == [True]
        assert max(pauses) <= 1.0
        at_hand.close()


def test_59_multiline_traceback_timeout(at_hand):
    for line in traceback():
        at_hand.write(line)
        at_hand.pass_time(3)
    at_hand.pass_time(30)
    assert told(at_hand) == FANCY
    at_hand.pass_time(120)
    assert len(at_hand.told) == 1


def test_59_a_traceback_that_ends_in_the_middle_is_told_after_its_timeout_and_swallows_nothing(at_hand, logs):
    at_hand.write("".join(traceback()[:4]))
    at_hand.pass_time(CUT_SECONDS - 1)
    assert at_hand.daemon.watched[0].pipeline.diagnosis.findings()[0].rule.role == "symptom"
    at_hand.pass_time(2)
    at_hand.pass_time(30)
    at_hand.pass_time(60)
    assert told(at_hand) == [("Unknown failure: traceback in run_scheduler_process", 1)]
    at_hand.write((logs / "real-mla-sm90.log").read_text())
    at_hand.pass_time(6)
    assert at_hand.rules()[-1] == "trtllm-mla-needs-blackwell"


def test_59_a_traceback_whose_last_line_has_no_newline_is_told_whole_and_once(at_hand):
    at_hand.write("".join(traceback()).removesuffix("\n"))
    at_hand.pass_time(CUT_SECONDS + 1)
    at_hand.pass_time(30)
    assert told(at_hand) == FANCY
    at_hand.write(" at all\n[2026-11-30 12:01:00] a line\n")
    at_hand.pass_time(60)
    assert told(at_hand) == FANCY
    assert at_hand.told[0][1].lines == 1


@pytest.mark.parametrize("kill", [False, True])
def test_59_its_last_line_is_told_by_the_rule_that_knows_it_also_at_a_start(tmp_path, program, catalogue, logs, kill):
    clock = HandClock()
    (tmp_path / "server.log").write_text((logs / "real-mla-sm90.log").read_text().removesuffix("\n"))
    first = AtHand(tmp_path, program, catalogue, clock=clock)
    first.pass_time(1)
    if kill:
        first.die()
    else:
        first.close()
    second = AtHand(tmp_path, program, catalogue, clock=clock)
    for _ in range(10):
        second.pass_time(10)
    assert first.rules() + second.rules() == ["trtllm-mla-needs-blackwell"]
    second.close()


@pytest.mark.parametrize("cut", range(1, 7))
def test_60_multiline_across_rotation(at_hand, cut):
    lines = traceback()
    at_hand.write("".join(lines[:cut]))
    at_hand.log.rename(at_hand.log.with_suffix(".log.1"))
    at_hand.write("".join(lines[cut:]))
    at_hand.pass_time(30)
    at_hand.pass_time(60)
    assert told(at_hand) == FANCY


@pytest.mark.parametrize("cut", range(1, 7))
def test_60_multiline_across_copytruncate(at_hand, cut):
    lines = traceback()
    at_hand.write("".join(lines[:cut]))
    copy_and_truncate(at_hand)
    at_hand.pass_time(0.1)
    at_hand.write("".join(lines[cut:]))
    at_hand.pass_time(30)
    at_hand.pass_time(60)
    assert told(at_hand) == FANCY


def test_60_a_rule_that_asks_for_a_frame_finds_it_across_a_rotation(at_hand):
    frame = '  File "/opt/sglang/srt/mem_cache/hiradix_cache.py", line 1390, in init_load_back\n'
    lines = [*traceback()[:1], frame, "    self.load_back(node)\n", "AssertionError\n"]
    at_hand.write("".join(lines[:2]))
    at_hand.log.rename(at_hand.log.with_suffix(".log.1"))
    at_hand.write("".join(lines[2:]))
    at_hand.pass_time(30)
    assert at_hand.rules() == ["prefix-tree-assertion"]


def test_61_multiline_interleaved_ranks(at_hand):
    ranks = [f"TP{number}" for number in range(8)]
    for together in zip(*(traceback(rank) for rank in ranks), strict=True):
        at_hand.write("".join(together))
    at_hand.pass_time(30)
    at_hand.pass_time(60)
    assert told(at_hand) == FANCY
    assert sorted(at_hand.told[0][1].ranks) == ranks


def test_61_a_thousand_frames_across_a_restart_are_one_alert(tmp_path, program, catalogue):
    head, *_, exception = traceback()
    frames = [f'  File "/x/graph.py", line {n}, in visit_{n}\n    visit(node)\n    ^^^^^\n' for n in range(1000)]
    first = AtHand(tmp_path, program, catalogue)
    first.write(head + "".join(frames[:700]))
    first.die()
    second = AtHand(tmp_path, program, catalogue, clock=first.clock)
    second.write("".join(frames[700:]) + exception)
    second.pass_time(30)
    second.pass_time(60)
    assert told(first, second) == [("Unknown failure: FancyError in visit_999", 1)]
    second.close()


@pytest.mark.parametrize("kill", [False, True])
@pytest.mark.parametrize("cut", range(1, 7))
def test_62_multiline_restart(tmp_path, program, catalogue, cut, kill):
    clock, lines = HandClock(), traceback()
    first = AtHand(tmp_path, program, catalogue, clock=clock)
    first.write("".join(lines[:cut]))
    if kill:
        first.die()
    else:
        first.close()
    second = AtHand(tmp_path, program, catalogue, clock=clock)
    second.write("".join(lines[cut:]))
    second.pass_time(30)
    second.pass_time(60)
    assert told(first, second) == FANCY
    second.close()


@pytest.mark.parametrize("cut", range(1, 4))
def test_62_a_kill_inside_a_traceback_that_rotation_had_cut(tmp_path, program, catalogue, cut):
    lines = traceback()
    first = AtHand(tmp_path, program, catalogue)
    first.write("".join(lines[:cut]))
    first.log.rename(first.log.with_suffix(".log.1"))
    first.write("".join(lines[cut:-1]))
    first.die()
    second = AtHand(tmp_path, program, catalogue, clock=first.clock)
    second.write(lines[-1])
    second.pass_time(30)
    second.pass_time(60)
    assert told(first, second) == FANCY
    second.close()


def test_62_a_copy_made_while_it_was_down_holds_the_same_crash(tmp_path, program, catalogue):
    clock, lines = HandClock(), traceback()
    first = AtHand(tmp_path, program, catalogue, clock=clock)
    first.write("".join(lines[:-1]))
    first.die()
    copy_and_truncate(first)
    second = AtHand(tmp_path, program, catalogue, clock=clock)
    second.write(lines[-1])
    second.pass_time(30)
    second.pass_time(60)
    assert told(first, second) == FANCY
    assert second.told[0][1].lines == 1
    second.close()


def test_62_rotated_logs_from_before_the_first_start_stay_unread_after_a_restart(tmp_path, program, catalogue, logs):
    (tmp_path / "server.log.1").write_text((logs / "real-seed-0523-sm90.log").read_text())
    clock = HandClock()
    first = AtHand(tmp_path, program, catalogue, clock=clock)
    first.write("[2026-11-30 12:00:00] a line\n")
    first.die()
    (tmp_path / "server.log.1").rename(tmp_path / "server.log.2")
    copy_and_truncate(first)
    second = AtHand(tmp_path, program, catalogue, clock=clock)
    second.pass_time(1)
    second.write("[2026-11-30 12:00:01] another\n")
    second.pass_time(60)
    assert told(first, second) == []
    assert second.daemon.watched[0].lines_seen == 1
    second.close()
