"""A log's lines as they lie in its files, read window by window."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import stringzilla

from responder.sources.block import Block
from responder.sources.events import SourceEvent, SourceEvents, ignore_events
from responder.sources.finished import read_finished
from responder.sources.framing import MAX_PIECES, Piece, divide
from responder.sources.wrappers import Unwrapper

WINDOW = 1 << 20
"""Bytes from one possible cut to the next, and about the size of a block: large enough that nothing is paid per block,
small enough to stay in the processor's cache."""

_STEP = 4096


class Segment(NamedTuple):
    """Lines of one file: those that start in `start <= offset < end`."""

    path: str
    file_id: str = ""
    start: int = 0
    end: int | None = None
    """None for a file that cannot be divided: an archive, a stream, an export with the newest line first."""
    size: int = 0
    """Of the whole file; 0 where that is not known beforehand: an archive, a stream."""


class Count(NamedTuple):
    """Newlines of a file in what was read up to an offset, since what was read before."""

    path: str
    offset: int
    newlines: int


class Read(NamedTuple):
    """What one read gave."""

    blocks: list[Block]
    """Whole lines, as they lie in the file; none of a line that is too long to be kept."""
    newlines: Count
    events: list[SourceEvent]


def blocks_of(
    segment: Segment, unwrapper: Unwrapper | None = None, events: SourceEvents = ignore_events
) -> Iterator[Block]:
    """The lines of a segment, unwrapped, in blocks.  Raises UnreadableError.

    `unwrapper` has seen what stands above it in the file.
    """
    if segment.end is None:
        yield from read_finished(segment.path, events)
        return
    unwrapper = unwrapper or Unwrapper()
    for read in reads_of(segment):
        for block in read.blocks:
            yield from unwrapper.feed(block)
    if segment.end == segment.size:
        yield from unwrapper.flush()


def reads_of(segment: Segment) -> Iterator[Read]:
    """The lines of a segment that can be divided, as they lie in the file.

    A block never reaches over the start of a window, so that the same lines are in one block however a log is cut.
    """
    assert segment.end is not None
    path = segment.path
    with Path(path).open("rb", buffering=0) as file:
        arrived = os.fstat(file.fileno()).st_mtime
        base, chunk, inside = segment.start, b"", False
        while base + len(chunk) < segment.end:
            at = base + len(chunk)
            stop = _window_end(file.fileno(), at, segment.end)
            fresh = os.pread(file.fileno(), stop - at, at)
            if not fresh:  # truncated while it is read
                break
            newlines, more = stringzilla.count(fresh, b"\n"), True
            chunk = chunk + fresh if chunk else fresh
            while more:
                framed = divide(chunk, 0, inside=inside)
                read = _read(segment, base, framed.pieces, arrived, Count(path, at + len(fresh), newlines))
                base, chunk, inside = base + framed.end, chunk[framed.end :], framed.inside
                newlines, more = 0, len(framed.pieces) >= MAX_PIECES
                if not more and not inside and at + len(fresh) < segment.size and not chunk.strip(b"\0"):
                    base, chunk = base + len(chunk), b""  # NULs in front of a line are kept by nobody
                if chunk and not inside and not more and base + len(chunk) == segment.size:
                    read.blocks.append(Block(path, segment.file_id, base, chunk, partial=True, arrived=arrived))
                yield read


def _read(segment: Segment, base: int, pieces: Sequence[Piece], arrived: float, newlines: Count) -> Read:
    blocks = [
        Block(
            segment.path,
            segment.file_id,
            base + piece.start,
            piece.data + b"\n" if piece.cut else piece.data,
            truncated=piece.cut,
            arrived=arrived,
        )
        for piece in pieces
    ]
    cuts = [SourceEvent("line-cut", segment.path, block.offset) for block in blocks if block.truncated]
    return Read(blocks, newlines, cuts)


def _window_end(descriptor: int, at: int, end: int) -> int:
    """Where the block that begins at `at` ends: the first start of a line at or after the next window's, or `at` plus
    two windows in the midst of a long line."""
    boundary, most = (at // WINDOW + 1) * WINDOW, min(end, at + 2 * WINDOW)
    found = newline_from(descriptor, boundary - 1, most)
    return most if found is None else found + 1


def newline_from(descriptor: int, at: int, end: int) -> int | None:
    """The first newline at or after `at`, before `end`."""
    step = _STEP
    while at < end:
        data = os.pread(descriptor, min(step, end - at), at)
        found = data.find(b"\n")
        if found >= 0:
            return at + found
        if not data:
            return None
        at, step = at + len(data), min(step * 4, WINDOW)
    return None
