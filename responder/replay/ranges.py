"""A log in parts that can be scanned apart from each other, with the result of one scan.

A log may lie in several files.  It is cut only where a window begins and no traceback is open; a part is scanned with
what stands above it in view, so that its first lines are read as they would have been.
"""

import os
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from responder.scan.framing import LONGEST_PAUSE
from responder.sources.block import Block
from responder.sources.events import SourceEvent, SourceEvents, ignore_events
from responder.sources.finished import read_finished
from responder.sources.framing import MAX_PIECES, UTF8, divide, encoding_of, not_text
from responder.sources.wrappers import Unwrapper
from responder.sources.wrappers.newest_first import is_newest_first

WINDOW = 1 << 20
"""Bytes from one possible cut to the next, and about the size of a block: large enough that nothing is paid per block,
small enough to stay in the processor's cache."""

LEAST = 16 << 20
"""A smaller part costs more to hand out than it saves."""

PER_JOB = 6
"""Parts that each process gets of a large log: the more, the evener the load."""

_ABOVE = 2
"""Windows above a part that are read with it."""

_PROBE = 64 * 1024
_STEP = 4096
_TRIES = 64
_HEADER, _FRAME = b"Traceback (most recent call last)", b"File "


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


class Part(NamedTuple):
    """Consecutive segments of one log."""

    log: int
    """Which of the logs it belongs to."""
    segments: tuple[Segment, ...]
    above: Segment | None = None
    """What stands above the first of them."""
    ends: bool = True
    """Whether the log ends here."""


