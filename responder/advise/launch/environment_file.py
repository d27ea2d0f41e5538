"""The files that `EnvironmentFile=` names: assignments line by line, with quotes like a shell's and no expansion."""

import glob
from collections.abc import Iterator
from pathlib import Path

from responder.advise.launch.unit_files import read_small


def read_environment_files(setting: str, root: Path) -> dict[str, str]:
    """The variables of the files of one setting (`-` in front: they may be missing; a glob may name several).

    Raises OSError for a file that systemd, too, would have to read.
    """
    optional, pattern = setting.startswith("-"), setting.removeprefix("-")
    if not pattern.startswith("/"):
        return {}
    found = sorted(glob.glob(str(root) + pattern if root != Path("/") else pattern))  # noqa: PTH207 - absolute pattern
    values: dict[str, str] = {}
    for path in found or ([] if optional else [str(root / pattern.lstrip("/"))]):
        try:
            values |= dict(_assignments(read_small(Path(path))))
        except OSError:
            if not optional:
                raise
    return values


def _assignments(text: str) -> Iterator[tuple[str, str]]:
    at = 0
    while at < len(text):
        name, at = _name(text, at)
        if name is None:
            continue
        value, at = _value(text, at)
        if name.isidentifier():
            yield name, value


def _name(text: str, at: int) -> tuple[str | None, int]:
    """The name up to `=`, or None for a comment, an empty line or anything else."""
    end = text.find("\n", at)
    end = len(text) if end < 0 else end
    line = text[at:end]
    if not line.strip() or line.lstrip()[0] in "#;" or "=" not in line:
        return None, end + 1
    name = line.partition("=")[0]
    return name.strip(), at + len(name) + 1


def _value(text: str, at: int) -> tuple[str, int]:
    """The value and where the next line begins.  Quotes and backslashes may carry it over several lines.

    A quote counts only where no bare character came before it: `it's` is what it looks like.
    """
    value, blanks, quote, bare = "", "", "", False
    while at < len(text):
        char, following = text[at], text[at + 1 : at + 2]
        at += 1
        if char == "\\" and quote != "'":
            if following != "\n":
                value += blanks + ("\\" if quote and following not in _ESCAPED_IN_QUOTES else "") + following
                blanks, bare = "", bare or not quote
            at += 1
        elif quote:
            quote, value = ("", value) if char == quote else (quote, value + char)
        elif char == "\n":
            break
        elif char in "'\"" and not bare:
            quote = char
        elif char.isspace():
            blanks += char if bare else ""
        else:
            value, blanks, bare = value + blanks + char, "", True
    return value, at


_ESCAPED_IN_QUOTES = tuple('"\\`$')
