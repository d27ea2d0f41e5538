"""Around a hit: its record, its traceback, its excerpt, whatever the blocks."""

import pytest

from responder.scan import Scanner
from responder.scan.framing import StreamScan
from responder.sources.block import Block
from tests.diagnosing import blocks

TRACEBACK = """\
[2026-09-14 07:02:10 TP0] Scheduler hit an exception: Traceback (most recent call last):
  File "/opt/sglang/srt/managers/scheduler.py", line 4112, in run_scheduler_process
    scheduler = Scheduler(
                ^^^^^^^^^^
  File "/opt/sglang/srt/model_executor/model_runner.py", line 318, in forward
    self._run(batch)
FancyError: nothing that anybody knows
"""


def seen_in(program, text, cut=None):
    stream = StreamScan(Scanner(program))
    seen = []
    for offset, data in blocks(text.encode(), cut):
        seen += stream.feed(Block(path="a.log", file_id="a", offset=offset, data=data))
    return seen + stream.finish()


@pytest.mark.parametrize("cut", [None, 1, 100, 250])
def test_a_traceback_is_assembled_from_any_blocks(program, cut):
    ended = [seen for seen in seen_in(program, "x\n" + TRACEBACK, cut) if seen.traceback]
    assert len(ended) == 1
    traceback = ended[0].traceback
    assert traceback.exception == "FancyError"
    assert traceback.message == "nothing that anybody knows"
    assert [frame.function for frame in traceback.frames] == ["run_scheduler_process", "forward"]
    assert [frame.source for frame in traceback.frames] == ["scheduler = Scheduler(", "self._run(batch)"]
    assert traceback.offset == 2
    assert ended[0].ranks == ("TP0",)


def test_two_ranks_interleaved_line_by_line_are_two_tracebacks(program):
    one = TRACEBACK.splitlines()
    other = TRACEBACK.replace("TP0", "TP1").splitlines()
    text = "".join(f"{a}\n{b}\n" for a, b in zip(one, other, strict=True))
    ended = [seen for seen in seen_in(program, text) if seen.traceback]
    assert [seen.traceback.exception for seen in ended] == ["FancyError", "FancyError"]
    assert [seen.ranks for seen in ended] == [("TP0",), ("TP1",)]


def deep(rank="TP0", frames=1000):
    """A stack as deep as Python lets it grow, in three lines a frame; no two of its frames alike."""
    header, *_, exception = TRACEBACK.replace("TP0", rank).splitlines(keepends=True)
    body = "".join(f'  File "/x/graph.py", line {n}, in visit_{n}\n    visit(node)\n    ^^^^^\n' for n in range(frames))
    return header + body + exception


@pytest.mark.parametrize("cut", [None, 1, 8192])
def test_a_traceback_of_a_thousand_frames_is_read_whole(program, cut):
    (ended,) = [seen for seen in seen_in(program, deep(), cut) if seen.traceback]
    assert ended.traceback.exception == "FancyError"
    assert [frame.function for frame in ended.traceback.frames] == [f"visit_{n}" for n in range(1000)]
    assert ended.ranks == ("TP0",)


def test_eight_ranks_a_thousand_frames_deep_are_all_told(program):
    ranks = [f"TP{n}" for n in range(8)]
    together = zip(*(deep(rank).splitlines(keepends=True) for rank in ranks), strict=True)
    ended = [seen for seen in seen_in(program, "".join(map("".join, together))) if seen.traceback]
    assert [(seen.traceback.exception, seen.ranks) for seen in ended] == [("FancyError", (rank,)) for rank in ranks]


def test_a_header_that_nothing_follows_swallows_no_later_exception(program):
    """After some hundred lines without a frame it is given up."""
    header = TRACEBACK.splitlines(keepends=True)[0]
    text = header + "Decode batch\n" * 500 + "FancyError: of something else\n"
    assert not [seen for seen in seen_in(program, text) if seen.traceback]


def test_headers_without_end_cost_no_memory(program):
    stream = StreamScan(Scanner(program))
    data = (TRACEBACK.splitlines(keepends=True)[0] + "Decode batch\n" * 60).encode()
    for number in range(200):
        stream.feed(Block(path="a.log", file_id="a", offset=number * len(data), data=data))
    assert len(stream.finish()) == 64


def test_a_traceback_that_the_log_cuts_off_is_told_as_cut(program):
    text = "".join(TRACEBACK.splitlines(keepends=True)[:3])
    ended = [seen for seen in seen_in(program, text) if seen.traceback]
    assert [seen.traceback.exception for seen in ended] == [None]
    assert ended[0].traceback.frames[0].function == "run_scheduler_process"


def test_a_progress_bar_glued_in_front_hides_neither_prefix_nor_traceback(program):
    glued = "Capturing batches (avail_mem=7.76 GB):   0%|          | 0/35 [00:00<?, ?it/s]" + TRACEBACK
    ended = [seen for seen in seen_in(program, glued) if seen.traceback]
    assert [seen.traceback.exception for seen in ended] == ["FancyError"]
    assert ended[0].ranks == ("TP0",)


def test_a_line_knows_the_record_it_belongs_to(program):
    head = "[2026-09-14 07:00:00] Error in request: boom\n"
    ended = [
        seen
        for seen in seen_in(program, head + "Traceback (most recent call last):\nFancyError: x\n")
        if seen.traceback
    ]
    assert ended[0].record == 0


def test_the_excerpt_holds_the_lines_around_the_evidence(program):
    ended = [seen for seen in seen_in(program, "first\n" + TRACEBACK + "after\n") if seen.traceback]
    assert ended[0].excerpt[0] == "first"
    assert ended[0].excerpt[-1] == "after"
    assert "FancyError: nothing that anybody knows" in ended[0].excerpt
