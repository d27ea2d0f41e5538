"""One regular file that grows: what of it has been read, and whether it still is what was read.

Nothing unfinished is carried over from one read to the next.  A line is taken from the file whole, in one read
together with the bytes before it that prove the place; so no line is ever put together from two lives of a file.
"""

import errno
import os

from responder.sources.block import Block
from responder.sources.events import SourceEvent, SourceEvents
from responder.sources.framing import (
    BINARY,
    END_SAMPLE,
    MAX_LINE,
    MAX_PIECES,
    UTF8,
    Piece,
    as_utf8,
    divide,
    encoding_of,
    is_text,
    may_become_mark,
    not_text,
)
from responder.sources.identity import MARKER_SIZE, NOTHING, FileKey, continues, mark, open_log
from responder.store.checkpoints import Checkpoint, Marker

SAMPLE = 4096
"""Bytes at the start of a file by which its encoding is told, and binary from text."""
LEAST_TEXT = 64
"""Fewer new bytes of a binary file than that do not tell whether it has become a text."""
KEPT_UNFINISHED = 4096
"""Bytes of an unfinished line that are remembered: they show that a file was rewritten, and are its last words."""


PADDING_STEP = 1 << 20
PADDING_STEPS = 64
"""Bytes of NULs, and how many times that, to look through in one read."""


def _head(sample: bytes) -> bytes:
    """The bytes that a file is known by; NULs at their end may still be written over."""
    return sample[:MARKER_SIZE].rstrip(b"\0")


class RewrittenError(Exception):
    """The file does not hold what was read of it: it was truncated or written anew."""


