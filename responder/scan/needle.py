"""The fixed text that every match of a regular expression holds: found faster than the expression, and compiled faster.

Only what stands outside all groups counts, so the answer may be shorter than it could be, never wrong.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import pairwise

TOKEN = re.compile(
    r"\\(?P<escaped>.)|(?P<cls>\[\^?\]?(?:\\.|[^\]\\])*\])|(?P<group>[()|])|(?P<any>[.^$])"
    r"|(?P<count>\{\d*,?\d*\}|[*+?])|(?P<char>.)",
    re.DOTALL,
)
"""One piece of an expression: a character, a class, a group's end, an anchor, a count."""

_FLAGS = re.compile(r"\(\?[a-zA-Z-]+[:)]")
_NAMED = re.compile(r"\\[xuUNpPkgQE0-9]")


def unnamed_tokens(expression: str) -> list[re.Match[str]]:
    """The pieces of an expression, its groups without their names."""
    return list(TOKEN.finditer(re.sub(r"\(\?P<\w+>", "(?:", expression)))


def needle_of(pattern: str) -> str:
    """The longest text that every match of `pattern` holds as it stands; empty where there is none."""
    return max(_runs(pattern), key=len, default="")


def pairs_of(texts: Iterable[str]) -> Counter[str]:
    """How often each two characters stand side by side."""
    return Counter(pair for text in texts for pair in map("".join, pairwise(text)))


def cut_needle(needle: str, common: Mapping[str, int], least: int) -> str:
    """The needle, cut to at least `least` characters where it ends in the pair that `common` has least often.

    Hyperscan looks at the last bytes of a text first; where these are rare in a log, it seldom has to look at more.
    """
    ends = range(least, len(needle) + 1)
    return needle[: min(ends, key=lambda end: (common.get(needle[end - 2 : end], 0), -end))]


def is_plain(pattern: str) -> bool:
    """Whether the pattern matches one text and nothing else."""
    return not re.search(r"[][(){}|.^$*+?]|\\[a-zA-Z0-9]", re.sub(r"\\[^a-zA-Z0-9]", "", pattern))


def _runs(pattern: str) -> list[str]:
    if _FLAGS.search(pattern) or _NAMED.search(pattern):
        return []
    depth, runs = 0, [""]
    for token in TOKEN.finditer(pattern):
        group, count, escaped, char = token["group"], token["count"], token["escaped"], token["char"]
        if group == "|" and depth == 0:
            return []
        if group in ("(", ")"):
            depth += 1 if group == "(" else -1
            runs.append("")
        elif depth:
            continue
        elif char or (escaped and not escaped.isalnum()):
            runs[-1] += char or escaped
        else:
            if count and count != "+":
                runs[-1] = runs[-1][:-1]
            runs.append("")
    return runs
