"""Whether anything in wrapped bytes may interest a rule, told before they are unwrapped.

Inside Docker's JSON or behind the kubelet's prefix a text stands as it was written, but for a few characters and for
where its line begins and ends.  So each rule is looked for by a fixed text that no wrapper changes or, where it has
none, by its expression made a little wider.  What is found may be nothing; what is not found cannot fire.
"""

import hashlib
import re
from functools import lru_cache
from pathlib import Path

import hyperscan

from responder.catalogue.cache import read_cached, replace_cached
from responder.scan.database import Scannable, compiled, restored, scannable
from responder.scan.needle import needle_of, unnamed_tokens
from responder.scan.program import Pattern, Program

MOST_SPOTS = 32
"""Where more is found in a block, all of it is unwrapped: looking at each spot would cost more."""

LEAST_FIXED = 11
"""Bytes of a fixed text that is looked for in place of the expression: a shorter one stands in healthy lines."""

_FORM = 1
"""Of what is looked for: raised whenever the same patterns would be looked for in another way."""

_UNCHANGED = re.compile(r"[A-Za-z0-9 _.,:;()\[\]{}=+*!?#%@|~/-]+")
"""What every wrapper writes as it is."""

_COLOUR = rb"\x1b|\\u001[bB]"
"""Colours may stand inside a text."""


class Sieve:
    """What must stand in wrapped bytes before any rule can fire on the lines inside."""

    def __init__(self, scannable: Scannable) -> None:
        self._scannable = scannable

    def spots(self, data: bytes) -> list[int] | None:
        """Where something may stand, ascending: positions in its line or at the line's end.  None for too many."""
        found: list[int] = []

        def on_match(_: int, start: int, end: int, flags: int, context: object) -> bool:
            found.append(end)
            return len(found) > MOST_SPOTS

        database, scratch = self._scannable
        try:
            database.scan(data, on_match, scratch=scratch)
        except hyperscan.ScanTerminated:
            return None
        return sorted(found)


@lru_cache(maxsize=2)
def sieve_of(program: Program, parts: tuple[bytes, ...]) -> Sieve:
    """The sieve for a program's patterns, from the cache where it holds this very one.

    `parts` are expressions for what wrappers write where they cut a line: a text may stand across the cut.
    """
    cached = _beside(program.cached, parts) if program.cached is not None else None
    database = read_cached(cached, restored) if cached is not None else None
    if database is None:
        wanted = (pattern for pattern in program.patterns if not pattern.is_shield)
        database = compiled(sorted({_COLOUR, *parts, *map(_form, wanted)}))
        if cached is not None:
            replace_cached(cached, hyperscan.dumpb(database))
    return Sieve(scannable(database))


def _beside(path: Path, parts: tuple[bytes, ...]) -> Path:
    digest = hashlib.sha256(b"\0".join([path.name.encode(), b"%d" % _FORM, *parts]))
    return path.with_name(f"sieve-{digest.hexdigest()[:24]}.hs")


def _form(pattern: Pattern) -> bytes:
    """An expression that fires on a wrapped line wherever the pattern does on the line inside."""
    text = pattern.text.decode()
    fixed = max(_UNCHANGED.findall(needle_of(text)), key=len, default="")
    return (re.escape(fixed) if len(fixed) >= LEAST_FIXED else widened(text)).encode()


_CHANGED = '"\\<>&\t\x7f'
"""Samples of what JSON may write otherwise."""

_ESCAPED = r"\\(?:u[0-9a-fA-F]{4}|.)"


def widened(expression: str) -> str:
    """The expression without its anchors, and with each character as itself or as JSON escapes it."""
    tokens = unnamed_tokens(expression)
    pairs = zip(tokens, [*tokens[1:], None], strict=True)
    return "".join(_widened(token, after is not None and bool(after["count"])) for token, after in pairs)


def _widened(token: re.Match[str], counted: bool) -> str:
    if token[0] in ("^", "$") or token["escaped"] in ("b", "B", "A", "Z", "z"):
        return ""
    if token[0] == "." and counted:
        return "."
    if token["count"]:
        # A count of what may be escaped counts more than that.
        return re.sub(r"\{(\d*),\d*\}", r"{\1,}", token[0])
    single = token["any"] or token["cls"] or token["escaped"] or token["char"]
    if single and re.search(token[0], _CHANGED):
        return f"(?:{token[0]}|{_ESCAPED})"
    return token[0]
