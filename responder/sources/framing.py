"""From bytes to lines: where a line ends, which are too long, what is no text at all.

Lines end at `\\n` and nowhere else.  Only a line that reached the length limit is taken apart: a progress bar at its
carriage returns, losing nothing, any other by cutting off what lies beyond the limit.
"""

import codecs
import re
from dataclasses import dataclass, field

from responder.sources.block import LineMap, Origin

MAX_LINE = 256 * 1024
"""Bytes of a line that are kept.  sglang's longest, a request echoed by --log-requests, is meant to be cut."""
MAX_PIECES = 1000
"""How often one chunk may be divided; a hostile file cannot make more objects than this per read."""


@dataclass(frozen=True, slots=True)
class Encoding:
    """How a file's text is laid out.  Everything but UTF-16 with a byte order mark counts as UTF-8."""

    name: str
    mark: bytes
    """The byte order mark at the file's start, to be skipped."""
    newline: bytes
    width: int = 1
    """Bytes per unit: newlines lie at multiples of it."""

    def find_newline(self, data: bytes, start: int, end: int) -> int:
        """Position of the first newline in `data[start:end]`, or -1.  `start` is where a unit begins."""
        at = data.find(self.newline, start, end)
        while at >= 0 and (at - start) % self.width:
            at = data.find(self.newline, at + 1, end)
        return at

    def rfind_newline(self, data: bytes, start: int, end: int) -> int:
        """Position of the last newline in `data[start:end]`, or -1.  `start` is where a unit begins."""
        at = data.rfind(self.newline, start, end)
        while at >= 0 and (at - start) % self.width:
            at = data.rfind(self.newline, start, at + len(self.newline) - 1)
        return at


UTF8 = Encoding("utf-8", b"", b"\n")
UTF8_MARKED = Encoding("utf-8", codecs.BOM_UTF8, b"\n")
UTF16LE = Encoding("utf-16-le", codecs.BOM_UTF16_LE, b"\n\0", 2)
UTF16BE = Encoding("utf-16-be", codecs.BOM_UTF16_BE, b"\0\n", 2)


def encoding_of(sample: bytes) -> Encoding:
    """The encoding that a file's first bytes announce."""
    return next((e for e in (UTF8_MARKED, UTF16LE, UTF16BE) if sample.startswith(e.mark)), UTF8)


def may_become_mark(sample: bytes) -> bool:
    """Whether these may be the first bytes of a byte order mark that is still being written, or none at all."""
    return any(e.mark.startswith(sample) and sample != e.mark for e in (UTF8_MARKED, UTF16LE, UTF16BE))


_MAGIC = {
    b"\x1f\x8b": "compressed (gzip)",
    b"\x28\xb5\x2f\xfd": "compressed (zstd)",
    b"\xfd7zXZ\x00": "compressed (xz)",
    b"BZh": "compressed (bzip2)",
    b"PK\x03\x04": "an archive (zip)",
    b"\x7fELF": "a program or a core dump",
    b"SQLite format 3\x00": "a database",
}
BINARY = "binary"
"""What a file is that begins with what is no text and bears no known mark: it may still go on as text."""
END_SAMPLE = 1024
"""Bytes at the end of a binary file by which it is told whether it has become a text."""

_PADDING = re.compile(rb"\0{8,}")
_CONTROLS = bytes(b for b in range(0x20) if b not in b"\b\t\n\v\f\r\x1b") + b"\x7f"


def not_text(sample: bytes) -> str:
    """What a file is that begins like this, if it is no log; else empty.

    Runs of NULs do not count: they are space set aside, or a truncated log under a writer that kept its position.
    """
    for magic, what in _MAGIC.items():
        if sample.startswith(magic):
            return what
    if encoding_of(sample).width == 2:
        return ""
    text = _PADDING.sub(b"", sample)
    controls = len(text) - len(text.translate(None, _CONTROLS))
    return BINARY if controls >= 32 and controls > len(text) // 20 else ""


def is_text(sample: bytes) -> bool:
    """Whether these bytes from the midst of a file are beyond doubt lines of text."""
    text = _PADDING.sub(b"", sample)
    return b"\n" in text and len(text.translate(None, _CONTROLS)) == len(text)


