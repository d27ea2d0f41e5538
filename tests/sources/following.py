"""Two ways to follow a log in a test: the follower itself under a clock of our own, and the `responder tail` process.

Both speak the same few words, so that one scenario is told once and holds for both.
"""

import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple, Protocol

import pytest

from responder.sources.block import Block
from responder.sources.events import SourceEvent, SourceEvents, ignore_events
from responder.sources.follower import POLL_SECONDS, Follower
from responder.sources.schedule import Limits
from responder.store.checkpoints import load, remember_targets, save
from responder.store.database import Database, open_database

DEADLINE = 20.0
"""Seconds after which a line is taken not to come."""


class Line(NamedTuple):
    """A line as it came out."""

    text: str
    partial: bool = False
    path: str = ""
    offset: int = -1
    truncated: bool = False
    file_id: str = ""


class FakeClock:
    """Time that passes when the test says so."""

    def __init__(self) -> None:
        self.passed = 1000.0
        self.skew = 0.0

    def monotonic(self) -> float:
        """Seconds."""
        return self.passed

    def wall(self) -> float:
        """The real time of day at which the tests run, for files bear it too, plus what the test adds."""
        return time.time() + self.skew


class FakeWaker:
    """Notes that it was woken."""

    def __init__(self) -> None:
        self.woken = False

    def wake(self) -> None:
        """Note it."""
        self.woken = True

    def wait(self, timeout: float) -> bool:
        """Never waits."""
        woken, self.woken = self.woken, False
        return woken


class Tail(Protocol):
    """What a scenario may do besides writing files."""

    folder: Path
    exact_time: bool
    """Pauses cost nothing and end to the tick."""

    def start(self, *targets: Path | str, from_start: bool = False) -> None:
        """Begin to follow, from the stored places if there are any."""
        ...

    def settle(self) -> None:
        """Let everything be seen that has happened so far."""
        ...

    def pause(self, seconds: float) -> None:
        """Let time pass, with the polls that belong to it."""
        ...

    def stop(self) -> None:
        """End it as an operator would."""
        ...

    def kill(self) -> None:
        """End it at once, without a chance to store anything."""
        ...

    @property
    def lines(self) -> list[Line]:
        """All lines so far, over restarts."""
        ...


def texts(tail: Tail) -> list[str]:
    """The whole lines so far."""
    return [line.text for line in tail.lines if not line.partial]


def partials(tail: Tail) -> list[str]:
    """The unfinished lines so far."""
    return [line.text for line in tail.lines if line.partial]


def append(path: Path, text: str | bytes) -> None:
    """Write at the end of a file, as a logger does."""
    data = text if isinstance(text, bytes) else text.encode()
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        while data:
            data = data[os.write(descriptor, data) :]
    finally:
        os.close(descriptor)


def lines_of(block: Block) -> list[Line]:
    """The lines of a block, as `responder tail` shows them."""
    result = []
    position = 0
    for raw in _split(block.data):
        text = raw.removesuffix(b"\n").removesuffix(b"\r").decode("utf-8", "backslashreplace")
        offset = block.locate(position).offset
        result.append(Line(text, block.partial, block.path, offset, block.truncated, block.file_id))
        position += len(raw)
    return result


def _split(data: bytes) -> list[bytes]:
    return [piece + b"\n" for piece in data.split(b"\n")[:-1]] if data.endswith(b"\n") else [data]


class InProcess:
    """The follower, its state in a real database, its time in our hands."""

    exact_time = True

    def __init__(self, folder: Path, limits: Limits | None = None) -> None:
        self.folder = folder
        self.limits = limits
        self.clock = FakeClock()
        self.waker = FakeWaker()
        self.events: list[SourceEvent] = []
        self.watch: SourceEvents = ignore_events
        """Told of each event as it happens: what a test does then happens in the midst of a poll."""
        self.lines: list[Line] = []
        self.blocks: list[Block] = []
        self.follower: Follower | None = None
        self.database: Database | None = None
        self.holds: dict[str, int] = {}
        """By file id: the line that is still needed.  Said again before each storing, as the daemon does."""
        self._stored = 0

    def start(self, *targets: Path | str, from_start: bool = False) -> None:
        """Open the state and follow."""
        self.database = open_database(self.folder.parent / "state" / "test.db", self.clock)
        names = [str(t) for t in targets]
        self.follower = Follower(
            names,
            load(self.database.connection),
            self.clock,
            self.waker,
            from_start=from_start,
            events=self._on_event,
            limits=self.limits,
        )
        with self.database.transaction() as connection:
            remember_targets(connection, names, self.clock.wall())
        self.settle()

    def poll(self) -> list[Block]:
        """One turn of the loop."""
        assert self.follower
        blocks = self.follower.poll()
        self.blocks += blocks
        for block in blocks:
            self.lines += lines_of(block)
        return blocks

    def store(self) -> None:
        """Store the places, as the loop does after each poll."""
        assert self.follower
        assert self.database
        for file_id, offset in self.holds.items():
            self.follower.hold(file_id, offset)
        with self.database.transaction() as connection:
            save(connection, self.follower.positions())
        self.follower.stored()
        self._stored = len(self.lines)

    def settle(self) -> None:
        """Poll until nothing is left to do, and once more after the usual wait."""
        for _ in range(2):
            self.waker.woken = True
            while self.waker.wait(0):
                self.poll()
                self.store()
            self.clock.passed += POLL_SECONDS

    def pause(self, seconds: float) -> None:
        """Let the clock run and poll at each tick."""
        end = self.clock.passed + seconds
        while self.clock.passed < end:
            self.settle()

    def stop(self) -> None:
        """Close everything in order."""
        assert self.follower
        assert self.database
        self.follower.close()
        self.database.close()
        self.follower = None

    def kill(self) -> None:
        """What was read since places were stored last is gone with all that came of it."""
        del self.lines[self._stored :]
        self.stop()

    def _on_event(self, event: SourceEvent) -> None:
        self.events.append(event)
        self.watch(event)

    def happened(self, kind: str) -> int:
        """How often an event of this kind was reported."""
        return sum(event.kind == kind for event in self.events)


