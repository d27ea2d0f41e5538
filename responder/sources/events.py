"""What happens to a source besides lines.  The follower reports it here and writes no log of its own."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

EventKind = Literal[
    "opened",
    "resumed",
    "rotated",
    "truncated",
    "released",
    "missing",
    "unreadable",
    "readable",
    "ignored",
    "line-cut",
    "watch-failed",
    "stale",
]
"""The closed list:

- `opened`: a file is followed for the first time; `resumed`: from where an earlier run stopped
- `rotated`: the path names another file now; the old one is read for a while longer
- `truncated`: the file was emptied or rewritten in place; it is read again from its start
- `released`: a rotated or deleted file stayed quiet long enough and was closed
- `missing`: nothing at this path (yet); `unreadable`: permission denied, a folder, a device; both said once, until
  `readable` takes it back
- `ignored`: compressed or binary; costs nothing until it is replaced, or (binary) goes on as text: then `readable`
- `line-cut`: a line reached the length limit
- `watch-failed`: no early wake-ups for this folder; the poll finds everything all the same
- `stale`: the file system lost the handle (NFS); opened again
"""


@dataclass(frozen=True, slots=True)
class SourceEvent:
    """One occurrence."""

    kind: EventKind
    path: str
    offset: int = 0
    """Where in the file, for the kinds that have a place."""
    detail: str = ""
    """For a person: the system's error text or the like."""


SourceEvents = Callable[[SourceEvent], None]
"""Takes each event as it happens; must return quickly.  A list's `append` will do."""


def ignore_events(_event: SourceEvent) -> None:
    """For whoever does not care."""
