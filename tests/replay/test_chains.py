"""Which files are one log, and what its server is called."""

import pytest

from responder.replay.chains import chains, server_name

LINE = "[2026-09-14 {time} TP0] Decode batch, #running-req: 3\n"


@pytest.fixture
def log(tmp_path):
    def written(name: str, *times: str, head: str = "") -> None:
        (tmp_path / name).write_text(head + "".join(LINE.format(time=time) for time in times))

    return written


def names(tmp_path, *given: str) -> list[list[str]]:
    found = chains(tmp_path / name for name in (given or sorted(path.name for path in tmp_path.iterdir())))
    return sorted([path.name for path in chain] for chain in found)


def test_rotated_siblings_are_one_log_from_old_to_new(tmp_path, log):
    for name, time in (("s.log", "09:00:00"), ("s.log.1", "08:00:00"), ("s.log.2", "07:00:00")):
        log(name, time)
    (tmp_path / "s.log.3.gz").write_bytes(b"")
    assert names(tmp_path) == [["s.log.3.gz", "s.log.2", "s.log.1", "s.log"]]


def test_pieces_that_follow_in_time_are_one_log(tmp_path, log):
    log("second.log", "07:30:00")
    log("first.log", "07:00:00", "07:29:59")
    assert names(tmp_path) == [["first.log", "second.log"]]


def test_a_piece_that_begins_inside_a_traceback_goes_on(tmp_path, log):
    log("one.txt", "07:00:00")
    (tmp_path / "two.txt").write_text('  File "/x.py", line 1, in f\nValueError: x\n')
    assert names(tmp_path, "one.txt", "two.txt") == [["one.txt", "two.txt"]]


def test_servers_with_launches_of_their_own_stay_apart(tmp_path, log):
    log("llama-70b.log", "07:00:01", head="[2026-09-14 07:00:00] server_args=ServerArgs(model_path='/m/a')\n")
    log("qwen.log", "07:01:01", head="[2026-09-14 07:01:00] server_args=ServerArgs(model_path='/m/b')\n")
    assert names(tmp_path) == [["llama-70b.log"], ["qwen.log"]]


def test_logs_written_side_by_side_stay_apart(tmp_path, log):
    log("a.log", "07:00:00", "07:10:00")
    log("b.log", "07:05:00", "07:15:00")
    assert names(tmp_path) == [["a.log"], ["b.log"]]


def test_logs_without_any_time_stay_apart(tmp_path):
    (tmp_path / "llama.log").write_text("CUDA error: out of memory\n")
    (tmp_path / "qwen.log").write_text("CUDA error: out of memory\n")
    assert names(tmp_path) == [["llama.log"], ["qwen.log"]]


def test_archives_of_different_names_stay_apart(tmp_path):
    for name in ("llama.log.gz", "qwen.log.gz"):
        (tmp_path / name).write_bytes(b"")
    assert names(tmp_path) == [["llama.log.gz"], ["qwen.log.gz"]]


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/logs/llama-70b.log", "llama-70b"),
        ("/logs/llama-70b.log.2.gz", "llama-70b"),
        ("/logs/qwen/server.log", "qwen"),
        ("-", "stdin"),
    ],
)
def test_a_server_is_called_after_its_log(path, name):
    from pathlib import Path

    assert server_name([Path(path)]) == name
