"""Rules that fire on a large share of all lines: each line that one fires on is counted, and few are looked at."""

import re
from collections.abc import Iterable
from typing import Any

import hyperscan

from responder.scan.program import Program, compile_patterns

LEAST_BLOCK = 256 * 1024
"""Bytes of a block for which it pays to scan with a database of its own, which takes a fifth of a second to compile."""

MOST_SETS = 4
"""Sets of hot rules for which one is compiled.  After that, what is hot is found on every line, and slowly."""

_Scannable = tuple[Any, Any]
"""A database and scratch space for it."""


class HotRules:
    """What was hot in the block before, and how it is found while it stays so.  Not to be shared between threads."""

    def __init__(self, program: Program) -> None:
        self.rules: frozenset[str] = frozenset()
        """Their ids."""
        self._program = program
        self._by_rules: dict[frozenset[str], _Scannable] = {}
        self._lines: dict[str, _Scannable] = {}

    def database(self, size: int) -> _Scannable | None:
        """What to scan a block of so many bytes with: what only hot rules look for is found once in it.

        None for the program's own database.
        """
        if not self.rules or size < LEAST_BLOCK:
            return None
        found = self._by_rules.get(self.rules)
        if found is None and len(self._by_rules) < MOST_SETS:
            once = [index for rule in self.rules for index in self._program.by_rule[rule]]
            found = self._by_rules[self.rules] = _scannable(compile_patterns(self._program.patterns, once))
        return found

    def lines(self, rule: str, data: bytes) -> list[int]:
        """The ends of the lines that a rule fires on, ascending."""
        if rule not in self._lines:
            self._lines[rule] = _scannable(self._database_of(rule))
        database, scratch = self._lines[rule]
        stops: list[int] = []

        def on_match(_: int, start: int, end: int, flags: int, context: object) -> None:
            if not stops or end > stops[-1]:
                stops.append(end)

        database.scan(data, on_match, scratch=scratch)
        return stops

    def _database_of(self, rule: str) -> Any:
        """A database that reports each line once, at its end, on which any pattern of the rule stands."""
        patterns = [self._program.patterns[index] for index in self._program.by_rule[rule]]
        try:
            return _line_by_line(re.sub(rb"\(\?P<\w+>", b"(?:", pattern.text) for pattern in patterns)
        except hyperscan.error:
            # What Hyperscan refuses whole is looked for by its fixed text everywhere.
            return _line_by_line(re.escape(pattern.needle) if pattern.needle else pattern.text for pattern in patterns)


def _line_by_line(expressions: Iterable[bytes]) -> Any:
    either = b"|".join(b"(?:%b)" % expression for expression in expressions)
    database = hyperscan.Database(mode=hyperscan.HS_MODE_BLOCK)
    database.compile(expressions=[b"(?:%b)[^\n]*$" % either], ids=[0], elements=1, flags=hyperscan.HS_FLAG_MULTILINE)
    return database


def _scannable(database: Any) -> _Scannable:
    return database, hyperscan.Scratch(database)
