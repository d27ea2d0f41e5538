"""sglang's own line prefix, in every order its releases had, and those of torch and glog."""

from datetime import datetime
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from responder.sources.prefix import NOTHING, parse_prefix

WHEN = datetime(2026, 8, 28, 5, 10, 5)
RANKS = ("DP0", "PP1", "ATTN_CP2", "MOE_DP0", "TP3", "EP4")


@pytest.mark.parametrize(
    ("prefix", "ranks"),
    [
        ("[2026-08-28 05:10:05]", ()),
        ("[2026-08-28 05:10:05 TP0]", ("TP0",)),
        ("[2026-08-28 05:10:05 DP0 TP0]", ("DP0", "TP0")),
        ("[2026-08-28 05:10:05 DP1 TP2 PP0]", ("DP1", "TP2", "PP0")),
        ("[2026-08-28 05:10:05 DP1 TP2 EP2 PP0]", ("DP1", "TP2", "EP2", "PP0")),
        ("[2026-08-28 05:10:05 DP0 PP1 ATTN_CP2 MOE_DP0 TP3 EP4]", RANKS),
        ("[2026-08-28 05:10:05 encode_server]", ("encode_server",)),
        ("[2026-08-28 05:10:05 encode_dp_worker[3]]", ("encode_dp_worker[3]",)),
        ("[2026-08-28 05:10:05 TP0 DisaggregationMode.PREFILL]", ("TP0", "DisaggregationMode.PREFILL")),
    ],
)
def test_each_form_gives_time_ranks_and_the_message(prefix: str, ranks: tuple[str, ...]) -> None:
    line = f"{prefix} Load weight begin."
    found = parse_prefix(line)
    assert (found.time, found.ranks, line[found.rest :]) == (WHEN, ranks, "Load weight begin.")


@given(st.sets(st.sampled_from(RANKS)).flatmap(lambda ranks: st.sampled_from(list(permutations(sorted(ranks))))))
def test_any_subset_of_ranks_in_any_order_is_read(ranks: tuple[str, ...]) -> None:
    line = "[2026-08-28 05:10:05" + "".join(f" {rank}" for rank in ranks) + "] x"
    found = parse_prefix(line)
    assert (found.ranks, line[found.rest :]) == (ranks, "x")


def test_milliseconds_are_kept() -> None:
    assert parse_prefix("[2026-08-28 05:10:05.123 TP0] x").time == WHEN.replace(microsecond=123000)


def test_a_progress_bar_glued_in_front_does_not_hide_the_prefix() -> None:
    bar = "Loading safetensors:  45%|████▌     | 5/11 [00:01<00:02,  2.5it/s]"
    line = f"{bar}[2026-08-28 05:10:05 TP0] Scheduler hit an exception"
    found = parse_prefix(line)
    assert (line[: found.start], found.ranks, line[found.rest :]) == (bar, ("TP0",), "Scheduler hit an exception")


@pytest.mark.parametrize(
    ("line", "ranks", "time", "message"),
    [
        ("[rank4]: Traceback (most recent call last):", ("RANK4",), None, "Traceback (most recent call last):"),
        (
            "[rank4]:[E223 11:14:34.991405000 ProcessGroupNCCL.cpp:616] [Rank 4] Watchdog",
            ("RANK4",),
            None,
            "[Rank 4] Watchdog",
        ),
        ("[E223 11:14:34.991405000 ProcessGroupNCCL.cpp:616] [Rank 4] Watchdog", (), None, "[Rank 4] Watchdog"),
        ("[E ProcessGroupNCCL.cpp:474] timeout", (), None, "timeout"),
        ("E0619 07:02:10.123456 812 tcp_transport.cpp:136] refused", (), None, "refused"),
        ("W0215 14:02:10.123000 8292 site-packages/torch/run.py:793] OMP", (), None, "OMP"),
        ("I20260828 05:10:05.000001   812 a.cc:1] x", (), WHEN.replace(microsecond=1), "x"),
    ],
)
def test_stamps_of_torch_and_glog_are_prefixes_too(
    line: str, ranks: tuple[str, ...], time: datetime | None, message: str
) -> None:
    found = parse_prefix(line)
    assert (found.ranks, found.time, line[found.rest :]) == (ranks, time, message)


@pytest.mark.parametrize(
    "line",
    [
        "",
        "ValueError: x",
        '  File "x.py", line 1',
        "[notice] x",
        "[2026-08-28] x",
        "E = mc2:1] x",
        "I am a.b:1 fine",
        "INFO: x",
    ],
)
def test_other_lines_have_no_prefix(line: str) -> None:
    assert parse_prefix(line) == NOTHING


def test_a_stamp_that_names_no_moment_gives_no_time() -> None:
    found = parse_prefix("[2026-02-31 25:61:00 TP0] x")
    assert (found.time, found.ranks) == (None, ("TP0",))
