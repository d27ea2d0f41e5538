"""Decompression of finished logs: gzip, zstd, xz and bzip2, told by their first bytes, not by their names.

Several members or frames in one file follow each other.  What a damaged or truncated archive still gives is read; the
damage is told once.  Output comes in pieces of bounded size, and a bomb (much more output than any log compresses to)
is stopped.
"""

import bz2
import gzip
import io
import lzma
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO, Protocol

import zstandard

PIECE = 1 << 20
"""About how many bytes a piece of output has (from zstd up to 32 MiB more, for a block cannot be divided)."""

_ZSTD_INPUT = 1024
"""Bytes given to zstd at once.  Four bytes can stand for 128 KiB, so this bounds what one call returns."""


@dataclass(frozen=True, slots=True)
class Limits:
    """When an archive counts as a bomb."""

    output: int = 64 << 30
    """Bytes of output at most."""
    ratio: int = 2000
    """Bytes of output per byte of input at most, once `exempt` bytes have come.  A log of one repeated line comes near
    1000 under gzip; a real one stays under 100."""
    exempt: int = 256 << 20


DEFAULT_LIMITS = Limits()


class DamagedArchiveError(Exception):
    """The rest of an archive cannot be read.  The text says why, without the path."""


class _Reader(Protocol):
    def read1(self, size: int, /) -> bytes: ...


class CountingReader(io.RawIOBase):
    """Passes reads through and counts the bytes."""

    def __init__(self, raw: BinaryIO) -> None:
        super().__init__()
        self._raw = raw
        self.count = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        read = self._raw.readinto(buffer)  # type: ignore[attr-defined]
        self.count += read or 0
        return read or 0


_READERS: dict[bytes, Callable[[Any], _Reader]] = {
    b"\x1f\x8b": lambda stream: gzip.GzipFile(fileobj=stream),
    b"\xfd7zXZ\x00": lzma.LZMAFile,
    b"BZh": bz2.BZ2File,
    b"\x28\xb5\x2f\xfd": lambda stream: _ZstdFrames(stream),
}
_ERRORS = (EOFError, OSError, zlib.error, lzma.LZMAError, zstandard.ZstdError)


def decompressed(raw: BinaryIO, limits: Limits = DEFAULT_LIMITS, piece: int = PIECE) -> Iterator[bytes]:
    """The content of `raw` in pieces, decompressed where it is an archive and as it is where it is not.

    Raises DamagedArchiveError behind the last piece that could be read, and OSError where `raw` itself cannot be read.
    """
    counting = CountingReader(raw)
    stream = io.BufferedReader(counting, 64 * 1024)
    opener = next((opener for magic, opener in _READERS.items() if stream.peek(8).startswith(magic)), None)
    if opener is None:
        while data := stream.read(piece):
            yield data
        return
    output, held, size = 0, [], 0
    try:
        for data in _outputs(opener(stream), piece):
            output += len(data)
            if output > limits.output or (output > limits.exempt and output > limits.ratio * counting.count):
                raise DamagedArchiveError(f"it unpacks to {output} bytes and more, as no log does: stopped there")
            held.append(data)
            size += len(data)
            if size >= piece:
                yield b"".join(held)
                held, size = [], 0
    except DamagedArchiveError:
        yield b"".join(held)
        raise
    yield b"".join(held)


def _outputs(reader: _Reader, size: int) -> Iterator[bytes]:
    while True:
        try:
            data = reader.read1(size)
        except EOFError:
            raise DamagedArchiveError("the archive is cut off: it was still being written, or copied in part") from None
        except _ERRORS as error:
            raise DamagedArchiveError(f"the archive is damaged: {error}") from None
        if not data:
            return
        yield data


class _ZstdFrames:
    """Frames of zstd one after the other.  zstandard's own stream reader does not tell a cut-off frame from the end."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._frame = zstandard.ZstdDecompressor(max_window_size=1 << 31).decompressobj()
        self._begun = False
        self._ahead = b""

    def read1(self, _size: int, /) -> bytes:
        while True:
            data = self._ahead or self._stream.read(_ZSTD_INPUT)
            self._ahead = b""
            if not data:
                if self._begun:
                    raise EOFError
                return b""
            self._begun = True
            output: bytes = self._frame.decompress(data)
            if self._frame.eof:
                self._ahead = self._frame.unused_data
                self._frame = zstandard.ZstdDecompressor(max_window_size=1 << 31).decompressobj()
                self._begun = False
            if output:
                return output
