"""What can happen to a log while it is followed, numbered: each told once, for the follower and for the process.

Every scenario ends with the exact lines that must have come out, no more and no fewer, except where one says that a
repetition is allowed.
"""

import os
import shutil
from collections.abc import Callable

import pytest

from tests.sources.following import InProcess, Process, Tail, append, partials, texts

Scenario = Callable[[Tail], None]


def s01_append_basic(tail: Tail) -> None:
    """Lines come in the order in which they were written."""
    log = tail.folder / "log"
    append(log, "")
    tail.start(log)
    append(log, "a1\na2\n")
    tail.settle()
    append(log, "a3\n")
    tail.settle()
    assert [(line.text, line.offset) for line in tail.lines] == [("a1", 0), ("a2", 3), ("a3", 6)]
    assert {line.path for line in tail.lines} == {str(log)}


def s02_created_after_start(tail: Tail) -> None:
    """A file that appears later is read from its first line."""
    log = tail.folder / "log"
    tail.start(log)
    append(log, "a1\n")
    tail.settle()
    assert texts(tail) == ["a1"]


def s03_partial_then_complete(tail: Tail) -> None:
    """Nothing comes of a line before its end."""
    log = tail.folder / "log"
    append(log, "")
    tail.start(log)
    append(log, "abc")
    tail.pause(0.6)
    assert tail.lines == []
    append(log, "def\n")
    tail.settle()
    assert [(line.text, line.partial) for line in tail.lines] == [("abcdef", False)]


def s04_partial_split_utf8(tail: Tail) -> None:
    """A character whose bytes come in two writes stays whole."""
    log = tail.folder / "log"
    append(log, "")
    tail.start(log)
    append(log, "café".encode()[:-1])
    tail.settle()
    append(log, "café".encode()[-1:] + b"\n")
    tail.settle()
    assert texts(tail) == ["café"]


def s05_rename_create(tail: Tail) -> None:
    """The usual rotation."""
    log = tail.folder / "log"
    append(log, "")
    tail.start(log)
    append(log, "a1\na2\n")
    tail.settle()
    log.rename(tail.folder / "log.1")
    append(log, "b1\n")
    tail.settle()
    assert texts(tail) == ["a1", "a2", "b1"]


def s06_rename_unread_tail(tail: Tail) -> None:
    """Lines written just before the rotation are read from the renamed file, and before those of the new one."""
    log = tail.folder / "log"
    append(log, "")
    tail.start(log)
    append(log, "a1\na2\n")
    log.rename(tail.folder / "log.1")
    append(log, "b1\n")
    tail.settle()
    assert texts(tail) == ["a1", "a2", "b1"]


def _rename_late_write(tail: Tail, seconds: float) -> None:
    log = tail.folder / "log"
    append(log, "a1\n")
    tail.start(log, from_start=True)
    with log.open("ab", buffering=0) as writer:
        log.rename(tail.folder / "log.1")
        append(log, "b1\n")
        tail.pause(seconds)
        writer.write(b"a2\n")
    tail.settle()
    assert texts(tail) == ["a1", "b1", "a2"]


def s07_rename_late_write_50ms(tail: Tail) -> None:
    """A writer that kept the old file writes a little later."""
    _rename_late_write(tail, 0.05)


def s08_rename_late_write_3s(tail: Tail) -> None:
    """A writer that kept the old file writes much later."""
    _rename_late_write(tail, 3.0)


def s09_rename_gap_no_new_file(tail: Tail) -> None:
    """Between the rename and the new file lie seconds, in which the old file is still written to."""
    log = tail.folder / "log"
    append(log, "a1\n")
    tail.start(log, from_start=True)
    with log.open("ab", buffering=0) as writer:
        log.rename(tail.folder / "log.1")
        tail.settle()
        writer.write(b"a2\n")
        tail.pause(2.7)
    append(log, "b1\n")
    tail.settle()
    assert texts(tail) == ["a1", "a2", "b1"]


