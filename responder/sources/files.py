"""Every file that is followed or was: found again after a restart, after a rotation, and let go in the end."""

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal, NamedTuple

from responder.sources.events import EventKind, SourceEvent, SourceEvents
from responder.sources.followed import Followed
from responder.sources.growing_file import GrowingFile
from responder.sources.identity import NOTHING, FileKey
from responder.sources.rotation import Folders, Sibling, begins_with, is_as_left, missed
from responder.sources.schedule import Limits, OpenFiles
from responder.store.checkpoints import Checkpoint, Saved

TIDY_SECONDS = 3600.0
"""How often checkpoints are renewed, and those of files long gone dropped."""


CLOCK_STEP = 1.0
"""Seconds by which a file's time stamp may lag behind the wall clock."""


Found = Literal["new", "left", "rewritten"]
"""How a file was found: never seen, as it was left, or under the same inode with another content."""


class Moment(NamedTuple):
    """When a poll takes place."""

    monotonic: float
    wall: float


def key_of(checkpoint: Checkpoint) -> FileKey:
    """The file that a checkpoint is of."""
    return FileKey(checkpoint.device, checkpoint.inode)


def _leads_to(path: str, key: FileKey) -> bool:
    try:
        return FileKey.of(Path(path).stat()) == key
    except OSError:
        return False


