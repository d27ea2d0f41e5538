"""Lines come out of every wrapper as the program wrote them, wherever the blocks are cut."""

import json
import time
from collections.abc import Callable, Iterable, Iterator, Sequence

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from responder.sources.block import Block, Origin
from responder.sources.wrappers import Unwrapper
from tests.wrapping import (
    START,
    WRAPPERS,
    stamp,
    wrap_compose,
    wrap_compose_coloured,
    wrap_cri,
    wrap_crlf,
    wrap_docker,
    wrap_filebeat,
    wrap_journal_iso,
    wrap_journal_json,
    wrap_journal_short,
    wrap_kubectl,
    wrap_ray,
    wrap_skypilot,
    wrap_stamps,
    wrap_torch_rank,
)

LINES = [
    b"[2026-09-14 07:02:05] Attention backend not specified. Use flashinfer backend by default.",
    b"[2026-09-14 07:02:09 TP0] Scheduler hit an exception: Traceback (most recent call last):",
    b'  File "/sgl-workspace/sglang/python/sglang/srt/managers/scheduler.py", line 2810, in run_scheduler_process',
    b"    scheduler = Scheduler(<args> & \"more\", 'x', a\\nb)",
    b"",
    "ValueError: größer | 45%|████▌     | 5/11".encode(),
    b"[2026-09-14 07:02:10] Received sigquit from a child process. It usually means the child failed.",
]
TEXT = b"".join(line + b"\n" for line in LINES)
FIRST = START.timestamp()


def blocks(data: bytes, cuts: Iterable[int] = (), file_id: str = "f") -> Iterator[Block]:
    """`data` as blocks of whole lines, cut after the lines with the given numbers."""
    lines = data.splitlines(keepends=True) if b"\r" not in data else [x + b"\n" for x in data.split(b"\n")[:-1]]
    begin, offset = 0, 0
    for end in [*sorted({c for c in cuts if 0 < c < len(lines)}), len(lines)]:
        piece = b"".join(lines[begin:end])
        if piece:
            yield Block("server.log", file_id, offset, piece)
        begin, offset = end, offset + len(piece)


def unwrap(data: bytes, cuts: Iterable[int] = ()) -> bytes:
    unwrapper = Unwrapper()
    out = [b for block in blocks(data, cuts) for b in unwrapper.feed(block)]
    return b"".join(b.data for b in [*out, *unwrapper.flush()])


def origins(data: bytes, cuts: Iterable[int] = ()) -> list[Origin]:
    """The origin of each unwrapped line."""
    unwrapper = Unwrapper()
    found = []
    for block in blocks(data, cuts):
        for one in unwrapper.feed(block):
            at = 0
            for line in one.data.splitlines(keepends=True):
                found.append(one.locate(at))
                at += len(line)
    return found


@pytest.mark.parametrize("name", WRAPPERS)
def test_a_log_comes_out_of_each_wrapper_unchanged(name: str) -> None:
    assert unwrap(WRAPPERS[name](LINES)) == TEXT


@pytest.mark.parametrize("name", WRAPPERS)
def test_a_log_read_line_by_line_comes_out_the_same(name: str) -> None:
    assert unwrap(WRAPPERS[name](LINES), range(100)) == TEXT


@pytest.mark.parametrize("name", WRAPPERS)
def test_each_line_knows_where_it_lies_in_the_file(name: str) -> None:
    wrapped = WRAPPERS[name](LINES)
    physical = [0]
    for line in wrapped.split(b"\n")[:-2]:
        physical.append(physical[-1] + len(line) + 1)
    for cuts in ((), (2, 5), range(100)):
        assert [origin.offset for origin in origins(wrapped, cuts)] == physical


_line = st.binary(max_size=60).filter(lambda b: not set(b) & {0x0A, 0x1B} and b[:1] not in b"([{")
_text_line = (
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\n\x1b"), max_size=60)
    .map(str.encode)
    .filter(lambda b: b[:1] not in b"([{")
)
_FEW_BYTES: dict[str, Callable[[Sequence[bytes]], bytes]] = {
    **WRAPPERS,
    "docker-cut": lambda lines: wrap_docker(lines, cut=7),
    "cri-cut": lambda lines: wrap_cri(lines, cut=7),
}