@dataclass(slots=True)
class Piece:
    """Lines to hand on."""

    start: int
    """Position of its first byte in the chunk."""
    data: bytes
    cut: bool = False
    """One line without its newline, the rest of which is left out or follows as a piece of its own."""


@dataclass(slots=True)
class Framed:
    """A chunk, divided."""

    pieces: list[Piece] = field(default_factory=list)
    end: int = 0
    """Position in the chunk up to which everything is done with; behind it lies an unfinished line."""
    inside: bool = False
    """`end` lies inside a line that was cut: what comes up to the next newline is to be skipped."""


def divide(chunk: bytes, start: int, *, inside: bool, encoding: Encoding = UTF8, limit: int = MAX_LINE) -> Framed:
    """Divide `chunk[start:]` into pieces of whole lines; `inside` if it begins in a line that was cut.

    NULs in front of a line are passed over: they are what truncation leaves under a writer that kept its position.
    NULs up to the end are not, for a line may still be written in their place.  Makes progress on any chunk of at
    least `limit` bytes that does not begin with such.
    """
    framed = Framed(end=start, inside=inside)
    size = len(chunk)
    while framed.end < size and len(framed.pieces) < MAX_PIECES:
        position = framed.end
        if framed.inside:
            newline = encoding.find_newline(chunk, position, size)
            if newline < 0:
                framed.end = size - (size - position) % encoding.width
                break
            framed.end, framed.inside = newline + encoding.width, False
        elif encoding.width == 1 and chunk[position] == 0:
            text = _past_nuls(chunk, position)
            if text == size:
                break
            framed.end = text
        elif (end := _run_of_lines(chunk, position, encoding, limit)) > position:
            framed.pieces.append(Piece(position, chunk[position:end]))
            framed.end = end
        elif size - position < limit:
            break
        else:
            end, framed.inside = _cut(chunk, position, encoding, limit)
            framed.pieces.append(Piece(position, chunk[position:end], cut=True))
            framed.end = end
    return framed


def _past_nuls(chunk: bytes, position: int) -> int:
    step = 65536
    while position < len(chunk):
        rest = chunk[position : position + step].lstrip(b"\0")
        if rest:
            return min(position + step, len(chunk)) - len(rest)
        position += step
    return len(chunk)


def _run_of_lines(chunk: bytes, start: int, encoding: Encoding, limit: int) -> int:
    """Where the whole lines end that begin at `start`, none of them over the limit, none with a NUL in front."""
    stop = len(chunk)
    if encoding.width == 1:
        nul = chunk.find(b"\n\0", start) if b"\0" in chunk else -1
        stop = nul + 1 if nul >= 0 else stop
    end = start
    # From each newline, the farthest one that a line within the limit can reach: few steps, however short the lines.
    while (newline := encoding.rfind_newline(chunk, end, reach := min(end + limit, stop))) >= 0:
        end = newline + encoding.width
        if reach == stop:
            break
    return end


def _cut(chunk: bytes, start: int, encoding: Encoding, limit: int) -> tuple[int, bool]:
    """Where to end an overlong line, and whether the next byte still belongs to what is left out."""
    if encoding.width == 2:
        return start + limit - limit % 2, True
    segment = chunk.rfind(b"\r", start, start + limit - 1)
    if segment >= 0:
        return segment + 1, False
    end = start + limit
    while end > start + limit - 4 and chunk[end - 1] & 0xC0 == 0x80:
        end -= 1  # not inside a character
    return (end - 1 if chunk[end - 1] & 0xC0 == 0xC0 else start + limit), True


def as_utf8(data: bytes, offset: int, encoding: Encoding) -> tuple[bytes, LineMap | None]:
    """UTF-16 lines as UTF-8, with the place of each in the file.  What is UTF-8 already comes back as it is."""
    if encoding.width == 1:
        return data, None
    lines = LineMap()
    converted = bytearray()
    position = 0
    while position < len(data):
        newline = encoding.find_newline(data, position, len(data))
        end = newline + encoding.width if newline >= 0 else len(data)
        lines.starts.append(len(converted))
        lines.origins.append(Origin(offset + position))
        text = data[position:end].decode(encoding.name, "backslashreplace")
        converted += text.encode("utf-8", "backslashreplace")
        position = end
    return bytes(converted), lines
