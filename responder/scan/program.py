"""The patterns of a catalogue as one Hyperscan database.

Most patterns hold a long fixed text.  That text alone is looked for, which compiles eight times faster and scans faster
than the expressions would; where it stands, the expression is confirmed on the line.

The database is cached.  A cached database is input to native code: it lies in a folder that only we may write, and its
name holds everything it depends on.
"""

import hashlib
import os
import re
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Literal

import hyperscan
import msgspec
from msgspec.structs import replace

from responder.catalogue import Catalogue, Problem, Rule
from responder.catalogue.cache import private_cache, read_cached, replace_cached
from responder.catalogue.problem import find_line, shown
from responder.scan.database import compiled, restored
from responder.scan.needle import cut_needle, is_plain, needle_of, pairs_of

Use = Literal["rule", "frame", "near", "traceback"]

TRACEBACK = rb"Traceback \(most recent call last\)"
"""The header of a Python traceback, the one structure that is looked for besides the rules."""

VERSION: str = hyperscan.__version__  # type: ignore[attr-defined, unused-ignore]
"""Of the binding: a database is good for no other."""

_FORM = 5
"""Of what is cached: raised whenever the same patterns would be looked for in another way."""

LEAST_NEEDLE = 14
"""Bytes of a fixed text that is looked for in place of its expression: a shorter one stands in too many lines."""


