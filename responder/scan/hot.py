"""Rules that fire on a large share of all lines: each line that one fires on is counted, and few are looked at."""

import contextlib
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import hyperscan

from responder.scan.needle import TOKEN
from responder.scan.program import Pattern, Program, compile_patterns

LEAST_BLOCK = 256 * 1024
"""Bytes of a block for which it pays to scan with a database of its own, which takes a fifth of a second to compile."""

CONFIRM_SECONDS = 0.25
"""How long one pattern may work on one line before it is taken not to stand there: a healthy one takes microseconds."""

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
        self._counters: dict[str, _Counter] = {}

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
        counter = self._counters.get(rule)
        if counter is None:
            patterns = [self._program.patterns[index] for index in self._program.by_rule[rule]]
            counter = self._counters[rule] = _counter(patterns)
        stops: set[int] = set()
        find, size = data.find, len(data)

        def on_match(_: int, start: int, end: int, flags: int, context: object) -> None:
            stop = find(b"\n", end)
            stops.add(size if stop < 0 else stop)

        database, scratch = counter.scannable
        database.scan(data, on_match, scratch=scratch)
        return [stop for stop in sorted(stops) if counter.holds(data, stop)] if counter.confirmed_by else sorted(stops)


class _Counter(NamedTuple):
    """How the lines are found that a rule fires on."""

    scannable: _Scannable
    confirmed_by: Sequence[Any] = ()
    """Expressions of which one must stand in the line; none where the database finds nothing but matches."""

    def holds(self, data: bytes, stop: int) -> bool:
        """Whether the rule fires on the line that ends there."""
        line = data[data.rfind(b"\n", 0, stop) + 1 : stop]
        return any(_stands(expression, line) for expression in self.confirmed_by)


def _stands(expression: Any, line: bytes) -> bool:
    try:
        return expression.search(line, timeout=CONFIRM_SECONDS) is not None
    except TimeoutError:
        return False


def _counter(patterns: Sequence[Pattern]) -> _Counter:
    """A database that reports each line once, at its end; more often where an expression has an anchor there.

    Where an expression cannot be kept to one line, or Hyperscan refuses it so, each place where it may stand is
    reported instead, and confirmed: ten times as slow.
    """
    kept = [within_line(pattern.text.decode()) for pattern in patterns]
    if None not in kept:
        free = [f"(?:{expression})" for expression in kept if expression and not _ends_line(expression)]
        anchored = [expression.encode() for expression in kept if expression and _ends_line(expression)]
        either = [f"(?:{'|'.join(free)})[^\n]*$".encode()] if free else []
        with contextlib.suppress(hyperscan.error):
            return _Counter(_scannable(_compile([*either, *anchored])))
    import regex

    places = [re.escape(pattern.needle) if pattern.needle else pattern.text for pattern in patterns]
    return _Counter(_scannable(_compile(places)), [regex.compile(pattern.text) for pattern in patterns])


def _ends_line(expression: str) -> bool:
    """Whether it has an anchor at the line's end, behind which nothing may follow."""
    return any(token[0] == "$" for token in TOKEN.finditer(expression))


def within_line(expression: str) -> str | None:
    """The expression without the names of its groups, and so that nothing in it matches a newline.

    None where that cannot be said so.
    """
    said = ""
    for token in TOKEN.finditer(re.sub(r"\(\?P<\w+>", "(?:", expression)):
        text, cls = token[0], token["cls"]
        if cls and not cls.startswith("[^") and re.search(r"\\[sWD]", cls):
            return None
        if cls and cls.startswith("[^"):
            text = f"{cls[:-1]}\\n]" if cls.startswith("[^]") else rf"[^\n{cls[2:]}"
        said += _WITHIN.get(text, text)
    return said


_WITHIN = {r"\s": r"[^\S\n]", r"\W": r"[^\w\n]", r"\D": r"[^\d\n]"}


def _compile(expressions: list[bytes]) -> Any:
    database, count = hyperscan.Database(mode=hyperscan.HS_MODE_BLOCK), len(expressions)
    database.compile(expressions=expressions, ids=list(range(count)), elements=count, flags=hyperscan.HS_FLAG_MULTILINE)
    return database


def _scannable(database: Any) -> _Scannable:
    return database, hyperscan.Scratch(database)
