"""What each followed path leads to: sorting out renames, replacements and everything else rotation does to names."""

import errno
import os
import stat
from collections.abc import Mapping

from responder.sources.discovery import Discovery, is_compressed
from responder.sources.events import SourceEvents
from responder.sources.files import Files, Found, key_of
from responder.sources.followed import Followed, Slot
from responder.sources.identity import MARKER_SIZE, FileKey
from responder.sources.pipe import Pipe
from responder.sources.rotation import bases_of, begins_with
from responder.sources.schedule import HOT_SECONDS, Rounds
from responder.store.checkpoints import Checkpoint


class Paths:
    """The followed paths.  Looking at them finds the files."""

    def __init__(
        self,
        discovery: Discovery,
        files: Files,
        events: SourceEvents,
        *,
        from_start: bool,
        saved_targets: Mapping[str, float],
    ) -> None:
        """`saved_targets`: what an earlier run followed, and since when; files under those are read whole."""
        self._discovery = discovery
        self._files = files
        self._events = events
        self._from_start = from_start
        self._saved_targets = saved_targets
        self._slots: dict[str, Slot] = {}
        self._rounds = Rounds()
        self._turn = 0

    def look(self, turn: int) -> None:
        """See what the paths lead to now: in the first turn all of them, later those that are due."""
        self._turn = turn
        if self._first:
            for path in self._files.recover(self._discovery.target_of):
                self._add_slot(path, self._discovery.target_of(path) or path)
        # Folders are listed after all paths were looked at: no rotation can hide between the two.
        looks = [(slot, _status(slot)) for slot in self._due()]
        self._files.folders.look_afresh()
        for slot, info in looks:
            self._visit(slot, info)

    def slot_of(self, entry: Followed) -> Slot | None:
        """The path that leads to this file, if it is still the file's own."""
        slot = self._slots.get(entry.file.path)
        return slot if slot and slot.current is entry else None

    def unreadable(self) -> list[str]:
        """Those that lead to what cannot be read."""
        return [slot.path for slot in self._slots.values() if slot.trouble]

    def pipes(self) -> list[Pipe]:
        """The FIFOs among them."""
        return [slot.pipe for slot in self._slots.values() if slot.pipe]

    @property
    def _first(self) -> bool:
        return self._turn == 1

    def _due(self) -> list[Slot]:
        """The paths to look at now: in the first poll all, `log` before `log.1`, and what was read before first."""
        found = self._discovery.paths(self._files.now.monotonic)
        for path, target in found.items():
            if path not in self._slots:
                self._add_slot(path, target)
        if self._first:
            return sorted(self._slots.values(), key=lambda slot: (slot.last is None, len(slot.path)))
        for path in [path for path, slot in self._slots.items() if path not in found and self._is_over(slot)]:
            del self._slots[path]
        hot: list[str] = []
        quiet: list[str] = []
        recent = self._files.now.monotonic - HOT_SECONDS
        for path, slot in self._slots.items():
            (hot if slot.current and slot.current.grown > recent else quiet).append(path)
        return [self._slots[path] for path in self._rounds.due(quiet, hot)]

    def _add_slot(self, path: str, target: str) -> None:
        last, previous = self._files.last_at(path)
        if not last and target == path and target in self._saved_targets:
            last = self._files.awaited(path, self._saved_targets[target])
        self._slots[path] = Slot(path, target, last=last, previous=previous)

    def _is_over(self, slot: Slot) -> bool:
        """Whether nothing more is to be expected of a path that a glob found once."""
        waiting = slot.previous and self._files.get(slot.previous.file.key) is slot.previous
        return not (slot.current or slot.pipe or waiting)

    def _visit(self, slot: Slot, info: os.stat_result | OSError) -> None:
        """Take in what the path leads to now."""
        try:
            if isinstance(info, OSError):
                raise info
            key = FileKey.of(info)
            if stat.S_ISFIFO(info.st_mode):
                self._visit_fifo(slot, key)
            elif slot.current is None or slot.current.file.key != key:
                self._lead_to(slot, key, info)
        except (FileNotFoundError, NotADirectoryError):
            self._vanished(slot)
        except OSError as error:
            slot.trouble = self._files.trouble(slot.path, slot.trouble, error)
        else:
            slot.trouble = self._files.trouble(slot.path, slot.trouble, None)
            if slot.current and not slot.current.originals:
                slot.current.file.notice(info, at_home=slot.current.file.path == slot.path)

    def _visit_fifo(self, slot: Slot, key: FileKey) -> None:
        if slot.pipe and slot.pipe.key != key:
            slot.pipe.close()
            slot.pipe = None
        if slot.pipe is None:
            slot.pipe = Pipe.fifo(slot.path, self._events, self._files.now.wall)
            self._files.report("opened", slot.path)

    def _vanished(self, slot: Slot) -> None:
        slot.trouble = ""
        if slot.current:
            self._leave(slot, slot.current)
            return
        if slot.pipe:
            slot.pipe.close()
            slot.pipe = None
        if slot.last is None and slot.path == slot.target:
            slot.last = self._files.awaited(slot.path, self._files.now.wall)
            slot.older = self._files.rotated_from(slot.last.real_path)
        if slot.last and not (slot.previous or slot.missing):
            slot.missing = True
            self._files.report("missing", slot.path)
        if slot.last and slot.folder.changed():
            self._take_missed(slot, slot.last, gone=False)

    def _take_missed(self, slot: Slot, last: Checkpoint, *, gone: bool) -> Followed | None:
        """Follow what came and went at the path since it led to the file that was read last."""
        # A file of an earlier run may have been renamed after those were looked for.
        slot.previous = slot.previous or self._files.find_again(last)
        gone = gone or self._files.is_lost(last)
        newest = self._files.take_missed(last, slot.previous, slot.older, gone=gone, live=False)
        if newest and newest is not slot.previous:
            slot.last, slot.previous = newest.file.checkpoint(self._files.now.wall), newest
        return newest

    def _lead_to(self, slot: Slot, key: FileKey, info: os.stat_result) -> None:
        """The path leads to another file than before, or to one for the first time; OSError if it cannot be opened."""
        if slot.current:
            self._leave(slot, slot.current)
        entry = self._files.get(key)
        found: Found | None = None
        if entry is None:
            entry, found = self._adopt(slot, key, info)
        older = self._files.rotated_from(entry.file.real_path)  # what is copied from now on is none of them
        same = slot.last is not None and key_of(slot.last) == key
        # Rewritten under the same inode while nobody looked: a copy may still hold what was not read.
        if slot.last and (not same or found == "rewritten"):
            entry.after = self._take_missed(slot, slot.last, gone=same)
        if found in ("new", "rewritten") or (slot.last and not same):
            slot.older = older
        slot.current, slot.last, slot.previous = entry, None, None
        entry.names += 1
        if entry.file.path == slot.path:
            entry.rotated = None
            entry.file.where = slot.path

    def _leave(self, slot: Slot, entry: Followed) -> None:
        """The path does not lead to this file any more, but it may still be written to."""
        entry.names -= 1
        slot.current = None
        own = entry.file.path == slot.path  # else rotation brought it here, and takes it on
        if own:
            slot.last, slot.previous = entry.file.checkpoint(self._files.now.wall, held=False), entry
        if entry.rotated is None and (own or not entry.names):
            entry.rotated = self._files.now.monotonic
            self._files.report("rotated", slot.path, entry.file.offset)

    # Where to begin

    def _adopt(self, slot: Slot, key: FileKey, info: os.stat_result) -> tuple[Followed, Found]:
        """Begin to follow the file at a path; OSError when it cannot be opened."""
        if is_compressed(slot.path):
            raise OSError(errno.EINVAL, "compressed: a finished log, for `responder replay`")
        if self._first and not (self._from_start or slot.target in self._saved_targets):
            slot.passed_over = (key, info.st_size)
        entry, found = self._files.adopt(slot.path, key)
        if found != "left":
            entry.file.modified_ns = info.st_mtime_ns
        if found != "new":
            # Nothing tells an inode that was reused from a file of which nothing had been read.
            entry.originals = [] if entry.file.begun else self._originals(slot)
            return entry, found
        entry.found = self._turn
        if slot.passed_over and slot.passed_over[0] == key:
            entry.file.begin_at_end(min(info.st_size, slot.passed_over[1]))
        elif slot.last and self._took_its_place(slot.last, slot):
            entry.file.skip_what_was_read(slot.last)
        elif not self._first or slot.target in self._saved_targets:
            entry.originals = self._originals(slot)
        self._files.report("opened", slot.path, entry.file.offset)
        return entry, found

    def _took_its_place(self, last: Checkpoint, slot: Slot) -> bool:
        """Whether the file replaced one that is gone and holds all that was read of it: a copy moved over it."""
        if slot.previous:
            gone = slot.previous.file.is_open and slot.previous.file.status().st_nlink == 0
        else:
            gone = self._files.is_lost(last)
        return gone and last.offset >= MARKER_SIZE and begins_with(slot.path, last)

    def _originals(self, slot: Slot) -> list[Followed]:
        """The followed files of which a new one, going by its name, may be the copy that precedes truncation."""
        paths = {str(slot.location.with_name(base)) for base in bases_of(slot.location.name)}
        return [e for e in self._files if e.file.path in paths and e.file.path != slot.path]


def _status(slot: Slot) -> os.stat_result | OSError:
    try:
        return os.stat(slot.path)  # noqa: PTH116 (asked of every path at every poll, and a third faster)
    except OSError as error:
        return error
