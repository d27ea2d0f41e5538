"""What is kept from one run to the next, and when it cannot be."""

import os
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from responder.sources.follower import Follower
from responder.store.checkpoints import Saved, load, save
from responder.store.database import StoreUnavailableError
from tests.sources.following import InProcess, Process, append, texts


def rows(tail: InProcess) -> dict[str, tuple[int, int]]:
    """What is stored: offsets and generations by path and inode."""
    assert tail.database
    return {f"{c.path}:{c.inode}": (c.offset, c.generation) for c in load(tail.database.connection).checkpoints}


def test_53_disk_full_checkpoint(process: Process) -> None:
    """Nothing can be stored: the lines come all the same, it is said once, and when there is room all is as before."""
    state = process.folder.parent / "state"
    state.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(state)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("mounting takes root")
    try:
        logs = [process.folder / f"{n:03}.log" for n in range(200)]
        for log in logs:
            append(log, "a1\n")
        process.start(logs[0], from_start=True)
        process.stop()
        process.start(process.folder / "*.log", from_start=True)
        filler = os.open(state / "filler", os.O_CREAT | os.O_WRONLY)
        os.write(filler, b"x" * (2 << 20))
        os.close(filler)
        for log in logs:
            append(log, "a2\n" * 100)
        process.settle()
        assert sorted(texts(process)) == ["a1"] * 200 + ["a2"] * 20_000
        said = process.errors.read_text()
        assert said.count("going on") == 1
        assert "full" in said
        (state / "filler").unlink()
        append(logs[0], "a3\n")
        process.settle()
        assert process.errors.read_text().count("can be stored again") == 1
        process.stop()
        append(logs[1], "b1\n")
        process.start(process.folder / "*.log")
        process.settle()
        assert len(process.lines) == 20_202
        process.stop()
    finally:
        subprocess.run(["umount", "--lazy", str(state)], check=True)


def test_53_what_could_not_be_stored_is_offered_again(tail: InProcess) -> None:
    """With what has changed since."""
    log = tail.folder / "log"
    append(log, "a1\n")
    tail.start(log, from_start=True)
    append(log, "a2\n")
    tail.poll()
    assert tail.follower
    assert tail.database
    tail.database.connection.execute("PRAGMA query_only = ON")
    with pytest.raises(StoreUnavailableError):
        tail.store()
    append(log, "a3\n")
    tail.clock.passed += 1
    tail.poll()
    assert [position.offset for position in tail.follower.positions()] == [9]
    tail.database.connection.execute("PRAGMA query_only = OFF")
    tail.store()
    assert tail.follower.positions() == []
    assert [offset for offset, _ in rows(tail).values()] == [9]


def test_54_corrupt_checkpoint(process: Process) -> None:
    """It starts all the same, as at the first time, and says once what became of the old places."""
    log = process.folder / "log"
    append(log, "a1\n")
    process.start(log, from_start=True)
    process.stop()
    (process.folder.parent / "state" / "tail.db").write_bytes(b"\0" * 5000)
    append(log, "a2\n")
    process.start(log)
    append(log, "a3\n")
    process.settle()
    assert texts(process) == ["a1", "a3"]
    said = process.errors.read_text()
    assert said.count("was damaged; kept as tail.db.damaged-") == 1
    process.stop()
    append(log, "a4\n")
    process.start(log)
    process.settle()
    assert texts(process) == ["a1", "a3", "a4"]
    assert process.errors.read_text() == said


def test_65_restart_offset_beyond_eof(tail: InProcess) -> None:
    """The same inode, but fewer bytes than were read: all of them are new, which is said once."""
    log = tail.folder / "log"
    append(log, "x" * 9999 + "\n")
    tail.start(log, from_start=True)
    tail.stop()
    tail.lines.clear()
    tail.events.clear()
    os.truncate(log, 0)
    new = [f"new line {n}" for n in range(5)]
    append(log, "".join(f"{line}\n" for line in new))
    tail.start(log)
    tail.pause(2.0)
    assert texts(tail) == new
    assert [(e.kind, e.offset) for e in tail.events] == [("truncated", 10_000)]


def test_65_places_of_files_that_are_gone_are_dropped_after_a_week(tail: InProcess) -> None:
    """Those of files that exist are not, however quiet, nor those of rotated files that still lie there."""
    log, quiet = tail.folder / "log", tail.folder / "quiet"
    append(log, "a1\n")
    append(quiet, "q1\n")
    tail.start(log, quiet, from_start=True)
    log.rename(tail.folder / "log.1")
    append(log, "b1\n")
    tail.pause(61.0)
    (tail.folder / "log.1").rename(tail.folder / "log.2")
    log.rename(tail.folder / "log.1")
    append(log, "c1\n")
    tail.pause(61.0)
    assert len(rows(tail)) == 4
    (tail.folder / "log.2").unlink()
    tail.clock.skew += 8 * 86400
    tail.clock.passed += 8 * 86400
    tail.settle()
    assert sorted(offset for offset, _ in rows(tail).values()) == [3, 3, 3]
    tail.stop()
    tail.start(log, quiet)
    append(quiet, "q2\n")
    tail.settle()
    assert sorted(texts(tail)) == ["a1", "b1", "c1", "q1", "q2"]


