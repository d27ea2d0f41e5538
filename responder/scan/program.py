"""The patterns of a catalogue as one Hyperscan database.

Compiling some hundred patterns takes over a second, so the database is cached.  A cached database is input to
native code: it lies in a folder that only we may write, and its name holds everything it depends on.
"""

import hashlib
import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal

import hyperscan
import msgspec

from responder.catalogue import Catalogue, Problem, Rule
from responder.catalogue.cache import private_cache
from responder.catalogue.problem import find_line, shown

Use = Literal["rule", "frame", "near", "traceback"]

TRACEBACK = rb"Traceback \(most recent call last\)"
"""The header of a Python traceback, the one structure that is looked for besides the rules."""

VERSION: str = hyperscan.__version__  # type: ignore[attr-defined, unused-ignore]
"""Of the binding: a database is good for no other."""

_FLAGS = hyperscan.HS_FLAG_SOM_LEFTMOST | hyperscan.HS_FLAG_MULTILINE
"""The start of a match tells whether it lies within one line, and several hundred patterns scan three times as fast
with it."""


class Pattern(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """One expression of the database and what its hit means."""

    text: bytes
    use: Use
    rule: Rule | None = None
    index: int = 0
    """Which of the rule's patterns, frames or near conditions this is."""
    anonymous: bool = True
    """Whether it captures nothing."""


class Program:
    """Compiled patterns, ready to scan.  One instance may be shared; scratch space is per Scanner."""

    def __init__(self, patterns: tuple[Pattern, ...], database: Any) -> None:
        self.patterns = patterns
        self.database = database
        rules = [
            (index, pattern.rule)
            for index, pattern in enumerate(patterns)
            if pattern.use == "rule" and pattern.rule is not None and pattern.rule.role == "noise"
        ]
        self.noise = frozenset(index for index, _ in rules)
        """Patterns of what makes other lines harmless."""
        self.exact = frozenset(index for index, rule in rules if rule.covers == "record")
        """Those that are never only counted, however often they fire: the record that each silences would be told."""
        self.shields = frozenset(index for index, rule in rules if index not in self.exact and not rule.escalate_when)
        """Those that matter only where something else fires on the very line."""


def build_program(catalogue: Catalogue, *, cache: Path | None = None) -> tuple[Program, list[Problem]]:
    """Compile a catalogue, from the cache where it holds this very one.

    A pattern that Hyperscan refuses is left out, with its rule, and reported.
    """
    patterns = tuple(patterns_of(catalogue.rules))
    folder = private_cache(cache)
    cached = folder / f"patterns-{_key(patterns)}.hsdb" if folder else None
    if cached is not None:
        database = _load(cached)
        if database is not None:
            return Program(patterns, database), []
    problems: list[Problem] = []
    try:
        database = _compile(patterns)
    except hyperscan.error:
        problems, patterns = _left_out(catalogue, patterns)
        database = _compile(patterns)
    if cached is not None and not problems:
        _save(cached, database)
    return Program(patterns, database), problems


def patterns_of(rules: Iterable[Rule]) -> Iterable[Pattern]:
    """Every expression that has to be looked for, the traceback's header first."""
    yield Pattern(text=TRACEBACK, use="traceback")
    for rule in rules:
        uses: tuple[tuple[Use, Iterable[str]], ...] = (
            ("rule", rule.patterns),
            ("frame", rule.frames),
            ("near", (near.pattern for near in rule.near)),
        )
        for use, texts in uses:
            for index, text in enumerate(texts):
                yield Pattern(text=text.encode(), use=use, rule=rule, index=index, anonymous="(?P<" not in text)


def _left_out(catalogue: Catalogue, patterns: tuple[Pattern, ...]) -> tuple[list[Problem], tuple[Pattern, ...]]:
    """What is wrong with patterns that do not compile, and the patterns without those of their rules."""
    problems: list[Problem] = []
    paths = {entry.rule.id: entry.path for entry in catalogue.loaded}
    broken: set[str] = set()
    for pattern in patterns:
        reason = _refusal(pattern)
        if reason is not None and pattern.rule is not None:
            path, written = paths[pattern.rule.id], pattern.text.decode()
            line = find_line(path.read_text(encoding="utf-8"), written)
            hint = "`.*` is cheaper than `.{0,300}`"
            message = f"a pattern cannot be compiled ({reason.rstrip('.')}; {hint}): {written!r}"
            problems.append(Problem(path=shown(path), line=line, message=message))
            broken.add(pattern.rule.id)
    return problems, tuple(p for p in patterns if p.rule is None or p.rule.id not in broken)


def _refusal(pattern: Pattern) -> str | None:
    try:
        _compile((pattern,))
    except hyperscan.error as error:
        return str(error)
    return None


def _compile(patterns: tuple[Pattern, ...]) -> Any:
    database = hyperscan.Database(mode=hyperscan.HS_MODE_BLOCK)
    database.compile(
        expressions=[pattern.text for pattern in patterns],
        ids=list(range(len(patterns))),
        elements=len(patterns),
        flags=[_FLAGS] * len(patterns),
    )
    return database


def _key(patterns: tuple[Pattern, ...]) -> str:
    digest = hashlib.sha256()
    for pattern in patterns:
        digest.update(pattern.text + b"\0")
    made_by = f"{VERSION}/{os.uname().machine}/{sys.version}/{int(_FLAGS)}"
    digest.update(made_by.encode())
    return digest.hexdigest()[:24]


def _load(path: Path) -> Any | None:
    try:
        database = hyperscan.loadb(path.read_bytes(), hyperscan.HS_MODE_BLOCK)
        # The binding leaves a loaded database without scratch space; a scan would fail.
        database.scratch = hyperscan.Scratch(database)
    except FileNotFoundError:
        return None
    except Exception:  # noqa: BLE001 - a damaged or foreign database is compiled anew, whatever the binding says
        path.unlink(missing_ok=True)
        return None
    return database


def _save(path: Path, database: Any) -> None:
    try:
        for old in path.parent.glob("patterns-*.hsdb"):
            old.unlink(missing_ok=True)
        temporary = path.with_suffix(".tmp")
        temporary.write_bytes(hyperscan.dumpb(database))
        temporary.replace(path)
    except OSError:
        # Without the cache the next start compiles again; nothing else depends on it.
        return
