"""What a source hands to the scan: a block of whole lines and where they lay in the file."""

from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

_NO_LABELS: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Origin:
    """Where one line came from, as far as its wrapper tells."""

    offset: int
    """Of the first byte of the physical line, wrapper included, in the file."""
    time: float | None = None
    """The wrapper's own stamp, seconds since the epoch; None where it has none."""
    labels: Mapping[str, str] = field(default_factory=lambda: _NO_LABELS)
    """What the wrapper says of the line, by name: `stream`, `container`, `rank`, …"""


@dataclass(slots=True)
class LineMap:
    """For data that is not the file's own bytes: the origin of each of its lines."""

    starts: list[int] = field(default_factory=list)
    """Position in `Block.data` of each line's first byte, ascending, the first 0."""
    origins: list[Origin] = field(default_factory=list)

    def at(self, position: int) -> Origin:
        """The origin of the line that holds `position`."""
        return self.origins[bisect_right(self.starts, position) - 1]


@dataclass(slots=True)
class Block:
    """Consecutive lines of one source, read at one moment."""

    path: str
    """As named to the user: the path that was configured, or that a glob found.  `-` is standard input."""
    file_id: str
    """Stable over restarts and renames, and another one after every truncation.  With an offset it names a line for
    good: whatever carries the same pair has been seen before."""
    offset: int
    """In the file, of the byte at `data[0]`."""
    data: bytes
    """Whole lines, each ended by a newline, except where `partial`.  Carriage returns and NULs inside a line are kept,
    NULs in front of the first line are not."""
    partial: bool = False
    """One line that never got its newline: its file was rotated, truncated or deleted, or its writer went away or
    stopped in its midst.
    Should the writer finish it after all, the whole line follows under the same `(file_id, offset)`."""
    truncated: bool = False
    """One line, cut at the length limit.  The rest of it will not come, except of a progress bar: that goes on at one
    of its carriage returns, as a line of its own."""
    arrived: float = 0.0
    """Wall clock, seconds since the epoch, when it was read."""
    lines: LineMap | None = None
    """None for the file's own bytes, whose positions map one to one; else where each line of `data` came from."""

    def locate(self, position: int) -> Origin:
        """Where the byte at `position` of `data` came from."""
        if self.lines is None:
            return Origin(self.offset + position)
        return self.lines.at(position)

    def segments(self) -> bytes:
        """The data as rules see it: a carriage return ends a segment just as a newline ends a line.

        Every position stays what it was.  The `\\r` of a CRLF leaves an empty segment behind, which no rule matches.
        """
        return self.data.replace(b"\r", b"\n")
