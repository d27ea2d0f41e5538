"""A log in parts that can be scanned apart from each other, with the result of one scan.

A log may lie in several files.  It is cut only where a window begins and no traceback is open; a part is scanned with
what stands above it in view, so that its first lines are read as they would have been.
"""

import os
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import stringzilla

from responder.replay import reading
from responder.replay.reading import Segment, newline_from
from responder.scan.framing import LONGEST_PAUSE
from responder.sources.finished import read_finished
from responder.sources.framing import UTF8, encoding_of, not_text
from responder.sources.wrappers.newest_first import is_newest_first

LEAST = 16 << 20
"""A smaller part costs more to hand out than it saves."""

PER_JOB = 6
"""Parts that each process gets of a large log: the more, the evener the load."""

_ABOVE = 2
"""Windows above a part that are read with it."""

_PROBE = 64 * 1024
_TRIES = 64
_HEADER, _FRAME = b"Traceback (most recent call last)", b"File "


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
    return files[number]._replace(start=_line_start(files[number], max(0, begin - _ABOVE * reading.WINDOW)), end=begin)


def segment_of(path: Path) -> Segment:
    """The whole of a file; without an end where it cannot be divided, or is too small to be."""
    if str(path) == "-" or not (path.is_file() and os.access(path, os.R_OK)):
        return Segment(str(path))
    with path.open("rb") as file:
        sample = file.read(_PROBE)
        size = os.fstat(file.fileno()).st_size
    if not_text(sample) or encoding_of(sample) is not UTF8:
        return Segment(str(path))
    whole = Segment(str(path), size=size)
    if size <= 4 * reading.WINDOW or is_newest_first(sample):
        return whole
    first = next(read_finished(str(path)), None)
    return whole._replace(file_id=first.file_id, end=size) if first is not None else whole


def _line_start(segment: Segment, at: int) -> int:
    """The first start of a line at or after the first window that begins at or after `at`."""
    boundary = -(-at // reading.WINDOW) * reading.WINDOW
    if boundary == 0:
        return 0
    with Path(segment.path).open("rb", buffering=0) as file:
        found = newline_from(file.fileno(), boundary - 1, segment.size)
    return segment.size if found is None else found + 1


def _quiet_start(file: Segment, target: int) -> int | None:
    """The first start of a line in a window, at or after `target`, at which the file may be cut."""
    for number in range(_TRIES):
        start = _line_start(file, target + number * reading.WINDOW)
        if start < file.size and _may_cut(file, start):
            return start
    return None


def _may_cut(file: Segment, at: int) -> bool:
    """Whether no traceback can be open there: with no part of one in so many lines above, any was given up."""
    if file.end is None or at < _ABOVE * reading.WINDOW:
        return False
    end, lines = at, 0
    with Path(file.path).open("rb", buffering=0) as opened:
        while end > at - _ABOVE * reading.WINDOW:
            start = max(end - _PROBE, at - _ABOVE * reading.WINDOW)
            across = len(_HEADER) if end < at else 0  # what begins in one piece may end in the next
            above = os.pread(opened.fileno(), end - start + across, start)
            part = max(stringzilla.rfind(above, _HEADER), stringzilla.rfind(above, _FRAME))
            lines += above.count(b"\n", max(part, 0), end - start)
            if lines > LONGEST_PAUSE:
                return True
            if part >= 0:
                return False
            end = start
    return False
