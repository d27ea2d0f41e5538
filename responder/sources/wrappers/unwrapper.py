"""Takes blocks of one source as they were read and hands on the lines as the program wrote them.

Bare blocks pass through as the same object.  Of wrapped ones the text is taken at once; what the wrapper said of a line
(its place in the file, time, labels) is worked out when somebody asks for it, since few lines are ever asked about.
"""

from bisect import bisect_right
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import accumulate

from responder.sources.block import Block, LineMap, Origin
from responder.sources.framing import MAX_LINE
from responder.sources.wrappers.ansi import strip_ansi
from responder.sources.wrappers.detect import TAGS, detect
from responder.sources.wrappers.layer import Layer, Piece

LONGEST_HELD = 4 * MAX_LINE
"""Bytes of a line in parts that are kept while it waits for its end; then it is handed on as it stands."""

_SAMPLE_LINES = 32
_SAMPLED_PER_BLOCK = 16
_SAMPLED_BYTES = 64 * 1024
_SAMPLE_BYTES = 1 << 20
_MOST_SAMPLED = _SAMPLE_BYTES // _SAMPLE_LINES

_SHAPE_BYTES, _SHAPES = 40, 4096
_DIGITS = b"0123456789"
"""Lines that begin alike but for these have the same shape."""

_bare: set[bytes] = set()
"""The shapes of lines that were found to be bare, in whatever log: most lines begin like one of a few."""


@dataclass(slots=True, frozen=True)
class _Wrapped:
    """A physical line that is no longer in the block: the first part of a line that later blocks end."""

    offset: int
    line: bytes


_Owner = int | _Wrapped
"""Whose text a line is: a physical line of this block by its number, or one of an earlier block."""


@dataclass(slots=True)
class _Held:
    """A line of which only the first parts have come."""

    owner: _Owner
    parts: list[bytes]
    size: int = 0


class UnwrappedLines(LineMap):
    """Where the lines of unwrapped data came from."""

    def __init__(self, block: Block, data: bytes, layers: tuple[Layer, ...], owners: list[_Owner] | None) -> None:
        """`data` is what `layers` left of `block`; `owners` says which physical line each of its lines belongs to,
        None where the n-th belongs to the n-th."""
        super().__init__()
        self._block, self._data, self._layers, self._owners = block, data, layers, owners
        self._physical: list[int] = []

    def at(self, position: int) -> Origin:
        """The origin of the line that holds `position`.

        Several lines that one physical line held get ascending offsets within it, so that each has its own.
        """
        if not self.starts:
            self.starts, self._physical = _line_starts(self._data), _line_starts(self._block.data)
        number = max(0, bisect_right(self.starts, position) - 1)
        owner, earlier = self._owner(number)
        if isinstance(owner, int):
            start = self._physical[owner]
            end = self._block.data.find(b"\n", start)
            line = self._block.data[start : end if end >= 0 else None]
            outer = self._block.locate(start)
        else:
            line, outer = owner.line, Origin(owner.offset)
        time, labels = _said(line, self._layers)
        return Origin(
            outer.offset + earlier, outer.time if outer.time is not None else time, {**outer.labels, **labels}
        )

    def _owner(self, number: int) -> tuple[_Owner, int]:
        """Whose text the line is, and how many lines of the same owner come before it."""
        if self._owners is None:
            return min(number, len(self._physical) - 1), 0
        number = min(number, len(self._owners) - 1)
        owner, earlier = self._owners[number], 0
        while earlier < number and self._owners[number - earlier - 1] == owner:
            earlier += 1
        return owner, earlier