class Process:
    """`responder tail --state`, as a user runs it."""

    exact_time = False

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.lines: list[Line] = []
        self.process: subprocess.Popen[bytes] | None = None
        self.errors = folder.parent / "stderr"
        self._pulse = folder.parent / "pulse"
        self._pulses = 0
        self._beats: set[str] = set()
        self._rest = b""

    def start(self, *targets: Path | str, from_start: bool = False) -> None:
        """Run it and wait until it looks."""
        append(self._pulse, b"")
        command = [sys.executable, "-m", "responder", "tail", *map(str, targets), str(self._pulse)]
        command += ["--state", str(self.folder.parent / "state")] + ["--from-start"] * from_start
        with self.errors.open("ab") as errors:
            # A process that hangs is made to show where, by SIGABRT.
            environment = {**os.environ, "PYTHONFAULTHANDLER": "1"}
            self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, env=environment)
        self._rest = b""
        before = len(self._beats)
        self._wait_until(lambda: bool(self._beat()) and len(self._beats) > before)

    def settle(self) -> None:
        """Two beats of a file of our own, between which lies a whole poll, until a poll brings nothing more."""
        before = -1
        while before != len(self.lines):
            before = len(self.lines)
            for _ in range(2):
                beat = self._beat()
                self._wait_until(partial(self._beats.__contains__, beat))

    def pause(self, seconds: float) -> None:
        """Let real time pass, reading."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            self._receive(left)
        self.settle()

    def stop(self) -> None:
        """SIGTERM; it says so in its exit status."""
        assert self._end(signal.SIGTERM) == 143, self.errors.read_text()

    def kill(self) -> None:
        """SIGKILL."""
        self._end(signal.SIGKILL)

    def peak_memory(self) -> int:
        """The most memory that the process ever had, in bytes."""
        assert self.process
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.split("VmHWM:")[1].split()[0]) * 1024

    def _end(self, number: int) -> int:
        assert self.process
        self.process.send_signal(number)
        while self._receive(DEADLINE):
            pass
        code = self.process.wait(DEADLINE)
        assert self.process.stdout
        self.process.stdout.close()
        self.process = None
        return code

    def _beat(self) -> str:
        self._pulses += 1
        beat = f"beat {self._pulses}"
        append(self._pulse, beat + "\n")
        return beat

    def _wait_until(self, condition: Callable[[], bool]) -> None:
        end = time.monotonic() + DEADLINE
        while not condition():
            self._receive(0.05)
            if time.monotonic() > end or (self.process and self.process.poll() is not None):
                self._end(signal.SIGABRT)
                seen = f"{len(self.lines)} lines, {len(self._beats)} of {self._pulses} beats"
                pytest.fail(f"waited in vain; {seen}; stderr: {self.errors.read_text()}")

    def _receive(self, timeout: float) -> bool:
        """Take in what it printed; False at the end of its output."""
        assert self.process
        assert self.process.stdout
        if not select.select([self.process.stdout], [], [], timeout)[0]:
            return True
        data = os.read(self.process.stdout.fileno(), 1 << 20)
        *records, self._rest = (self._rest + data).split(b"\n")
        for record in map(json.loads, records):
            if record["path"] == str(self._pulse):
                self._beats.add(record["text"])
            else:
                truncated = record.get("truncated", False)
                line = Line(record["text"], record["partial"], record["path"], record["offset"], truncated)
                self.lines.append(line)
        return bool(data)