class Pattern(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """One expression of the database and what its hit means."""

    text: bytes
    use: Use
    rule: Rule | None = None
    index: int = 0
    """Which of the rule's patterns, frames or near conditions this is."""
    needle: bytes = b""
    """The fixed text that is looked for; empty where the expression itself is."""
    plain: bytes = b""
    """The text that the pattern is, where it is nothing else."""
    captures: bool = False

    @property
    def is_noise(self) -> bool:
        """Whether it makes other lines harmless."""
        return self.use == "rule" and self.rule is not None and self.rule.role == "noise"

    @property
    def is_shield(self) -> bool:
        """Whether it matters only where something else fires on the very line."""
        return self.is_noise and not _covers_record(self) and self.rule is not None and not self.rule.escalate_when


class Program:
    """Compiled patterns, ready to scan.  One instance may be shared; scratch space is per Scanner."""

    def __init__(self, patterns: tuple[Pattern, ...], database: Any, cached: Path | None = None) -> None:
        self.patterns = patterns
        self.database = database
        self.cached = cached
        """Where it is kept, under a name that holds everything it depends on; None where it is not."""
        self.noise = frozenset(index for index, pattern in enumerate(patterns) if pattern.is_noise)
        """Patterns of what makes other lines harmless."""
        self.exact = frozenset(index for index in self.noise if _covers_record(patterns[index]))
        """Those that are never only counted, however often they fire: the record that each silences would be told."""
        self.shields = frozenset(index for index, pattern in enumerate(patterns) if pattern.is_shield)
        """Those that matter only where something else fires on the very line.  Found once per scan, not once per line:
        a healthy log may be full of them."""
        self.by_rule: dict[str, list[int]] = {}
        """Of each rule the patterns that it fires by."""
        for index, pattern in enumerate(patterns):
            if pattern.use == "rule" and pattern.rule is not None:
                self.by_rule.setdefault(pattern.rule.id, []).append(index)
        self.users = tuple(_users(patterns).values())
        """By number in the database, the patterns that one expression is looked for on behalf of."""
        self.only_shields = frozenset(n for n, users in enumerate(self.users) if self.shields.issuperset(users))
        """The expressions that are looked for on behalf of shields alone."""


class _Compiled(msgspec.Struct, frozen=True, array_like=True):
    """What the cache holds: all that takes time to work out."""

    needles: tuple[bytes, ...]
    plain: tuple[bytes, ...]
    database: bytes


def build_program(catalogue: Catalogue, *, cache: Path | None = None) -> tuple[Program, list[Problem]]:
    """Compile a catalogue, from the cache where it holds this very one.

    A pattern that cannot be compiled is left out, with its rule, and reported.
    """
    expressions = tuple(patterns_of(catalogue.rules))
    folder = private_cache(cache)
    cached = folder / f"patterns-{_key(expressions)}.msgpack" if folder else None
    program = read_cached(cached, partial(_decoded, cached, expressions)) if cached is not None else None
    if program is not None:
        return program, []
    problems: list[Problem] = []
    patterns = _with_needles(catalogue.rules)
    database = _whole(patterns)
    if database is None:
        patterns, problems = without_refused(catalogue)
        database = compile_patterns(patterns)
    if problems:
        cached = None
    if cached is not None:
        _save(cached, patterns, database)
    return Program(patterns, database, cached), problems


def patterns_of(rules: Iterable[Rule]) -> Iterator[Pattern]:
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
                yield Pattern(text=text.encode(), use=use, rule=rule, index=index, captures="(?P<" in text)


def _with_needles(rules: Iterable[Rule]) -> tuple[Pattern, ...]:
    """The patterns, with the fixed text that is looked for: one that ends rarely in what healthy logs hold."""
    rules = tuple(rules)
    healthy = (sample.text for rule in rules if rule.role in ("noise", "marker") for sample in rule.sample)
    common = pairs_of(healthy)
    return tuple(_with_needle(pattern, common) for pattern in patterns_of(rules))


def _with_needle(pattern: Pattern, common: Mapping[str, int]) -> Pattern:
    text = pattern.text.decode()
    fixed = needle_of(text)
    if len(fixed) < LEAST_NEEDLE:
        return pattern
    needle = cut_needle(fixed, common, LEAST_NEEDLE)
    return replace(pattern, needle=needle.encode(), plain=fixed.encode() if is_plain(text) else b"")


def without_refused(catalogue: Catalogue) -> tuple[tuple[Pattern, ...], list[Problem]]:
    """The patterns without those of rules that hold one which Hyperscan or `regex` refuses, and why it does.

    Each expression is compiled whole, also where only its fixed text would be looked for.
    """
    patterns = _with_needles(catalogue.rules)
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
    return tuple(p for p in patterns if p.rule is None or p.rule.id not in broken), problems


def _refusal(pattern: Pattern) -> str | None:
    """Why an expression cannot be used; None where it can."""
    import regex

    try:
        regex.compile(pattern.text)
        compile_patterns((replace(pattern, needle=b""),))
    except (regex.error, hyperscan.error) as error:
        return str(error)
    return None


def _whole(patterns: tuple[Pattern, ...]) -> Any | None:
    """The database of all patterns; None where one of them is refused, by the engine that finds or that confirms."""
    import regex

    try:
        for pattern in patterns:
            if not pattern.plain:
                regex.compile(pattern.text)
        return compile_patterns(patterns)
    except (regex.error, hyperscan.error):
        return None


def compile_patterns(patterns: tuple[Pattern, ...], once: Collection[int] = ()) -> Any:
    """The database of these patterns.  What only shields and those of the indexes `once` want is found once in a block.

    Raises hyperscan.error where it refuses one.
    """
    users = _users(patterns)
    single = {*once, *(index for index, pattern in enumerate(patterns) if pattern.is_shield)}
    return compiled(
        [re.escape(text) if fixed else text for text, fixed in users],
        [single.issuperset(indexes) for indexes in users.values()],
    )


def _covers_record(pattern: Pattern) -> bool:
    return pattern.rule is not None and pattern.rule.covers == "record"


def _users(patterns: tuple[Pattern, ...]) -> dict[tuple[bytes, bool], list[int]]:
    """Each text or expression that has to be looked for, and whether it is fixed, with the patterns that want it."""
    users: dict[tuple[bytes, bool], list[int]] = {}
    for index, pattern in enumerate(patterns):
        users.setdefault((pattern.needle or pattern.text, bool(pattern.needle)), []).append(index)
    return users


def _key(patterns: tuple[Pattern, ...]) -> str:
    digest = hashlib.sha256(b"\0".join(pattern.text for pattern in patterns))
    digest.update(repr([index for index, pattern in enumerate(patterns) if pattern.is_shield]).encode())
    digest.update(f"{_FORM}/{LEAST_NEEDLE}/{VERSION}/{os.uname().machine}/{sys.version}".encode())
    return digest.hexdigest()[:24]


def _decoded(path: Path, patterns: tuple[Pattern, ...], content: bytes) -> Program:
    kept = msgspec.msgpack.decode(content, type=_Compiled)
    found = zip(patterns, kept.needles, kept.plain, strict=True)
    patterns = tuple(replace(one, needle=needle, plain=plain) if needle else one for one, needle, plain in found)
    return Program(patterns, restored(kept.database), path)


def _save(path: Path, patterns: tuple[Pattern, ...], database: Any) -> None:
    compiled = _Compiled(
        tuple(pattern.needle for pattern in patterns),
        tuple(pattern.plain for pattern in patterns),
        hyperscan.dumpb(database),
    )
    replace_cached(path, msgspec.msgpack.encode(compiled))
