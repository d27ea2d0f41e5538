"""A log whose last line has no end when following begins."""

from collections.abc import Callable
from pathlib import Path

import pytest

from responder.sources.framing import MAX_LINE
from tests.sources.following import InProcess, append, partials, texts


@pytest.mark.parametrize("from_start", [True, False])
@pytest.mark.parametrize("before", ["", "old\n"])
def test_it_comes_whole_once_it_is_ended(before: str, from_start: bool, tail: InProcess) -> None:
    """Be it the only line, and be the rest of the log asked for or not."""
    log = tail.folder / "log"
    append(log, f"{before}café".encode()[:-1])
    tail.start(log, from_start=from_start)
    tail.pause(1.0)
    append(log, "é".encode()[-1:] + b"\na1\n")
    tail.settle()
    old = [("old", 0)] if before and from_start else []
    new = [("café", len(before)), ("a1", len(before) + 6)]
    assert [(line.text, line.offset) for line in tail.lines] == old + new


@pytest.mark.parametrize("end", [InProcess.stop, InProcess.kill])
def test_it_comes_whole_and_once_over_restarts(end: Callable[[InProcess], None], tail: InProcess) -> None:
    """However often the follower begins while the line has no end."""
    log = tail.folder / "log"
    append(log, "old\nbeg")
    for _ in range(3):
        tail.start(log)
        tail.settle()
        end(tail)
        append(log, "in")
    tail.start(log)
    append(log, "-end\n")
    tail.settle()
    assert [(line.text, line.offset, line.partial) for line in tail.lines] == [("begininin-end", 4, False)]


def test_it_comes_once_and_marked_when_the_log_is_rotated_before_it_ends(tail: InProcess) -> None:
    """Nobody will end it."""
    log = tail.folder / "log"
    append(log, "old\nbegin")
    tail.start(log)
    log.rename(tail.folder / "log.1")
    append(log, "b1\n")
    tail.pause(3.0)
    assert texts(tail) == ["b1"]
    assert [(line.text, line.offset) for line in tail.lines if line.partial] == [("begin", 4)]


def test_it_is_passed_over_where_it_is_longer_than_a_line_may_be(tail: InProcess) -> None:
    """Its beginning was not asked for; the line after it is exact."""
    log = tail.folder / "log"
    append(log, "old\n" + "x" * (2 * MAX_LINE))
    tail.start(log)
    append(log, "y" * MAX_LINE + "\na1\n")
    tail.settle()
    assert [(line.text, line.offset) for line in tail.lines] == [("a1", 4 + 3 * MAX_LINE + 1)]


def test_it_comes_whole_in_utf16(tail: InProcess) -> None:
    """Half a character is no end."""
    log = tail.folder / "log"
    data = "\ufeffold\nbegin-ä\na1\n".encode("utf-16-le")
    append(log, data[:17])
    tail.start(log)
    append(log, data[17:])
    tail.settle()
    assert [(line.text, line.offset) for line in tail.lines] == [("begin-ä", 10), ("a1", 26)]


def test_a_mark_that_is_half_written_is_no_line(tail: InProcess) -> None:
    """Nor does what follows it begin with the rest."""
    log = tail.folder / "log"
    append(log, b"\xef\xbb")
    tail.start(log)
    tail.pause(1.0)
    append(log, b"\xbfa1\n")
    tail.settle()
    assert texts(tail) == ["a1"]
    assert partials(tail) == []


def test_it_is_not_taken_for_the_beginning_of_a_file_that_replaces_it_while_nobody_looks(
    tail: InProcess, folder: Path
) -> None:
    """An unfinished line proves nothing of a file's place."""
    log = folder / "log"
    append(log, "old\nbeg")
    tail.start(log)
    tail.stop()
    log.unlink()
    append(log, "old\nother\n")
    tail.start(log)
    tail.settle()
    assert texts(tail)[-1] == "other"
    assert partials(tail) == []