@given(
    name=st.sampled_from(sorted(_FEW_BYTES)),
    lines=st.lists(_text_line, min_size=1, max_size=12),
    cuts=st.lists(st.integers(1, 200), max_size=6),
)
@example(name="docker-cut", lines=[b"ends with \\n", b"\\", b"\\\\n", b"", b"123456\\n"], cuts=[1, 2])
@settings(max_examples=400, deadline=None)
def test_any_lines_come_out_of_any_wrapper_in_any_cuts(name: str, lines: list[bytes], cuts: list[int]) -> None:
    assert unwrap(_FEW_BYTES[name](lines), cuts) == b"".join(line + b"\n" for line in lines)


@given(
    name=st.sampled_from(["cri", "compose", "kubectl", "stamps", "journal-json", "journal-short", "cri-cut"]),
    lines=st.lists(_line, min_size=1, max_size=12),
    cuts=st.lists(st.integers(1, 200), max_size=6),
)
@settings(max_examples=300, deadline=None)
def test_bytes_that_are_no_text_come_through_too(name: str, lines: list[bytes], cuts: list[int]) -> None:
    assert unwrap(_FEW_BYTES[name](lines), cuts) == b"".join(line + b"\n" for line in lines)


@given(data=st.binary(max_size=400), cuts=st.lists(st.integers(1, 20), max_size=4))
@settings(max_examples=200, deadline=None)
def test_no_bytes_whatever_break_the_unwrapping(data: bytes, cuts: list[int]) -> None:
    unwrap(data + b"\n", cuts)


@pytest.mark.parametrize(
    "wrap",
    [
        lambda lines: wrap_cri(wrap_ray(lines).splitlines()),
        lambda lines: wrap_docker(wrap_skypilot(wrap_torch_rank(lines).splitlines()).splitlines()),
        lambda lines: wrap_compose(wrap_stamps(lines).splitlines()),
        lambda lines: wrap_kubectl(wrap_stamps(wrap_ray(lines).splitlines()).splitlines()),
        lambda lines: wrap_filebeat(wrap_cri(wrap_compose_coloured(lines).splitlines()).splitlines()),
        lambda lines: wrap_journal_json(wrap_docker(lines).splitlines()),
        lambda lines: wrap_skypilot(wrap_compose(wrap_stamps(lines).splitlines()).splitlines()),
        lambda lines: wrap_stamps(
            wrap_skypilot(wrap_ray(wrap_torch_rank(lines).split(b"\n")[:-1]).split(b"\n")[:-1]).split(b"\n")[:-1]
        ),
    ],
)
def test_wrappers_nest_up_to_three_deep(wrap: Callable[[list[bytes]], bytes]) -> None:
    assert unwrap(wrap(LINES)) == TEXT
    assert unwrap(wrap(LINES), range(100)) == TEXT


def test_a_bare_block_is_handed_on_as_the_same_object() -> None:
    unwrapper = Unwrapper()
    for block in blocks(TEXT * 3, [2, 9]):
        assert unwrapper.feed(block) == (block,)
        assert unwrapper.feed(block)[0] is block
    assert unwrapper.layers == ()


def test_a_process_id_in_the_middle_of_a_bare_line_is_no_tag() -> None:
    block = Block("p", "f", 0, b"[2026-09-14 07:02:05] kill_process_tree called: parent_pid=12, x (a pid=4) y\n" * 3)
    assert Unwrapper().feed(block)[0] is block


def test_docker_says_stream_and_time() -> None:
    assert origins(wrap_docker(LINES, stream="stdout"))[2] == Origin(
        len(wrap_docker(LINES[:2], stream="stdout")), FIRST + 2, {"stream": "stdout"}
    )