class Unwrapper:
    """Unwraps the blocks of one source, live or finished.  Holds what a wrapper cut until the rest has come."""

    def __init__(self) -> None:
        self._layers: tuple[Layer, ...] = ()
        self._recent: deque[bytes] = deque(maxlen=_SAMPLE_LINES)
        self._held: dict[tuple[int, bytes], _Held] = {}
        self._last: Block | None = None

    @property
    def layers(self) -> tuple[str, ...]:
        """The names of the wrappers found, outermost first."""
        return tuple(layer.name for layer in self._layers)

    def is_searchable(self, block: Block) -> bool:
        """Whether the texts inside the next block may be searched for in its wrapped bytes, as its last line tells.

        Not where lines are bare or wrapped twice, where a line is held, and where the wrapper has no `Layer.part`.
        """
        if self._held or len(self._layers) != 1 or self._last is None or self._last.file_id != block.file_id:
            return False
        if not self._layers[0].part or len(self._recent) < _SAMPLE_LINES or block.partial or block.truncated:
            return False
        return self._as_expected(strip_ansi(_newest(block.data)))

    @property
    def held_from(self) -> int | None:
        """Offset of the oldest physical line that is held back, or None.  A checkpoint must not go beyond it."""
        return min(
            (held.owner.offset for held in self._held.values() if isinstance(held.owner, _Wrapped)), default=None
        )

    def feed(self, block: Block) -> tuple[Block, ...]:
        """The unwrapped blocks that `block` gives: none where all of it is held, two after a change of file."""
        flushed = self.flush() if self._last is not None and self._last.file_id != block.file_id else ()
        if flushed or self._last is None or self._last.file_id != block.file_id:
            self._recent.clear()
            self._layers = ()
        self._last = block
        if not (block.partial or block.truncated):
            self._learn(block.data)
        unwrapped = self._unwrap(block)
        return (*flushed, unwrapped) if unwrapped is not None else flushed

    def flush(self) -> tuple[Block, ...]:
        """The lines that are held, as they stand: their end will not come."""
        held, self._held = self._held, {}
        if self._last is None:
            return ()
        return tuple(self._cut_line(self._last, one) for _, one in sorted(held.items()))

    def _cut_line(self, last: Block, held: _Held) -> Block:
        assert isinstance(held.owner, _Wrapped)
        data = _strip_tags(strip_ansi(b"".join(held.parts)))
        lines = UnwrappedLines(last, data, self._layers, [held.owner])
        return replace(last, data=data, offset=held.owner.offset, partial=True, truncated=False, lines=lines)

    def _learn(self, data: bytes) -> None:
        """Look again at how lines are wrapped, where little was seen so far or the newest line looks otherwise."""
        young = len(self._recent) < _SAMPLE_LINES
        if young:
            end = data.find(b"\n", _SAMPLED_BYTES)
            lines = [line for line in data[: end if end >= 0 else None].split(b"\n")[:_SAMPLE_LINES] if line]
        else:
            newest = _newest(data)
            if newest and self._as_expected(strip_ansi(newest)):
                # So it is with almost every block: one line is sample enough.
                if len(newest) <= _MOST_SAMPLED:
                    self._recent.append(newest)
                return
            start = data.rfind(b"\n", 0, max(0, len(data) - _SAMPLED_BYTES)) + 1
            lines = [line for line in data[start:].split(b"\n")[-_SAMPLED_PER_BLOCK:] if line]
        self._recent.extend(lines)
        while len(self._recent) > 1 and sum(map(len, self._recent)) > _SAMPLE_BYTES:
            self._recent.popleft()
        if young or (lines and not self._as_expected(strip_ansi(lines[-1]))):
            layers = detect(self._recent)
            if layers != self._layers and not self._held:
                self._layers = layers

    def _as_expected(self, line: bytes) -> bool:
        if self._layers:
            return self._layers[0].wraps(line)
        shape = line[:_SHAPE_BYTES].translate(None, _DIGITS)
        if shape in _bare:
            return True
        if detect((line,)):
            return False
        if len(_bare) < _SHAPES:
            _bare.add(shape)
        return True

    def _unwrap(self, block: Block) -> Block | None:
        data, owners = strip_ansi(block.data), None
        whole_lines = not (block.partial or block.truncated)
        if self._layers and not data.endswith(b"\n"):
            data += b"\n"
        for depth, layer in enumerate(self._layers):
            data, owners = self._peel(depth, layer, data, owners, whole_lines)
            data = strip_ansi(data)
        data = _strip_tags(data)
        if not block.data.endswith(b"\n"):
            data = data.removesuffix(b"\n")
        if data is block.data:
            return block
        self._let_go(block)
        if not data and owners is not None:
            return None
        lines = UnwrappedLines(block, data, self._layers, owners)
        return replace(block, data=data, offset=lines.at(0).offset if owners else block.offset, lines=lines)

    def _peel(
        self, depth: int, layer: Layer, data: bytes, owners: list[_Owner] | None, whole_lines: bool
    ) -> tuple[bytes, list[_Owner] | None]:
        """Take one layer off: all lines at once where each is one line inside too, else one after the other."""
        if whole_lines and not any(key[0] == depth for key in self._held):
            text = layer.whole(data)
            if text is not None:
                return text, owners
        lines = data.split(b"\n")
        lines.pop()
        texts: list[bytes] = []
        inner: list[_Owner] = []
        for number, line in enumerate(lines):
            owner = number if owners is None else owners[number]
            piece = layer.piece(line)
            if whole_lines:
                finished = self._join(depth, piece, owner)
                if finished is None:
                    continue
                text, owner = finished
            else:
                text = piece.text
            texts.append(text)
            inner.extend([owner] * (text.count(b"\n") + 1))
        texts.append(b"")
        return b"\n".join(texts), inner

    def _join(self, depth: int, piece: Piece, owner: _Owner) -> tuple[bytes, _Owner] | None:
        """The line that `piece` ends, or None where it goes on."""
        key = (depth, piece.stream)
        held = self._held.get(key)
        if held is None:
            if piece.complete:
                return piece.text, owner
            held = self._held[key] = _Held(owner, [])
        held.parts.append(piece.text)
        held.size += len(piece.text)
        if not piece.complete and held.size < LONGEST_HELD:
            return None
        del self._held[key]
        return b"".join(held.parts), held.owner

    def _let_go(self, block: Block) -> None:
        """Remember the physical lines of what is held, since the block goes."""
        fresh = [held for held in self._held.values() if isinstance(held.owner, int)]
        if not fresh:
            return
        starts = _line_starts(block.data)
        for held in fresh:
            assert isinstance(held.owner, int)
            start = starts[held.owner]
            line = block.data[start : block.data.find(b"\n", start)]
            held.owner = _Wrapped(block.locate(start).offset, line)


def _newest(data: bytes) -> bytes:
    """The last line."""
    return data[data.rfind(b"\n", 0, max(0, len(data) - 1)) + 1 :].removesuffix(b"\n")


def _strip_tags(data: bytes) -> bytes:
    return TAGS.whole(data) if TAGS.present(data) else data


def _said(line: bytes, layers: tuple[Layer, ...]) -> tuple[float | None, Mapping[str, str]]:
    """Time and labels of a physical line: the outermost stamp, and of equal labels the innermost."""
    time: float | None = None
    labels: dict[str, str] = {}
    for layer in (*layers, TAGS):
        line = strip_ansi(line)
        if layer.wraps(line):
            said = layer.say(line)
            time = said.time if time is None else time
            labels |= said.labels
            line = layer.strip(line)
    return time, labels


def _line_starts(data: bytes) -> list[int]:
    lengths = [len(line) + 1 for line in data.split(b"\n")]
    return [0, *accumulate(lengths[:-1])] if lengths else [0]
