"""Scenarios 50 and 51, and what else following may not cost."""

import os
import tracemalloc
from pathlib import Path

import pytest

from responder.sources.framing import MAX_LINE
from responder.sources.schedule import Limits
from tests.sources.following import InProcess, append, texts


def open_files() -> int:
    """Descriptors that this process holds."""
    return len(list(Path("/proc/self/fd").iterdir()))


def test_50_many_files_1000(folder: Path) -> None:
    """Nothing lost, a quiet one's line at most two seconds late, descriptors bounded."""
    tail = InProcess(folder, Limits(descriptors=100))
    files = [folder / f"{n:04}.log" for n in range(1000)]
    for file in files:
        append(file, "old\n")
    before = open_files()
    tail.start(folder / "*.log")
    written = 0
    for turn in range(100):
        for file in files[:10]:
            append(file, f"busy {turn}\n" * 20)
            written += 20
        quiet = files[500 + turn]
        append(quiet, f"quiet {turn}\n")
        since = tail.clock.passed
        while f"quiet {turn}" not in {line.text for line in tail.lines[-400:]}:
            tail.clock.passed += 0.1
            tail.poll()
            tail.store()
            assert tail.clock.passed - since < 2.0
        assert open_files() - before <= 110
    tail.settle()
    assert len(tail.lines) == written + 100
    tail.stop()
    assert open_files() == before


def test_50_a_quiet_file_that_was_closed_is_rotated(folder: Path) -> None:
    """Its last lines are found under its new name, though nobody had it open."""
    tail = InProcess(folder, Limits(descriptors=5))
    files = [folder / f"{n:02}.log" for n in range(20)]
    for file in files:
        append(file, "old\n")
    tail.start(folder / "*.log")
    for file in files:
        append(file, "a1\n")
        file.rename(file.with_name(file.name + ".1"))
        append(file, "b1\n")
    tail.pause(2.0)
    assert sorted(texts(tail)) == ["a1"] * 20 + ["b1"] * 20
    tail.stop()


def test_51_fd_leak_deleted(tail: InProcess) -> None:
    """Two hundred times rotated and deleted: every line, and in the end no descriptor more than at the start."""
    log = tail.folder / "log"
    append(log, "a\n")
    tail.start(log, from_start=True)
    baseline = open_files()
    most = baseline
    for turn in range(200):
        append(log, f"line {turn}\n")
        rotated = tail.folder / "log.1"
        log.rename(rotated)
        append(log, f"new {turn}\n")
        tail.settle()
        rotated.unlink()
        most = max(most, open_files())
    assert texts(tail)[1:] == [text for turn in range(200) for text in (f"line {turn}", f"new {turn}")]
    assert most - baseline <= Limits().leaving + 2
    tail.pause(70.0)
    assert open_files() == baseline
    assert tail.happened("released") == 200


def test_a_thousand_missing_files_cost_nothing_but_one_word_each(tail: InProcess) -> None:
    """They may come."""
    tail.start(*(tail.folder / f"{n}.log" for n in range(1000)))
    tail.pause(1.0)
    assert tail.happened("missing") == 1000
    append(tail.folder / "500.log", "a1\n")
    tail.pause(2.0)
    assert texts(tail) == ["a1"]


