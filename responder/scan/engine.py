"""One block of bytes in, the lines that rules fire on out.

The same code serves the live tail (blocks of some hundred bytes) and the replay (blocks of megabytes).
"""

from collections import Counter
from collections.abc import Iterable
from typing import Any

import hyperscan
import msgspec

from responder.catalogue import Rule
from responder.scan.program import Pattern, Program, alone

CONFIRM_SECONDS = 0.25
"""How long one pattern may work on one line before it is set aside: a healthy one takes microseconds."""

LONGEST_CONFIRMED = 256 * 1024
"""Bytes of a line that are looked at around a hit; the rest of a longer line cannot hold the message."""

HOT_SHARE = 0.02
"""A pattern that fires on more than this share of a block's lines is only counted for the rest of the block."""

_LEAST_HOT = 256
_BYTES_PER_LINE = 128

_Candidate = tuple[int, int, int, int]
"""A pattern, start and end of the line it was found in, and where in the block its text ends; 0 where that has to be
looked for."""


class Match(msgspec.Struct, frozen=True, kw_only=True):
    """A rule, and what its groups captured."""

    rule: Rule
    captures: dict[str, str] = {}
    start: int = 0
    """Where in the line the match starts, in bytes."""


class LineHit(msgspec.Struct, kw_only=True):
    """A line on which something fired.  Positions count bytes from the block's start; `end` excludes the newline."""

    start: int
    end: int
    matches: list[Match] = []
    aside: list[Pattern] = []
    """Hits of frame and near patterns, and of the traceback's header."""


