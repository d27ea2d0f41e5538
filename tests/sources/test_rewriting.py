"""A file that was written anew gives itself away, be it by little."""

import os
import shutil
from pathlib import Path

import pytest

from responder.sources.events import SourceEvent, ignore_events
from responder.sources.framing import MAX_LINE
from responder.sources.growing_file import GrowingFile, RewrittenError
from responder.sources.identity import MARKER_SIZE, FileKey
from tests.sources.following import InProcess, append, texts


def test_by_the_bytes_before_the_place_when_its_beginning_is_the_same(tail: InProcess) -> None:
    """A server that is started again prints the same pages of arguments first."""
    log = tail.folder / "log"
    header = [f"server_args {n} {'.' * 60}" for n in range(MARKER_SIZE // 16)]
    old, new = [*header, "a1", "a2"], [*header, "b1", "b2", "b3"]
    append(log, "".join(f"{line}\n" for line in old))
    tail.start(log, from_start=True)
    os.truncate(log, 0)
    append(log, "".join(f"{line}\n" for line in new))
    tail.settle()
    assert texts(tail) == old + new
    assert tail.happened("truncated") == 1


def test_by_its_beginning_when_the_bytes_before_the_place_are_the_same(tail: InProcess) -> None:
    """Lines that repeat are no proof."""
    log = tail.folder / "log"
    same = "the same line over and over\n" * 50
    append(log, "first start\n" + same)
    tail.start(log, from_start=True)
    os.truncate(log, 0)
    append(log, "other start\n" + same + "b1\n")
    tail.settle()
    assert texts(tail)[51] == "other start"
    assert texts(tail)[-1] == "b1"
    assert len(tail.lines) == 51 + 52


@pytest.mark.parametrize("unread", ["", "a2\n"])
def test_in_the_midst_of_a_poll_after_the_folder_was_listed_for_another(unread: str, tail: InProcess) -> None:
    """The copy that was made then is no log that came and went unseen."""
    log, other = tail.folder / "log", tail.folder / "other"
    append(log, "a1\n")
    append(other, "o1\n")
    tail.start(log, other, from_start=True)
    assert tail.follower
    other.rename(tail.folder / "other.1")  # for which the folder is listed
    append(other, "x" * MAX_LINE + "\n")

    def rotate(event: SourceEvent) -> None:
        if event.kind == "line-cut":
            append(log, unread)
            shutil.copy(log, tail.folder / "log.1")
            os.truncate(log, 0)

    tail.watch = rotate
    append(log, "a3\n" if unread else "")
    tail.settle()
    append(log, "b1\n")
    tail.settle()
    expected = ["a1", "a3", "a2", "b1"] if unread else ["a1", "b1"]
    assert [line.text for line in tail.lines if line.path == str(log)] == expected


def test_by_a_second_look_when_both_changes_bear_the_same_time(folder: Path) -> None:
    """The system's time stamps move in steps."""
    log = folder / "log"
    append(log, "a1\n")
    file = GrowingFile(str(log), str(log), FileKey.of(log.stat()), ignore_events)
    file.open()
    stamp = log.stat()
    file.notice(stamp, at_home=True)
    file.read(MAX_LINE, 0.0)
    with log.open("r+b") as writer:
        writer.write(b"b1\n")
    file.notice(stamp, at_home=True)
    assert file.behind
    with pytest.raises(RewrittenError):
        file.read(MAX_LINE, 0.0)
    file.close()
