"""Finished logs: archives whole, cut and hostile; folders and globs; exports in the wrong order; clear errors."""

import bz2
import gzip
import io
import lzma
import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard

from responder.sources.archive import Limits
from responder.sources.block import Block
from responder.sources.events import SourceEvent
from responder.sources.finished import UnreadableError, find_logs, read_finished
from responder.sources.framing import MAX_LINE
from tests.wrapping import wrap_cri, wrap_docker, wrap_filebeat, wrap_journal_json, wrap_stamps

LINES = [
    f"[2026-09-14 07:{n // 60 % 60:02d}:{n % 60:02d} TP{n % 8}] line {n} {'x' * (n % 90)}".encode() for n in range(3000)
]
TEXT = b"".join(line + b"\n" for line in LINES)

PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "gz": gzip.compress,
    "zst": lambda data: zstandard.ZstdCompressor(write_checksum=True).compress(data),
    "xz": lambda data: lzma.compress(data, preset=0),
    "bz2": bz2.compress,
}


def read(path: Path, events: list[SourceEvent] | None = None, **options: object) -> bytes:
    return b"".join(b.data for b in blocks(path, events, **options))


def blocks(path: Path, events: list[SourceEvent] | None = None, **options: object) -> list[Block]:
    told: list[SourceEvent] = [] if events is None else events
    return list(read_finished(str(path), told.append, **options))  # type: ignore[arg-type]


def file(folder: Path, data: bytes, name: str = "server.log") -> Path:
    path = folder / name
    path.write_bytes(data)
    return path


def test_a_plain_file_is_read_whole_under_the_id_a_follower_gives_it(tmp_path: Path) -> None:
    path = file(tmp_path, TEXT)
    (block,) = blocks(path)
    info = path.stat()
    assert block.data == TEXT
    assert block.file_id.startswith(f"{info.st_dev:x}-{info.st_ino:x}-0-")
    assert (block.path, block.arrived) == (str(path), info.st_mtime)
    assert block.locate(TEXT.index(b"line 77 ")).offset == TEXT.index(b"line 77 ")


def test_a_large_file_comes_in_blocks_of_whole_lines_with_their_offsets(tmp_path: Path) -> None:
    data = TEXT * 50
    found = blocks(file(tmp_path, data))
    assert len(found) > 1
    assert all(b.data == data[b.offset : b.offset + len(b.data)] and b.data.endswith(b"\n") for b in found)
    assert sum(len(b.data) for b in found) == len(data)


@pytest.mark.parametrize("kind", PACKERS)
def test_an_archive_is_told_by_its_content_not_its_name(tmp_path: Path, kind: str) -> None:
    assert read(file(tmp_path, PACKERS[kind](TEXT), "server.log")) == TEXT


@pytest.mark.parametrize("kind", PACKERS)
def test_48_gz_multi_member_and_zst_multi_frame(tmp_path: Path, kind: str) -> None:
    events: list[SourceEvent] = []
    assert read(file(tmp_path, PACKERS[kind](TEXT) + PACKERS[kind](b"second\n")), events) == TEXT + b"second\n"
    assert events == []


