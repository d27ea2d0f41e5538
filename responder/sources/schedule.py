"""Whose turn it is: which paths a wake-up looks at, how much it reads of each file, which files stay open."""

import math
import resource
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from responder.sources.framing import MAX_LINE
from responder.sources.growing_file import GrowingFile
from responder.sources.identity import FileKey

ALWAYS = 64
"""Up to so many paths are looked at in every wake-up."""
ROUNDS = 10
"""Beyond that, the quiet ones take turns: each comes up once in so many wake-ups, which is once a second."""
HOT_SECONDS = 10.0
"""A file that grew less than so long ago is looked at in every wake-up."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds on what following may cost."""

    chunk: int = 4 << 20
    """Bytes read of one file in one wake-up."""
    budget: int = 8 << 20
    """Bytes read of all files in one wake-up."""
    descriptors: int = field(default_factory=lambda: min(512, resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 2))
    """Files kept open.  Beyond that the quietest are closed, and opened again when they grow."""
    leaving: int = 128
    """Of these, rotated and deleted ones."""
    rotate_wait: float = 60.0
    """Seconds that a rotated or deleted file must be quiet before it is closed."""
    last_words: float = 2.0
    """Seconds that it must be quiet before its unfinished last line is handed on as it stands."""
    forget: float = 7 * 86400.0
    """Seconds after which the checkpoint of a file that is no more is dropped."""

    def share(self, wanting: int) -> int:
        """Bytes for each of so many files: fair, but never less than the longest line, or it would not get on."""
        return max(MAX_LINE, min(self.chunk, self.budget // max(1, wanting)))


class Rounds:
    """Looks at every path of a few, and at quiet ones among many in turns."""

    def __init__(self) -> None:
        self._next = 0

    def due(self, quiet: Sequence[str], hot: Sequence[str]) -> list[str]:
        """The paths of this wake-up: all that are hot, and a share of the quiet ones."""
        if len(quiet) + len(hot) <= ALWAYS or not quiet:
            return [*hot, *quiet]
        count = math.ceil(len(quiet) / ROUNDS)
        start = self._next % len(quiet)
        self._next = start + count
        return [*hot, *(quiet[start : start + count]), *quiet[: max(0, start + count - len(quiet))]]


class OpenFiles:
    """The files that are open, the longest unused first, and no more of them than allowed."""

    def __init__(self, limit: int, spare: Callable[[GrowingFile], bool]) -> None:
        self._limit = limit
        self._spare = spare
        """Whether a file can be found again by its name, so that it may be closed."""
        self._open: dict[FileKey, GrowingFile] = {}

    def __len__(self) -> int:
        return len(self._open)

    def use(self, file: GrowingFile) -> None:
        """Have it open.  Raises OSError when that fails."""
        if self._open.pop(file.key, None) is None:
            self._make_room()
        file.open()
        self._open[file.key] = file

    def close(self, file: GrowingFile) -> None:
        """Close it for good, or until it is used again."""
        self._open.pop(file.key, None)
        file.close()

    def _make_room(self) -> None:
        if len(self._open) >= self._limit:
            idle = next((f for f in self._open.values() if self._spare(f)), None)
            if idle:
                self.close(idle)