def test_docker_lines_with_attributes_are_docker_lines() -> None:
    line = b'{"log":"hello \\u003cb\\u003e\\n","stream":"stderr","attrs":{"tag":"x"},"time":"2026-09-14T07:02:10Z"}\n'
    assert unwrap(line * 3) == b"hello <b>\n" * 3


def test_docker_colours_written_as_escapes_are_removed() -> None:
    assert unwrap(wrap_docker([b"\x1b[1;33mWARNING\x1b[0m x", b"plain"])) == b"WARNING x\nplain\n"


def test_a_long_docker_message_is_joined_and_begins_where_its_first_part_lay() -> None:
    long = b"x" * 40_000
    wrapped = wrap_docker([b"before", long, b"after"])
    assert wrapped.count(b"\n") == 5
    for cuts in ((), (2,), (3,), range(9)):
        assert unwrap(wrapped, cuts) == b"before\n" + long + b"\nafter\n"
        found = origins(wrapped, cuts)
        assert [o.offset for o in found][:2] == [0, len(wrap_docker([b"before"]))]
        assert found[1].time == FIRST + 1


def test_parts_of_two_streams_that_interleave_are_joined_each_for_itself() -> None:
    wrapped = b"".join(
        f"{stamp(0)} {stream} {tag} {text}\n".encode()
        for stream, tag, text in [
            ("stdout", "P", "out-1 "),
            ("stderr", "P", "err-1 "),
            ("stdout", "F", "out-2"),
            ("stderr", "F", "err-2"),
            ("stderr", "F", "alone"),
        ]
    )
    for cuts in ((), (1,), (2,), (1, 3)):
        assert unwrap(wrapped, cuts) == b"out-1 out-2\nerr-1 err-2\nalone\n"
        assert [o.labels["stream"] for o in origins(wrapped, cuts)] == ["stdout", "stderr", "stderr"]


def test_what_is_held_back_bounds_the_checkpoint_and_is_handed_on_at_the_end() -> None:
    unwrapper = Unwrapper()
    first, second = blocks(wrap_cri([b"one"]) + f"{stamp(1)} stderr P two-and-\n".encode(), [1])
    assert unwrapper.held_from is None
    assert unwrapper.feed(first)[0].data == b"one\n"
    assert unwrapper.feed(second) == ()
    assert unwrapper.held_from == second.offset
    (cut,) = unwrapper.flush()
    assert (cut.data, cut.partial, cut.offset) == (b"two-and-", True, second.offset)
    assert cut.locate(0).time == FIRST + 1
    assert unwrapper.held_from is None
    assert unwrapper.flush() == ()


def test_a_new_file_gets_what_the_old_one_held_handed_on_first_and_is_looked_at_afresh() -> None:
    unwrapper = Unwrapper()
    assert unwrapper.feed(Block("p", "old", 0, f"{stamp(0)} stderr P half\n".encode())) == ()
    held, new = unwrapper.feed(Block("p", "new", 0, TEXT))
    assert (held.file_id, held.data, held.partial) == ("old", b"half", True)
    assert (new.file_id, new.data) == ("new", TEXT)


def test_a_line_in_parts_that_never_ends_is_handed_on_before_it_fills_the_memory() -> None:
    unwrapper = Unwrapper()
    part = f"{stamp(0)} stderr P ".encode() + b"x" * 16_000 + b"\n"
    out = [b for n in range(200) for b in unwrapper.feed(Block("p", "f", n * len(part), part))]
    assert sum(len(b.data) for b in out) > 2_000_000
    assert max(len(b.data) for b in out) < 1_100_000


def test_an_unended_wrapped_line_is_unwrapped_and_stays_partial() -> None:
    unwrapper = Unwrapper()
    unwrapper.feed(Block("p", "f", 0, wrap_cri(LINES)))
    (out,) = unwrapper.feed(Block("p", "f", 999, f"{stamp(1)} stderr F no newli".encode(), partial=True))
    assert (out.data, out.partial, out.locate(0).offset) == (b"no newli", True, 999)