@pytest.mark.parametrize("kind", PACKERS)
def test_of_a_cut_off_archive_what_is_there_is_read_with_one_warning(tmp_path: Path, kind: str) -> None:
    events: list[SourceEvent] = []
    noise = b"".join(os.urandom(30).hex().encode() + b"\n" for _ in range(40_000))
    packed = PACKERS[kind](noise)
    found = read(file(tmp_path, packed[: len(packed) * 3 // 4]), events)
    assert noise.startswith(found)
    assert len(found) > len(noise) // 10
    assert [e.kind for e in events] == ["unreadable"]
    assert "cut off" in events[0].detail


@pytest.mark.parametrize("kind", PACKERS)
def test_a_damaged_archive_gives_one_warning_and_no_exception(tmp_path: Path, kind: str) -> None:
    events: list[SourceEvent] = []
    packed = bytearray(PACKERS[kind](TEXT))
    for at in range(len(packed) // 2, len(packed) // 2 + 40):
        packed[at] ^= 0xFF
    read(file(tmp_path, bytes(packed)), events)
    assert [e.kind for e in events] == ["unreadable"]


@pytest.mark.parametrize("kind", PACKERS)
def test_a_bomb_is_stopped(tmp_path: Path, kind: str) -> None:
    events: list[SourceEvent] = []
    bomb = PACKERS[kind]((b"a" * 99 + b"\n") * 400_000)
    found = read(file(tmp_path, bomb), events, limits=Limits(ratio=50, exempt=1 << 20))
    assert len(found) < 40_000_000
    assert [e.kind for e in events] == ["unreadable"]
    assert "unpacks" in events[0].detail


def test_an_empty_file_is_an_empty_log(tmp_path: Path) -> None:
    assert blocks(file(tmp_path, b"")) == []
    assert blocks(file(tmp_path, gzip.compress(b""))) == []


def test_a_last_line_without_a_newline_is_read_and_marked(tmp_path: Path) -> None:
    first, last = blocks(file(tmp_path, b"one\ntwo"))
    assert (first.data, first.partial) == (b"one\n", False)
    assert (last.data, last.partial, last.offset) == (b"two", True, 4)


def test_an_overlong_line_is_cut_and_its_neighbours_are_exact(tmp_path: Path) -> None:
    events: list[SourceEvent] = []
    data = b"before\n" + b"x" * (9 << 20) + b"\nafter\n"
    found = blocks(file(tmp_path, data), events)
    assert [len(b.data) for b in found] == [7, MAX_LINE + 1, 6]
    assert [b.truncated for b in found] == [False, True, False]
    assert (found[2].data, found[2].offset) == (b"after\n", len(data) - 6)
    assert [e.kind for e in events] == ["line-cut"]


def test_utf16_is_read_as_text(tmp_path: Path) -> None:
    assert (
        read(file(tmp_path, b"\xff\xfe" + "größer\nValueError\n".encode("utf-16-le")))
        == "größer\nValueError\n".encode()
    )


def test_a_hole_of_nuls_in_front_is_passed_over(tmp_path: Path) -> None:
    (block,) = blocks(file(tmp_path, b"\0" * 5000 + b"text\n"))
    assert (block.data, block.offset) == (b"text\n", 5000)


@pytest.mark.parametrize("wrap", [wrap_docker, wrap_cri, wrap_journal_json, wrap_filebeat])
@pytest.mark.parametrize("kind", [None, "gz"])
def test_wrapped_logs_come_out_unwrapped(
    tmp_path: Path, wrap: Callable[[list[bytes]], bytes], kind: str | None
) -> None:
    data = wrap(LINES)
    assert read(file(tmp_path, PACKERS[kind](data) if kind else data)) == TEXT


def test_standard_input_is_read_too_even_compressed() -> None:
    for data in (TEXT, gzip.compress(TEXT)):
        first, again = (list(read_finished("-", stdin=io.BytesIO(data))) for _ in range(2))
        assert b"".join(b.data for b in first) == TEXT
        assert first[0].file_id == again[0].file_id
        assert first[0].path == "-"


def test_a_pipe_is_read_until_its_writer_goes(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_bytes, args=(TEXT,))
    writer.start()
    assert read(path) == TEXT
    writer.join()


TRACE = [
    b"[2026-09-14 07:00:01] Load weight begin.",
    b"[2026-09-14 07:00:02 TP0] Scheduler hit an exception: Traceback (most recent call last):",
    b'  File "scheduler.py", line 1, in run',
    b"    run()",
    b"ValueError: no",
    b"[2026-09-14 07:00:03] Received sigquit from a child process.",
    b"[2026-09-14 07:00:04] kill_process_tree called",
]


def joined(lines: list[bytes]) -> bytes:
    return b"".join(line + b"\n" for line in lines)


@pytest.mark.parametrize("kind", [None, "gz", "zst"])
def test_an_export_with_the_newest_line_first_is_turned_round(tmp_path: Path, kind: str | None) -> None:
    data = joined(TRACE[::-1])
    found = blocks(file(tmp_path, PACKERS[kind](data) if kind else data))
    assert b"".join(b.data for b in found) == joined(TRACE)
    (block,) = found
    assert block.locate(0).offset == data.index(TRACE[0])
    assert block.locate(block.data.index(b"ValueError")).offset == data.index(b"ValueError")


def test_an_export_with_the_newest_record_first_keeps_each_record_whole(tmp_path: Path) -> None:
    records = [TRACE[:1], TRACE[1:5], TRACE[5:6], TRACE[6:]]
    assert read(file(tmp_path, joined([line for record in records[::-1] for line in record]))) == joined(TRACE)


def test_a_large_export_is_turned_round_over_all_its_blocks(tmp_path: Path) -> None:
    lines = [
        f"2026-09-14T07:{n // 60 % 60:02d}:{n % 60:02d}.{n:06d}Z stderr F {'y' * 900} {n}".encode()
        for n in range(12_000)
    ]
    lines.sort()
    found = blocks(file(tmp_path, joined(lines[::-1])))
    assert len(found) > 2
    assert b"".join(b.data for b in found) == joined([line.partition(b" F ")[2] for line in lines])
    data = joined(lines[::-1])
    for block in (found[0], found[-1]):
        assert data[block.locate(0).offset :].startswith(lines[0] if block is found[0] else b"2026-09-14T07:")


@pytest.mark.parametrize("wrap", [wrap_docker, wrap_cri, wrap_journal_json, wrap_filebeat, wrap_stamps])
def test_a_wrapped_export_with_the_newest_line_first_is_turned_round(
    tmp_path: Path, wrap: Callable[[list[bytes]], bytes]
) -> None:
    data = wrap(TRACE)
    assert read(file(tmp_path, joined(data.split(b"\n")[:-1][::-1]))) == joined(TRACE)


@pytest.mark.parametrize(
    "lines",
    [
        [b"[2026-09-14 07:00:0%d TP%d] x" % (n // 2 % 10, n % 2) for n in range(20)],
        [b"[2026-09-14 07:00:0%d] x" % (n % 5) for n in range(20)],
        [b"no stamp"] * 20,
    ],
)
def test_a_log_that_jumps_back_now_and_then_stays_as_it_is(tmp_path: Path, lines: list[bytes]) -> None:
    assert read(file(tmp_path, joined(lines))) == joined(lines)


def test_paths_are_found_in_files_folders_and_globs_each_once(tmp_path: Path) -> None:
    for name in ("b.log", "a.log", "a.log.1.gz", ".hidden", "case.toml", "sub/c.log"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("x\n")
    (tmp_path / "link.log").symlink_to(tmp_path / "a.log")
    folder = str(tmp_path)
    everything = [f"{folder}/{name}" for name in ("a.log", "a.log.1.gz", "b.log", "sub/c.log")]
    assert find_logs([folder]) == everything
    assert find_logs([f"{folder}/a.log", folder, f"{folder}/*.log"]) == everything
    assert find_logs([f"{folder}/**/c.log"]) == [f"{folder}/sub/c.log"]
    assert find_logs([f"{folder}/case.toml", "-"]) == [f"{folder}/case.toml", "-"]


def test_a_file_whose_name_looks_like_a_glob_is_a_file(tmp_path: Path) -> None:
    path = file(tmp_path, b"x\n", "server[1].log")
    assert find_logs([str(path)]) == [str(path)]


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("missing.log", "missing.log: no such file"),
        ("*.txt", "*.txt: no file matches"),
        ("empty", "empty: there is no log in this folder"),
        ("a.log/b", "a.log/b: not a directory"),
    ],
)
def test_a_path_that_means_nothing_is_one_clear_line(tmp_path: Path, name: str, says: str) -> None:
    (tmp_path / "empty").mkdir()
    file(tmp_path, b"x\n", "a.log")
    with pytest.raises(UnreadableError) as error:
        find_logs([str(tmp_path / name)])
    assert str(error.value) == f"{tmp_path}/{says}"


def test_what_is_no_log_is_refused_with_its_reason(tmp_path: Path) -> None:
    for content, says in (
        (b"PK\x03\x04zip", "an archive (zip), not a log"),
        (bytes(range(20)) * 300, "binary, not a log"),
    ):
        with pytest.raises(UnreadableError, match=f"server.log: {says}".replace("(", r"\(").replace(")", r"\)")):
            blocks(file(tmp_path, content))
    with pytest.raises(UnreadableError, match="a folder, where a file is meant"):
        blocks(tmp_path)
    with pytest.raises(UnreadableError, match="neither a file nor a pipe"):
        blocks(Path("/dev/null"))


def test_a_log_that_begins_with_garbage_is_read(tmp_path: Path) -> None:
    assert read(file(tmp_path, bytes(range(256)) * 100 + b"\n" + TEXT)).endswith(TEXT)


def test_a_file_that_may_not_be_read_says_so(tmp_path: Path) -> None:
    path = file(tmp_path, b"x\n")
    path.chmod(0)
    if os.access(path, os.R_OK):
        pytest.skip("this user may read everything")
    with pytest.raises(UnreadableError, match="permission denied"):
        blocks(path)
