"""Scenarios 55 to 58: the system refuses, forgets or lies."""

import errno
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from responder.sources.clock import SystemClock, SystemWaker
from responder.sources.events import SourceEvent
from responder.sources.follower import Follower
from responder.sources.watcher import FolderWatcher
from responder.store.checkpoints import Saved
from tests.sources.following import InProcess, append, partials, texts


@contextmanager
def not_root() -> Iterator[None]:
    """Permissions hold for us too."""
    if os.geteuid():
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


def test_55_inotify_queue_overflow(tail: InProcess) -> None:
    """Not one event arrives: the poll finds new, renamed and deleted files by itself, within five seconds."""
    append(tail.folder / "a.log", "")
    tail.start(tail.folder / "*.log", tail.folder / "deep" / "*" / "*.log")
    append(tail.folder / "b.log", "b1\n")
    (tail.folder / "a.log").rename(tail.folder / "a.log.1")
    append(tail.folder / "a.log", "a1\n")
    (tail.folder / "deep" / "x").mkdir(parents=True)
    append(tail.folder / "deep" / "x" / "c.log", "c1\n")
    tail.pause(5.0)
    assert sorted(texts(tail)) == ["a1", "b1", "c1"]


def test_55_a_new_name_wakes_the_loop_and_growth_does_not(folder: Path) -> None:
    """watchdog tells of created, moved and deleted names only."""
    waker, clock = SystemWaker(), SystemClock()
    events: list[SourceEvent] = []
    log = folder / "log"
    append(log, "")
    watcher = FolderWatcher(waker, events.append)
    follower = Follower([str(log)], Saved(), clock, waker, watcher=watcher)
    follower.poll()
    while waker.wait(0.2):
        pass
    append(log, "a1\n")
    assert not waker.wait(0.3)
    log.rename(folder / "log.1")
    assert waker.wait(5.0)
    append(log, "b1\n")
    assert waker.wait(5.0)
    assert [block.data for block in follower.poll()] == [b"a1\n", b"b1\n"]
    follower.close()
    waker.close()
    assert events == []


def test_55_a_folder_that_cannot_be_watched_is_said_once(folder: Path) -> None:
    """The poll does without."""
    waker = SystemWaker()
    events: list[SourceEvent] = []
    watcher = FolderWatcher(waker, events.append)
    for _ in range(3):
        watcher.watch({str(folder / "missing")})
    assert [event.kind for event in events] == ["watch-failed"]
    watcher.close()
    waker.close()