def test_a_docker_line_cut_at_the_length_limit_shows_its_text() -> None:
    unwrapper = Unwrapper()
    unwrapper.feed(Block("p", "f", 0, wrap_docker(LINES)))
    (out,) = unwrapper.feed(Block("p", "f", 999, b'{"log":"a \\"b\\" \\u00', truncated=True))
    assert (out.data, out.truncated) == (b'a "b" ', True)


def test_lines_without_the_wrapper_stay_as_they_are() -> None:
    wrapped = b"Attaching to sglang-1\n" + wrap_compose(LINES) + b"sglang-1 exited with code 1\n"
    assert unwrap(wrapped) == b"Attaching to sglang-1\n" + TEXT + b"sglang-1 exited with code 1\n"
    broken = wrap_docker(LINES) + b"\x00\x00garbage\n" + wrap_docker(LINES)
    assert unwrap(broken) == TEXT + b"\x00\x00garbage\n" + TEXT


def test_a_source_that_changes_its_wrapper_is_noticed() -> None:
    assert unwrap(TEXT * 20 + wrap_docker(LINES * 20), [140, 200]).endswith(TEXT)


@pytest.mark.parametrize(
    ("wrapped", "labels", "time"),
    [
        (wrap_compose(LINES), {"container": "sglang-1"}, None),
        (wrap_compose(LINES, service="sglang.1.x7@node-3"), {"container": "sglang.1.x7@node-3"}, None),
        (wrap_kubectl(LINES), {"pod": "sglang-0", "container": "server"}, None),
        (wrap_stamps(LINES), {}, FIRST + 1),
        (wrap_journal_short(LINES), {"host": "gpu-7", "pid": "123", "program": "python3"}, None),
        (wrap_journal_iso(LINES), {"host": "gpu-7", "pid": "123", "program": "python3"}, FIRST + 1 - 0.123456),
        (wrap_filebeat(LINES), {"pod": "sglang-0", "container": "server"}, FIRST + 1),
        (wrap_ray(LINES), {"actor": "SGLangEngine", "pid": "12589", "ip": "10.0.0.2"}, None),
        (wrap_skypilot(LINES), {"node": "head", "node_rank": "0", "pid": "8292"}, None),
        (wrap_torch_rank(LINES), {"rank": "4"}, None),
        (
            wrap_kubectl(wrap_stamps(wrap_ray(LINES).splitlines()).splitlines()),
            {"pod": "sglang-0", "container": "server", "actor": "SGLangEngine", "pid": "12589", "ip": "10.0.0.2"},
            FIRST + 1,
        ),
    ],
)
def test_a_wrapper_tells_labels_and_time(wrapped: bytes, labels: dict[str, str], time: float | None) -> None:
    origin = origins(wrapped)[1]
    assert dict(origin.labels) == labels
    assert origin.time == (None if time is None else pytest.approx(time))


def test_the_journal_tells_unit_pid_transport_and_time() -> None:
    origin = origins(wrap_journal_json([b"a", b"b \x1b[31mred\x1b[0m"]))[1]
    assert origin.time == pytest.approx(FIRST + 1)
    assert origin.labels == {"unit": "sglang.service", "pid": "123", "transport": "stdout"}


def test_journal_messages_of_every_type_are_read() -> None:
    entries: list[dict[str, object]] = [
        {"MESSAGE": [72, 105, 255]},
        {"MESSAGE": ["first", "second"]},
        {"MESSAGE": [[72, 105], "there"]},
        {"MESSAGE": None},
        {"MESSAGE": "NVRM: Xid (PCI:0000:05:00): 79", "_TRANSPORT": "kernel"},
    ]
    wrapped = b"".join(json.dumps({"__REALTIME_TIMESTAMP": "1789369330000000", **e}).encode() + b"\n" for e in entries)
    assert unwrap(wrapped) == b"Hi\xff\nfirst\nsecond\nHi\nthere\n\nNVRM: Xid (PCI:0000:05:00): 79\n"
    assert origins(wrapped)[-1].labels == {"transport": "kernel"}


