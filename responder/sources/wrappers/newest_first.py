"""Exports that list the newest line first, put back into the order in which they were written."""

import re
import tempfile
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import replace
from itertools import accumulate, chain, pairwise
from typing import IO

from responder.sources.block import Block, LineMap, Origin

_STAMP = re.compile(
    rb"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?|\"__REALTIME_TIMESTAMP\" ?: ?\"(\d{16})\""
    rb"|[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d"
)
_SAMPLED = 500
_STAMP_WITHIN = 2048
_HEADER = b"Traceback (most recent call last):"
_FRAME = b'  File "'

LARGEST = 4 << 30
"""Bytes that are put on disk to be turned round.  A larger export is read as it stands."""


def is_newest_first(data: bytes) -> bool:
    """Whether the stamps of these lines, the first of a log, go back in time."""
    stamps = [
        match[0].replace(b"T", b" ")
        for line in data.split(b"\n", _SAMPLED)[:_SAMPLED]
        if (match := _STAMP.search(line[:_STAMP_WITHIN]))
    ]
    pairs = list(pairwise(stamps))
    earlier = sum(after < before for before, after in pairs)
    later = sum(after > before for before, after in pairs)
    return earlier >= 3 and earlier >= 5 * later


def oldest_first(blocks: Iterator[Block]) -> Iterator[Block]:
    """The blocks of one finished log in the order of time: as they come, or turned round where that is newest first."""
    first = next(blocks, None)
    if first is None:
        return
    if is_newest_first(first.data):
        yield from _turned_round(chain([first], blocks))
    else:
        yield first
        yield from blocks


def _turned_round(blocks: Iterator[Block]) -> Iterator[Block]:
    with tempfile.TemporaryFile(prefix="responder-") as spool:
        kept: list[tuple[int, int, Block]] = []
        for block in blocks:
            start = spool.tell()
            if start + len(block.data) > LARGEST:
                yield from (_read_back(spool, one) for one in kept)
                yield block
                yield from blocks
                return
            spool.write(block.data)
            kept.append((start, len(block.data), replace(block, data=b"")))
        by_record = _natural_tracebacks(_read_back(spool, kept[0]).data)
        for one in reversed(kept):
            yield _reversed(_read_back(spool, one), by_record)


def _read_back(spool: IO[bytes], one: tuple[int, int, Block]) -> Block:
    start, size, block = one
    spool.seek(start)
    return replace(block, data=spool.read(size))


def _natural_tracebacks(data: bytes) -> bool:
    """Whether records are listed newest first but each is whole: a traceback's header stands above its frames."""
    header = data.find(_HEADER)
    if header < 0:
        return False
    below = data.find(b"\n", header) + 1
    return _FRAME in data[below : data.find(b"\n", below)]


def _reversed(block: Block, by_record: bool) -> Block:
    lines = block.data.removesuffix(b"\n").split(b"\n")
    order = list(range(len(lines)))
    if by_record:
        heads = [n for n in order if n == 0 or _STAMP.search(lines[n][:_STAMP_WITHIN])]
        order = [n for a, b in reversed(list(zip(heads, [*heads[1:], len(lines)], strict=True))) for n in range(a, b)]
    else:
        order.reverse()
    data = b"".join([lines[n] + b"\n" for n in order])
    return replace(block, data=data, partial=False, lines=_ReorderedLines(block, order))


class _ReorderedLines(LineMap):
    """Where the lines of a block came from that stand in another order."""

    def __init__(self, block: Block, order: list[int]) -> None:
        """`order` holds for each line its number in `block`."""
        super().__init__()
        self._block, self._order = block, order
        self._before: list[int] = []

    def at(self, position: int) -> Origin:
        if not self.starts:
            lengths = [len(line) + 1 for line in self._block.data.removesuffix(b"\n").split(b"\n")]
            self._before = [0, *accumulate(lengths)]
            self.starts = [0, *accumulate(lengths[n] for n in self._order)]
        number = min(max(0, bisect_right(self.starts, position) - 1), len(self._order) - 1)
        return self._block.locate(self._before[self._order[number]])
