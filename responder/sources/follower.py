"""Following files: each poll looks at the paths, sorts out what rotation did to them and reads what is new."""

import errno
import os
import stat
from collections.abc import Sequence, Set
from typing import Protocol

from responder.sources.block import Block
from responder.sources.clock import Clock, Waker
from responder.sources.discovery import STDIN, Discovery, is_compressed
from responder.sources.events import SourceEvents, ignore_events
from responder.sources.files import Files, Found, Moment, key_of
from responder.sources.followed import FileStatus, Followed, Slot
from responder.sources.growing_file import RewrittenError
from responder.sources.identity import MARKER_SIZE, FileKey
from responder.sources.pipe import Pipe
from responder.sources.rotation import bases_of, begins_with
from responder.sources.schedule import HOT_SECONDS, Limits, Rounds
from responder.store.checkpoints import Checkpoint, Saved

POLL_SECONDS = 0.1
"""How long the loop waits between two polls unless woken."""


MISSING = "missing"


class Watcher(Protocol):
    """Whatever wakes the loop when a name appears in a folder or leaves it."""

    def watch(self, folders: Set[str]) -> None:
        """Watch these folders and no others."""
        ...

    def close(self) -> None:
        """Watch nothing any more."""
        ...


class Follower:
    """Follows paths and globs, standard input (`-`) among them.

    The caller's loop: `poll`, use the blocks, store `positions` in its own transaction and, when that succeeded, say
    `stored`; then wait on the waker for POLL_SECONDS.  Where storing fails, the same positions are offered again.
    """

    def __init__(
        self,
        targets: Sequence[str],
        saved: Saved,
        clock: Clock,
        waker: Waker,
        *,
        from_start: bool = False,
        events: SourceEvents = ignore_events,
        watcher: Watcher | None = None,
        limits: Limits | None = None,
    ) -> None:
        """`from_start` decides only over files that are there at the first poll and under no target of `saved`: whole,
        or from their end.  Whatever appears later is read whole."""
        self.targets = tuple(dict.fromkeys(targets))
        self._saved_targets = saved.targets
        self._from_start = from_start
        self._limits = limits or Limits()
        self._clock, self._waker, self._events, self._watcher = clock, waker, events, watcher
        self._discovery = Discovery([t for t in self.targets if t != STDIN])
        self._files = Files(saved, self._limits, events)
        self._slots: dict[str, Slot] = {}
        self._stdin = Pipe.stdin(events, clock.wall()) if STDIN in self.targets else None
        self._rounds = Rounds()
        self._turn = 0
        self._started = False

    # What the caller uses

    def poll(self) -> list[Block]:
        """One wake-up's work: what is new, in order per file.

        Reads about `Limits.budget` bytes; when that leaves something, the waker is woken for the next poll to follow.
        """
        self._files.now = Moment(self._clock.monotonic(), self._clock.wall())
        self._turn += 1
        if not self._started:
            for path in self._files.recover(self._discovery.target_of):
                self._add_slot(path, self._discovery.target_of(path) or path)
        # Folders are listed after all paths were looked at: no rotation can hide between the two.
        looks = [(slot, _status(slot)) for slot in self._due()]
        self._files.folders.look_afresh()
        for slot, info in looks:
            self._visit(slot, info)
        self._started = True
        self._look_at_rotated()
        self._judge_copies()
        blocks = self._read()
        blocks += self._let_go()
        self._files.tidy()
        if self._watcher:
            self._watcher.watch(self._discovery.folders())
        if self.behind:
            self._waker.wake()
        return blocks

    @property
    def behind(self) -> bool:
        """Whether the last poll left something that could be read at once."""
        return any(e.file.behind for e in self._files) or any(p.behind for p in self._pipes())

    def positions(self) -> list[Checkpoint]:
        """The checkpoints that changed since `stored` was said."""
        return self._files.positions()

    def stored(self) -> None:
        """What `positions` returned last is in the database."""
        self._files.stored()

    def hold(self, file_id: str, offset: int | None) -> None:
        """Keep the stored checkpoint of a file from passing `offset`, the start of a line that is still needed.

        After a restart everything from there comes again, under the same ids.  None lets it go.
        """
        for entry in self._files:
            if entry.file.file_id == file_id:
                entry.file.hold(offset)

    def status(self) -> list[FileStatus]:
        """Every file that is followed now."""
        now = self._files.now.monotonic
        return [FileStatus(e.file.path, e.file.file_id, e.file.size, e.file.offset, now - e.grown) for e in self._files]

    @property
    def finished(self) -> bool:
        """Nothing can come any more: only standard input was followed, and it ended."""
        return self._stdin is not None and self._stdin.ended and self.targets == (STDIN,)

    def close(self) -> None:
        """Close every file."""
        for entry in self._files:
            self._files.close(entry)
        for pipe in self._pipes():
            pipe.close()
        if self._watcher:
            self._watcher.close()

    # Paths

    def _due(self) -> list[Slot]:
        """The paths to look at now: in the first poll all, `log` before `log.1`, and what was read before first."""
        found = dict(self._discovery.paths(self._files.now.monotonic))
        for path, target in found.items():
            if path not in self._slots:
                self._add_slot(path, target)
        if not self._started:
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
            slot.trouble = self._trouble(slot.path, slot.trouble, error)
        else:
            slot.trouble = self._trouble(slot.path, slot.trouble, None)
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
        if slot.current:
            self._leave(slot, slot.current)
            return
        if slot.pipe:
            slot.pipe.close()
            slot.pipe = None
        if slot.last is None and slot.path == slot.target:
            slot.last = self._files.awaited(slot.path, self._files.now.wall)
            slot.older = self._rotated_from(slot.last.real_path)
        if slot.last and not slot.previous and not slot.trouble:
            slot.trouble = MISSING
            self._files.report("missing", slot.path)
        if slot.last and slot.folder.changed():
            self._take_missed(slot, slot.last, gone=False)

    def _take_missed(self, slot: Slot, last: Checkpoint, *, gone: bool) -> Followed | None:
        """Follow what came and went at the path since it led to the file that was read last."""
        gone = gone or self._files.is_lost(last)
        newest = self._files.take_missed(last, slot.previous, slot.older, gone=gone, live=False)
        if newest and newest is not slot.previous:
            slot.last, slot.previous = newest.file.checkpoint(self._files.now.wall), newest
        return newest

    def _trouble(self, path: str, before: str, error: OSError | None) -> str:
        """Report trouble when it begins, changes or ends; returns what holds now."""
        detail = (error.strerror or str(error)) if error else ""
        if detail and detail != before:
            self._files.report("unreadable", path, detail=detail)
        elif not detail and before not in ("", MISSING):
            self._files.report("readable", path)
        return detail

    def _lead_to(self, slot: Slot, key: FileKey, info: os.stat_result) -> None:
        """The path leads to another file than before, or to one for the first time; OSError if it cannot be opened."""
        if slot.current:
            self._leave(slot, slot.current)
        entry = self._files.get(key)
        found: Found | None = None
        if entry is None:
            entry, found = self._adopt(slot, key, info)
        same = slot.last is not None and key_of(slot.last) == key
        # Rewritten under the same inode while nobody looked: a copy may still hold what was not read.
        if slot.last and (not same or found == "rewritten"):
            entry.after = self._take_missed(slot, slot.last, gone=same)
        if found in ("new", "rewritten") or (slot.last and not same):
            slot.older = self._rotated_from(entry.file.real_path)
        slot.current, slot.last, slot.previous = entry, None, None
        entry.names += 1
        if entry.file.path == slot.path:
            entry.rotated = None
            entry.file.where = slot.path

    def _rotated_from(self, path: str) -> dict[FileKey, int]:
        return {s.key: s.modified_ns for s in self._files.folders.rotated_from(path)}

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
        if not (self._started or self._from_start or slot.target in self._saved_targets):
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
        elif self._started or slot.target in self._saved_targets:
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

    def _judge_copies(self) -> None:
        """Let go of files that are no copies after all, and of copies whose original was never truncated."""
        for entry in self._files:
            if entry.originals:
                waited = self._files.now.monotonic - entry.grown >= self._limits.rotate_wait
                verdicts = [entry.file.resembles(original.file) for original in entry.originals]
                if waited or not any(verdict is not False for verdict in verdicts):
                    entry.originals = []
                    if True in verdicts:
                        entry.file.begin_at_end(entry.file.status().st_size)

    # Reading

    def _pipes(self) -> list[Pipe]:
        pipes = [slot.pipe for slot in self._slots.values() if slot.pipe]
        return [*pipes, self._stdin] if self._stdin and not self._stdin.ended else pipes

    def _look_at_rotated(self) -> None:
        """Files without a path are asked themselves."""
        for entry in self._files:
            if not entry.names:
                try:
                    self._files.use(entry)
                    entry.file.notice(entry.file.status(), at_home=False)
                except OSError as error:
                    self._failed(entry, error)

    def _read(self) -> list[Block]:
        """What is new in all files, the longest unserved first, as far as the budget goes."""
        blocks: list[Block] = []
        pipes = self._pipes()
        wanting = [e for e in self._files if e.file.behind and not e.originals]
        share = self._limits.share(len(wanting) + len(pipes))
        for pipe in pipes:
            blocks += pipe.read(share, self._files.now.wall)
        left = self._limits.budget
        for entry in sorted(wanting, key=lambda e: (e.turn, e.file.changed_ns)):
            for each in self._in_order(entry):
                if left > 0 and each.file.behind:
                    blocks += self._read_one(each, share)
                    left -= each.file.taken
                if each.file.behind:
                    break  # the files after it wait for the rest
        return blocks

    def _in_order(self, entry: Followed) -> list[Followed]:
        """A file and those before it at its path that have something left, the first to be read first."""
        chain = [entry]
        while (before := chain[-1].after) and before.file.behind:
            chain.append(before)
        chain[-1].after = None
        return chain[::-1]

    def _read_one(self, entry: Followed, share: int) -> list[Block]:
        entry.turn = self._turn
        size = entry.file.size
        blocks: list[Block] = []
        try:
            self._files.use(entry)
            if self._hides_others(entry):
                return []
            blocks = entry.file.read(share, self._files.now.wall)
        except RewrittenError:
            blocks = self._start_over(entry)
        except OSError as error:
            self._failed(entry, error)
            return []
        entry.trouble = self._trouble(entry.file.path, entry.trouble, None)
        if entry.file.size != size:
            entry.grown = self._files.now.monotonic
        return blocks

    def _hides_others(self, entry: Followed) -> bool:
        """Whether a file of which nothing has been read yet was filled, copied and emptied since the last look.

        Nothing in it would tell.  What is found beside it comes first.
        """
        unread = not (entry.file.begun or entry.found == self._turn or entry.rotated)
        if unread:
            self._follow_missed(entry, gone=False)
        return unread and entry.after is not None and entry.after.file.behind

    def _start_over(self, entry: Followed) -> list[Block]:
        """The file was truncated or rewritten.  What was not read of its old life may be found in a copy."""
        last = entry.file.checkpoint(self._files.now.wall, held=False)
        entry.grown = self._files.now.monotonic
        self._files.report("truncated", entry.file.path, last.offset)
        for copy in [e for e in self._files if entry in e.originals]:
            if copy.file.resume(last):
                copy.originals, entry.after, copy.file.behind = [], copy, True
            elif copy.file.resembles(entry.file):
                copy.originals = []
                copy.file.begin_at_end(copy.file.status().st_size)
            else:
                copy.originals.remove(entry)
        self._follow_missed(entry, gone=True)
        copied = any(e is not entry and last.file_id and e.file.file_id == last.file_id for e in self._files)
        return entry.file.start_over(self._files.now.wall, last_words=not copied)

    def _follow_missed(self, entry: Followed, *, gone: bool) -> None:
        """Follow the rotated files, before this one at its path, that nobody has seen yet."""
        slot = self._slots.get(entry.file.path)
        current = slot if slot and slot.current is entry else None
        last = entry.file.checkpoint(self._files.now.wall, held=False)
        older = current.older if current else {}
        entry.after = self._files.take_missed(last, entry.after, older, gone=gone, live=True)
        if current:
            current.older = self._rotated_from(entry.file.real_path)

    def _failed(self, entry: Followed, error: OSError) -> None:
        """A file could not be read; what to do about it is seen at the next poll."""
        entry.file.overlook()
        if error.errno == errno.ESTALE:
            self._files.report("stale", entry.file.path, entry.file.offset)
            self._files.close(entry)
        elif isinstance(error, FileNotFoundError) and not entry.names:
            self._files.release(entry)
        else:
            entry.trouble = self._trouble(entry.file.path, entry.trouble, error)

    def _let_go(self) -> list[Block]:
        """Hand on the last words of rotated files that fell silent, and close those that stayed so."""
        blocks: list[Block] = []
        rotated = [(self._quiet(e), e) for e in self._files if e.rotated is not None and e.file.is_open]
        unnamed = sorted((pair for pair in rotated if not pair[1].names), key=lambda pair: pair[0])
        too_many = unnamed[self._limits.leaving :]
        for quiet, entry in rotated:
            surplus = (quiet, entry) in too_many
            if surplus or quiet >= self._limits.last_words:
                blocks += entry.file.last_words(self._files.now.wall)
            over = surplus or quiet >= self._limits.rotate_wait
            if over and not (entry.names or entry.file.held or entry.file.behind):
                self._files.release(entry)
        return blocks

    def _quiet(self, entry: Followed) -> float:
        return self._files.now.monotonic - max(entry.rotated or 0.0, entry.grown)


def _status(slot: Slot) -> os.stat_result | OSError:
    try:
        return slot.location.stat()
    except OSError as error:
        return error
