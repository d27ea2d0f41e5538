"""Metrics and health over real HTTP, asked while the loop turns."""

import json
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator

import pytest
from structlog.testing import capture_logs

from responder.run.http import HealthServer, address_of
from responder.run.source_log import SourceLog
from responder.sources.events import SourceEvent
from tests.run.daemon_at_hand import AtHand


@pytest.fixture
def at_hand(tmp_path, program, catalogue):
    made = AtHand(tmp_path, program, catalogue)
    yield made
    made.close()


@pytest.fixture
def port(at_hand: AtHand) -> Iterator[int]:
    server = HealthServer("127.0.0.1:0", at_hand.inquiry)
    yield server.port
    server.close()


def get(at_hand: AtHand, port: int, path: str) -> tuple[int, str]:
    """Ask, and let the daemon turn until there is an answer."""
    answers: list[tuple[int, str]] = []

    def ask() -> None:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=30) as answer:
                answers.append((answer.status, answer.read().decode()))
        except urllib.error.HTTPError as error:
            answers.append((error.code, error.read().decode()))

    thread = threading.Thread(target=ask)
    thread.start()
    while thread.is_alive():
        at_hand.waker.wait(0.1)
        at_hand.daemon.wake_up()
    thread.join()
    return answers[0]


def test_metrics_count_what_was_read_found_and_told(at_hand, port, logs):
    at_hand.write((logs / "real-seed-0523-sm90.log").read_text())
    at_hand.pass_time(6)
    status, text = get(at_hand, port, "/metrics")
    lines = set(text.splitlines())
    assert status == 200
    assert f'responder_lines_read_total{{server="llama"}} {float(at_hand.daemon.watched[0].lines_seen)}' in lines
    assert 'responder_matches_total{rule="trtllm-mha-prefill-cp-needs-sm100",server="llama"} 1.0' in lines
    assert 'responder_incidents{status="open"} 1.0' in lines
    assert 'responder_lag_seconds{server="llama"} 0.0' in lines
    assert {"responder_dead_letters 0.0", "responder_sink_failing 0.0", "responder_up 1.0"} <= lines
    assert 'responder_outbox{state="queued"} 0.0' in lines


def test_metrics_count_the_lines_that_were_cut_and_the_logs_that_cannot_be_read(at_hand, port):
    at_hand.write("x" * 300_000 + "\nshort\n" + "y" * 300_000 + "\n")
    _, text = get(at_hand, port, "/metrics")
    assert {'responder_lines_cut_total{server="llama"} 2.0', 'responder_logs_unreadable{server="llama"} 0.0'} <= set(
        text.splitlines()
    )
    at_hand.log.unlink()
    at_hand.log.mkdir()
    at_hand.pass_time(1)
    _, text = get(at_hand, port, "/metrics")
    assert 'responder_logs_unreadable{server="llama"} 1.0' in text.splitlines()
    at_hand.log.rmdir()
    at_hand.pass_time(1)
    _, text = get(at_hand, port, "/metrics")
    assert 'responder_logs_unreadable{server="llama"} 0.0' in text.splitlines()


def test_the_log_tells_of_one_cut_line_and_not_of_every_one():
    tell = SourceLog()
    with capture_logs() as said:
        for offset in range(0, 10_000, 1000):
            tell(SourceEvent("line-cut", "/a.log", offset))
        tell(SourceEvent("line-cut", "/b.log"))
        tell(SourceEvent("rotated", "/a.log"))
        tell(SourceEvent("rotated", "/a.log"))
    assert [(line["event"], line["path"], line["log_level"]) for line in said] == [
        ("line-cut", "/a.log", "warning"),
        ("line-cut", "/b.log", "warning"),
        ("rotated", "/a.log", "info"),
        ("rotated", "/a.log", "info"),
    ]


def test_health_is_good_while_the_loop_turns_and_names_what_ails_the_sink(at_hand, port):
    at_hand.fail_sink("HTTP 500")
    status, text = get(at_hand, port, "/healthz")
    told = json.loads(text)
    assert (status, told["status"], told["sink_error"]) == (200, "ok", "HTTP 500")


def test_health_is_bad_while_the_state_cannot_be_written(at_hand, port, disk_full):
    with disk_full(at_hand.database):
        at_hand.write("[2026-11-30 12:00:00] a line\n")
        status, text = get(at_hand, port, "/healthz")
    assert (status, json.loads(text)["status"]) == (503, "state cannot be written")
    at_hand.pass_time(0.1)
    assert get(at_hand, port, "/healthz")[0] == 200


def test_a_loop_that_does_not_answer_is_called_stuck(port, monkeypatch):
    monkeypatch.setattr("responder.run.http.PATIENCE", 0.05)
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz", timeout=30)
    assert (refused.value.code, json.load(refused.value)["status"]) == (503, "stuck")
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=30) as answer:
        assert "responder_up 0.0" in answer.read().decode().splitlines()


def test_other_paths_are_not_found(at_hand, port):
    assert get(at_hand, port, "/etc/passwd")[0] == 404


@pytest.mark.parametrize(
    ("listen", "address"),
    [
        ("9400", ("127.0.0.1", 9400)),
        (":9400", ("127.0.0.1", 9400)),
        ("0.0.0.0:9400", ("0.0.0.0", 9400)),
        ("[::1]:9400", ("::1", 9400)),
    ],
)
def test_without_a_host_only_this_host_is_served(listen, address):
    assert address_of(listen) == address


@pytest.mark.parametrize("listen", ["localhost", "localhost:http", "localhost:99999", ""])
def test_an_address_without_a_port_is_refused(listen):
    with pytest.raises(ValueError, match="no port"):
        address_of(listen)
