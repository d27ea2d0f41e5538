"""However a failure is written down, it is the same incident."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.diagnosing import findings, replayed, rules_of
from tests.wrapping import WRAPPERS

HEALTHY = [
    "[2026-09-14 06:{minute:02}:08 TP0] Decode batch, #running-req: 3, #token: 2291, token usage: 0.01, ",
    "[2026-09-14 06:{minute:02}:06 TP0] Prefill batch, #new-seq: 1, #new-token: 512, #cached-token: 0, ",
    'INFO:     10.4.0.9:51234 - "POST /v1/chat/completions HTTP/1.1" 200 OK',
]


def rank_log(text: str, rank: int) -> str:
    return (
        f"[2026-09-14 07:02:10 TP{rank}] Scheduler hit an exception: Traceback (most recent call last):\n"
        '  File "/x/sglang/srt/managers/scheduler.py", line 4112, in run_scheduler_process\n'
        "    scheduler = Scheduler(\n"
        '  File "/x/sglang/srt/model_executor/model_runner.py", line 318, in forward\n'
        "    self._run(batch)\n"
        f"{text}\n"
    )


@pytest.fixture(scope="module")
def causes(catalogue):
    """Exceptions that stand alone: the one-line samples of cause rules that need nothing around them."""
    found = []
    for rule in catalogue.rules:
        for sample in rule.sample:
            line = sample.text.strip()
            alone = not rule.frames and not rule.near and rule.precedence == 0 and rule.phase != "arguments"
            if (
                rule.role == "cause"
                and alone
                and sample.matches
                and "\n" not in line
                and line[:1].isalpha()
                and "Error: " in line[:60]
            ):
                found.append((rule.id, line))
    assert len(found) > 30
    return found


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_ranks_interleaving_cuts_and_a_healthy_hour_change_nothing(program, causes, data):
    rule, line = data.draw(st.sampled_from(causes))
    ranks = data.draw(st.integers(1, 16))
    interleaved = data.draw(st.booleans())
    copies = [rank_log(line, rank).splitlines() for rank in range(ranks)]
    lines = (
        [part for group in zip(*copies, strict=True) for part in group]
        if interleaved
        else [line for copy in copies for line in copy]
    )
    lines += [
        "[2026-09-14 07:02:14] Received sigquit from a child process. It usually means the child failed.",
        "Killed",
    ]
    if data.draw(st.booleans()):
        lines = [text.format(minute=minute) for minute in range(60) for text in HEALTHY] + lines
    cut = data.draw(st.integers(0, len(lines)))
    files = ["".join(f"{text}\n" for text in part) for part in (lines[:cut], lines[cut:])]
    found = findings(program, *files, cut=data.draw(st.sampled_from([None, 1, 300])))
    assert rules_of(found) == [rule]


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_wrapper_and_a_cut_into_two_files_change_nothing(program, causes, tmp_path_factory, data):
    rule, line = data.draw(st.sampled_from(causes))
    lines = "".join(rank_log(line, rank) for rank in range(data.draw(st.integers(1, 4)))).splitlines()
    lines += [
        "[2026-09-14 07:02:14] Received sigquit from a child process. It usually means the child failed.",
        "Killed",
    ]
    wrap = WRAPPERS[data.draw(st.sampled_from(sorted(WRAPPERS)))]
    cut = data.draw(st.integers(0, len(lines)))
    folder = tmp_path_factory.mktemp("wrapped")
    files = []
    for number, part in enumerate((lines[:cut], lines[cut:])):
        if part:
            files.append(folder / f"{number}.log")
            files[-1].write_bytes(wrap([text.encode() for text in part]))
    assert rules_of(replayed(program, *files)) == [rule]


def test_a_newest_first_export_is_the_same_incident(program, logs, tmp_path):
    text = (logs / "real-seed-0523-sm90.log").read_text()
    healthy = "".join(f"[2026-11-30 11:{minute:02}:24] Decode batch, #running-req: 3\n" for minute in range(60))
    export = tmp_path / "export.log"
    export.write_text("\n".join(reversed((healthy + text).splitlines())) + "\n")
    assert rules_of(replayed(program, export)) == ["trtllm-mha-prefill-cp-needs-sm100"]
