"""Random histories of a log against a model of what must come out.

The model knows every line that was written and which of them nobody could have read.  Of every history must hold:

- each line comes out at least once, except those that were deleted before anyone could look;
- nothing comes out that was not written as one line: none cut, none glued; what is marked unfinished is the beginning
  of something that was written;
- a pair of file id and offset names one line for good, and a line has one such pair, restarts and kills included;
- from a line that was still needed when the follower ended, everything comes again.
"""

import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from responder.sources.events import SourceEvent
from tests.sources.following import InProcess, append, lines_of


class Walk:
    """One history: a log, the process that writes it, and the follower, which comes and goes."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.random = random.Random(seed)
        self.log = folder / "log"
        self.tail = InProcess(folder)
        self.target = folder / "log*" if self.random.random() < 0.3 else self.log
        self.position: int | None = 0 if self.random.random() < 0.2 else None
        """Where a writer that does not append writes next: it does not notice a truncation."""
        self.up = False
        self.count = 0
        self.pending = ""
        self.written: list[str] = []
        self.beginnings: set[str] = set()
        self.unsafe: list[str] = []
        """Lines of the present file that were not read, or read and their places not stored."""
        self.opened = False
        """Whether the follower has the present file open."""
        self.at_risk: list[str] = []
        """Lines of a deleted file that only the follower still has."""
        self.excused: set[str] = set()
        """Lines that nobody could have saved."""
        self.rotated: Path | None = None
        """Where the writer still has the old file open."""
        self.history: list[str] = []
        self.tail.watch = self.interrupt
        self.interrupted = False

    def run(self, steps: int) -> None:
        """Some steps, then everything is read and judged."""
        actions = [
            (self.write, 8),
            (self.begin_line, 3),
            (self.poll, 6),
            (self.rotate, 3),
            (self.write_late, 2),
            (self.copytruncate, 2),
            (self.delete, 1),
            (self.restart, 2),
            (self.kill, 1),
            (self.down, 1),
            (self.wait, 1),
            (self.need_no_more, 1),
            (self.ask_for_last_words, 1),
        ]
        names: list[Callable[[], None]] = [action for action, _ in actions]
        weights = [weight for _, weight in actions]
        self.start()
        for action in self.random.choices(names, weights, k=steps):
            self.history.append(action.__name__)
            action()
        if not self.up:
            self.start()
        self.tail.pause(5.0)
        self.judge()
        self.tail.stop()

    # What the writer does

    def line(self) -> str:
        """A line like no other."""
        self.count += 1
        return f"{self.count} " + "x" * self.random.choice((0, 1, 5, 40, 300, 5000))

    def put(self, text: str) -> None:
        """Write to the log in the writer's way."""
        if self.position is None:
            append(self.log, text)
            return
        descriptor = os.open(self.log, os.O_WRONLY | os.O_CREAT, 0o644)
        self.position += os.pwrite(descriptor, text.encode(), self.position)
        os.close(descriptor)

    def write(self) -> None:
        """One to four lines."""
        for _ in range(self.random.randint(1, 4)):
            line = self.line() if not self.pending else self.pending + "-end"
            self.put(line[len(self.pending) :] + "\n")
            self.pending = ""
            self.written.append(line)
            self.unsafe.append(line)

    def begin_line(self) -> None:
        """The beginning of a line, or more of it."""
        piece = self.line() if not self.pending else "-more"
        self.put(piece)
        self.pending += piece
        self.beginnings.add(self.pending)

    def write_late(self) -> None:
        """The writer has not noticed the rotation yet."""
        if self.rotated and self.rotated.exists():
            line = f"late {self.line()}"
            append(self.rotated, line + "\n")
            self.written.append(line)

    def interrupt(self, _event: SourceEvent) -> None:
        """Now and then, where no glob takes in the rotated names, something happens in the midst of a poll."""
        if self.target != self.log or self.interrupted or self.random.random() > 0.3:
            return
        action = self.random.choice((self.write, self.begin_line, self.rotate, self.copytruncate))
        self.history.append(f"({action.__name__})")
        self.interrupted = True
        action()

    # What rotation does

    def shift(self) -> Path:
        """Make room for `log.1`."""
        numbers = sorted((int(p.suffix[1:]) for p in self.log.parent.glob("log.*")), reverse=True)
        for number in numbers:
            self.log.with_suffix(f".{number}").rename(self.log.with_suffix(f".{number + 1}"))
        self.rotated = None
        return self.log.with_suffix(".1")

    def rotate(self) -> None:
        """Rename; the new file comes with the next line."""
        if not self.log.exists():
            return
        first = self.shift()
        self.log.rename(first)
        self.rotated = None if self.pending else first
        self.gone()

    def copytruncate(self) -> None:
        """Copy, then empty."""
        if not self.log.exists():
            return
        shutil.copy(self.log, self.shift())
        os.truncate(self.log, 0)
        self.pending, self.unsafe = "", []

    def delete(self) -> None:
        """Delete: what was written to it while nobody had it open is lost to anyone."""
        if not self.log.exists():
            return
        self.log.unlink()
        if self.opened:
            self.at_risk += self.unsafe
        else:
            self.excused.update(self.unsafe)
        self.gone()

    def gone(self) -> None:
        """The present file is no more; the next line begins another."""
        self.position = None if self.position is None else 0
        self.pending, self.unsafe, self.opened = "", [], False

    # What the follower does

    def start(self) -> None:
        """Start it."""
        self.tail.start(self.target, from_start=True)
        self.up = True
        self.safe()

    def safe(self) -> None:
        """All was read, and its places are stored; unless something was written meanwhile."""
        if self.interrupted:
            self.opened = self.interrupted = False
            return
        self.opened, self.unsafe, self.at_risk = self.log.exists(), [], []

    def poll(self) -> None:
        """A poll; whether its places are stored depends."""
        if self.up:
            self.tail.clock.passed += 0.1
            before = len(self.tail.lines)
            self.tail.poll()
            fresh = [line for line in self.tail.lines[before:] if not line.partial]
            if fresh and not self.tail.holds and self.random.random() < 0.3:
                line = self.random.choice(fresh)  # a crash begins with it, so that it is still needed
                self.tail.holds = {line.file_id: line.offset}
            self.opened = self.log.exists() and not self.interrupted
            if self.random.random() < 0.7:
                self.tail.store()
                if not self.tail.waker.wait(0):  # else it asked for another poll at once
                    self.safe()

    def wait(self) -> None:
        """Seconds pass."""
        if self.up:
            self.tail.pause(3.0)
            self.safe()

    def need_no_more(self) -> None:
        """The crash is over."""
        if self.up:
            for file_id in self.tail.holds:
                assert self.tail.follower
                self.tail.follower.hold(file_id, None)
            self.tail.holds = {}

    def ask_for_last_words(self) -> None:
        """Nobody waits any longer for the end of the line; it may come all the same."""
        if self.up:
            assert self.tail.follower
            for block in self.tail.follower.last_words(str(self.log)):
                self.tail.lines += lines_of(block)

    def forget(self) -> None:
        """What a line that was still needed stood for is gone with the process; those that are on disk come again."""
        kept = {line for file in self.log.parent.iterdir() for line in file.read_bytes().split(b"\n")}
        needed = [
            line
            for line in self.tail.lines
            if line.offset >= self.tail.holds.get(line.file_id, line.offset + 1) and line.text.encode() in kept
        ]
        present = self.log.read_bytes().split(b"\n") if self.log.exists() else []
        self.unsafe += [line.text for line in needed if line.text.encode() in present]
        self.tail.lines = [line for line in self.tail.lines if line not in needed]
        self.tail.holds = {}

    def restart(self) -> None:
        """Stop and start."""
        self.down()
        self.start()

    def kill(self) -> None:
        """Killed between a poll and the storing of its places."""
        if self.up:
            self.tail.poll()
            self.tail.kill()
            self.forget()
            self.up = self.opened = False
            self.excused.update(self.at_risk)
            self.at_risk = []

    def down(self) -> None:
        """Stop, in order."""
        if self.up:
            self.tail.settle()
            self.safe()
            self.tail.stop()
            self.forget()
            self.up = self.opened = False

    # The verdict

    def judge(self) -> None:
        """See the top of this file."""
        whole = [line for line in self.tail.lines if not line.partial]
        texts = {line.text for line in whole}
        assert set(self.written) - texts - self.excused == set(), "lost"
        assert texts - set(self.written) == set(), "cut or glued"
        for line in self.tail.lines:
            if line.partial:
                assert any(w.startswith(line.text) for w in (*self.beginnings, *self.written)), "cut or glued"
        names: dict[tuple[str, int], str] = {}
        for line in whole:
            assert names.setdefault((line.file_id, line.offset), line.text) == line.text, "one name for two lines"
        assert len(names) == len(texts), "two names for one line"


def _walk(folder: Path, seed: int) -> None:
    place = folder / str(seed) / "logs"
    place.mkdir(parents=True)
    walk = Walk(place, seed)
    try:
        walk.run(steps=25)
    except Exception as error:
        walk.tail.follower = None
        raise AssertionError(f"seed {seed}: {error}; {' '.join(walk.history)}") from error
    finally:
        if walk.tail.follower:
            walk.tail.stop()
    shutil.rmtree(folder / str(seed))


@pytest.mark.parametrize("batch", range(10))
def test_no_history_loses_or_mangles_a_line(batch: int, tmp_path: Path) -> None:
    """Thirty histories each."""
    for seed in range(batch * 30, batch * 30 + 30):
        _walk(tmp_path, seed)


@pytest.mark.soak
@pytest.mark.parametrize("batch", range(50))
def test_64_random_walk_model(batch: int, tmp_path: Path) -> None:
    """A hundred histories each: 5,000."""
    for seed in range(10_000 + batch * 100, 10_000 + batch * 100 + 100):
        _walk(tmp_path, seed)
