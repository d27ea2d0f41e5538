"""A stream that cannot be read twice: standard input, or a FIFO.

It has no state to keep.  Its `file_id` is new at every start, for the same offset is another line then.
"""

import os
import select

from responder.sources.block import Block
from responder.sources.events import SourceEvent, SourceEvents
from responder.sources.framing import MAX_PIECES, divide
from responder.sources.identity import FileKey, open_log

_READ = 65536
"""Bytes per system call: what a pipe holds."""


class Pipe:
    """The lines of one pipe."""

    def __init__(self, path: str, descriptor: int, events: SourceEvents, started: float, *, endless: bool) -> None:
        self.path = path
        self.key = FileKey.of(os.fstat(descriptor))
        self.file_id = f"pipe-{self.key.device:x}-{self.key.inode:x}-{started:.6f}"
        self.behind = True
        """More may be there already."""
        self.ended = False
        self._descriptor = descriptor
        self._endless = endless
        self._events = events
        self._pending = b""
        self._offset = 0
        self._inside = False
        self._backlog = False

    @classmethod
    def fifo(cls, path: str, events: SourceEvents, started: float) -> "Pipe":
        """Open a FIFO.  Its writers come and go: the end of one is not the end of it."""
        return cls(path, open_log(path), events, started, endless=True)

    @classmethod
    def stdin(cls, events: SourceEvents, started: float) -> "Pipe":
        """Standard input, which does end.  It stays in its blocking mode, for others may share it."""
        return cls("-", 0, events, started, endless=False)

    def read(self, limit: int, arrived: float) -> list[Block]:
        """What has come, up to about `limit` bytes; never waits."""
        fresh, at_end = (b"", False) if self._backlog else self._receive(limit)
        chunk = self._pending + fresh
        framed = divide(chunk, 0, inside=self._inside)
        self._backlog = len(framed.pieces) >= MAX_PIECES
        self.behind = bool(fresh) or self._backlog
        blocks = []
        for piece in framed.pieces:
            offset = self._offset + piece.start
            if piece.cut:
                self._events(SourceEvent("line-cut", self.path, offset))
            data = piece.data + b"\n" if piece.cut else piece.data
            blocks.append(Block(self.path, self.file_id, offset, data, truncated=piece.cut, arrived=arrived))
        self._offset += framed.end
        self._pending = chunk[framed.end :].lstrip(b"\0")
        self._offset += len(chunk) - framed.end - len(self._pending)
        self._inside = framed.inside
        if at_end and not self._backlog:
            blocks += self._last_words(arrived)
            self.ended = not self._endless
        return blocks

    def close(self) -> None:
        """Give a FIFO's descriptor back; standard input is left alone."""
        if self._endless:
            os.close(self._descriptor)

    def _receive(self, limit: int) -> tuple[bytes, bool]:
        """Bytes at hand, and whether all writers have gone."""
        received: list[bytes] = []
        size = 0
        while size < limit:
            if not self._endless and not _readable(self._descriptor):
                return b"".join(received), False
            try:
                data = os.read(self._descriptor, _READ)
            except BlockingIOError:
                return b"".join(received), False
            except OSError as error:  # a terminal that is not ours, or went away
                self._events(SourceEvent("unreadable", self.path, self._offset, error.strerror or str(error)))
                self._endless = False
                return b"".join(received), True
            if not data:
                return b"".join(received), True
            received.append(data)
            size += len(data)
        return b"".join(received), False

    def _last_words(self, arrived: float) -> list[Block]:
        """The writer went away inside a line; the next one begins a line of its own."""
        words, offset = self._pending, self._offset
        self._offset += len(words)
        self._pending, self._inside = b"", False
        return [Block(self.path, self.file_id, offset, words, partial=True, arrived=arrived)] if words else []


def _readable(descriptor: int) -> bool:
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return bool(poll.poll(0))
