"""However many processes scan a log and however it is cut, the result is that of one pass over it."""

import os
import random
import tracemalloc
from itertools import pairwise
from pathlib import Path

import pytest
from msgspec.structs import replace

from responder.replay import ranges, reading, workers
from responder.replay.ranges import parts_of, segment_of
from responder.replay.reading import Segment, blocks_of
from responder.replay.workers import scan_parts
from responder.scan import Scanner, framing
from responder.scan.framing import StreamScan
from responder.sources.block import Block
from responder.sources.finished import UnreadableError
from responder.sources.wrappers import Unwrapper
from tests.diagnose.test_same_incident import HEALTHY, rank_log
from tests.wrapping import WRAPPERS

CASES = Path(__file__).parents[3] / "shared" / "cases"
JOBS = (2, 3, 5)
LEAST = 128 * 1024

ERRORS = (
    "ValueError: Not enough host memory available. Requesting 40.00 GB but only have 4.87 GB free.",
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.",
    "FancyError: nothing that anybody knows",
)
BANNER = (
    "/x/sglang/launch_server.py:71: UserWarning: 'python -m sglang.launch_server' is still supported, but use serve."
)


@pytest.fixture(autouse=True)
def small_windows(monkeypatch):
    """Everything that is measured in megabytes, in kilobytes, so that a small log has many parts."""
    monkeypatch.setattr(reading, "WINDOW", 32 * 1024)
    monkeypatch.setattr(ranges, "_ABOVE", 8)
    monkeypatch.setattr(ranges, "_PROBE", 4 * 1024)
    monkeypatch.setattr(ranges, "LONGEST_PAUSE", 200)
    monkeypatch.setattr(framing, "LONGEST_PAUSE", 200)
    monkeypatch.setattr(framing, "_LONGEST_PART", 100)


def healthy(chance: random.Random, most: int) -> list[str]:
    return [chance.choice(HEALTHY).format(minute=chance.randrange(60)) for _ in range(chance.randrange(most))]


def corpus(seed: int) -> str:
    """A log of launches, healthy hours and crashes, ranks interleaved."""
    chance = random.Random(seed)
    lines: list[str] = []
    for _ in range(12):
        lines += [BANNER, *healthy(chance, 2000)]
        copies = [rank_log(chance.choice(ERRORS), rank).splitlines() for rank in range(chance.randrange(1, 5))]
        lines += [line for group in zip(*copies, strict=True) for line in group]
    return "".join(f"{line}\n" for line in lines)


def stitched(catalogue, seed: int) -> str:
    """Every text that a rule fires on, or must not, with healthy lines between."""
    chance = random.Random(seed)
    texts = [sample.text.strip("\n") for rule in catalogue.rules for sample in rule.sample]
    chance.shuffle(texts)
    return "".join("\n".join([text, *healthy(chance, 12)]) + "\n" for text in texts)


def seen_by(program, catalogue, paths, jobs):
    """Every line that was seen, as it goes to the diagnosis."""
    parts = parts_of(0, paths, jobs, LEAST)
    return [one for _, scanned in scan_parts(parts, program, catalogue.by_id, jobs) for one in scanned.seen]


def line_by_line(program, path: Path):
    """The same from blocks of one line, as a slow writer gives them."""
    stream, unwrapper, seen, offset = StreamScan(Scanner(program)), Unwrapper(), [], 0
    file_id = segment_of(path).file_id
    for line in path.read_bytes().splitlines(keepends=True):
        for block in unwrapper.feed(Block(str(path), file_id, offset, line)):
            seen += stream.feed(block)
        offset += len(line)
    return seen + stream.finish()


def without_surroundings(seen):
    """Below a line that has just come stands nothing yet."""
    return [replace(one, excerpt=()) for one in seen]


@pytest.mark.parametrize("seed", range(3))
def test_processes_and_lines_see_what_one_pass_sees(program, catalogue, tmp_path, seed):
    path = tmp_path / "server.log"
    path.write_text(corpus(seed))
    expected = seen_by(program, catalogue, [path], 1)
    assert len(expected) > 30
    for jobs in JOBS:
        assert len(parts_of(0, [path], jobs, LEAST)) > 2
        assert seen_by(program, catalogue, [path], jobs) == expected
    assert without_surroundings(line_by_line(program, path)) == without_surroundings(expected)


