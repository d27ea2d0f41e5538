"""Lines of rich's logging handler: a column in front, and behind, padded to the console's width, `file.py:123`."""

import re

from responder.sources.wrappers.layer import Layer, Said

_PREFIX = re.compile(
    rb"(?:\[?\d\d(?:\d\d)?[/-]\d\d[/-]\d\d(?:\d\d)? \d\d:\d\d:\d\d\]?|\[\d\d:\d\d:\d\d\]| {10,19}) "
    rb"(?:DEBUG|INFO|WARNING|ERROR|CRITICAL) +"
)
_SUFFIX = re.compile(rb" {2,}[\w./<>-]+:\d+ *\r?$| +[\w./-]+\.py:\d+ *\r?$")
_SUFFIX_WITHIN = 160
"""Bytes at a line's end in which the suffix is looked for: a long run of spaces would take for ever."""


class RichHandler(Layer):
    """rich.logging.RichHandler, as GPUStack and others print it.  A message's further lines have neither column."""

    name = "rich"
    least = 2

    def wraps(self, line: bytes) -> bool:
        return _PREFIX.match(line) is not None and _SUFFIX.search(line, max(0, len(line) - _SUFFIX_WITHIN)) is not None

    def strip(self, line: bytes) -> bytes:
        match = _PREFIX.match(line)
        if match is None:
            return line
        end = _SUFFIX.search(line, max(match.end(), len(line) - _SUFFIX_WITHIN))
        return line[match.end() : end.start() if end else len(line)].rstrip(b" ")

    def whole(self, data: bytes) -> bytes | None:
        return b"\n".join(map(self.strip, data.split(b"\n")))

    def say(self, line: bytes) -> Said:
        return Said()