def test_a_long_journal_line_is_joined_over_its_breaks() -> None:
    long = b"y" * 120_000
    for cuts in ((), (1,), (2,), (1, 2)):
        assert unwrap(wrap_journal_json([long, b"z"]), cuts) == long + b"\nz\n"


def test_several_lines_in_one_record_get_an_offset_each() -> None:
    record = json.dumps({"msg": "Scheduler hit an exception", "exc_info": 'Traceback:\n  File "x"\nValueError: y'})
    wrapped = (record.encode() + b"\n") * 2
    assert unwrap(wrapped) == b'Scheduler hit an exception\nTraceback:\n  File "x"\nValueError: y\n' * 2
    length = len(record) + 1
    assert [o.offset for o in origins(wrapped)] == [0, 1, 2, 3, length, length + 1, length + 2, length + 3]


def test_a_kernel_line_in_syslog_says_so() -> None:
    wrapped = (
        b"Sep 14 07:02:10 gpu-7 kernel: NVRM: Xid (PCI:0000:05:00): 79, GPU has fallen off the bus.\n"
        b"Sep 14 07:02:11 gpu-7 systemd[1]: sglang.service: Main process exited, code=killed, status=9/KILL\n"
    )
    assert unwrap(wrapped).startswith(b"NVRM: Xid (PCI:0000:05:00): 79")
    assert origins(wrapped)[0].labels == {"host": "gpu-7", "transport": "kernel"}


@pytest.mark.parametrize(
    "head",
    [
        b"Sep  4 07:02:10 gpu-7 python3[123]: ",
        b"Sep 14 07:02:10.123456 gpu-7 sglang@a.service[123]: ",
        b"2026-09-14T07:02:10+0200 gpu-7 python3[123]: ",
        b"2026-09-14T07:02:10.123456+02:00 gpu-7 python3[123]: ",
        b"Mon 2026-09-14 07:02:10 CEST gpu-7 python3[123]: ",
        b"<30>Sep 14 07:02:10 gpu-7 python3[123]: ",
        b"<30>1 2026-09-14T07:02:10.123456Z gpu-7 python3 123 - - ",
        b'<30>1 2026-09-14T07:02:10Z gpu-7 python3 123 ID47 [a@1 b="c"] ',
        b"(raylet) ",
        b"(raylet, ip=10.0.0.3) ",
        b"(pid=123) ",
        b"(ServeReplica:default:LLM pid=123) ",
        b"(my-job, pid=123) ",
        b"(worker1, rank=1, pid=123, ip=10.0.0.3) ",
        b"(head, rank=0, pid=8292) [rank5]: ",
    ],
)
def test_each_form_of_a_prefix_is_taken_off(head: bytes) -> None:
    tagged = b"(pid=7) tagged\n" if head.startswith(b"(raylet") else b""
    expected = b"tagged\n" if tagged else b""
    assert unwrap(tagged + b"".join(head + line + b"\n" for line in LINES)) == expected + TEXT


def test_ray_repetitions_are_counted_and_taken_off() -> None:
    wrapped = (
        b"\x1b[36m(SGLangEngine pid=5)\x1b[0m Load weight begin.\x1b[32m [repeated 3x across cluster]\x1b[0m\n"
        b"\x1b[36m(SGLangEngine pid=5)\x1b[0m Load weight end.\x1b[32m [repeated 7x across cluster] (Ray deduplicates "
        b"logs by default. Set RAY_DEDUP_LOGS=0 to disable log deduplication, or see https://docs.ray.io for more "
        b"options.)\x1b[0m\n"
    )
    assert unwrap(wrapped) == b"Load weight begin.\nLoad weight end.\n"
    assert [o.labels["repeated"] for o in origins(wrapped)] == ["3", "7"]


