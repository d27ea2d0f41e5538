"""Around a hit: the record it belongs to, the traceback it ends, its excerpt.

Match first, frame later: a log of gigabytes is framed only where something fired.  The one state between blocks is
the tail of the previous block (for what stands above a hit) and the tracebacks that are still open.
"""

import re
from collections import deque
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import islice

import msgspec

from responder.scan.engine import LineHit, Match, Scanner, text
from responder.scan.program import Program
from responder.scan.quoted import without_quoted
from responder.scan.seen import Aside, Frame, Seen, Traceback
from responder.sources.block import Block, Origin
from responder.sources.prefix import Prefix, parse_prefix

CONTEXT_BYTES = 64 * 1024
"""How much of the text above a hit is kept for its record, its excerpt and the running line number."""

EXCERPT_BEFORE, EXCERPT_AFTER = 12, 3
"""Lines around the evidence that a person gets to see."""

LONGEST_TEXT = 4096
"""Characters of a line that are kept."""

FAR = 10_000
"""What the running line number grows by over a gap too long to count."""

COUNTED_GAP = CONTEXT_BYTES
"""A longer gap between two lines is not counted: nothing that far away is near."""
_LONGEST_PART = 400
"""Lines without a frame at which the newest open traceback is given up."""

LONGEST_PAUSE = 2000
"""Lines without a frame or a header at which every open traceback is given up."""

_LONGEST_TRACEBACK = 32_000
"""Lines after its header at which any open traceback is given up.  Python stops at a thousand frames unless told
otherwise, of three lines each, and eight ranks may write theirs at once."""

_MOST_OPEN = 64
"""Tracebacks that may be open at once; more headers than that are no ranks but a text."""

_FRAME = re.compile(r'^\s*File "(?P<path>[^"\n]{1,400})", line (?P<line>\d+)(?:, in (?P<function>.{1,200}))?$')
_EXCEPTION = re.compile(r"^(?P<type>[A-Za-z_]\w*(?:\.\w+)*)(?:: (?P<message>.*))?$")
_LEVELS = frozenset({"INFO", "WARNING", "DEBUG", "ERROR", "CRITICAL", "Exit", "Loading", "exception", "future", "task"})
_CHAIN = ("During handling of the above exception", "The above exception was the direct cause")
_HEAD = re.compile(
    rb"\[?\d{4}-\d\d-\d\d[ T]\d\d:\d\d|(?:INFO|WARNING|ERROR|DEBUG|CRITICAL):\s"
    rb"|[^\n]{0,400}\[\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d"
)


class _Open(msgspec.Struct, kw_only=True):
    """A traceback whose exception has not been named yet."""

    stream: str
    path: str
    offset: int
    header: str
    prefix: Prefix
    begins: dict[str, int]
    """By stream, the offset of its first line there."""
    frames: list[Frame] = []
    lines: int = 0
    """Without a frame, since it was the newest that is open."""
    age: int = 0
    """Lines since its header."""