class Scanner:
    """Scans blocks with one program.  Not to be shared between threads (Hyperscan's scratch space)."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.counted: Counter[str] = Counter()
        """Hits by rule id that were counted without being looked at, because the rule was hot."""
        self.set_aside: dict[int, str] = {}
        """Patterns that timed out, by index, with the text for the report.  They fire no more."""
        self._scratch = hyperscan.Scratch(program.database)
        self._confirm: dict[int, Any] = {}
        self._alone: dict[int, Any] = {}

    def scan(self, data: bytes, *, harmless: bool = True) -> list[LineHit]:
        """The lines of a block on which a confirmed pattern fired, in their order.

        Without `harmless`, lines are left out on which nothing fired but a noise that says nothing of other lines.
        Carriage returns are the caller's business: `Block.segments` ends a line at each.
        """
        found = self._candidates(data, self.program.shields if not harmless else frozenset())
        hits: dict[int, LineHit] = {}
        claimed: dict[tuple[int, str], Match] = {}
        for index, start, stop, end in sorted(found):
            pattern = self.program.patterns[index]
            key = (start, pattern.rule.id if pattern.use == "rule" and pattern.rule is not None else "")
            before = claimed.get(key)
            if before is not None and not pattern.captures:
                # The rule has fired on this line, and this pattern of it has nothing to add.
                continue
            if pattern.plain and end:
                captures, begin = {}, end - len(pattern.needle) - start
            elif (match := self._confirmed(index, pattern, data, start, stop)) is not None:
                captures, begin = _captures(match), match.start()
            else:
                continue
            hit = hits.get(start)
            if hit is None:
                hit = hits[start] = LineHit(start=start, end=stop, matches=[], aside=[])
            if before is not None:
                before.captures.update(captures | before.captures)
            elif key[1] and pattern.rule is not None:
                claimed[key] = Match(rule=pattern.rule, captures=captures, start=begin)
                hit.matches.append(claimed[key])
            else:
                hit.aside.append(pattern)
        for hit in hits.values():
            hit.matches.sort(key=_start)
        return [hits[start] for start in sorted(hits)]

    def _candidates(self, data: bytes, shields: frozenset[int]) -> list[_Candidate]:
        """What Hyperscan found, once per pattern and line; of `shields` only on lines with something else on them."""
        found: list[_Candidate] = []
        raised: set[int] = set()
        seen: dict[int, int] = {}
        hot: dict[int, set[int]] = {}
        """By pattern, the ends of the lines that it is only counted for."""
        line_end: dict[int, int] = {}
        noise, exact = self.program.noise, self.program.exact
        limit = max(_LEAST_HOT, int(len(data) / _BYTES_PER_LINE * HOT_SHARE))

        def on_match(index: int, start: int, end: int, flags: int, context: object) -> None:
            if index in shields:
                raised.add(index)
                return
            # Hyperscan reports every possible end of a match; one per line is enough.
            if end <= line_end.get(index, -1):
                return
            stop = data.find(b"\n", end)
            line_end[index] = stop = len(data) if stop < 0 else stop
            seen[index] = count = seen.get(index, 0) + 1
            if count <= limit or index in exact:
                found.append((index, data.rfind(b"\n", 0, end) + 1, stop, end))
                return
            hot.setdefault(index, set()).add(stop)
            if index in noise:
                raised.add(index)

        if data:
            self.program.database.scan(data, on_match, scratch=self._scratch)
        for index in [index for index in hot if not self.program.patterns[index].is_exact]:
            lines = self._lines_of(index, data)
            if lines is None:
                continue
            found = [one for one in found if one[0] != index] + lines[:limit]
            hot[index] = {stop for _, _, stop, _ in lines[limit:]}
        self._count(hot, found)
        if raised and found:
            places = dict.fromkeys((start, stop) for _, start, stop, _ in found)
            found += [(index, start, stop, 0) for start, stop in places for index in raised]
        return found

    def _lines_of(self, index: int, data: bytes) -> list[_Candidate] | None:
        """The lines on which the whole expression of a pattern stands, not only its fixed text; None where Hyperscan
        cannot tell."""
        if index not in self._alone:
            self._alone[index] = alone(self.program.patterns[index])
        database = self._alone[index]
        if database is None:
            return None
        lines: dict[int, _Candidate] = {}

        def on_match(_index: int, start: int, end: int, flags: int, context: object) -> None:
            stop = data.find(b"\n", end)
            stop = len(data) if stop < 0 else stop
            if stop not in lines:
                lines[stop] = (index, data.rfind(b"\n", 0, end) + 1, stop, end)

        database.scan(data, on_match)
        return list(lines.values())

    def _count(self, hot: dict[int, set[int]], found: Iterable[_Candidate]) -> None:
        """Count lines, not hits: several patterns of a rule may fire on one, and some of them were looked at."""
        lines: dict[str, set[int]] = {}
        for index, ends in hot.items():
            rule = self.program.patterns[index].rule
            if rule is not None:
                lines.setdefault(rule.id, set()).update(ends)
        if not lines:
            return
        for index, _, stop, _ in found:
            rule = self.program.patterns[index].rule
            if rule is not None and rule.id in lines:
                lines[rule.id].discard(stop)
        self.counted.update({rule: len(ends) for rule, ends in lines.items()})

    def _confirmed(self, index: int, pattern: Pattern, data: bytes, start: int, end: int) -> Any | None:
        if index in self.set_aside:
            return None
        expression = self._confirm.get(index)
        if expression is None:
            import regex

            expression = self._confirm[index] = regex.compile(pattern.text)
        try:
            return expression.search(data[start : min(end, start + LONGEST_CONFIRMED)], timeout=CONFIRM_SECONDS)
        except TimeoutError:
            owner = pattern.rule.id if pattern.rule else "traceback"
            self.set_aside[index] = f"{owner}: a pattern took longer than {CONFIRM_SECONDS} s on one line"
            return None


def _start(match: Match) -> int:
    return match.start


def _captures(found: Any) -> dict[str, str]:
    return {name: text(value) for name, value in found.groupdict().items() if value is not None}


def text(raw: bytes) -> str:
    """Log bytes as text: UTF-8, with an undecodable byte shown as `\\xNN`."""
    return raw.decode("utf-8", "backslashreplace")
