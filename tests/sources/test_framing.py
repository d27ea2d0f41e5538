"""Dividing bytes into lines: what holds for any bytes whatever."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from responder.sources.framing import (
    MAX_PIECES,
    UTF8,
    UTF16BE,
    UTF16LE,
    Encoding,
    Framed,
    as_utf8,
    divide,
    encoding_of,
    not_text,
)

LIMIT = 16

log_like = st.lists(
    st.sampled_from([b"a", b"bc", b"\r", b"\n", b"\r\n", b"\0", b"\xff", "é".encode(), b"x" * 20]), max_size=60
).map(b"".join)


def naive(data: bytes) -> list[tuple[int, bytes]]:
    """Lines with their offsets, without NULs in front, by the simplest means."""
    lines = []
    offset = 0
    for line in data.split(b"\n")[:-1]:
        text = line.lstrip(b"\0")
        lines.append((offset + len(line) - len(text), text + b"\n"))
        offset += len(line) + 1
    return lines


def lines_of(framed: Framed) -> list[tuple[int, bytes]]:
    """What was divided, line by line."""
    lines = []
    for piece in framed.pieces:
        position = piece.start
        for line in piece.data.splitlines(keepends=True) if piece.cut else _split(piece.data):
            lines.append((position, line))
            position += len(line)
    return lines


def _split(data: bytes) -> list[bytes]:
    assert data.endswith(b"\n")
    return [line + b"\n" for line in data.split(b"\n")[:-1]]


@given(log_like)
def test_without_overlong_lines_it_is_a_plain_split(data: bytes) -> None:
    """Same lines, same places."""
    framed = divide(data, 0, inside=False, limit=10_000)
    assert lines_of(framed) == naive(data)
    assert data[framed.end :].lstrip(b"\0") == data.rpartition(b"\n")[2].lstrip(b"\0")


@given(log_like, st.lists(st.integers(1, 40), max_size=30))
@settings(max_examples=300)
def test_however_it_arrives_the_pieces_are_the_same(data: bytes, sizes: list[int]) -> None:
    """Bytes that come in portions, as a file grows, are divided as if they had come at once."""
    at_once = divide(data, 0, inside=False, limit=LIMIT)
    pieces: list[tuple[int, bytes, bool]] = []
    done, arrived, inside = 0, 0, False
    for size in [*sizes, len(data)]:
        arrived = min(len(data), arrived + size)
        framed = divide(data[:arrived], done, inside=inside, limit=LIMIT)
        pieces += [(p.start, p.data, p.cut) for p in framed.pieces]
        done, inside = framed.end, framed.inside
    lines = [(start + i, bytes([byte]), cut) for start, piece, cut in pieces for i, byte in enumerate(piece)]
    expected = [(p.start + i, bytes([byte]), p.cut) for p in at_once.pieces for i, byte in enumerate(p.data)]
    assert lines == expected
    assert (done, inside) == (at_once.end, at_once.inside)


@given(log_like)
def test_no_line_is_longer_than_the_limit_and_all_of_it_is_from_the_data(data: bytes) -> None:
    """Cut lines keep their beginning; nothing is made up."""
    framed = divide(data, 0, inside=False, limit=LIMIT)
    for piece in framed.pieces:
        assert data[piece.start : piece.start + len(piece.data)] == piece.data
        assert not piece.data.startswith(b"\0")
        longest = max(map(len, piece.data.split(b"\n")))
        assert longest <= LIMIT
        assert piece.cut or piece.data.endswith(b"\n")
    assert len(data) - framed.end < LIMIT or not data[framed.end :].strip(b"\0")


def test_a_progress_bar_over_the_limit_is_divided_at_its_returns_and_loses_nothing() -> None:
    """Any other line is cut, and what is left of it is passed over."""
    bar = b"".join(b"\rload %2d%%" % n for n in range(20)) + b"\nnext\n"
    framed = divide(bar, 0, inside=False, limit=LIMIT)
    assert b"".join(piece.data for piece in framed.pieces) == bar
    framed = divide(b"x" * 100 + b"\nnext\n", 0, inside=False, limit=LIMIT)
    assert [(p.data, p.cut) for p in framed.pieces] == [(b"x" * 16, True), (b"next\n", False)]


def test_a_line_is_not_cut_inside_a_character() -> None:
    """So that its text stays text."""
    framed = divide(b"x" * 15 + "é".encode() * 10, 0, inside=False, limit=LIMIT)
    assert [p.data for p in framed.pieces] == [b"x" * 15]
    assert framed.inside


def test_the_number_of_pieces_is_bounded() -> None:
    """The rest waits for the next time."""
    data = b"\0a\n" * 5000
    framed = divide(data, 0, inside=False)
    assert len(framed.pieces) == MAX_PIECES
    assert framed.end == MAX_PIECES * 3


@pytest.mark.parametrize("encoding", [UTF16LE, UTF16BE])
@given(text=st.lists(st.text(st.characters(blacklist_categories=["Cs"]), max_size=10), min_size=1, max_size=8))
def test_utf16_lines_come_out_as_utf8_with_their_places(encoding: Encoding, text: list[str]) -> None:
    """A newline's bytes inside other characters end no line."""
    lines = [line.replace("\n", "") + "\n" for line in text]
    data = "".join(lines).encode(encoding.name)
    framed = divide(data, 0, inside=False, encoding=encoding)
    assert framed.end == len(data)
    converted, places = as_utf8(framed.pieces[0].data, 100, encoding)
    assert converted.decode() == "".join(lines)
    assert places
    offset = 100
    position = 0
    for line in lines:
        assert places.at(position).offset == offset
        offset += len(line.encode(encoding.name))
        position += len(line.encode())


@pytest.mark.parametrize(
    ("sample", "name"),
    [
        (b"plain", "utf-8"),
        (b"\xef\xbb\xbfmarked", "utf-8"),
        (b"\xff\xfea\0", "utf-16-le"),
        (b"\xfe\xff\0a", "utf-16-be"),
        (b"", "utf-8"),
    ],
)
def test_the_encoding_is_what_the_byte_order_mark_says(sample: bytes, name: str) -> None:
    """Without one it is UTF-8."""
    assert encoding_of(sample).name == name
    assert encoding_of(b"x").mark == UTF8.mark == b""


@pytest.mark.parametrize(
    ("sample", "what"),
    [
        (b"[2026-08-28 05:10:05] server_args=ServerArgs(model_path='x')\n" * 20, ""),
        ("Loading safetensors: 100%|██████████| 4/4 [00:10<00:00]\r".encode() * 20, ""),
        (b"\x1b[32mINFO\x1b[0m: started\n" * 50, ""),
        (b"\xff\xfe\x80 bad bytes, but text\n" * 50, ""),
        (b"\0" * 4000 + b"a line\n", ""),
        (b"x\0y z\n" * 10, ""),
        ("UTF-16 without a mark\n".encode("utf-16-le") * 20, "binary"),
        (bytes(range(256)) * 16, "binary"),
        (b"\x1f\x8b\x08\x00", "compressed (gzip)"),
        (b"\x7fELF\x02\x01", "a program or a core dump"),
    ],
)
def test_text_is_told_from_what_is_none(sample: bytes, what: str) -> None:
    """Colours, progress bars, broken UTF-8 and holes are still text."""
    assert not_text(sample) == what
