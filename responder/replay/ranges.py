"""A large bare log in byte ranges, each scanned by a process of its own, with the result of one.

Only the scan is split.  What it saw comes back in the order of the log, and one diagnosis reads it.
"""

import itertools
import multiprocessing
import os
from collections.abc import Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import NamedTuple

from msgspec.structs import replace

from responder.catalogue import Rule
from responder.scan.engine import Match, Scanner
from responder.scan.framing import CONTEXT_BYTES, COUNTED_GAP, FAR, StreamScan
from responder.scan.program import Program
from responder.scan.seen import Seen
from responder.sources.block import Block

CHUNK = 4 << 20
"""Bytes per block: large enough that nothing is paid per block, small enough to stay in the cache."""

LEAST_RANGE = 16 << 20
"""A smaller range costs more to hand out than it saves."""

_QUIET = 64 * 1024
_TRIES = 64
_HEADER = b"Traceback (most recent call last)"


class Range(NamedTuple):
    """A part of a log, from a line's start to another's."""

    path: str
    file_id: str
    start: int
    end: int
    last: bool
    """Whether the log ends here."""


class Scanned(NamedTuple):
    """What one range held, rules by their ids: whole rules would travel with each line."""

    seen: list[tuple[Seen, list[tuple[str, dict[str, str], int]]]]
    counted: dict[str, int]


def ranges_of(path: str, file_id: str, jobs: int, least: int = LEAST_RANGE) -> list[Range]:
    """The file in at most `jobs` ranges of at least about `least` bytes, cut where no traceback is open."""
    size = Path(path).stat().st_size
    count = max(1, min(jobs, size // least))
    with Path(path).open("rb", buffering=0) as file:
        cuts = [0, *(_quiet_cut(file.fileno(), size * number // count, size) for number in range(1, count)), size]
    cuts = sorted(set(cuts))
    return [Range(path, file_id, start, end, end == size) for start, end in itertools.pairwise(cuts)] or [
        Range(path, file_id, 0, 0, True)
    ]


def scan_ranges(ranges: list[Range], program: Program, rules: Mapping[str, Rule], jobs: int) -> Iterator[Seen]:
    """What was seen in the ranges of one log, in its order."""
    if len(ranges) == 1 or jobs == 1:
        scanner = Scanner(program)
        stream = StreamScan(scanner)
        for part in ranges:
            for block in blocks_of(part):
                yield from stream.feed(block)
        yield from stream.finish()
        return
    # Forked, the workers share the compiled patterns with us instead of loading them anew.
    context = multiprocessing.get_context("fork")
    with ProcessPoolExecutor(jobs, mp_context=context, initializer=_set_program, initargs=(program,)) as pool:
        last: Seen | None = None
        for scanned in pool.map(_scan, ranges):
            shift: int | None = None
            for seen, matches in scanned.seen:
                if shift is None:
                    shift = _ordinal_after(last, seen) - seen.ordinal
                restored = tuple(Match(rule=rules[rule], captures=found, start=at) for rule, found, at in matches)
                last = replace(seen, ordinal=seen.ordinal + shift, matches=restored)
                yield last


def blocks_of(part: Range) -> Iterator[Block]:
    """The bytes of a range in blocks of whole lines."""
    at, size = part.start, CHUNK
    with Path(part.path).open("rb", buffering=0) as file:
        while at < part.end:
            data = os.pread(file.fileno(), min(size, part.end - at), at)
            if not data:
                break
            if at + len(data) < part.end:
                cut = data.rfind(b"\n") + 1
                if not cut:
                    # A line longer than a block: read it again with more of it.
                    size *= 2
                    continue
                data = data[:cut]
            yield Block(part.path, part.file_id, at, data)
            at, size = at + len(data), CHUNK


_program: Program | None = None


def _set_program(program: Program) -> None:
    global _program
    _program = program


def _scan(part: Range) -> Scanned:
    assert _program is not None
    scanner = Scanner(_program)
    stream = StreamScan(scanner, above=_above(part))
    found = [seen for block in blocks_of(part) for seen in stream.feed(block)]
    if part.last:
        found += stream.finish()
    return Scanned(
        [
            (replace(seen, matches=()), [(match.rule.id, match.captures, match.start) for match in seen.matches])
            for seen in found
        ],
        dict(scanner.counted),
    )


def _above(part: Range) -> bytes:
    with Path(part.path).open("rb", buffering=0) as file:
        start = max(0, part.start - CONTEXT_BYTES)
        return os.pread(file.fileno(), part.start - start, start)


def _quiet_cut(descriptor: int, target: int, size: int) -> int:
    """The start of a line near `target` with no traceback's header in the text above it."""
    for _ in range(_TRIES):
        start = max(0, target - _QUIET)
        above = os.pread(descriptor, target - start, start)
        newline = above.rfind(b"\n")
        if newline >= 0 and _HEADER not in above:
            return start + newline + 1
        target += _QUIET
        if target >= size:
            return size
    return target


def _ordinal_after(last: Seen | None, seen: Seen) -> int:
    """The running line number of the first line of a range, as one process would have counted it."""
    if last is None:
        return seen.ordinal
    gap = seen.offset - last.offset
    if gap > COUNTED_GAP:
        return last.ordinal + FAR
    with Path(seen.path).open("rb", buffering=0) as file:
        return last.ordinal + os.pread(file.fileno(), gap, last.offset).count(b"\n")