class StreamScan:
    """Scans the blocks of one log, in their order.  Rotation may spread it over several files."""

    def __init__(self, scanner: Scanner, *, begins: bool = True) -> None:
        """`begins` is False where more of the log stands above the first block."""
        self._scanner = scanner
        self._tail: deque[tuple[Block, bytes]] = deque()
        """The last blocks, with what rules saw of them; joined only where something fires."""
        self._tail_size = 0
        self._joined: bytes | None = None
        self._open: list[_Open] = []
        self._pause = 0
        """Lines since the last frame or header, while a traceback is open."""
        self._cut: dict[int, list[_Open]] = {}
        """Tracebacks that end without their exception, by the start of the line in the block that proves it."""
        self._ordinal = 0
        self._file_id = ""
        self._last = 0 if begins else -COUNTED_GAP - 1
        """Where in the current block the running line number stands (negative: in the block before)."""

    def feed(self, block: Block) -> list[Seen]:
        """The lines of a block that the diagnosis has to know, in their order."""
        if block.file_id != self._file_id:
            self._file_id = block.file_id
            for one in self._open:
                one.begins.setdefault(block.file_id, block.offset)
        data = block.segments()
        hits = {hit.start: without_quoted(data, hit) for hit in self._scanner.scan(data, harmless=False)}
        seen = self._told(block, data, hits) if hits or self._open else []
        self._keep(block, data)
        self._last -= len(data)
        return seen

    def _told(self, block: Block, data: bytes, hits: dict[int, LineHit]) -> list[Seen]:
        tracebacks = self._tracebacks(block, data, hits)
        seen = []
        for start in sorted(hits.keys() | tracebacks.keys()):
            seen += [self._as_cut(one) for one in self._cut.pop(start, ())]
            hit = hits.get(start) or LineHit(start=start, end=_line_end(data, start), matches=[], aside=[])
            ended = tracebacks.get(start)
            if hit.matches or ended or any(pattern.rule for pattern in hit.aside):
                seen.append(self._seen(block, data, hit, ended))
        return seen

    @property
    def _above(self) -> bytes:
        """The text before the block at hand: its last CONTEXT_BYTES."""
        if self._joined is None:
            self._joined = b"".join([data[-CONTEXT_BYTES:] for _, data in self._tail])[-CONTEXT_BYTES:]
        return self._joined

    def _offset_above(self, distance: int) -> int:
        """Offset in its file of the byte that stands `distance` bytes before the block at hand."""
        for block, data in reversed(self._tail):
            if distance <= len(data):
                return block.locate(len(data) - distance).offset
            distance -= len(data)
        return -1

    def _keep(self, block: Block, data: bytes) -> None:
        self._tail.append((block, data))
        self._tail_size += len(data)
        self._joined = None
        while self._tail_size - len(self._tail[0][1]) >= CONTEXT_BYTES:
            self._tail_size -= len(self._tail.popleft()[1])

    @property
    def program(self) -> Program:
        """Whose rules fire."""
        return self._scanner.program

    @property
    def is_open(self) -> bool:
        """Whether a traceback goes on in the next block."""
        return bool(self._open)

    def skip(self) -> None:
        """Lines were left out, in which nothing stands: more of them than anything near may lie apart."""
        self._tail.clear()
        self._tail_size, self._joined = 0, None
        self._last = -COUNTED_GAP - 1

    def count_from_here(self) -> None:
        """Number the lines that follow from the last one that was seen, instead of from the log's start."""
        self._ordinal = 0

    def needs(self) -> dict[str, int]:
        """By stream, the offset of the first line of a traceback that is still open."""
        needed: dict[str, int] = {}
        for one in self._open:
            for stream, offset in one.begins.items():
                needed[stream] = min(offset, needed.get(stream, offset))
        return needed

    def finish(self) -> list[Seen]:
        """The tracebacks that the end of the log cut off."""
        cut, self._open = self._open, []
        return [self._as_cut(one) for one in cut]

    def _as_cut(self, one: _Open) -> Seen:
        return Seen(
            stream=one.stream,
            path=one.path,
            offset=one.offset,
            ordinal=self._ordinal,
            text=one.header,
            record=one.offset,
            traceback=Traceback(offset=one.offset, header=one.header, frames=tuple(one.frames), begins=one.begins),
            ranks=one.prefix.ranks,
            time=one.prefix.time,
            clock="log" if one.prefix.time else "arrival",
            excerpt=tuple(text(line) for line in self._above.splitlines()[-EXCERPT_BEFORE:]),
        )

    def _seen(self, block: Block, data: bytes, hit: LineHit, ended: "tuple[_Open, Traceback] | None") -> Seen:
        line = text(data[hit.start : min(hit.end, hit.start + LONGEST_TEXT * 4)])
        first = min((match.start for match in hit.matches), default=None)
        prefix = parse_prefix(line, first)
        if not prefix.present and ended is not None:
            prefix = ended[0].prefix
        head, head_prefix = self._record(block, data, hit.start)
        time = prefix.time or head_prefix.time
        origin = block.locate(hit.start)
        wrapper = None if origin.time is None else datetime.fromtimestamp(origin.time, UTC)
        return Seen(
            stream=block.file_id,
            path=block.path,
            offset=origin.offset,
            ordinal=self._count(data, hit.start),
            text=_around(line, first or 0),
            record=head,
            matches=tuple(hit.matches),
            asides=tuple(Aside(p.rule.id, p.use, p.index) for p in hit.aside if p.rule is not None),
            traceback=ended[1] if ended else None,
            ranks=prefix.ranks or _wrapped_rank(origin) or (head_prefix.ranks if ended else ()),
            time=wrapper or time,
            clock="wrapper" if wrapper else ("log" if time else "arrival"),
            excerpt=self._excerpt(data, hit) if ended or any(map(_may_be_told, hit.matches)) else (),
            labels=dict(origin.labels),
        )

    def _count(self, data: bytes, start: int) -> int:
        gap = start - self._last
        if gap > COUNTED_GAP:
            self._ordinal += FAR
        else:
            from_above = self._above[len(self._above) + self._last :] if self._last < 0 else b""
            self._ordinal += from_above.count(b"\n") + data.count(b"\n", max(self._last, 0), start)
        self._last = start
        return self._ordinal

    def _record(self, block: Block, data: bytes, start: int) -> tuple[int, Prefix]:
        """Offset and prefix of the line that begins the record a line belongs to."""
        base = max(0, start - CONTEXT_BYTES)
        for begin, end in _lines_up_from(data, _line_end(data, start), base):
            if _HEAD.match(data, begin, end):
                return block.locate(begin).offset, parse_prefix(text(data[begin : min(end, begin + 4096)]))
        above = self._above
        for begin, end in _lines_up_from(above, _last_end(above), max(0, len(above) + start - CONTEXT_BYTES)):
            if _HEAD.match(above, begin, end):
                offset = self._offset_above(len(above) - begin)
                return offset, parse_prefix(text(above[begin : min(end, begin + 4096)]))
        return -1, parse_prefix("")

    def _excerpt(self, data: bytes, hit: LineHit) -> tuple[str, ...]:
        above = _last_lines(data, hit.start - 1, max(0, hit.start - CONTEXT_BYTES))
        if len(above) < EXCERPT_BEFORE and hit.start < CONTEXT_BYTES:
            base = max(0, len(self._above) + hit.start - CONTEXT_BYTES)
            above = [*_last_lines(self._above, _last_end(self._above), base), *above][-EXCERPT_BEFORE:]
        below = data[hit.end + 1 : hit.end + 1 + 2048].splitlines()[:EXCERPT_AFTER]
        return tuple(text(line[:LONGEST_TEXT]) for line in (*above, data[hit.start : hit.end], *below))

    def _tracebacks(self, block: Block, data: bytes, hits: dict[int, LineHit]) -> dict[int, tuple[_Open, Traceback]]:
        """The tracebacks that end in this block, by the start of the line that ends them."""
        headers = [hit for hit in hits.values() if _opens_traceback(hit)]
        if not headers and not self._open:
            return {}
        ended: dict[int, tuple[_Open, Traceback]] = {}
        at = 0 if self._open else headers[0].start
        upcoming = {hit.start for hit in headers}
        while at < len(data):
            if not self._open:
                at = min((start for start in upcoming if start >= at), default=len(data))
                if at >= len(data):
                    break
            end = _line_end(data, at)
            if self._open and at in hits and _begins_launch(hits[at]):
                # Whoever wrote the tracebacks above is gone: nothing below belongs to them.
                self._cut[at], self._open = self._open, []
                continue
            self._line(block, data, at, end, at in upcoming, ended)
            at = end + 1
        return ended

    def _line(
        self,
        block: Block,
        data: bytes,
        start: int,
        end: int,
        is_header: bool,
        ended: dict[int, tuple[_Open, Traceback]],
    ) -> None:
        line = text(data[start : min(end, start + LONGEST_TEXT)])
        prefix = parse_prefix(line)
        for one in self._open:
            one.age += 1
        self._pause += 1
        if is_header:
            self._pause = 0
            if len(self._open) == _MOST_OPEN:
                self._open.pop(0)
            offset = block.locate(start).offset
            self._open.append(
                _Open(
                    stream=block.file_id,
                    path=block.path,
                    offset=offset,
                    header=line,
                    prefix=prefix,
                    begins={block.file_id: offset},
                    frames=[],
                )
            )
            return
        body = line[prefix.rest :]
        newest = self._open[-1]
        newest.lines += 1
        frame = _FRAME.match(body)
        if frame is not None:
            newest.lines = self._pause = 0
            newest.frames.append(Frame(frame["path"], int(frame["line"]), frame["function"] or ""))
        elif body[:1].isspace() or not body:
            if newest.frames and body.strip() and not newest.frames[-1].source:
                last = newest.frames[-1]
                newest.frames[-1] = Frame(last.path, last.line, last.function, body.strip())
        elif not body.startswith(_CHAIN):
            named = _EXCEPTION.match(body)
            if named is not None and named["type"] not in _LEVELS and (not prefix.present or newest.prefix.present):
                one = self._open.pop(0)
                ended[start] = (
                    one,
                    Traceback(
                        offset=one.offset,
                        header=one.header,
                        frames=tuple(one.frames or newest.frames),
                        exception=named["type"],
                        message=named["message"] or "",
                        begins=one.begins,
                    ),
                )
                return
        if self._pause >= LONGEST_PAUSE:
            self._open.clear()
        elif newest.lines > _LONGEST_PART:
            self._open.pop()
        elif self._open[0].age > _LONGEST_TRACEBACK:
            self._open.pop(0)


