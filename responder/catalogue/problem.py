"""One thing that is wrong with a rule file, told so that it can be mended."""

from pathlib import Path

import msgspec


class Problem(msgspec.Struct, frozen=True, kw_only=True, order=True):
    """Where it is (file and line, counted from 1), what is wrong and what to do."""

    path: str
    line: int
    message: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.message}"


def find_line(text: str, *needles: str, start: int = 1) -> int:
    """The number of the first line from `start` on that holds the first needle found; `start` where none is.

    Parsers of TOML give no positions for values, so the text itself is asked.
    """
    lines = text.splitlines()
    for needle in needles:
        for number, line in enumerate(lines[start - 1 :], start):
            if needle and needle in line:
                return number
    return start


def shown(path: Path) -> str:
    """The path as a person wants to read it: relative to where they are, if it lies there."""
    try:
        return str(path.relative_to(Path.cwd()))
    except ValueError:
        return str(path)