def s10_rename_partial_last_line(tail: Tail) -> None:
    """The old file ends without a newline: its rest comes once, marked, and is not glued to the new file's line."""
    log = tail.folder / "log"
    append(log, "a1\n")
    tail.start(log, from_start=True)
    append(log, "no-newline")
    log.rename(tail.folder / "log.1")
    append(log, "b1\n")
    tail.pause(3.0)
    assert texts(tail) == ["a1", "b1"]
    assert [(line.text, line.offset) for line in tail.lines if line.partial] == [("no-newline", 3)]


def s11_two_fast_rotations(tail: Tail) -> None:
    """A file that came and went between two looks is read all the same, in its place."""
    log = tail.folder / "log"
    append(log, "a1\n")
    tail.start(log, from_start=True)
    log.rename(tail.folder / "log.1")
    append(log, "b1\n")
    (tail.folder / "log.1").rename(tail.folder / "log.2")
    log.rename(tail.folder / "log.1")
    append(log, "c1\n")
    tail.settle()
    assert texts(tail) == ["a1", "b1", "c1"]


def s12_copytruncate_smaller(tail: Tail) -> None:
    """Copied away, emptied, and less written than was there."""
    log = tail.folder / "log"
    append(log, "a1\na2\na3\n")
    tail.start(log, from_start=True)
    shutil.copy(log, tail.folder / "log.1")
    os.truncate(log, 0)
    append(log, "b1\n")
    tail.settle()
    assert texts(tail) == ["a1", "a2", "a3", "b1"]


def s13_copytruncate_refill_bigger(tail: Tail) -> None:
    """Emptied, and at once more written than was there: the size tells nothing."""
    log = tail.folder / "log"
    append(log, "a1\n")
    tail.start(log, from_start=True)
    shutil.copy(log, tail.folder / "log.1")
    os.truncate(log, 0)
    append(log, "a-longer-line\nb2\n")
    tail.settle()
    assert texts(tail) == ["a1", "a-longer-line", "b2"]


def s14_copytruncate_refill_same_header(tail: Tail) -> None:
    """As before, and the first line is the same as it was."""
    log = tail.folder / "log"
    append(log, "header\na1\n")
    tail.start(log, from_start=True)
    os.truncate(log, 0)
    append(log, "header\nb1\nb2\nb3\n")
    tail.settle()
    assert texts(tail) == ["header", "a1", "header", "b1", "b2", "b3"]


def s15_truncate_rewrite_same_size(tail: Tail) -> None:
    """The same number of bytes, but others."""
    log = tail.folder / "log"
    append(log, "a1\na2\n")
    tail.start(log, from_start=True)
    os.truncate(log, 0)
    append(log, "b1\nb2\n")
    tail.settle()
    assert texts(tail) == ["a1", "a2", "b1", "b2"]


def s16_truncate_nonappend_writer_nul_hole(tail: Tail) -> None:
    """A writer that keeps its position leaves a hole in front of its next line; no NUL of it comes out."""
    log = tail.folder / "log"
    with log.open("wb", buffering=0) as writer:
        writer.write(b"a1\n" * 50000)
        tail.start(log, from_start=True)
        os.truncate(log, 0)
        writer.write(b"b1\n")
        tail.settle()
        assert texts(tail)[50000:] == ["b1"]
        assert tail.lines[-1].offset == 150000
        writer.write(b"b2\n")
    tail.settle()
    assert texts(tail)[50000:] == ["b1", "b2"]


def s17_truncate_with_partial_pending(tail: Tail) -> None:
    """The beginning of a line that was truncated away comes marked; the next line is clean."""
    log = tail.folder / "log"
    append(log, "a1\nstale-prefix")
    tail.start(log, from_start=True)
    os.truncate(log, 0)
    append(log, "fresh\n")
    tail.settle()
    assert texts(tail) == ["a1", "fresh"]
    assert partials(tail) == ["stale-prefix"]


def s18_truncate_midpoint(tail: Tail) -> None:
    """Cut in the middle, and written on: the new line comes; those that were kept may come again."""
    log = tail.folder / "log"
    append(log, "a1\na2\na3\na4\n")
    tail.start(log, from_start=True)
    os.truncate(log, 6)
    append(log, "n1\n")
    tail.settle()
    assert texts(tail) in (["a1", "a2", "a3", "a4", "n1"], ["a1", "a2", "a3", "a4", "a1", "a2", "n1"])


