"""What the scan tells the diagnosis: one line that something fired on, with its surroundings."""

from datetime import datetime

import msgspec

from responder.nouns import Clock
from responder.scan.engine import Match


class Frame(msgspec.Struct, frozen=True):
    """One frame of a traceback."""

    path: str
    line: int
    function: str
    source: str = ""


class Traceback(msgspec.Struct, frozen=True, kw_only=True):
    """A Python traceback, from its header to the line that names the exception."""

    offset: int
    """Of the header's line in the file."""
    header: str
    frames: tuple[Frame, ...] = ()
    exception: str | None = None
    """The exception's type, or None where the log ends (or is cut) before it is named."""
    message: str = ""
    begins: dict[str, int] = {}
    """By stream, the offset of its first line there: rotation may have cut it.  The header's comes first."""


class Aside(msgspec.Struct, frozen=True):
    """A frame or a neighbour that a rule asks for stands on this line."""

    rule: str
    use: str
    index: int


class Seen(msgspec.Struct, frozen=True, kw_only=True):
    """A line on which a rule fired or a traceback ended."""

    stream: str
    """The identity of the file it stands in."""
    path: str
    offset: int
    """Of the line's first byte in the file."""
    ordinal: int
    """A running line number of the stream; exact for neighbours, only growing for lines far apart."""
    text: str
    record: int
    """Offset of the line that begins the record this line belongs to: the last one with a stamp or a level."""
    matches: tuple[Match, ...] = ()
    asides: tuple[Aside, ...] = ()
    traceback: Traceback | None = None
    ranks: tuple[str, ...] = ()
    time: datetime | None = None
    clock: Clock = "arrival"
    excerpt: tuple[str, ...] = ()
    labels: dict[str, str] = {}
    """What the wrapper said: pod, container, unit, pid, transport, how often it was repeated."""