def test_deep_tracebacks_are_seen_alike(program, catalogue, tmp_path):
    chance, path = random.Random(10), tmp_path / "server.log"
    deep = "".join(f'  File "/x/graph.py", line {n}, in visit_{n}\n    visit(node)\n' for n in range(1000))
    header, *_, exception = rank_log(ERRORS[2], 0).splitlines(keepends=True)
    text = [*healthy(chance, 2000), header + deep + exception.rstrip("\n")] * 6
    path.write_text("\n".join(text) + "\n")
    expected = seen_by(program, catalogue, [path], 1)
    assert [len(one.traceback.frames) for one in expected if one.traceback] == [1000] * 6
    for jobs in JOBS:
        assert len(parts_of(0, [path], jobs, LEAST)) > 2
        assert seen_by(program, catalogue, [path], jobs) == expected
    assert without_surroundings(line_by_line(program, path)) == without_surroundings(expected)


def test_every_sample_of_the_catalogue_is_seen_alike(program, catalogue, tmp_path):
    path = tmp_path / "server.log"
    path.write_text(stitched(catalogue, 1))
    expected = seen_by(program, catalogue, [path], 1)
    fired = {match.rule.id for one in expected for match in one.matches}
    assert fired >= {rule.id for rule in catalogue.rules if rule.role == "cause" and rule.patterns}
    for jobs in JOBS:
        assert seen_by(program, catalogue, [path], jobs) == expected
    assert without_surroundings(line_by_line(program, path)) == without_surroundings(expected)


def test_real_logs_one_after_the_other_are_seen_alike(program, catalogue, tmp_path, logs):
    chance, path = random.Random(3), tmp_path / "server.log"
    texts = [log.read_text() for log in sorted(logs.glob("*.log"))]
    path.write_text("".join(text + "\n".join(healthy(chance, 1500)) + "\n" for text in texts * 3))
    expected = seen_by(program, catalogue, [path], 1)
    for jobs in JOBS:
        assert seen_by(program, catalogue, [path], jobs) == expected
    assert without_surroundings(line_by_line(program, path)) == without_surroundings(expected)


@pytest.mark.skipif(not CASES.exists(), reason="the replayable cases lie beside a checkout, not in it")
def test_every_case_is_seen_alike(program, catalogue, tmp_path):
    chance, path = random.Random(11), tmp_path / "server.log"
    texts = [log.read_text(errors="replace") for log in sorted(CASES.glob("*/*.log"))]
    assert len(texts) > 60
    path.write_text("".join(text + "\n" + "\n".join(healthy(chance, 600)) + "\n" for text in texts))
    expected = seen_by(program, catalogue, [path], 1)
    for jobs in JOBS:
        assert len(parts_of(0, [path], jobs, LEAST)) > 2
        assert seen_by(program, catalogue, [path], jobs) == expected
    assert without_surroundings(line_by_line(program, path)) == without_surroundings(expected)


@pytest.mark.parametrize("wrapper", ["docker", "cri", "journal-json", "ray", "skypilot"])
def test_a_wrapped_log_is_divided_too(program, catalogue, tmp_path, wrapper):
    path = tmp_path / "server.log"
    path.write_bytes(WRAPPERS[wrapper](corpus(4).encode().splitlines()))
    expected = seen_by(program, catalogue, [path], 1)
    assert len(expected) > 30
    for jobs in JOBS:
        assert len(parts_of(0, [path], jobs, LEAST)) > 2
        assert seen_by(program, catalogue, [path], jobs) == expected


def test_rotated_files_are_one_log(program, catalogue, tmp_path):
    text = corpus(5)
    third = len(text) // 3
    paths = [tmp_path / name for name in ("server.log.2", "server.log.1", "server.log")]
    for number, path in enumerate(paths):
        end = text.index("\n", third * (number + 1)) + 1 if number < 2 else len(text)
        begin = text.index("\n", third * number) + 1 if number else 0
        path.write_text(text[begin:end])
    expected = seen_by(program, catalogue, paths, 1)
    for jobs in JOBS:
        assert len(parts_of(0, paths, jobs, LEAST)) > 2
        assert seen_by(program, catalogue, paths, jobs) == expected