def test_the_stored_place_waits_for_a_line_that_is_still_needed(tail: InProcess) -> None:
    """After a kill everything from there comes again, under the same names; once let go, it does not."""
    log = tail.folder / "log"
    append(log, "a1\na2\n")
    tail.start(log, from_start=True)
    needed = tail.lines[1]
    assert tail.follower
    tail.follower.hold(needed.file_id, needed.offset)
    append(log, "a3\n")
    tail.settle()
    tail.kill()
    tail.start(log)
    assert [line.text for line in tail.lines] == ["a1", "a2", "a3", "a2", "a3"]
    assert tail.lines[1:3] == tail.lines[3:5]
    tail.follower.hold(needed.file_id, needed.offset)
    tail.settle()
    tail.follower.hold(needed.file_id, None)
    tail.settle()
    tail.kill()
    tail.start(log)
    assert len(tail.lines) == 5


def test_a_rotated_file_that_is_still_needed_is_kept_and_found_again(tail: InProcess) -> None:
    """However long ago it was rotated."""
    log = tail.folder / "log"
    append(log, "a1\na2\n")
    tail.start(log, from_start=True)
    assert tail.follower
    tail.follower.hold(tail.lines[1].file_id, 3)
    log.rename(tail.folder / "log.1")
    append(log, "b1\n")
    tail.pause(300.0)
    assert tail.happened("released") == 0
    tail.kill()
    tail.start(log)
    assert [line.text for line in tail.lines] == ["a1", "a2", "b1", "a2"]
    assert tail.lines[1] == tail.lines[3]


def test_a_truncated_file_names_its_lines_anew(tail: InProcess) -> None:
    """The same bytes at the same place are another line: a server that fails twice alike writes them twice."""
    log = tail.folder / "log"
    append(log, "a1\n")
    tail.start(log, from_start=True)
    for _ in range(3):
        os.truncate(log, 0)
        tail.settle()
        append(log, "a1\n")
        tail.settle()
    assert texts(tail) == ["a1"] * 4
    assert len({line.file_id for line in tail.lines}) == 4


def test_a_device_that_got_another_number_is_the_same_file(tail: InProcess) -> None:
    """Numbers are given anew at every boot."""
    log = tail.folder / "log"
    append(log, "a1\n")
    tail.start(log, from_start=True)
    assert tail.database
    found = load(tail.database.connection).checkpoints
    with tail.database.transaction() as connection:
        connection.execute("DELETE FROM checkpoint")
        save(connection, [replace(c, device=c.device + 1) for c in found])
    tail.stop()
    append(log, "a2\n")
    tail.start(log)
    tail.settle()
    assert texts(tail) == ["a1", "a2"]
    assert len(rows(tail)) == 1


def test_a_file_that_appears_while_nobody_looks_is_read_whole(tail: InProcess) -> None:
    """Under a path that was awaited and under a glob; under a new target it is passed over."""
    tail.start(tail.folder / "awaited", tail.folder / "*.log")
    tail.stop()
    append(tail.folder / "awaited", "a1\n")
    append(tail.folder / "new.log", "b1\n")
    append(tail.folder / "other", "c1\n")
    tail.start(tail.folder / "awaited", tail.folder / "*.log", tail.folder / "other")
    tail.settle()
    assert sorted(texts(tail)) == ["a1", "b1"]


def test_a_name_that_is_not_utf8_is_followed_and_remembered(tail: InProcess) -> None:
    """Linux does not ask for it."""
    log = Path(os.fsdecode(os.fsencode(tail.folder) + b"/log\xff"))
    append(log, "a1\n")
    tail.start(log, from_start=True)
    tail.stop()
    append(log, "a2\n")
    tail.start(log)
    tail.settle()
    assert texts(tail) == ["a1", "a2"]


def test_the_same_history_gives_the_same_names(tail: InProcess) -> None:
    """Two followers without a state name every line alike."""
    log = tail.folder / "log"
    append(log, "a1\na2\n")
    names = []
    for _ in range(2):
        follower = Follower([str(log)], Saved(), tail.clock, tail.waker, from_start=True)
        names.append([(block.file_id, block.offset) for block in follower.poll()])
        follower.close()
    assert names[0] == names[1] != []