class GrowingFile:
    """A followed file.  The follower decides when to look at it; this knows what the look brings."""

    def __init__(self, path: str, where: str, key: FileKey, events: SourceEvents) -> None:
        self.path = path
        """As named to the user; stays when the file is renamed."""
        self.where = where
        """Where it can be opened now."""
        self.real_path = os.path.realpath(where)
        """Its own path without symbolic links; stays too."""
        self.key = key
        self.generation = 0
        self.file_id = ""
        self.offset = 0
        self.modified_ns = 0
        """Modification time at the last look while its own path led to it."""
        self.size = 0
        self.ignored = ""
        """Why nothing is read of it, if it is no text."""
        self._binary_to = 0
        """Where a binary file ended when it was last looked at: up to there it is passed over."""
        self.behind = False
        """There is, or may be, something to read."""
        self.taken = 0
        """Bytes that the last read looked at."""
        self.version = 1
        """Goes up with every change that its checkpoint shows."""
        self._events = events
        self._descriptor = -1
        self._encoding = UTF8
        self._head = b""
        """The first bytes; there are no more of them than a marker covers."""
        self._tail = NOTHING
        self._inside = False
        self._unfinished = b""
        self._pending = 0
        self._padding = 0
        """NULs from `offset` up to here were looked through for text."""
        self._before_padding: tuple[int, Marker] | None = None
        """The place before NULs behind which no line has ended yet.  NULs prove nothing, so this is what is stored."""
        self._shown = 0
        self._stamp: tuple[int, int, int] | None = None
        self._settled = False
        self._noticed_ns = 0
        self._hold: int | None = None

    # Descriptor

    @property
    def is_open(self) -> bool:
        """Whether it holds a descriptor."""
        return self._descriptor >= 0

    def open(self) -> None:
        """Open it where it is said to be.  FileNotFoundError when another file is there by now."""
        if self.is_open:
            return
        descriptor = open_log(self.where)
        if FileKey.of(os.fstat(descriptor)) != self.key:
            os.close(descriptor)
            raise FileNotFoundError(errno.ENOENT, "replaced meanwhile", self.where)
        self._descriptor = descriptor

    def close(self) -> None:
        """Give the descriptor back; `open` goes on from the same place."""
        if self.is_open:
            os.close(self._descriptor)
            self._descriptor = -1

    @property
    def begun(self) -> bool:
        """Whether any line of it was read, in its present life."""
        return (self._before_padding[0] if self._before_padding else self.offset) > len(self._encoding.mark)

    def status(self) -> os.stat_result:
        """The open file's own status, whatever its name."""
        return os.fstat(self._descriptor)

    @property
    def changed_ns(self) -> int:
        """Its modification time at the last look, under whatever name."""
        return self._stamp[1] if self._stamp else 0

    # Looking

    def notice(self, info: os.stat_result, *, at_home: bool) -> None:
        """Take in a new status, `at_home` if its own path leads to it: is there anything to look at?

        Time stamps move in steps, so that two changes can bear the same one: a file that changed is looked at once
        more when it seems at rest.
        """
        if at_home:
            self._noticed_ns = info.st_mtime_ns
        stamp = (info.st_size, info.st_mtime_ns, info.st_ctime_ns)
        if stamp != self._stamp:
            self._stamp, self._settled, self.behind = stamp, False, True
        elif not self._settled:
            self._settled = self.behind = True

    def overlook(self) -> None:
        """A look failed: nothing to do until the next status, and then again."""
        self._stamp, self.behind = None, False

    # Where to begin

    def begin_at_end(self, size: int) -> None:
        """Pass over what is there, up to `size`; an unfinished line at the end still belongs to the lines to come."""
        if size == 0 or not self._begin():
            return
        start = max(self.offset, size - MAX_LINE)
        start += (start - self.offset) % self._encoding.width
        chunk = os.pread(self._descriptor, size - start, start)
        newline = self._encoding.rfind_newline(chunk, 0, len(chunk))
        if newline >= 0:
            self._move_to(start + newline + self._encoding.width)
        elif start > self.offset:
            self._move_to(size - (size - start) % self._encoding.width)
            self._inside = True

    def resume(self, saved: Checkpoint) -> bool:
        """Go on from a checkpoint of this very file; False when it does not hold what was read then."""
        if not continues(self._descriptor, saved):
            return False
        self.file_id, self.generation, self.offset = saved.file_id, saved.generation, saved.offset
        self._tail, self._inside, self._shown = saved.tail, saved.cut, saved.shown
        self.modified_ns = saved.modified_ns
        if saved.held is not None:
            self._inside = False
            self._move_to(saved.held)
        if self.file_id:
            sample = os.pread(self._descriptor, SAMPLE, 0)
            self._head = sample[: saved.head.size]
            self._recognise(sample)
        return True

    def skip_what_was_read(self, last: Checkpoint) -> None:
        """This file replaced another and begins with all that was read of it: pass over that."""
        if self._begin():
            self._move_to(last.offset if last.held is None else last.held)
            self._inside = last.cut and last.held is None

    def resembles(self, original: "GrowingFile") -> bool | None:
        """Whether this is a copy, or the beginning of one, of what was read of another file; None: it is empty."""
        size = self.status().st_size
        if size == 0:
            return None
        begins = os.pread(self._descriptor, len(original._head), 0)
        if not original.begun or not original._head.startswith(begins):
            return False
        if size >= original.offset:
            return continues(self._descriptor, original.checkpoint(0.0, held=False))
        # A file that begins with a hole has no first bytes to tell it by: look into both.
        places = (min(size, MARKER_SIZE), size)
        return bool(begins) or all(self._marker_before(at) == original._marker_before(at) for at in places)

    def start_over(self, arrived: float, *, last_words: bool) -> list[Block]:
        """The file was emptied or rewritten: a new life begins at its first byte.

        With `last_words` the unfinished line of the old life, of which no more can come, is handed on.
        """
        unsaid = last_words and self._pending > self._shown
        blocks = [self._partial(self._unfinished, arrived)] if unsaid else []
        self.generation += 1
        self.file_id = self.ignored = ""
        self.offset = self._pending = self._padding = self._shown = self._binary_to = 0
        self._head, self._tail, self._unfinished = b"", NOTHING, b""
        self._inside, self._hold, self._before_padding, self.behind = False, None, None, True
        self.modified_ns = self._noticed_ns or self.modified_ns
        self.version += 1
        return blocks

    # Reading

    def read(self, limit: int, arrived: float) -> list[Block]:
        """The next lines, out of at most `limit` bytes (not less than MAX_LINE).

        Raises RewrittenError, before anything is taken in, when the file is not what it was.
        """
        self.taken = 0
        size = self.status().st_size
        if size < self.offset + len(self._unfinished) or (self.ignored and size < self.size):
            raise RewrittenError
        self.size = size
        if not self._proven_start():
            self.modified_ns = self._noticed_ns or self.modified_ns
            self.behind = False
            return []
        known = self._tail.size
        chunk = os.pread(self._descriptor, known + min(limit, size - self.offset), self.offset - known)
        self.taken = len(chunk)
        if mark(chunk[:known]) != self._tail or not chunk.startswith(self._unfinished, known):
            raise RewrittenError
        if chunk[known : known + 1] == b"\0" and self._encoding.width == 1 and not self._inside:
            text = self._past_padding()
            if text is None:
                return []
            before = self._before_padding or (self.offset, self._tail)
            self._move_to(text)
            self._before_padding = before
            return self.read(limit, arrived)
        return self._take(chunk, known, arrived)

    @property
    def has_last_words(self) -> bool:
        """Whether an unfinished line stands at its end that was not handed on yet."""
        return self._pending > self._shown and not self.behind

    def last_words(self, arrived: float) -> list[Block]:
        """The unfinished line at the end of a file that is no longer written to."""
        data = os.pread(self._descriptor, min(self._pending, MAX_LINE), self.offset)
        if not data.startswith(self._unfinished):
            return []  # rewritten since; the next look will find out
        self._shown = self._pending
        self.version += 1
        return [self._partial(data, arrived)]

    def _proven_start(self) -> bool:
        """Whether this is a text with something in it whose first bytes are still the same."""
        if not self.file_id:
            return self._begin()
        head = _head(os.pread(self._descriptor, MARKER_SIZE, 0))
        if not head.startswith(self._head):
            raise RewrittenError
        if len(head) > len(self._head):
            self._head = head
            self.version += 1
        if self.ignored == BINARY and self._goes_on_as_text():
            self.ignored = ""
            self._move_to(self._binary_to)
            self._events(SourceEvent("readable", self.path, self.offset, "it goes on as text"))
        return not self.ignored

    def _begin(self) -> bool:
        """Name the file by its first bytes; False while there are none, or when it is no text."""
        sample = os.pread(self._descriptor, SAMPLE, 0)
        if may_become_mark(sample):
            return False
        self._head = _head(sample)
        self.file_id = f"{self.key.device:x}-{self.key.inode:x}-{self.generation}-{mark(self._head).digest.hex()[:12]}"
        self._recognise(sample)
        self._move_to(max(self.offset, len(self._encoding.mark)))
        return not self.ignored

    def _recognise(self, sample: bytes) -> None:
        self._encoding = encoding_of(sample)
        what = "" if self.begun else not_text(sample)
        self.ignored = "" if what == BINARY and self._goes_on_as_text() else what
        if self.ignored:
            self._events(SourceEvent("ignored", self.path, detail=self.ignored))

    def _goes_on_as_text(self) -> bool:
        """Whether what came since the last look at a binary file is text: garbage before a log hides no log."""
        size = self.status().st_size
        start = max(self._binary_to, size - END_SAMPLE)
        if size - start < LEAST_TEXT:
            return False
        if is_text(os.pread(self._descriptor, size - start, start)):
            return True
        self._binary_to = size
        return False

    def _move_to(self, offset: int) -> None:
        self.offset = offset
        self._tail = self._marker_before(offset)
        self._shown = self._padding = 0
        self._before_padding = None
        self.version += 1

    def _marker_before(self, offset: int) -> Marker:
        size = min(MARKER_SIZE, offset)
        return mark(os.pread(self._descriptor, size, offset - size))

    def _past_padding(self) -> int | None:
        """Where text begins again behind NULs and holes; None if none is found, this time or at all.

        Where it ends in NULs, they may be space that was set aside, and the next line may come in their place: so
        nothing counts as read before there is text behind it.
        """
        position = max(self.offset, self._padding)
        for _ in range(PADDING_STEPS):
            try:
                position = os.lseek(self._descriptor, position, os.SEEK_DATA)
            except OSError as error:
                if error.errno == errno.ENXIO:
                    position = self.size  # nothing but a hole
                # Any other: this file system cannot tell, and the bytes are read.
            data = os.pread(self._descriptor, PADDING_STEP, position)
            if not data:
                self._padding, self.behind = 0, False
                return None
            text = data.lstrip(b"\0")
            if text:
                return position + len(data) - len(text)
            position += len(data)
        self._padding, self.behind = position, True
        return None

    def _take(self, chunk: bytes, known: int, arrived: float) -> list[Block]:
        self.modified_ns = self._noticed_ns or self.modified_ns
        framed = divide(chunk, known, inside=self._inside, encoding=self._encoding)
        blocks = [self._block(piece, self.offset - known, arrived) for piece in framed.pieces]
        reached = self.offset - known + len(chunk)
        if framed.end > known:
            self.offset += framed.end - known
            self._before_padding = None
            self._tail = mark(chunk[max(0, framed.end - MARKER_SIZE) : framed.end])
            self._shown = 0
            self.version += 1
        self._inside = framed.inside
        padding = self._encoding.width == 1 and chunk[framed.end : framed.end + 1] == b"\0"
        self._pending = 0 if framed.inside or padding else len(chunk) - framed.end
        self._unfinished = chunk[framed.end : framed.end + min(self._pending, KEPT_UNFINISHED)]
        self.behind = reached < self.size or len(framed.pieces) >= MAX_PIECES
        return blocks

    def _block(self, piece: Piece, base: int, arrived: float) -> Block:
        offset = base + piece.start
        data, lines = as_utf8(piece.data, offset, self._encoding)
        if piece.cut:
            self._events(SourceEvent("line-cut", self.path, offset))
            data += b"\n"
        return Block(self.path, self.file_id, offset, data, truncated=piece.cut, arrived=arrived, lines=lines)

    def _partial(self, raw: bytes, arrived: float) -> Block:
        data, lines = as_utf8(raw, self.offset, self._encoding)
        short = len(raw) < self._pending
        return Block(self.path, self.file_id, self.offset, data, True, short, arrived, lines)

    # State

    def hold(self, offset: int | None) -> None:
        """Keep the stored checkpoint at or before `offset`, the start of a line that was read; None lets it go."""
        if offset is not None and offset > self.offset:
            offset = None
        if offset != self._hold:
            self._hold = offset
            self.version += 1

    @property
    def held(self) -> bool:
        """Whether somebody still needs lines that were read."""
        return self._hold is not None

    def checkpoint(self, wall: float, *, held: bool = True) -> Checkpoint:
        """Where it stands, and with `held` where to go on instead because lines before that are still needed."""
        offset, tail = self._before_padding or (self.offset, self._tail)
        return Checkpoint(
            device=self.key.device,
            inode=self.key.inode,
            file_id=self.file_id,
            generation=self.generation,
            path=self.path,
            real_path=self.real_path,
            offset=offset,
            shown=0 if self._before_padding else self._shown,
            held=self._hold if held else None,
            cut=self._inside,
            head=mark(self._head),
            tail=tail,
            modified_ns=self.modified_ns,
            seen=wall,
        )
