"""Match first, unwrap later: of a wrapped log only what a rule may fire on is unwrapped, with what stands around it."""

from collections import deque
from collections.abc import Iterator
from dataclasses import replace

from responder.scan.framing import CONTEXT_BYTES, COUNTED_GAP, StreamScan
from responder.scan.sieve import sieve_of
from responder.sources.block import Block
from responder.sources.wrappers import PARTS, Unwrapper

ABOVE = 2 * CONTEXT_BYTES
"""Wrapped bytes above a spot that are unwrapped with it: what it is told with stands in as many bare ones, or half."""

BELOW = 8 * 1024
"""The same below."""

LEAST_SKIPPED = 4 * COUNTED_GAP
"""A shorter stretch is unwrapped too, so that lines are counted over it as over a bare one."""


class Sift:
    """Passes the blocks of one file on to its unwrapper, as they lie on the disk, or leaves them out."""

    def __init__(self, unwrapper: Unwrapper, stream: StreamScan) -> None:
        self._unwrapper, self._stream = unwrapper, stream
        self._left: deque[Block] = deque()
        """What was left out last, at least LEAST_SKIPPED bytes of it."""
        self._left_size = 0
        """How much was left out since something was unwrapped."""

    def feed(self, block: Block) -> Iterator[Block]:
        """What has to be unwrapped, in its order.  Each is to be scanned before the next is asked for."""
        at = 0
        for start, end in self._spans(block):
            if start > at:
                self._leave(_slice(block, at, start))
                at = start
            yield from self._resume(max(0, -start))
            while at < end:
                yield _slice(block, at, end)
                at, end = end, _line_end(block.data, end + ABOVE) if self._in_the_midst else end
        if at < len(block.data):
            self._leave(_slice(block, at, len(block.data)))

    def finish(self) -> Iterator[Block]:
        """What has to be unwrapped before another file goes on."""
        yield from self._resume(ABOVE)

    @property
    def _in_the_midst(self) -> bool:
        """Whether what was unwrapped last goes on: a traceback, a line in parts."""
        return self._stream.is_open or self._unwrapper.held_from is not None

    def _spans(self, block: Block) -> list[tuple[int, int]]:
        """Where in the block something may stand, with its surroundings; a start below 0 lies in the block before."""
        spots = self._spots(block)
        if spots is None:
            return [(-ABOVE, len(block.data))]
        spans: list[tuple[int, int]] = []
        for spot in spots:
            start, end = _line_start(block.data, spot - ABOVE), _line_end(block.data, spot + BELOW)
            if spans and start - spans[-1][1] < LEAST_SKIPPED:
                spans[-1] = (spans[-1][0], max(end, spans[-1][1]))
            else:
                spans.append((start, end))
        return spans

    def _spots(self, block: Block) -> list[int] | None:
        if self._in_the_midst or not self._unwrapper.is_searchable(block):
            return None
        return sieve_of(self._stream.program, PARTS).spots(block.data)

    def _resume(self, above: int) -> Iterator[Block]:
        """Of what was left out, the last `above` bytes; all of it where it is too little to be left out."""
        if self._left_size >= LEAST_SKIPPED:
            self._stream.skip()
            self._forget_all_but(above)
            surplus = self._kept - above
            if surplus > 0:
                first = self._left.popleft()
                self._left.appendleft(_slice(first, _line_start(first.data, surplus), len(first.data)))
        yield from self._left
        self._left.clear()
        self._left_size = 0

    def _leave(self, block: Block) -> None:
        """Leave these lines out, for now."""
        self._left.append(block)
        self._left_size += len(block.data)
        self._forget_all_but(LEAST_SKIPPED)

    @property
    def _kept(self) -> int:
        return sum(len(block.data) for block in self._left)

    def _forget_all_but(self, least: int) -> None:
        """Keep as few of the last blocks as hold at least so many bytes."""
        while self._left and self._kept - len(self._left[0].data) >= least:
            self._left.popleft()


def _slice(block: Block, start: int, end: int) -> Block:
    """Whole lines of a block that is as it was read."""
    if end - start == len(block.data):
        return block
    return replace(block, offset=block.offset + start, data=block.data[start:end])


def _line_start(data: bytes, at: int) -> int:
    """The start of the line that holds `at`; a place before the data stays what it is."""
    return data.rfind(b"\n", 0, at) + 1 if at > 0 else at


def _line_end(data: bytes, at: int) -> int:
    """The end, newline included, of the line that holds `at`."""
    return (data.find(b"\n", at) + 1) or len(data)