def s19_symlink_retarget(tail: Tail) -> None:
    """A link is moved to another file."""
    one, two, link = tail.folder / "one", tail.folder / "two", tail.folder / "link"
    append(one, "a1\n")
    link.symlink_to(one)
    tail.start(link, from_start=True)
    append(one, "a2\n")
    append(two, "b1\n")
    (tail.folder / "new").symlink_to(two)
    (tail.folder / "new").rename(link)
    tail.settle()
    append(two, "b2\n")
    tail.settle()
    assert texts(tail) == ["a1", "a2", "b1", "b2"]


def s20_symlink_target_renamed(tail: Tail) -> None:
    """The kubelet's way: what the link points at is renamed, and made anew."""
    real = tail.folder / "pods" / "0.log"
    real.parent.mkdir()
    append(real, "a1\n")
    link = tail.folder / "container.log"
    link.symlink_to(real)
    tail.start(link, from_start=True)
    append(real, "a2\n")
    real.rename(real.with_name("0.log.20260828-051005"))
    tail.settle()
    append(real, "b1\n")
    tail.settle()
    assert texts(tail) == ["a1", "a2", "b1"]


def s21_unlink_with_unread_then_recreate(tail: Tail) -> None:
    """Deleted right after a line was written, and made anew seconds later."""
    log = tail.folder / "log"
    append(log, "a1\n")
    tail.start(log, from_start=True)
    append(log, "a2\n")
    log.unlink()
    tail.pause(3.0)
    append(log, "b1\n")
    tail.settle()
    assert texts(tail) == ["a1", "a2", "b1"]


def s22_unlink_recreate_instant(tail: Tail) -> None:
    """Deleted and made anew, longer, at once."""
    log = tail.folder / "log"
    append(log, "a1\n")
    tail.start(log, from_start=True)
    log.unlink()
    append(log, "b1-longer\nb2\nb3\n")
    tail.settle()
    assert texts(tail) == ["a1", "b1-longer", "b2", "b3"]


def s23_atomic_replace_same_prefix(tail: Tail) -> None:
    """A longer copy is moved over the file: its new line comes, and what was read does not come again."""
    log, other = tail.folder / "log", tail.folder / "other"
    old = [f"a{i} some text that makes the line long enough" for i in range(20)]
    append(log, "".join(f"{line}\n" for line in old))
    tail.start(log, from_start=True)
    shutil.copy(log, other)
    append(other, "n1\n")
    other.rename(log)
    tail.settle()
    append(log, "n2\n")
    tail.settle()
    assert texts(tail) == [*old, "n1", "n2"]


def s24_dir_renamed_and_recreated(tail: Tail) -> None:
    """The folder is moved away and made anew."""
    inner = tail.folder / "inner"
    inner.mkdir()
    log = inner / "log"
    append(log, "a1\n")
    tail.start(log, from_start=True)
    inner.rename(tail.folder / "away")
    tail.settle()
    inner.mkdir()
    append(log, "b1\n")
    tail.settle()
    assert texts(tail) == ["a1", "b1"]


def s25_long_line_1_mib(tail: Tail) -> None:
    """A line over the limit is cut and says so; its neighbours are untouched."""
    log = tail.folder / "log"
    append(log, "")
    tail.start(log)
    append(log, "a1\n" + "x" * (1 << 20) + "\na2\n")
    tail.settle()
    first, cut, last = tail.lines
    assert (first.text, last.text) == ("a1", "a2")
    assert (cut.text, cut.truncated, cut.offset) == ("x" * (256 * 1024), True, 3)
    assert not first.truncated
    assert not last.truncated
    if isinstance(tail, InProcess):
        assert tail.happened("line-cut") == 1


def s26_long_line_unterminated_16_mib(tail: Tail) -> None:
    """A line that does not end does not fill the memory, and the next line is exact."""
    log = tail.folder / "log"
    append(log, "")
    tail.start(log)
    before = tail.peak_memory() if isinstance(tail, Process) else 0
    for _ in range(16):
        append(log, "x" * (1 << 20))
        tail.settle()
    append(log, "\na1\n")
    tail.settle()
    assert [line.truncated for line in tail.lines] == [True, False]
    assert texts(tail)[1] == "a1"
    assert tail.lines[1].offset == (16 << 20) + 1
    if isinstance(tail, Process):
        assert tail.peak_memory() - before < 12 << 20