class Files:
    """The followed files, and the checkpoints of those that are not open any more."""

    def __init__(self, saved: Saved, limits: Limits, events: SourceEvents) -> None:
        self.now = Moment(0.0, 0.0)
        """To be set before each poll's work."""
        self.folders = Folders()
        self._limits = limits
        self._events = events
        self._followed: dict[FileKey, Followed] = {}
        self._known = {key_of(c): c for c in saved.checkpoints}
        self._lost: set[FileKey] = set()
        """Known files that were not there any more at the start."""
        self._departed: list[Checkpoint] = []
        """Last checkpoints of files that are no longer followed, to be stored once more."""
        self._offered: tuple[int, list[tuple[Followed, int]]] = (0, [])
        self._open = OpenFiles(limits.descriptors, self._may_close)
        self._tidied: float | None = None

    def __iter__(self) -> Iterator[Followed]:
        return iter(list(self._followed.values()))

    def get(self, key: FileKey) -> Followed | None:
        """The followed file with this key."""
        return self._followed.get(key)

    # Coming

    def adopt(self, path: str, key: FileKey) -> tuple[Followed, Found]:
        """Follow the file at `path`, from where it was left if it is known.  OSError when it cannot be opened."""
        entry = self._take_in(GrowingFile(path, path, key, self._events))
        before = self._known.pop(key, None) or self._renumbered(path, key)
        self._lost.discard(key)
        if before is None:
            return entry, "new"
        if entry.file.resume(before):
            self.report("resumed", path, entry.file.offset)
            return entry, "left"
        entry.file.generation = before.generation + 1
        if before.path == path:
            self.report("truncated", path, before.offset)
        return entry, "rewritten"

    def recover(self, covers: Callable[[str], object]) -> set[str]:
        """At the start: find the files that were renamed meanwhile, by their inodes, and read on in them.

        Returns the paths of all files that were followed before, as far as `covers` has them.
        """
        before = list(self._known.values())
        paths = {last.path for last in before if covers(last.path)}
        for last in sorted(before, key=lambda last: last.modified_ns):
            if last.path in paths and not _leads_to(last.path, key_of(last)):
                self.find_again(last, before)
        return paths

    def find_again(self, last: Checkpoint, before: Sequence[Checkpoint] = ()) -> Followed | None:
        """Read on in a file of an earlier run, under the name that it has now; `before` are all that were followed."""
        if key_of(last) not in self._known:
            return None
        sibling = self._sibling(last.real_path, key_of(last))
        if sibling is None or not is_as_left(sibling.path, last):
            self._lost.add(key_of(last))
            return None
        # The inode of a file of which nothing was read is no proof: what has it now may be a copy of another.
        copy = last.offset == 0 and any(begins_with(sibling.path, other) for other in before)
        unread = last.held is not None or sibling.size > last.offset + last.shown
        if copy or not (unread or self._is_recent(sibling)):
            return None
        return self._adopt_sibling(last, sibling, None)

    def last_at(self, path: str) -> tuple[Checkpoint | None, Followed | None]:
        """The file that `path` led to last as far as is known, and that file if it is followed."""
        read = [c for c in self._known.values() if c.path == path]
        read += [e.file.checkpoint(self.now.wall, held=False) for e in self if e.file.path == path]
        last = max(read, key=lambda c: c.modified_ns, default=None)
        return last, self._followed.get(key_of(last)) if last else None

    def awaited(self, path: str, since: float) -> Checkpoint:
        """Stands for the file that a path leads to while there has been none yet: nothing was read `since` then."""
        return Checkpoint(
            device=0,
            inode=0,
            file_id="",
            generation=0,
            path=path,
            real_path=os.path.realpath(path),
            offset=0,
            head=NOTHING,
            tail=NOTHING,
            modified_ns=int((since - CLOCK_STEP) * 1e9),
            seen=since,
        )

    def is_lost(self, last: Checkpoint) -> bool:
        """Whether a file of an earlier run was not to be found at the start."""
        return key_of(last) in self._lost

    def take_missed(
        self, last: Checkpoint, previous: Followed | None, older: dict[FileKey, int], *, gone: bool, live: bool
    ) -> Followed | None:
        """Follow what rotation hid after the file read `last`: see `rotation.missed`.

        Returns the newest file before the one that is at the path now, each waiting for the one before it.
        """
        newest = previous
        lost = [c for key, c in self._known.items() if key in self._lost and c.path == last.path]
        rotated = self.folders.rotated_from(last.real_path)
        for found in missed(last, rotated, gone=gone, live=live, known=lambda s: self._is_known(s, older)):
            # Of several files that are gone, which was the last one is not always to be told.
            original = last if found.copy else next((c for c in lost if begins_with(found.sibling.path, c)), None)
            entry = self._adopt_sibling(last, found.sibling, original)
            if entry:
                entry.after, newest = newest, entry
        return newest

    def _adopt_sibling(self, last: Checkpoint, sibling: Sibling, original: Checkpoint | None) -> Followed | None:
        file = GrowingFile(last.path, sibling.path, sibling.key, self._events)
        file.real_path = last.real_path
        try:
            entry = self._take_in(file)
        except OSError:
            return None
        entry.rotated = self.now.monotonic
        before = self._known.pop(sibling.key, None)
        before = original or before
        if not (before and file.resume(before)):
            file.generation = before.generation + 1 if before else 0
            file.modified_ns = last.modified_ns  # its own may be that of a late write
        self.report("rotated", last.path, file.offset)
        file.notice(file.status(), at_home=False)
        return entry

    def _take_in(self, file: GrowingFile) -> Followed:
        entry = Followed(file, grown=self.now.monotonic)
        self.use(entry)
        self._followed[file.key] = entry
        return entry

    def _is_known(self, sibling: Sibling, older: dict[FileKey, int]) -> bool:
        if sibling.key in self._followed or older.get(sibling.key) == sibling.modified_ns:
            return True
        last = self._known.get(sibling.key)
        if last is None or last.held is not None:
            return False
        return sibling.size <= last.offset + last.shown and begins_with(sibling.path, last)

    def _sibling(self, path: str, key: FileKey) -> Sibling | None:
        """The file with this key in the folder of `path`, under the name that it has now."""
        found = next((s for s in self.folders.beside(path) if s.key == key), None)
        if found is not None and not _leads_to(found.path, key):  # renamed since the folder was listed
            self.folders.look_afresh()
            found = next((s for s in self.folders.beside(path) if s.key == key), None)
        return found

    def _is_recent(self, sibling: Sibling) -> bool:
        return self.now.wall - sibling.modified_ns / 1e9 < self._limits.rotate_wait

    def _renumbered(self, path: str, key: FileKey) -> Checkpoint | None:
        """The file under another device number: those are given anew at every boot."""
        for old, last in self._known.items():
            if last.path == path and old.inode == key.inode and begins_with(path, last):
                self._departed.append(replace(self._known.pop(old), forget=True))
                return last
        return None

    # Descriptors

    def use(self, entry: Followed) -> None:
        """Have the file open, wherever it lies by now.  OSError when it is not to be had."""
        try:
            self._open.use(entry.file)
        except FileNotFoundError:
            self.folders.look_afresh()
            sibling = self._sibling(entry.file.real_path, entry.file.key)
            if sibling is None:
                raise
            entry.file.where = sibling.path
            self._open.use(entry.file)

    def close(self, entry: Followed) -> None:
        """Close it; the next `use` opens it again."""
        self._open.close(entry.file)

    def _may_close(self, file: GrowingFile) -> bool:
        entry = self._followed[file.key]
        return bool(entry.names) and entry.rotated is None and not (file.held or entry.originals)

    # Going

    def release(self, entry: Followed) -> None:
        """Follow it no longer; its checkpoint is kept."""
        if self._followed.pop(entry.file.key, None) is None:
            return
        self._open.close(entry.file)
        last = entry.file.checkpoint(self.now.wall)
        self._known[entry.file.key] = last
        self._departed.append(last)
        self.report("released", entry.file.path, entry.file.offset)

    def tidy(self) -> None:
        """Once an hour: renew what exists, and forget the checkpoints of files that have not for `Limits.forget`."""
        if self._tidied is None:
            self._tidied = self.now.monotonic
        if self.now.monotonic - self._tidied < TIDY_SECONDS:
            return
        self._tidied = self.now.monotonic
        for entry in self:
            entry.stored = 0
        for key, last in list(self._known.items()):
            if self.now.wall - last.seen > self._limits.forget:
                if self._sibling(last.real_path, key):
                    self._known[key] = renewed = replace(last, seen=self.now.wall)
                    self._departed.append(renewed)
                else:
                    self._departed.append(replace(self._known.pop(key), forget=True))

    # State

    def positions(self) -> list[Checkpoint]:
        """See `Follower.positions`."""
        changed = [(e, e.file.version) for e in self if e.stored != e.file.version and not e.originals]
        self._offered = (len(self._departed), changed)
        return [*self._departed, *(entry.file.checkpoint(self.now.wall) for entry, _ in changed)]

    def stored(self) -> None:
        """See `Follower.stored`."""
        departed, changed = self._offered
        del self._departed[:departed]
        for entry, version in changed:
            entry.stored = version
        self._offered = (0, [])

    def rotated_from(self, path: str) -> dict[FileKey, int]:
        """The rotated files beside `path`, with their times."""
        return {s.key: s.modified_ns for s in self.folders.rotated_from(path)}

    def trouble(self, path: str, before: str, error: OSError | None) -> str:
        """Report trouble when it begins, changes or ends; `before` is what held until now, and returned what does."""
        detail = (error.strerror or str(error)) if error else ""
        if detail and detail != before:
            self.report("unreadable", path, detail=detail)
        elif before and not detail:
            self.report("readable", path)
        return detail

    def report(self, kind: EventKind, path: str, offset: int = 0, detail: str = "") -> None:
        """Tell of an event."""
        self._events(SourceEvent(kind, path, offset, detail))