def test_overlong_lines_and_carriage_returns_are_seen_alike(program, catalogue, tmp_path):
    chance, path = random.Random(6), tmp_path / "server.log"
    bar = "\r".join(f"Loading shards: {number}% Completed" for number in range(20_000))
    long = ["x" * 700_000, bar, ERRORS[1], "y" * 300_000 + ERRORS[1]]
    path.write_text("".join("\n".join([*healthy(chance, 900), chance.choice(long)]) + "\n" for _ in range(30)) + "end")
    expected = seen_by(program, catalogue, [path], 1)
    assert len(expected) > 3
    for jobs in JOBS:
        assert seen_by(program, catalogue, [path], jobs) == expected


def test_a_hot_rule_is_counted_alike(program, catalogue, tmp_path):
    path = tmp_path / "server.log"
    path.write_text("".join(f"{ERRORS[1]}\n" * 5 + HEALTHY[2] + "\n" for _ in range(8000)))

    def counts(jobs):
        parts = parts_of(0, [path], jobs, LEAST)
        scans = [scanned for _, scanned in scan_parts(parts, program, catalogue.by_id, jobs)]
        return sum(len(one.seen) for one in scans), sum(sum(one.counted.values()) for one in scans)

    expected = counts(1)
    assert expected[1] > 10_000
    for jobs in JOBS:
        assert counts(jobs) == expected


def test_parts_cover_the_log_and_meet_at_line_starts(tmp_path):
    path = tmp_path / "server.log"
    path.write_text(corpus(7))
    parts = parts_of(0, [path], 4, LEAST)
    assert len(parts) > 2
    segments = [segment for part in parts for segment in part.segments]
    data = path.read_bytes()
    assert segments[0].start == 0
    assert segments[-1].end == len(data)
    for before, after in pairwise(segments):
        assert before.end == after.start
        assert data[after.start - 1 : after.start] == b"\n"
    assert [part.ends for part in parts] == [False] * (len(parts) - 1) + [True]


def test_blocks_cover_a_segment_and_keep_to_windows(tmp_path):
    path = tmp_path / "server.log"
    path.write_text(corpus(8) + "no newline at the end")
    segment = segment_of(path)
    assert segment.end == segment.size
    blocks = list(blocks_of(segment))
    assert b"".join(block.data for block in blocks) == path.read_bytes()
    assert [block.offset for block in blocks] == [sum(len(b.data) for b in blocks[:n]) for n in range(len(blocks))]
    windows = [block.offset // reading.WINDOW for block in blocks[:-1]]
    assert windows == sorted(set(windows))


def test_a_process_that_dies_is_told(program, catalogue, tmp_path, monkeypatch):
    path = tmp_path / "server.log"
    path.write_text(corpus(9))
    parts = parts_of(0, [path], 2, LEAST)
    monkeypatch.setattr(workers, "scan_part", lambda part, scanner: os._exit(1))
    with pytest.raises(UnreadableError, match="the process that scanned it died"):
        list(scan_parts(parts, program, catalogue.by_id, 2))


def test_what_is_not_wanted_yet_is_kept_in_bounds(program, catalogue, tmp_path, monkeypatch):
    monkeypatch.setattr(workers, "MOST_KEPT", 1)
    path = tmp_path / "server.log"
    path.write_text(stitched(catalogue, 2))
    assert seen_by(program, catalogue, [path], 5) == seen_by(program, catalogue, [path], 1)


def test_a_file_that_gives_nothing_is_named_by_any_number_of_processes(program, catalogue, tmp_path):
    parts = [part for number in range(2) for part in parts_of(number, [tmp_path / f"{number}.log"], 2)]
    assert parts[0].segments == (Segment(str(tmp_path / "0.log")),)
    for jobs in (1, 2):
        with pytest.raises(UnreadableError, match=r"0\.log: no such file"):
            list(scan_parts(parts, program, catalogue.by_id, jobs))


def test_a_run_of_nuls_is_passed_over_within_bounds(program, catalogue, tmp_path):
    path = tmp_path / "server.log"
    with path.open("wb") as file:
        file.write(f"{HEALTHY[2]}\n".encode() * 2000)
        file.seek(32 << 20, os.SEEK_CUR)
        file.write(f"\n{ERRORS[1]}\n{HEALTHY[2]}\n".encode())
    tracemalloc.start()
    seen = seen_by(program, catalogue, [path], 1)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert [one.text for one in seen if one.matches] == [ERRORS[1]]
    assert peak < 8 << 20