def s27_invalid_utf8(tail: Tail) -> None:
    """Bytes that are no UTF-8 are shown, and nothing is lost over them."""
    log = tail.folder / "log"
    append(log, "")
    tail.start(log)
    append(log, b"a\xff\xfe\x80z\na2\n")
    tail.settle()
    assert texts(tail) == [r"a\xff\xfe\x80z", "a2"]


def s28_embedded_nul(tail: Tail) -> None:
    """A NUL inside a line stays where it is."""
    log = tail.folder / "log"
    append(log, "")
    tail.start(log)
    append(log, b"x\0y z\n")
    tail.settle()
    assert texts(tail) == ["x\0y z"]


def s29_leading_nul(tail: Tail) -> None:
    """NULs in front of a line are not part of it."""
    log = tail.folder / "log"
    append(log, "a1\n")
    tail.start(log)
    append(log, b"\0\0\0b1\nb2\n\0b3\n")
    tail.settle()
    assert [(line.text, line.offset) for line in tail.lines] == [("b1", 6), ("b2", 9), ("b3", 13)]


def s30_cr_progress(tail: Tail) -> None:
    """A progress bar is one line, whatever its carriage returns."""
    log = tail.folder / "log"
    append(log, "")
    tail.start(log)
    append(log, "10%\r55%\r100%\n")
    tail.settle()
    assert texts(tail) == ["10%\r55%\r100%"]
    if isinstance(tail, InProcess):
        assert tail.blocks[-1].segments() == b"10%\n55%\n100%\n"


def s31_cr_progress_unterminated(tail: Tail) -> None:
    """A progress bar without an end stays bounded, and what follows it is clean."""
    log = tail.folder / "log"
    append(log, "")
    tail.start(log)
    bar = "".join(f"\rload {n:3}% {'#' * 2000}" for n in range(100))
    for _ in range(10):
        append(log, bar)
        tail.settle()
    if isinstance(tail, InProcess):
        assert tail.follower
        assert tail.follower.status()[0].quiet < 1.0, "the growing bar is a sign of life"
    append(log, "\nTraceback (most recent call last):\n")
    tail.settle()
    *bars, last = tail.lines
    assert (last.text, last.truncated) == ("Traceback (most recent call last):", False)
    assert "".join(line.text + "\r" * line.truncated for line in bars) == bar * 10
    assert all(len(line.text) <= 256 * 1024 for line in bars)


def s32_crlf(tail: Tail) -> None:
    """CR LF ends a line as LF does."""
    log = tail.folder / "log"
    append(log, "")
    tail.start(log)
    append(log, "a1\r\na2\n")
    tail.settle()
    assert [(line.text, line.offset) for line in tail.lines] == [("a1", 0), ("a2", 4)]


def s33_empty_lines(tail: Tail) -> None:
    """Empty lines count, so that offsets are right."""
    log = tail.folder / "log"
    append(log, "")
    tail.start(log)
    append(log, "a1\n\n\na2\n")
    tail.settle()
    assert [(line.text, line.offset) for line in tail.lines] == [("a1", 0), ("", 3), ("", 4), ("a2", 5)]


def s34_utf16le_bom(tail: Tail) -> None:
    """UTF-16 that says so is read as text; a character with a newline's byte in it ends no line."""
    log = tail.folder / "log"
    append(log, "")
    tail.start(log)
    hostile = "\u0a0a\u010a\u0a41\u0100"  # the newline's two bytes stand in it, across two characters
    append(log, f"\ufeffa1 {hostile}\r\nä2\n".encode("utf-16-le"))
    tail.settle()
    append(log, "a3\n".encode("utf-16-le"))
    tail.settle()
    assert [(line.text, line.offset) for line in tail.lines] == [(f"a1 {hostile}", 2), ("ä2", 20), ("a3", 26)]


def s35_burst_200k_lines(tail: Tail) -> None:
    """A burst comes out whole and in order."""
    log = tail.folder / "log"
    append(log, "")
    tail.start(log)
    expected = [f"line {n:06} {'.' * 60}" for n in range(200_000)]
    append(log, "".join(f"{line}\n" for line in expected))
    tail.settle()
    assert len(tail.lines) == 200_000
    assert texts(tail) == expected


