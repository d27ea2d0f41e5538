"""Following files: each poll looks at the paths and reads what is new, within its budget and in order."""

import errno
from collections.abc import Callable, Sequence, Set
from functools import partial
from typing import Protocol

from responder.sources.block import Block
from responder.sources.clock import Clock, Waker
from responder.sources.discovery import STDIN, Discovery
from responder.sources.events import SourceEvents, ignore_events
from responder.sources.files import Files, Moment
from responder.sources.followed import FileStatus, Followed
from responder.sources.growing_file import RewrittenError
from responder.sources.paths import Paths
from responder.sources.pipe import Pipe
from responder.sources.schedule import Limits
from responder.store.checkpoints import Checkpoint, Saved

POLL_SECONDS = 0.1
"""How long the loop waits between two polls unless woken."""


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
        self._limits = limits or Limits()
        self._clock, self._waker, self._watcher = clock, waker, watcher
        self._discovery = Discovery([t for t in self.targets if t != STDIN])
        self._files = Files(saved, self._limits, events)
        self._paths = Paths(self._discovery, self._files, events, from_start=from_start, saved_targets=saved.targets)
        self._stdin = Pipe.stdin(events, clock.wall()) if STDIN in self.targets else None
        self._turn = 0

    # What the caller uses

    def poll(self) -> list[Block]:
        """One wake-up's work: what is new, in order per file.

        Reads about `Limits.budget` bytes; when that leaves something, the waker is woken for the next poll to follow.
        """
        self._files.now = Moment(self._clock.monotonic(), self._clock.wall())
        self._turn += 1
        self._paths.look(self._turn)
        for entry in self._files:
            if not entry.names:
                self._attempt(entry, self._look_at)
            if entry.originals:
                self._attempt(entry, self._judge_copy)
        blocks = self._read()
        blocks += self._let_go()
        self._files.tidy()
        if self._watcher and self._discovery.changed:
            self._watcher.watch(self._discovery.folders())
        if self.behind:
            self._waker.wake()
        return blocks

    @property
    def behind(self) -> bool:
        """Whether the last poll left something that could be read at once."""
        return any(e.file.behind for e in self._files) or any(p.behind for p in self._pipes())

    def last_words(self, path: str) -> list[Block]:
        """The unfinished line at the end of the log at `path`, once: who calls this has waited long enough for more.

        Should its end come all the same, the whole line follows under the same id and offset.
        """
        waiting = [e for e in self._files if e.file.path == path and e.file.has_last_words]
        return [block for entry in waiting for block in self._attempt(entry, self._last_words)]

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

    def unreadable(self) -> list[str]:
        """The logs that are there and cannot be read at the moment."""
        return sorted({*self._paths.unreadable(), *(e.file.path for e in self._files if e.trouble)})

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

    # Reading

    def _pipes(self) -> list[Pipe]:
        pipes = self._paths.pipes()
        return [*pipes, self._stdin] if self._stdin and not self._stdin.ended else pipes

    def _look_at(self, entry: Followed) -> list[Block]:
        """A file that no path leads to is asked itself."""
        entry.file.notice(entry.file.status(), at_home=False)
        return []

    def _judge_copy(self, entry: Followed) -> list[Block]:
        """Let go of a file that is no copy after all, or a copy whose original was never truncated."""
        waited = self._files.now.monotonic - entry.grown >= self._limits.rotate_wait
        verdicts = [entry.file.resembles(original.file) for original in entry.originals]
        if waited or not any(verdict is not False for verdict in verdicts):
            entry.originals = []
            if True in verdicts:
                entry.file.begin_at_end(entry.file.status().st_size)
        return []

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
        blocks = self._attempt(entry, partial(self._take, share=share))
        if entry.file.size != size:
            entry.grown = self._files.now.monotonic
        return blocks

    def _take(self, entry: Followed, share: int) -> list[Block]:
        if self._hides_others(entry):
            return []
        try:
            return entry.file.read(share, self._files.now.wall)
        except RewrittenError:
            return self._start_over(entry)

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
        # The folder may have been listed for another file, before this one was copied and truncated.
        self._files.folders.look_afresh()
        slot = self._paths.slot_of(entry)
        last = entry.file.checkpoint(self._files.now.wall, held=False)
        older = slot.older if slot else {}
        seen = self._files.rotated_from(entry.file.real_path)  # what is copied from now on is none of them
        entry.after = self._files.take_missed(last, entry.after, older, gone=gone, live=True)
        if slot:
            slot.older = seen

    def _attempt(self, entry: Followed, action: Callable[[Followed], list[Block]]) -> list[Block]:
        """Do something with an open file.  What fails is reported once, and tried again at the next poll."""
        try:
            self._files.use(entry)
            blocks = action(entry)
        except OSError as error:
            entry.file.overlook()
            if error.errno == errno.ESTALE:
                self._files.report("stale", entry.file.path, entry.file.offset)
                self._files.close(entry)
            elif isinstance(error, FileNotFoundError) and not entry.names:
                self._files.release(entry)
            else:
                entry.trouble = self._files.trouble(entry.file.path, entry.trouble, error)
            return []
        entry.trouble = self._files.trouble(entry.file.path, entry.trouble, None)
        return blocks

    def _let_go(self) -> list[Block]:
        """Hand on the last words of rotated files that fell silent, and close those that stayed so."""
        blocks: list[Block] = []
        rotated = [e for e in self._files if e.rotated is not None]
        surplus = sorted((e for e in rotated if not e.names), key=self._quiet)[self._limits.leaving :]
        for entry in rotated:
            too_many = entry in surplus
            if entry.file.has_last_words and (too_many or self._quiet(entry) >= self._limits.last_words):
                blocks += self._attempt(entry, self._last_words)
            over = too_many or self._quiet(entry) >= self._limits.rotate_wait
            if over and not (entry.names or entry.file.held or entry.file.behind):
                self._files.release(entry)
        return blocks

    def _last_words(self, entry: Followed) -> list[Block]:
        return entry.file.last_words(self._files.now.wall)

    def _quiet(self, entry: Followed) -> float:
        """Seconds since a rotated file was rotated, or grew."""
        return self._files.now.monotonic - max(entry.rotated or 0.0, entry.grown)