def test_55_without_inotify_instances_the_poll_does_it_all(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The system allows each user only so many."""

    def refuse() -> None:
        raise OSError(errno.EMFILE, "inotify instance limit reached")

    monkeypatch.setattr("watchdog.observers.Observer", refuse)
    waker, clock = SystemWaker(), SystemClock()
    events: list[SourceEvent] = []
    log = folder / "log"
    append(log, "a1\n")
    watcher = FolderWatcher(waker, events.append)
    follower = Follower([str(log)], Saved(), clock, waker, from_start=True, watcher=watcher)
    assert [block.data for block in follower.poll()] == [b"a1\n"]
    assert [(event.kind, event.detail) for event in events] == [("watch-failed", "inotify instance limit reached")]
    follower.close()
    waker.close()


@pytest.fixture
def open_to_all() -> Iterator[InProcess]:
    """A follower whose folders anybody may enter: those that pytest makes are the user's own."""
    with tempfile.TemporaryDirectory() as place:
        logs = Path(place) / "logs"
        state = Path(place) / "state"
        for folder in (logs, state):
            folder.mkdir()
        for folder in (Path(place), logs, state):
            folder.chmod(0o777)
        tail = InProcess(logs)
        yield tail
        tail.stop()


def test_56_permission_denied_then_granted(open_to_all: InProcess) -> None:
    """One warning, then the lines."""
    tail = open_to_all
    log = tail.folder / "log"
    tail.start(log)
    append(log, "a1\n")
    log.chmod(0)
    with not_root():
        tail.pause(3.0)
    assert tail.lines == []
    assert [(e.kind, e.detail) for e in tail.events if e.kind != "missing"] == [("unreadable", "Permission denied")]
    log.chmod(0o644)
    with not_root():
        tail.settle()
    assert texts(tail) == ["a1"]
    assert tail.happened("readable") == 1


def test_56_what_a_file_held_before_the_first_start_is_passed_over_once_it_can_be_read(open_to_all: InProcess) -> None:
    """As in any other file; what was added since is not."""
    tail = open_to_all
    log = tail.folder / "log"
    append(log, "old\n")
    log.chmod(0)
    with not_root():
        tail.start(log)
    append(log, "a1\n")
    log.chmod(0o644)
    with not_root():
        tail.settle()
    assert texts(tail) == ["a1"]


def test_57_stale_handle_nfs(tail: InProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file system has lost the handle: opened again, and on from the proven place."""
    log = tail.folder / "log"
    append(log, "a1\n")
    tail.start(log, from_start=True)
    real = os.pread
    failures = [OSError(errno.ESTALE, "Stale file handle")]

    def pread(descriptor: int, length: int, offset: int) -> bytes:
        if failures:
            raise failures.pop()
        return real(descriptor, length, offset)

    append(log, "a2\n")
    monkeypatch.setattr("responder.sources.growing_file.os.pread", pread)
    tail.settle()
    assert texts(tail) == ["a1", "a2"]
    assert tail.happened("stale") == 1
    assert tail.happened("truncated") == 0


def test_57_an_input_error_is_said_once_and_taken_back(tail: InProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    """A failing disk costs a line in the journal, not the daemon, and nothing is skipped."""
    log = tail.folder / "log"
    append(log, "a1\n")
    tail.start(log, from_start=True)
    append(log, "a2\n")
    with monkeypatch.context() as patch:

        def pread(descriptor: int, length: int, offset: int) -> bytes:
            raise OSError(errno.EIO, "Input/output error")

        patch.setattr("responder.sources.growing_file.os.pread", pread)
        tail.pause(2.0)
        assert texts(tail) == ["a1"]
    tail.settle()
    assert texts(tail) == ["a1", "a2"]
    assert [(e.kind, e.detail) for e in tail.events[1:]] == [("unreadable", "Input/output error"), ("readable", "")]


@pytest.mark.parametrize("jump", [3600.0, -3600.0, 86400.0 * 30])
def test_58_clock_jump_wall(jump: float, tail: InProcess) -> None:
    """The time of day may jump: rotated files are kept for a minute by the other clock."""
    log = tail.folder / "log"
    append(log, "a1\n")
    tail.start(log, from_start=True)
    with log.open("ab", buffering=0) as writer:
        log.rename(tail.folder / "log.1")
        tail.settle()
        tail.clock.skew = jump
        tail.pause(50.0)
        assert tail.happened("released") == 0
        writer.write(b"a2\n")
        tail.settle()
        assert texts(tail) == ["a1", "a2"]
        tail.pause(58.0)
        assert tail.happened("released") == 0
        tail.pause(4.0)
        assert tail.happened("released") == 1
    tail.stop()
    append(log, "b1\n")
    tail.start(log)
    tail.settle()
    assert texts(tail) == ["a1", "a2", "b1"]


def test_a_writer_that_finishes_its_line_late_has_it_whole(tail: InProcess) -> None:
    """An unfinished last line is handed on as such; when the rest comes, the whole follows under the same name."""
    log = tail.folder / "log"
    append(log, "")
    tail.start(log)
    append(log, "begin")
    with log.open("ab", buffering=0) as writer:
        log.rename(tail.folder / "log.1")
        tail.pause(10.0)
        assert partials(tail) == ["begin"]
        writer.write(b"-end\n")
        tail.settle()
    first, second = tail.lines
    assert (second.text, second.partial) == ("begin-end", False)
    assert (first.file_id, first.offset) == (second.file_id, second.offset)


def test_an_unfinished_last_line_comes_once_over_restarts(tail: InProcess) -> None:
    """What was handed on is noted."""
    log = tail.folder / "log"
    append(log, "a1\nbegin")
    tail.start(log, from_start=True)
    log.rename(tail.folder / "log.1")
    tail.pause(3.0)
    for _ in range(3):
        tail.stop()
        tail.start(log)
        tail.pause(3.0)
    assert partials(tail) == ["begin"]
    append(tail.folder / "log.1", "-end\n")
    tail.settle()
    assert texts(tail) == ["a1", "begin-end"]
