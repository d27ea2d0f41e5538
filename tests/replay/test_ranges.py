"""However many processes scan a log, the result is that of one."""

import random

import pytest

from responder.diagnose import Pipeline
from responder.replay import ranges
from responder.replay.ranges import Range, blocks_of, ranges_of, scan_ranges
from responder.sources.finished import read_finished
from tests.diagnose.test_same_incident import HEALTHY, rank_log

ERRORS = (
    "ValueError: Not enough host memory available. Requesting 40.00 GB but only have 4.87 GB free.",
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.",
    "FancyError: nothing that anybody knows",
)
BANNER = (
    "/x/sglang/launch_server.py:71: UserWarning: 'python -m sglang.launch_server' is still supported, but use serve."
)


def corpus(seed: int) -> str:
    """A log of launches, healthy hours and crashes, ranks interleaved."""
    chance = random.Random(seed)
    lines: list[str] = []
    for _ in range(12):
        lines.append(BANNER)
        healthy = chance.randrange(2000)
        lines += [chance.choice(HEALTHY).format(minute=chance.randrange(60)) for _ in range(healthy)]
        copies = [rank_log(chance.choice(ERRORS), rank).splitlines() for rank in range(chance.randrange(1, 5))]
        lines += [line for group in zip(*copies, strict=True) for line in group]
    return "".join(f"{line}\n" for line in lines)


def found_by(program, catalogue, path, jobs, least):
    pipeline = Pipeline("llama", program)
    file_id = next(iter(read_finished(str(path)))).file_id
    for seen in scan_ranges(ranges_of(str(path), file_id, jobs, least), program, catalogue.by_id, jobs):
        pipeline.take(seen)
    return pipeline.diagnosis.findings()


@pytest.mark.parametrize("seed", range(3))
def test_processes_and_blocks_find_what_one_pass_finds(program, catalogue, tmp_path, monkeypatch, seed):
    path = tmp_path / "server.log"
    path.write_text(corpus(seed))
    whole = Pipeline("llama", program)
    for block in read_finished(str(path)):
        whole.feed(block)
    whole.finish()
    expected = whole.diagnosis.findings()
    assert len(expected) > 1
    monkeypatch.setattr(ranges, "CHUNK", 64 * 1024)
    monkeypatch.setattr(ranges, "_QUIET", 4 * 1024)
    for jobs in (1, 2, 5):
        assert found_by(program, catalogue, path, jobs, 32 * 1024) == expected


def test_ranges_cover_the_log_and_meet_at_line_starts(tmp_path):
    path = tmp_path / "server.log"
    path.write_text(corpus(7))
    parts = ranges_of(str(path), "id", 4, 64 * 1024)
    data = path.read_bytes()
    assert len(parts) > 1
    assert b"".join(data[part.start : part.end] for part in parts) == data
    assert all(data[part.start - 1 : part.start] == b"\n" for part in parts[1:])


def test_a_line_longer_than_a_block_is_one_line(tmp_path, monkeypatch):
    monkeypatch.setattr(ranges, "CHUNK", 16)
    path = tmp_path / "long.log"
    path.write_bytes(b"short\n" + b"x" * 100 + b"\nend")
    blocks = list(blocks_of(Range(str(path), "id", 0, path.stat().st_size, True)))
    assert b"".join(block.data for block in blocks) == path.read_bytes()
    assert any(b"x" * 100 in block.data for block in blocks)
    assert [block.offset for block in blocks] == [sum(len(b.data) for b in blocks[:n]) for n in range(len(blocks))]
