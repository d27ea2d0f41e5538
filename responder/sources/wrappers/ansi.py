"""ANSI escape sequences: colours, cursor moves, hyperlinks, titles."""

import re

_ESCAPE = re.compile(
    rb"\x1b(?:"
    rb"\[[0-?]*[ -/]*[@-~]"  # CSI: colours, cursor
    rb"|\][^\x07\x1b\n]{0,2048}(?:\x07|\x1b\\)"  # OSC: title, hyperlink; one without an end hides nothing
    rb"|[PX^_][^\x1b\n]{0,2048}\x1b\\"  # DCS and other strings
    rb"|[ -/]+[0-~]"  # character sets
    rb"|[0-Z\\-~]"  # single characters
    rb")?"
)


def strip_ansi(data: bytes) -> bytes:
    """`data` without escape sequences; the same object where no ESC byte stands in it.  Never removes a newline."""
    return _ESCAPE.sub(b"", data) if b"\x1b" in data else data