def test_torchs_native_code_puts_no_space_behind_the_rank() -> None:
    wrapped = b"(head, rank=0, pid=8292) [rank5]:W0215 07:02:10.123 8292 warning\n[rank4]:[E223 11:14:34.991] error\n"
    assert unwrap(wrapped) == b"W0215 07:02:10.123 8292 warning\n[E223 11:14:34.991] error\n"
    assert [o.labels["rank"] for o in origins(wrapped)] == ["5", "4"]


def test_a_tag_behind_a_progress_bar_is_found() -> None:
    wrapped = b" 45%|####     | 5/11\r(SGLangEngine pid=5) [2026-09-14 07:02:10 TP0] text\n"
    assert unwrap(wrapped) == b" 45%|####     | 5/11\r[2026-09-14 07:02:10 TP0] text\n"
    assert origins(wrapped)[0].labels["pid"] == "5"


def test_tags_may_stand_on_some_lines_only() -> None:
    wrapped = b"bare\n(SGLangEngine pid=5) tagged\nbare again\n[rank3]: ranked\n"
    assert unwrap(wrapped) == b"bare\ntagged\nbare again\nranked\n"
    assert [dict(o.labels) for o in origins(wrapped)] == [{}, {"actor": "SGLangEngine", "pid": "5"}, {}, {"rank": "3"}]


def test_colours_are_removed_only_where_an_escape_byte_stands() -> None:
    text = b"[1;33m is no colour\n\x1b[1;33mbut this is\x1b[0m\n\x1b]0;title\x07x\x1b]8;;http://a\x1b\\link\x1b]8;;\x1b\\\n"
    assert unwrap(text) == b"[1;33m is no colour\nbut this is\nxlink\n"


def test_an_escape_sequence_without_an_end_hides_nothing() -> None:
    assert unwrap(b"\x1b]0;title ValueError: x\nnext\n\x1bPdata RuntimeError\n") == (
        b"0;title ValueError: x\nnext\ndata RuntimeError\n"
    )


@pytest.mark.parametrize(
    "line",
    [
        b"          ERROR " + b" " * 250_000,
        b"<30>1 2026-09-14T07:02:10Z h p 1 - " + b"[" * 250_000,
        b"\x1b]" * 120_000,
        b"\x1b[" + b"0;" * 120_000,
        b"(" + b"a " * 120_000 + b"pid=1) x",
        b"(pid=1) " * 30_000,
        b"x pid=1\r" * 30_000,
        b'{"log":"' + b"\\" * 250_000,
        b'{"log":"x\\n","stream":"a"' * 9_000,
        b"Sep 14 07:02:10 h " + b"a:" * 120_000,
        b"[repeated 3x across cluster] " * 9_000,
    ],
)
def test_no_line_takes_long(line: bytes) -> None:
    begun = time.process_time()
    unwrap((line + b"\n") * 4)
    assert time.process_time() - begun < 1


def test_windows_line_ends_do_not_hide_a_wrapper() -> None:
    for wrap in (wrap_docker, wrap_cri, wrap_compose, wrap_filebeat, wrap_journal_short):
        wrapped = wrap_crlf(wrap(LINES).split(b"\n")[:-1])
        assert unwrap(wrapped).replace(b"\r\n", b"\n") == TEXT


def test_rich_columns_are_taken_off_both_ends() -> None:
    wrapped = (
        b"[09/14/26 07:02:10] INFO     Load weight begin. avail mem=78.50 GB              model_runner.py:512\n"
        b"                    ERROR    ValueError: no such backend                        server_args.py:88\n"
        b"[09/14/26 07:02:11] WARNING  second                                             scheduler.py:1\n"
    )
    assert unwrap(wrapped) == b"Load weight begin. avail mem=78.50 GB\nValueError: no such backend\nsecond\n"


def test_a_table_with_bars_in_a_bare_log_is_left_alone() -> None:
    table = b"| NVIDIA-SMI 535 |\n|   0  NVIDIA H100 |\nname | value\n" * 10
    assert unwrap(table) == table