def parts_of(log: int, paths: Sequence[Path], jobs: int, least: int = LEAST) -> list[Part]:
    """A log's files in parts of at least about `least` bytes; one part where one process scans them."""
    files = [segment_of(path) for path in paths]
    size = max(least, sum(file.size for file in files) // (jobs * PER_JOB))
    places = [(0, 0), *(_cuts(files, size) if jobs > 1 else ()), (len(files), 0)]
    parts = []
    for (first, begin), (last, end) in pairwise(places):
        segments = [
            file._replace(start=begin if number == first else 0, end=end if number == last else file.end)
            for number, file in enumerate(files)
            if first <= number < last or (number == last and end)
        ]
        parts.append(Part(log, tuple(segments), _above(files, first, begin), last == len(files)))
    return parts


def _cuts(files: Sequence[Segment], size: int) -> Iterator[tuple[int, int]]:
    """Where a log is cut into parts of about `size` bytes: number of the file and offset in it."""
    since = 0
    for number, file in enumerate(files):
        if number and since >= size // 2 and _may_cut(files[number - 1], files[number - 1].size):
            yield number, 0
            since = 0
        begin, target = 0, size - since
        while file.end is not None and target < file.size - size // 2:
            cut = _quiet_start(file, target)
            if cut is not None:
                yield number, cut
                begin, since = cut, 0
            target = max(target, cut or 0) + size
        since += file.size - begin


def _above(files: Sequence[Segment], number: int, begin: int) -> Segment | None:
    """The last windows above a place."""
    if not begin:
        number, begin = number - 1, files[number - 1].size if number else 0
    if number < 0:
        return None
    return files[number]._replace(start=_line_start(files[number], max(0, begin - _ABOVE * WINDOW)), end=begin)


def segment_of(path: Path) -> Segment:
    """The whole of a file; without an end where it cannot be divided, or is too small to be."""
    if str(path) == "-" or not path.is_file():
        return Segment(str(path))
    with path.open("rb") as file:
        sample = file.read(_PROBE)
        size = os.fstat(file.fileno()).st_size
    if not_text(sample) or encoding_of(sample) is not UTF8:
        return Segment(str(path))
    whole = Segment(str(path), size=size)
    if size <= 4 * WINDOW or is_newest_first(sample):
        return whole
    first = next(read_finished(str(path)), None)
    return whole._replace(file_id=first.file_id, end=size) if first is not None else whole


def blocks_of(
    segment: Segment,
    unwrapper: Unwrapper | None = None,
    events: SourceEvents = ignore_events,
    counts: list[Count] | None = None,
) -> Iterator[Block]:
    """The lines of a segment, unwrapped, in blocks.  Raises UnreadableError.

    `unwrapper` has seen what stands above it in the file; `counts` is given the newlines, where the file is read as it
    lies on the disk.
    """
    if segment.end is None:
        yield from read_finished(segment.path, events)
        return
    unwrapper = unwrapper or Unwrapper()
    for block in _framed(segment, events, [] if counts is None else counts):
        yield from unwrapper.feed(block)
    if segment.end == segment.size:
        yield from unwrapper.flush()


def _framed(segment: Segment, events: SourceEvents, counts: list[Count]) -> Iterator[Block]:
    """The lines of a segment as they lie in the file.

    A block never reaches over the start of a window, so that the same lines are in one block however a log is cut.
    """
    assert segment.end is not None
    path, file_id = segment.path, segment.file_id
    with Path(path).open("rb", buffering=0) as file:
        arrived = os.fstat(file.fileno()).st_mtime
        base, chunk, inside = segment.start, b"", False
        while base + len(chunk) < segment.end:
            at = base + len(chunk)
            stop = _window_end(file.fileno(), at, segment.end)
            read = os.pread(file.fileno(), stop - at, at)
            if not read:  # truncated while it is read
                break
            counts.append(Count(path, at + len(read), read.count(b"\n")))
            chunk = chunk + read if chunk else read
            done = 0
            while True:
                framed = divide(chunk, done, inside=inside)
                for piece in framed.pieces:
                    offset, data = base + piece.start, piece.data
                    if piece.cut:
                        events(SourceEvent("line-cut", path, offset))
                        data += b"\n"
                    yield Block(path, file_id, offset, data, truncated=piece.cut, arrived=arrived)
                done, inside = framed.end, framed.inside
                if len(framed.pieces) < MAX_PIECES:
                    break
            base, chunk = base + done, chunk[done:]
        if chunk and not inside and base + len(chunk) == segment.size:
            yield Block(path, file_id, base, chunk, partial=True, arrived=arrived)


def _window_end(descriptor: int, at: int, end: int) -> int:
    """Where the block that begins at `at` ends: the first start of a line at or after the next window's, or `at` plus
    two windows in the midst of a long line."""
    boundary, most = (at // WINDOW + 1) * WINDOW, min(end, at + 2 * WINDOW)
    found = _newline_from(descriptor, boundary - 1, most)
    return most if found is None else found + 1


def _newline_from(descriptor: int, at: int, end: int) -> int | None:
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


def _line_start(segment: Segment, at: int) -> int:
    """The first start of a line at or after the first window that begins at or after `at`."""
    boundary = -(-at // WINDOW) * WINDOW
    if boundary == 0:
        return 0
    with Path(segment.path).open("rb", buffering=0) as file:
        found = _newline_from(file.fileno(), boundary - 1, segment.size)
    return segment.size if found is None else found + 1


def _quiet_start(file: Segment, target: int) -> int | None:
    """The first start of a line in a window, at or after `target`, at which the file may be cut."""
    for number in range(_TRIES):
        start = _line_start(file, target + number * WINDOW)
        if start < file.size and _may_cut(file, start):
            return start
    return None


def _may_cut(file: Segment, at: int) -> bool:
    """Whether no traceback can be open there: with no part of one in so many lines above, any was given up."""
    if file.end is None or at < _ABOVE * WINDOW:
        return False
    start, above = at, b""
    with Path(file.path).open("rb", buffering=0) as opened:
        while start > at - _ABOVE * WINDOW:
            step = min(_PROBE, start - (at - _ABOVE * WINDOW))
            start -= step
            above = os.pread(opened.fileno(), step, start) + above
            part = max(above.rfind(_HEADER), above.rfind(_FRAME))
            if above.count(b"\n", max(part, 0)) > LONGEST_PAUSE:
                return True
            if part >= 0:
                return False
    return False
