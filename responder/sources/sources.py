"""All that a server's log comes from: files that are followed, and journals."""

import sqlite3
from collections.abc import Sequence
from typing import Protocol

from responder.sources.block import Block
from responder.sources.followed import FileStatus
from responder.sources.follower import Follower
from responder.sources.journal import Journal
from responder.store import checkpoints, cursors
from responder.store.checkpoints import Checkpoint
from responder.store.cursors import Cursor


class Source(Protocol):
    """What the loop reads from: a `Follower`, or several sources at once."""

    @property
    def targets(self) -> tuple[str, ...]:
        """The paths and globs that are followed."""
        ...

    @property
    def behind(self) -> bool:
        """Whether there is more than could be read at once."""
        ...

    def poll(self) -> list[Block]:
        """What is new."""
        ...

    def last_words(self, path: str) -> list[Block]:
        """The unfinished line at the end of the log at `path`, once."""
        ...

    def positions(self) -> Sequence[Checkpoint | Cursor]:
        """The places that changed since `stored` was said."""
        ...

    def stored(self) -> None:
        """What `positions` returned last is in the database."""
        ...

    def hold(self, file_id: str, offset: int | None) -> None:
        """Keep the stored place of a file or journal from passing `offset`."""
        ...

    def status(self) -> list[FileStatus]:
        """Everything that is read from now."""
        ...

    def unreadable(self) -> list[str]:
        """What is there and cannot be read at the moment."""
        ...

    def close(self) -> None:
        """Give everything back."""
        ...


class Sources:
    """Files and journals of one server as one source."""

    def __init__(self, follower: Follower, journals: Sequence[Journal]) -> None:
        self._follower, self._journals = follower, tuple(journals)

    @property
    def targets(self) -> tuple[str, ...]:
        """The paths and globs that are followed."""
        return self._follower.targets

    @property
    def behind(self) -> bool:
        """Whether there is more than could be read at once."""
        return self._follower.behind or any(journal.behind for journal in self._journals)

    def poll(self) -> list[Block]:
        """What is new, in order per file and journal."""
        return [*self._follower.poll(), *(block for journal in self._journals for block in journal.poll())]

    def last_words(self, path: str) -> list[Block]:
        """The unfinished line at the end of the log at `path`, once.  A journal has whole lines only."""
        return self._follower.last_words(path)

    def positions(self) -> list[Checkpoint | Cursor]:
        """The places that changed since `stored` was said."""
        return [*self._follower.positions(), *(place for journal in self._journals for place in journal.positions())]

    def stored(self) -> None:
        """What `positions` returned last is in the database."""
        self._follower.stored()
        for journal in self._journals:
            journal.stored()

    def hold(self, file_id: str, offset: int | None) -> None:
        """Keep the stored place of a file or journal from passing `offset`, the start of a line still needed."""
        self._follower.hold(file_id, offset)
        for journal in self._journals:
            journal.hold(file_id, offset)

    def status(self) -> list[FileStatus]:
        """Every file and journal that is read from now."""
        return [*self._follower.status(), *(journal.status() for journal in self._journals)]

    def unreadable(self) -> list[str]:
        """The files and journals that are there and cannot be read at the moment."""
        return [*self._follower.unreadable(), *(j.source for j in self._journals if j.trouble)]

    def close(self) -> None:
        """Close every file and end every journalctl."""
        self._follower.close()
        for journal in self._journals:
            journal.close()


def save(connection: sqlite3.Connection, positions: Sequence[Checkpoint | Cursor]) -> None:
    """Store places of both kinds.  Inside the caller's transaction."""
    checkpoints.save(connection, [place for place in positions if isinstance(place, Checkpoint)])
    cursors.save(connection, [place for place in positions if isinstance(place, Cursor)])