def s36_mtime_backwards(tail: Tail) -> None:
    """The file's time may say what it likes."""
    log = tail.folder / "log"
    append(log, "a1\n")
    os.utime(log, (1e9, 1e9))
    tail.start(log, from_start=True)
    for n in (2, 3):
        append(log, f"a{n}\n")
        os.utime(log, (1e9, 1e9))
        tail.settle()
    assert texts(tail) == ["a1", "a2", "a3"]


def s37_preexisting_content(tail: Tail) -> None:
    """What was there at the first start is passed over, but a line that was not finished then comes whole."""
    log = tail.folder / "log"
    append(log, "old1\nold2\nunfini")
    tail.start(log)
    append(log, "shed\na1\n")
    tail.settle()
    assert [(line.text, line.offset) for line in tail.lines] == [("unfinished", 10), ("a1", 21)]


def s38_restart_resume(tail: Tail) -> None:
    """A restart goes on where the last run stopped."""
    log = tail.folder / "log"
    append(log, "a1\n")
    tail.start(log, from_start=True)
    tail.stop()
    append(log, "a2\n")
    tail.start(log)
    tail.settle()
    assert [(line.text, line.offset) for line in tail.lines] == [("a1", 0), ("a2", 3)]


def s39_restart_kill9(tail: Tail) -> None:
    """So does one after kill -9."""
    log = tail.folder / "log"
    append(log, "a1\na2\n")
    tail.start(log, from_start=True)
    tail.settle()
    tail.kill()
    append(log, "a3\n")
    tail.start(log)
    tail.settle()
    assert texts(tail) == ["a1", "a2", "a3"]


def s40_restart_rename_while_down(tail: Tail) -> None:
    """Rotated twice while nobody looked: the rest of the old file, all of the one between, all of the new one."""
    log = tail.folder / "log"
    append(log, "a1\n")
    tail.start(log, from_start=True)
    tail.stop()
    append(log, "a2\n")
    log.rename(tail.folder / "log.2")
    append(log, "b1\n")
    log.rename(tail.folder / "log.1")
    append(log, "c1\n")
    tail.start(log)
    tail.settle()
    assert texts(tail) == ["a1", "a2", "b1", "c1"]


def s41_restart_copytruncate_while_down_bigger(tail: Tail) -> None:
    """Copied and emptied while nobody looked: what the copy holds beyond, then the new content from its start."""
    log = tail.folder / "log"
    append(log, "a1\n")
    tail.start(log, from_start=True)
    tail.stop()
    append(log, "a2\n")
    shutil.copy(log, tail.folder / "log.1")
    os.truncate(log, 0)
    append(log, "b1-longer\nb2\n")
    tail.start(log)
    tail.settle()
    assert texts(tail) == ["a1", "a2", "b1-longer", "b2"]


def s42_restart_inode_reused_bigger(tail: Tail) -> None:
    """The file is another one with the same inode."""
    log = tail.folder / "log"
    append(log, "a1\n")
    tail.start(log, from_start=True)
    tail.stop()
    inode = log.stat().st_ino
    log.unlink()
    for n in range(200):
        append(log, "b1-longer\nb2\n")
        if log.stat().st_ino == inode:
            break
        log.rename(tail.folder / f"other{n}")  # kept, or its inode would be taken again
    else:
        pytest.skip("this file system does not reuse inodes soon enough")
    tail.start(log)
    tail.settle()
    assert texts(tail) == ["a1", "b1-longer", "b2"]


def s43_restart_partial_pending(tail: Tail) -> None:
    """A line that was unfinished at the stop comes whole."""
    log = tail.folder / "log"
    append(log, "a1\npar")
    tail.start(log, from_start=True)
    tail.stop()
    append(log, "tial\n")
    tail.start(log)
    tail.settle()
    assert [(line.text, line.offset, line.partial) for line in tail.lines] == [("a1", 0, False), ("partial", 3, False)]


SCENARIOS: dict[str, Scenario] = {name[1:]: value for name, value in globals().items() if name[:3].strip("s").isdigit()}
"""By number and name."""