@pytest.mark.parametrize("content", [bytes(range(256)) * 40000, os.urandom(1 << 20) * 10, b"\x7fELF" + bytes(1 << 20)])
def test_a_binary_file_costs_nothing(content: bytes, tail: InProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is told from its first bytes, said once, and not read however it grows."""
    core = tail.folder / "core"
    append(core, content)
    read: list[int] = []
    real = os.pread

    def pread(descriptor: int, length: int, offset: int) -> bytes:
        read.append(length)
        return real(descriptor, length, offset)

    monkeypatch.setattr("responder.sources.growing_file.os.pread", pread)
    tail.start(core, from_start=True)
    for _ in range(10):
        append(core, content[:100_000])
        tail.settle()
    assert tail.lines == []
    assert tail.happened("ignored") == 1
    assert sum(read) < 100_000


def test_a_binary_file_that_is_replaced_by_a_log_is_read(tail: InProcess) -> None:
    """Truncated and written anew."""
    log = tail.folder / "log"
    append(log, bytes(range(256)) * 100)
    tail.start(log, from_start=True)
    os.truncate(log, 0)
    append(log, "a1\n")
    tail.settle()
    assert texts(tail) == ["a1"]


GARBAGE = bytes(range(256)) * 100


def test_a_binary_file_that_goes_on_as_text_is_read_from_there(tail: InProcess) -> None:
    """Whatever was written over the beginning of a log hides none of its later lines, restarts and kills included."""
    log = tail.folder / "log"
    append(log, GARBAGE)
    tail.start(log, from_start=True)
    assert tail.lines == []
    lines = [f"line {n} of the log that follows" for n in range(9)]
    append(log, f"\n{lines[0]}\n")  # too little to be sure of
    tail.settle()
    append(log, "".join(f"{line}\n" for line in lines[1:3]))
    tail.settle()
    assert texts(tail)[-3:] == lines[:3]
    assert (tail.happened("ignored"), tail.happened("readable")) == (1, 1)
    for end, piece in ((tail.stop, lines[3:6]), (tail.kill, lines[6:])):
        end()
        append(log, "".join(f"{line}\n" for line in piece))
        append(log, GARBAGE[:11] + b"\n")
        tail.start(log)
        tail.settle()
    found = [line for line in texts(tail) if line.startswith("line ")]
    assert found == lines
    assert tail.happened("ignored") == 1


def test_a_text_behind_garbage_is_read_at_the_start(tail: InProcess) -> None:
    """Whole where the start was asked for, and else from its end."""
    whole, end = tail.folder / "whole", tail.folder / "end"
    lines = [f"line {n} of a log that lay there already" for n in range(50)]
    for log in (whole, end):
        append(log, GARBAGE + b"\n" + "".join(f"{line}\n" for line in lines).encode())
    tail.start(whole, from_start=True)
    assert texts(tail)[-50:] == lines
    tail.stop()
    tail.lines.clear()
    tail.start(whole, end)
    append(end, "a1\n")
    tail.settle()
    assert texts(tail) == ["a1"]


def test_a_restart_does_not_forget_that_a_file_is_binary(tail: InProcess) -> None:
    """Nor that it may become a text."""
    log = tail.folder / "log"
    append(log, GARBAGE)
    tail.start(log, from_start=True)
    tail.stop()
    append(log, GARBAGE)
    tail.start(log)
    assert tail.lines == []
    append(log, "\n" + "a line that is long enough to tell the end of garbage\n" * 2)
    tail.settle()
    assert texts(tail)[-2:] == ["a line that is long enough to tell the end of garbage"] * 2


def test_a_sparse_file_costs_nothing(tail: InProcess) -> None:
    """A hole of a terabyte is stepped over, before, between and behind the lines."""
    log = tail.folder / "log"
    append(log, "a1\n")
    os.truncate(log, 1 << 40)
    tracemalloc.start()
    tail.start(log, from_start=True)
    with log.open("r+b") as writer:
        writer.seek(1 << 39)
        writer.write(b"b1\n")
    tail.settle()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert [(line.text, line.offset) for line in tail.lines] == [("a1", 0), ("b1", 1 << 39)]
    assert peak < 20 << 20


def test_a_preallocated_file_is_read_as_it_fills(tail: InProcess) -> None:
    """Space that was set aside is no content."""
    log = tail.folder / "log"
    descriptor = os.open(log, os.O_RDWR | os.O_CREAT)
    os.posix_fallocate(descriptor, 0, 10 << 20)
    tail.start(log, from_start=True)
    for n in range(3):
        os.pwrite(descriptor, f"line {n}\n".encode(), n * 7)
        tail.settle()
    os.close(descriptor)
    assert [(line.text, line.offset) for line in tail.lines] == [("line 0", 0), ("line 1", 7), ("line 2", 14)]


def test_unfinished_lines_of_many_files_do_not_fill_the_memory(tail: InProcess) -> None:
    """A line that has not ended is kept in its file, not here."""
    for n in range(100):
        append(tail.folder / f"{n}.log", "x" * (MAX_LINE - 1))
    tracemalloc.start()
    tail.start(tail.folder / "*.log", from_start=True)
    tail.pause(1.0)
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert tail.lines == []
    assert held < 4 << 20


def test_a_poll_reads_no_more_than_its_budget_and_is_fair(folder: Path) -> None:
    """A file with much to read does not keep the others waiting."""
    tail = InProcess(folder, Limits(chunk=1 << 20, budget=2 << 20))
    big = folder / "big.log"
    append(big, ("x" * 99 + "\n") * 200_000)
    for n in range(5):
        append(folder / f"small{n}.log", f"small {n}\n")
    assert tail.follower is None
    tail.start(folder / "*.log", from_start=True)
    first = next(i for i, block in enumerate(tail.blocks) if block.path != str(big))
    assert first <= 5
    assert max(len(block.data) for block in tail.blocks) <= 1 << 20
    assert len(tail.lines) == 200_005
    tail.stop()


def test_however_many_files_have_grown_a_poll_keeps_to_its_budget(folder: Path) -> None:
    """Those that were left come first the next time."""
    tail = InProcess(folder, Limits(budget=2 << 20))
    for n in range(60):
        append(folder / f"{n}.log", "")
    tail.start(folder / "*.log")
    for n in range(60):
        append(folder / f"{n}.log", ("x" * 99 + "\n") * 2000)
    tail.clock.passed += 1
    served: list[set[str]] = []
    while len(tail.lines) < 120_000:
        blocks = tail.poll()
        assert sum(len(block.data) for block in blocks) <= (2 << 20) + MAX_LINE
        served.append({block.path for block in blocks})
    assert not served[0] & served[1]
    tail.stop()


def test_a_hostile_file_makes_few_objects_per_read(tail: InProcess) -> None:
    """Every line begins with a NUL: as many pieces as lines, but only so many at a time."""
    log = tail.folder / "log"
    append(log, "".join(f"\0line {n} with some text to look like a log\n" for n in range(20_000)))
    tail.start(log)
    append(log, "".join(f"\0line {n} with some text to look like a log\n" for n in range(20_000)))
    assert tail.follower
    tail.clock.passed += 1
    assert len(tail.poll()) <= 1000
    tail.settle()
    assert len(tail.lines) == 20_000


def test_a_folder_is_reported_once_and_not_touched(tail: InProcess) -> None:
    """Nor is a device or a socket."""
    (tail.folder / "sub.log").mkdir()
    (tail.folder / "null.log").symlink_to("/dev/null")
    tail.start(tail.folder / "*.log", from_start=True)
    tail.pause(2.0)
    assert sorted(e.detail for e in tail.events) == ["a folder, not a file", "neither a file nor a pipe"]
