"""Following systemd's journal: the lines of one unit, or the kernel's, as `journalctl -o json --follow` writes them.

journalctl runs beside us and is read without waiting.  It ends now and then (an upgrade, a killed process, journald's
files set aside); then it is started again behind the last entry that was read.  Each entry is a line of JSON, which the
wrappers take apart like any exported journal; its offset counts the bytes of the entries before it, so that a place
names the same line after every restart.
"""

import contextlib
import os
import re
import signal
import subprocess
from bisect import bisect_right
from collections import deque
from collections.abc import Mapping, Sequence

from responder.sources.block import Block
from responder.sources.clock import Clock, Waker
from responder.sources.events import SourceEvent, SourceEvents, ignore_events
from responder.sources.followed import FileStatus
from responder.store.cursors import Cursor

FIELDS = (
    "MESSAGE,_PID,_SYSTEMD_UNIT,_CMDLINE,_TRANSPORT,_HOSTNAME,CONTAINER_NAME,SYSLOG_IDENTIFIER,_STREAM_ID,_LINE_BREAK"
)
"""What is asked of each entry; its cursor and times come unasked."""

LONGEST_ENTRY = 2 << 20
"""Bytes of JSON.  A line of a service has at most 48 KiB; written as numbers, five times as much."""

PER_POLL = 1 << 20
"""Bytes that are taken at one wake-up."""

FIRST_PAUSE, LONGEST_PAUSE = 1.0, 60.0
"""Seconds between the end of journalctl and its next start, doubled each time it ends without a word."""

STEADY = 60.0
"""Seconds after which a journalctl that ran is no longer taken for one that cannot."""

_NOT_ALLOWED = ("insufficient permissions", "not seeing messages")
"""What journalctl says, and runs on, where we may not read the journal."""

_READ = 1 << 16
_TICK = 1e-6
_CURSOR = re.compile(rb'"__CURSOR"\s*:\s*"([^"\n]+)"')
_TIME = re.compile(r"(?:^|;)t=([0-9a-f]+)(?:;|$)")


def unit_source(unit: str) -> str:
    """What a unit's journal is called where a log would have a path."""
    return f"journal:{unit}"


KERNEL = "journal:kernel"


def unit_matches(unit: str) -> tuple[str, ...]:
    """journalctl's arguments for a unit: its processes' lines and systemd's own about it."""
    return ("--unit", unit)


KERNEL_MATCHES = ("_TRANSPORT=kernel",)
"""The kernel's lines, of earlier boots too: a GPU's last Xid may be followed by a reset of the host."""


