"""One way in which a log's lines are wrapped."""

import re
from collections.abc import Mapping
from datetime import datetime
from types import MappingProxyType
from typing import NamedTuple

_NO_LABELS: Mapping[str, str] = MappingProxyType({})


class Said(NamedTuple):
    """What a wrapper says of a line besides its text."""

    time: float | None = None
    """Seconds since the epoch; None where the stamp lacks a zone or a year."""
    labels: Mapping[str, str] = _NO_LABELS


class Piece(NamedTuple):
    """The text that one wrapped line carries: a whole line (or several), or a part of a line that the wrapper cut."""

    text: bytes
    complete: bool = True
    stream: bytes = b""
    """Which of several interleaved streams a part belongs to."""


class Layer:
    """A wrapper around each line.  Lines it does not recognise pass through unchanged."""

    name: str
    least = 1
    """How many lines of a sample must be wrapped before it is believed: more for a form that prose could have too."""
    part: bytes = b""
    """An expression that fires on a line that holds a part of a line.  Given where each line holds one line or a part
    of one, as text or as text in JSON: only there may wrapped bytes be searched for what stands inside."""

    def wraps(self, line: bytes) -> bool:
        """Whether `line`, given without its newline, has this form."""
        raise NotImplementedError

    def strip(self, line: bytes) -> bytes:
        """The text inside `line`."""
        raise NotImplementedError

    def piece(self, line: bytes) -> Piece:
        """As `strip`, and whether the text goes on in the next line of the same stream."""
        return Piece(self.strip(line))

    def whole(self, data: bytes) -> bytes | None:
        """The text inside all lines of `data`, line for line; None where a line holds a part of a line or several.

        This is the fast way, taken for whole blocks; `data` ends with a newline.
        """
        raise NotImplementedError

    def say(self, line: bytes) -> Said:
        """Time and labels of a line that has this form."""
        raise NotImplementedError


class Prefixed(Layer):
    """A wrapper that is nothing but a prefix."""

    def __init__(self, name: str, *forms: bytes, least: int = 1) -> None:
        """Each of `forms` is a regular expression for the prefix that cannot match a newline.

        Its group `time` is the stamp, its other named groups become labels.
        """
        self.name = name
        self.least = least
        self._matchers = tuple(re.compile(form).match for form in forms)
        unnamed = b"|".join(re.sub(rb"\(\?P<\w+>", b"(?:", form) for form in forms)
        self._at_line_start = re.compile(b"\n(?:" + unnamed + b")")

    def match(self, line: bytes) -> re.Match[bytes] | None:
        """The prefix of `line`."""
        for match_form in self._matchers:
            if match := match_form(line):
                return match
        return None

    def wraps(self, line: bytes) -> bool:
        return self.match(line) is not None

    def strip(self, line: bytes) -> bytes:
        match = self.match(line)
        return line[match.end() :] if match else line

    def whole(self, data: bytes) -> bytes | None:
        return self._at_line_start.sub(b"\n", b"\n" + data)[1:]

    def say(self, line: bytes) -> Said:
        match = self.match(line)
        if match is None:
            return Said()
        found = {key: value.decode("utf-8", "replace") for key, value in match.groupdict().items() if value is not None}
        return Said(epoch(found.pop("time", None)), self.labels(found))

    def labels(self, found: dict[str, str]) -> dict[str, str]:
        """The labels that the named groups mean."""
        return found


RFC3339 = rb"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)"
"""A stamp with a zone."""

END = rb"(?: |(?=\r?(?:\n|\Z)))"
"""The space behind a prefix; absent where the line inside is empty and the space was trimmed."""


def epoch(stamp: str | None) -> float | None:
    """Seconds since the epoch of an ISO 8601 stamp; None where it names no real moment or has no zone."""
    if stamp is None:
        return None
    try:
        moment = datetime.fromisoformat(stamp.replace(",", "."))
    except ValueError:
        return None
    return moment.timestamp() if moment.tzinfo else None
