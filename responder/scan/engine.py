"""One block of bytes in, the lines that rules fire on out.

The same code serves the live tail (blocks of some hundred bytes) and the replay (blocks of megabytes).
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator
from typing import Any

import msgspec

from responder.catalogue import Rule
from responder.scan.database import scannable
from responder.scan.hot import HotRules
from responder.scan.program import Pattern, Program

CONFIRM_SECONDS = 0.25
"""How long one pattern may work on one line before it is set aside: a healthy one takes microseconds."""

LONGEST_CONFIRMED = 256 * 1024
"""Bytes of a line that are looked at around a hit; the rest of a longer line cannot hold the message."""

HOT_SHARE = 0.02
"""A pattern that fires on more than this share of a block's lines is only counted for the rest of the block."""

_LEAST_HOT = 256
_BYTES_PER_LINE = 128

_STILL_LOOKED_AT = 8
"""Lines of a block that are looked at of a rule that was hot in the block before: one of each GPU's process, mostly."""

_Candidate = tuple[int, int, int]
"""A pattern, and start and end of a line that it may stand in."""


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
        self._whole = scannable(program.database)
        self._confirm: dict[int, Any] = {}
        self._hot = HotRules(program, self.stands)

    def scan(self, data: bytes, *, harmless: bool = True) -> list[LineHit]:
        """The lines of a block on which a confirmed pattern fired, in their order.

        Without `harmless`, lines are left out on which nothing fired but a noise that says nothing of other lines.
        Carriage returns are the caller's business: `Block.segments` ends a line at each.
        """
        found = self._candidates(data, harmless=harmless)
        if not found:
            return []
        hits: dict[int, LineHit] = {}
        claimed: dict[tuple[int, str], Match] = {}
        told: set[int] = set()
        for index, start, stop in sorted(found):
            pattern = self.program.patterns[index]
            key = (start, pattern.rule.id if pattern.use == "rule" and pattern.rule is not None else "")
            before = claimed.get(key)
            if before is not None and not pattern.captures:
                # The rule has fired on this line, and this pattern of it has nothing to add.
                continue
            match = self._confirmed(index, pattern, data, start, stop)
            if match is None:
                continue
            if harmless or index not in self.program.shields:
                told.add(start)
            hit = hits.get(start)
            if hit is None:
                hit = hits[start] = LineHit(start=start, end=stop, matches=[], aside=[])
            if before is not None:
                before.captures.update(match[1] | before.captures)
            elif key[1] and pattern.rule is not None:
                claimed[key] = Match(rule=pattern.rule, start=match[0], captures=match[1])
                hit.matches.append(claimed[key])
            else:
                hit.aside.append(pattern)
        for hit in hits.values():
            hit.matches.sort(key=_start)
        return [hits[start] for start in sorted(told)]

    def forget(self) -> None:
        """The next block does not follow the last one."""
        self._hot.rules = frozenset()

    def _candidates(self, data: bytes, *, harmless: bool) -> Collection[_Candidate]:
        """What Hyperscan found, once per pattern and line; of shields, unless `harmless` lines are wanted, too, only on
        lines with something else on them."""
        raised, ends = self._scan(data)
        if not ends and not self._hot.rules and not (harmless and raised):
            return ()
        most = max(_LEAST_HOT, int(len(data) / _BYTES_PER_LINE * HOT_SHARE))
        hot = {rule for index, stops in ends if len(stops) > most and (rule := self._counted_rule(index)) is not None}
        hot |= self._hot.rules
        found: list[_Candidate] = []
        for index, stops in ends:
            if index in self.program.shields:
                raised.add(index)
            elif self._counted_rule(index) not in hot:
                wanted = stops if index in self.program.exact else stops[:most]
                found += [(index, data.rfind(b"\n", 0, stop) + 1, stop) for stop in wanted]
        lines = {rule: self._hot.lines(rule, data) for rule in sorted(hot)}
        for rule, stops in lines.items():
            limit = _STILL_LOOKED_AT if rule in self._hot.rules else most
            indexes = self.program.by_rule[rule]
            found += [(index, data.rfind(b"\n", 0, stop) + 1, stop) for stop in stops[:limit] for index in indexes]
            if len(stops) > limit:
                self.counted[rule] += len(stops) - limit
                raised.update(self.program.noise.intersection(indexes))
        self._hot.rules = frozenset(rule for rule, stops in lines.items() if len(stops) > most)
        if raised:
            places = set(_lines(data)) if harmless else {(start, stop) for _, start, stop in found}
            return {*found, *((index, start, stop) for start, stop in places for index in raised)}
        return found

    def _counted_rule(self, index: int) -> str | None:
        """The id of the rule that is only counted where this pattern is hot; None where every line has to be seen."""
        pattern = self.program.patterns[index]
        seen = pattern.use != "rule" or index in self.program.exact or index in self.program.shields
        return None if seen or pattern.rule is None else pattern.rule.id

    def _scan(self, data: bytes) -> tuple[set[int], list[tuple[int, list[int]]]]:
        """Which shields were found at all, and for the other patterns the ends of the lines they may stand in."""
        users, only = self.program.users, self.program.only_shields
        raised: set[int] = set()
        ends: defaultdict[int, list[int]] = defaultdict(list)
        find, size = data.find, len(data)

        def on_match(number: int, start: int, end: int, flags: int, context: object) -> None:
            if number in only:
                raised.add(number)
                return
            stops = ends[number]
            # Hyperscan reports every possible end of a match; one per line is enough.
            if not stops or end > stops[-1]:
                stop = find(b"\n", end)
                stops.append(size if stop < 0 else stop)

        if data:
            database, scratch = self._hot.database(size) or self._whole
            database.scan(data, on_match, scratch=scratch)
        found = sorted((index, stops) for number, stops in ends.items() for index in users[number])
        return {index for number in raised for index in users[number]}, found

    def stands(self, index: int, data: bytes, start: int, stop: int) -> bool:
        """Whether a pattern, given by its index, stands in the line of a block that begins and ends there."""
        return self._confirmed(index, self.program.patterns[index], data, start, stop) is not None

    def _confirmed(
        self, index: int, pattern: Pattern, data: bytes, start: int, stop: int
    ) -> tuple[int, dict[str, str]] | None:
        """Where in the line the pattern stands, and what it captured; None where it does not stand there."""
        if pattern.plain:
            begin = data.find(pattern.plain, start, stop)
            return None if begin < 0 else (begin - start, {})
        if index in self.set_aside:
            return None
        expression = self._confirm.get(index)
        if expression is None:
            import regex

            expression = self._confirm[index] = regex.compile(pattern.text)
        try:
            found = expression.search(data[start : min(stop, start + LONGEST_CONFIRMED)], timeout=CONFIRM_SECONDS)
        except TimeoutError:
            owner = pattern.rule.id if pattern.rule else "traceback"
            self.set_aside[index] = f"{owner}: a pattern took longer than {CONFIRM_SECONDS} s on one line"
            return None
        return None if found is None else (found.start(), _captures(found))


def _lines(data: bytes) -> Iterator[tuple[int, int]]:
    start = 0
    for line in data.split(b"\n"):
        yield start, start + len(line)
        start += len(line) + 1


def _start(match: Match) -> int:
    return match.start


def _captures(found: Any) -> dict[str, str]:
    return {name: text(value) for name, value in found.groupdict().items() if value is not None}


def text(raw: bytes) -> str:
    """Log bytes as text: UTF-8, with an undecodable byte shown as `\\xNN`."""
    return raw.decode("utf-8", "backslashreplace")