class Journal:
    """One journal.  The caller's loop is that of a `Follower`."""

    def __init__(
        self,
        source: str,
        matches: Sequence[str],
        saved: Mapping[str, Cursor],
        clock: Clock,
        waker: Waker,
        *,
        owner: str = "",
        from_start: bool = False,
        events: SourceEvents = ignore_events,
        command: Sequence[str] = ("journalctl",),
    ) -> None:
        """`matches` are arguments for journalctl, `saved` all places that are known, and `owner` is whom it is read
        for: each has a place of its own.  `from_start` counts only where nothing is saved."""
        self.source, self._matches, self._command = source, tuple(matches), tuple(command)
        self._clock, self._waker, self._events = clock, waker, events
        now, key = clock.wall(), f"{owner}/{source}"
        known = saved.get(key)
        self._base = known or Cursor(source=key, file_id=f"{source}-{now:.6f}", since=0.0 if from_start else now)
        self._ends: list[int] = []
        self._cursors: list[str] = []
        """Of the entries behind `_base`: where each ends, and its name."""
        self._offset = self._base.offset
        self._hold: int | None = None
        self._stored = self._offered = known
        self._process: subprocess.Popen[bytes] | None = None
        self._pending = b""
        self._skipping = False
        self._said: deque[str] = deque(maxlen=4)
        self._start_at = self._started_at = float("-inf")
        self._pause = FIRST_PAUSE
        self._by_time = False
        self.trouble = ""
        """Why it cannot be read at the moment, as it was reported."""
        self._grown = clock.monotonic()
        self.behind = False
        """More may be there already."""

    # What the caller uses

    def poll(self) -> list[Block]:
        """The entries that have come, about `PER_POLL` bytes of them; never waits."""
        if self._process is None and not self._start():
            return []
        fresh, ended = self._receive()
        block = self._taken(fresh)
        if block is not None:
            self._pause = FIRST_PAUSE
            self._by_time = False
            self._grown = self._clock.monotonic()
            self._report("")
        if ended:
            self._ended()
        if self.behind:
            self._waker.wake()
        return [block] if block is not None else []

    def positions(self) -> list[Cursor]:
        """Where to go on after a restart, if that changed since `stored` was said."""
        self._offered = self._position()
        return [self._offered] if self._offered != self._stored else []

    def stored(self) -> None:
        """What `positions` returned last is in the database."""
        self._stored = self._offered

    def hold(self, file_id: str, offset: int | None) -> None:
        """Keep the stored place from passing `offset`, the start of an entry that is still needed."""
        if file_id == self._base.file_id:
            self._hold = offset

    def status(self) -> FileStatus:
        """How it stands."""
        quiet = self._clock.monotonic() - self._grown
        return FileStatus(self.source, self._base.file_id, self._offset, self._offset, quiet)

    def close(self) -> None:
        """End journalctl."""
        process, self._process = self._process, None
        if process is not None:
            process.terminate()
            _reap(process)

    # Places

    def _position(self) -> Cursor:
        """The last entry that nobody needs any more."""
        most = self._offset if self._hold is None else min(self._hold, self._offset)
        count = bisect_right(self._ends, most)
        if count:
            self._base = Cursor(
                source=self._base.source,
                file_id=self._base.file_id,
                cursor=self._cursors[count - 1],
                offset=self._ends[count - 1],
                since=_time_of(self._cursors[count - 1], self._base.since),
            )
            del self._ends[:count], self._cursors[:count]
        return self._base

    def _last_read(self) -> str:
        return self._cursors[-1] if self._cursors else self._base.cursor

    # journalctl

    def _start(self) -> bool:
        if self._clock.monotonic() < self._start_at:
            return False
        last = self._last_read()
        place = []
        if last and not self._by_time:
            place = [f"--after-cursor={last}"]
        elif since := _time_of(last, self._base.since):
            place = [f"--since=@{since + (_TICK if last else 0.0):.6f}"]
        options = ("--output=json", "--all", "--follow", "--no-tail", "--no-pager", f"--output-fields={FIELDS}")
        environment = {**os.environ, "LC_ALL": "C", "SYSTEMD_COLORS": "0"}
        try:
            self._process = subprocess.Popen(
                [*self._command, *options, *self._matches, *place],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=environment,
                start_new_session=True,
            )
        except OSError as error:
            self._again_later(f"{self._command[0]} cannot be started: {error.strerror}")
            return False
        for pipe in (self._process.stdout, self._process.stderr):
            assert pipe is not None
            os.set_blocking(pipe.fileno(), False)
        self._pending, self._skipping = b"", False
        self._said.clear()
        self._started_at = self._clock.monotonic()
        return True

    def _receive(self) -> tuple[bytes, bool]:
        """Bytes at hand, and whether journalctl has ended."""
        assert self._process is not None
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        self._listen(self._process.stderr.fileno())
        if self._said and any(words in self._said[-1] for words in _NOT_ALLOWED):
            self._report(self._said[-1])
        fresh, ended = _read(self._process.stdout.fileno(), PER_POLL)
        self.behind = len(fresh) >= PER_POLL
        return fresh, ended

    def _ended(self) -> None:
        """journalctl is gone: start it again, later each time."""
        process, self._process = self._process, None
        assert process is not None
        assert process.stderr is not None
        self._listen(process.stderr.fileno())
        status = _reap(process)
        said = self._said[-1] if self._said else ""
        if self._clock.monotonic() - self._started_at >= STEADY:
            self._pause = FIRST_PAUSE
        # A cursor of a journal that is not there any more: go on by the time that it names.
        self._by_time = "cursor" in said.lower()
        self._again_later(said or f"journalctl ended with {_named(status)}")

    def _listen(self, descriptor: int) -> None:
        """Take what journalctl says of itself."""
        words, _ = _read(descriptor, _READ)
        self._said.extend(line.strip()[:300] for line in words.decode("utf-8", "replace").splitlines() if line.strip())

    def _again_later(self, trouble: str) -> None:
        self._start_at = self._clock.monotonic() + self._pause
        # A first end is nothing to speak of: journald was restarted, or somebody sent a signal.
        if self._pause > FIRST_PAUSE:
            self._report(trouble)
        self._pause = min(self._pause * 2, LONGEST_PAUSE)

    def _report(self, trouble: str) -> None:
        """Report trouble when it begins, changes or ends."""
        if trouble and trouble != self.trouble:
            self._events(SourceEvent("unreadable", self.source, self._offset, trouble))
        elif not trouble and self.trouble:
            self._events(SourceEvent("readable", self.source, self._offset))
        self.trouble = trouble

    # Entries

    def _taken(self, fresh: bytes) -> Block | None:
        """The whole entries in what has come; the rest of the last one waits."""
        if not fresh:
            return None
        data = self._pending + fresh
        end = data.rfind(b"\n") + 1
        self._pending = data[end:]
        whole = data[:end]
        if self._skipping and end:
            whole = whole[whole.index(b"\n") + 1 :]
            self._skipping = False
        if len(self._pending) > LONGEST_ENTRY:
            if not self._skipping:
                self._left_out()
            self._pending, self._skipping = b"", True
        lines = [line for line in whole.split(b"\n") if line.startswith(b"{")]
        if any(len(line) > LONGEST_ENTRY for line in lines):
            self._left_out()
            lines = [line for line in lines if len(line) <= LONGEST_ENTRY]
        return self._block(lines) if lines else None

    def _left_out(self) -> None:
        """An entry is too long to be read; it counts for nothing, however it came."""
        self._events(SourceEvent("line-cut", self.source, self._offset))

    def _block(self, lines: list[bytes]) -> Block:
        start = self._offset
        for line in lines:
            self._offset += len(line) + 1
            found = _CURSOR.search(line)
            if found is not None:
                self._ends.append(self._offset)
                self._cursors.append(found[1].decode("ascii", "replace"))
        return Block(self.source, self._base.file_id, start, b"\n".join([*lines, b""]), arrived=self._clock.wall())


def _time_of(cursor: str, otherwise: float) -> float:
    """When the entry of a cursor was written; seconds since the epoch."""
    found = _TIME.search(cursor)
    return int(found[1], 16) / 1e6 if found else otherwise


def _read(descriptor: int, limit: int) -> tuple[bytes, bool]:
    """Bytes at hand, and whether the writer is gone."""
    received: list[bytes] = []
    size = 0
    while size < limit:
        try:
            data = os.read(descriptor, _READ)
        except BlockingIOError:
            return b"".join(received), False
        if not data:
            return b"".join(received), True
        received.append(data)
        size += len(data)
    return b"".join(received), False


def _reap(process: "subprocess.Popen[bytes]") -> int:
    """Wait for a process that was told to end, or has ended; its status."""
    try:
        status = process.wait(2.0)
    except subprocess.TimeoutExpired:
        process.kill()
        status = process.wait()
    for pipe in (process.stdout, process.stderr):
        if pipe is not None:
            with contextlib.suppress(OSError):
                pipe.close()
    return status


def _named(status: int) -> str:
    return f"signal {signal.Signals(-status).name}" if status < 0 else f"status {status}"
