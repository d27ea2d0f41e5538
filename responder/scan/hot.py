"""Rules that fire on a large share of all lines: each line that one fires on is counted, and few are looked at."""

import contextlib
import re
from collections.abc import Callable, Sequence

import hyperscan

from responder.scan.database import Scannable, compiled, scannable
from responder.scan.needle import TOKEN, unnamed_tokens
from responder.scan.program import Pattern, Program, compile_patterns

LEAST_BLOCK = 256 * 1024
"""Bytes of a block for which it pays to scan with a database of its own, which takes a fifth of a second to compile."""

MOST_SETS = 4
"""Sets of hot rules for which one is compiled.  After that, what is hot is found on every line, and slowly."""

Stands = Callable[[int, bytes, int, int], bool]
"""Whether a pattern, given by its index, stands in the line of a block that begins and ends there."""


class HotRules:
    """What was hot in the block before, and how it is found while it stays so.  Not to be shared between threads."""

    def __init__(self, program: Program, stands: Stands) -> None:
        """`stands` is asked of each line that Hyperscan alone cannot be sure of."""
        self.rules: frozenset[str] = frozenset()
        """Their ids."""
        self._program, self._stands = program, stands
        self._by_rules: dict[frozenset[str], Scannable] = {}
        self._finders: dict[str, tuple[Scannable, bool]] = {}

    def database(self, size: int) -> Scannable | None:
        """What to scan a block of so many bytes with: what only hot rules look for is found once in it.

        None for the program's own database.
        """
        if not self.rules or size < LEAST_BLOCK:
            return None
        found = self._by_rules.get(self.rules)
        if found is None and len(self._by_rules) < MOST_SETS:
            once = [index for rule in self.rules for index in self._program.by_rule[rule]]
            found = self._by_rules[self.rules] = scannable(compile_patterns(self._program.patterns, once))
        return found

    def lines(self, rule: str, data: bytes) -> list[int]:
        """The ends of the lines that a rule fires on, ascending."""
        indexes = self._program.by_rule[rule]
        if rule not in self._finders:
            self._finders[rule] = _finder([self._program.patterns[index] for index in indexes])
        (database, scratch), sure = self._finders[rule]
        stops: set[int] = set()
        find, size = data.find, len(data)

        def on_match(_: int, start: int, end: int, flags: int, context: object) -> None:
            stop = find(b"\n", end)
            stops.add(size if stop < 0 else stop)

        database.scan(data, on_match, scratch=scratch)
        if sure:
            return sorted(stops)
        lines = ((data.rfind(b"\n", 0, stop) + 1, stop) for stop in sorted(stops))
        return [stop for start, stop in lines if any(self._stands(index, data, start, stop) for index in indexes)]


def _finder(patterns: Sequence[Pattern]) -> tuple[Scannable, bool]:
    """What finds the lines that one of a rule's patterns stands in, and whether it finds no others.

    Each line is reported once, at its end; more often where an expression has an anchor there.  Where an expression
    cannot be kept to one line, or Hyperscan refuses it so, each place where it may stand is reported instead, to be
    confirmed: ten times as slow.
    """
    kept = [within_line(pattern.text.decode()) for pattern in patterns]
    if None not in kept:
        free = [f"(?:{expression})" for expression in kept if expression and not _ends_line(expression)]
        anchored = [expression.encode() for expression in kept if expression and _ends_line(expression)]
        either = [f"(?:{'|'.join(free)})[^\n]*$".encode()] if free else []
        with contextlib.suppress(hyperscan.error):
            return scannable(compiled([*either, *anchored])), True
    return scannable(compiled([re.escape(one.needle) if one.needle else one.text for one in patterns])), False


def _ends_line(expression: str) -> bool:
    """Whether it has an anchor at the line's end, behind which nothing may follow."""
    return any(token[0] == "$" for token in TOKEN.finditer(expression))


def within_line(expression: str) -> str | None:
    """The expression without the names of its groups, and so that nothing in it matches a newline.

    None where that cannot be said so.
    """
    said = ""
    for token in unnamed_tokens(expression):
        text, cls = token[0], token["cls"]
        if cls and not cls.startswith("[^") and re.search(r"\\[sWD]", cls):
            return None
        if cls and cls.startswith("[^"):
            text = f"{cls[:-1]}\\n]" if cls.startswith("[^]") else rf"[^\n{cls[2:]}"
        said += _WITHIN.get(text, text)
    return said


_WITHIN = {r"\s": r"[^\S\n]", r"\W": r"[^\w\n]", r"\D": r"[^\d\n]"}