def _opens_traceback(hit: LineHit) -> bool:
    """Whether the header is one: what a harmless line quotes (a prompt, a request dump) opens nothing."""
    quoted = any(match.rule.role == "noise" and match.rule.covers == "line" for match in hit.matches)
    return not quoted and any(pattern.use == "traceback" for pattern in hit.aside)


def _begins_launch(hit: LineHit) -> bool:
    return any(match.rule.role == "marker" and match.rule.launch for match in hit.matches)


def _may_be_told(match: Match) -> bool:
    """Whether this line may become the evidence of a finding."""
    role = match.rule.role
    return role in ("cause", "symptom") or (role == "noise" and match.rule.escalate_when is not None)


def _wrapped_rank(origin: Origin) -> tuple[str, ...]:
    """The rank that a wrapper (torch's `[rank4]:`) names."""
    rank = origin.labels.get("rank")
    return (f"RANK{rank}",) if rank else ()


def _line_end(data: bytes, start: int) -> int:
    end = data.find(b"\n", start)
    return len(data) if end < 0 else end


def _lines_up_from(data: bytes, end: int, base: int) -> Iterator[tuple[int, int]]:
    """Start and end of the line that ends at `end`, and of those above it down to `base`."""
    while end >= base:
        begin = data.rfind(b"\n", base, end) + 1 or base
        yield begin, end
        end = begin - 1


def _last_lines(data: bytes, end: int, base: int) -> list[bytes]:
    """The lines of `data[base:end]` that an excerpt shows above its own, `end` being where the last of them ends."""
    lines = islice(_lines_up_from(data, end, base), EXCERPT_BEFORE)
    return [data[begin:stop] for begin, stop in lines][::-1]


def _last_end(data: bytes) -> int:
    """Where the last line ends: before its newline, if it has one; -1 where there is none."""
    return len(data) - 1 if data.endswith(b"\n") else len(data) or -1


def _around(line: str, position: int) -> str:
    """At most LONGEST_TEXT characters of a line, the match among them."""
    if len(line) <= LONGEST_TEXT:
        return line
    begin = max(0, min(position - 200, len(line) - LONGEST_TEXT))
    return line[begin : begin + LONGEST_TEXT]
