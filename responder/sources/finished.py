"""Logs that nobody writes to any more, read from start to end: files, archives, folders, globs, standard input.

Lines, unwrapping and identity are as for followed files, so that a replay sees what a follower would have seen.
"""

import glob
import os
import stat
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from responder.sources.archive import DEFAULT_LIMITS, DamagedArchiveError, Limits, decompressed
from responder.sources.block import Block
from responder.sources.events import SourceEvent, SourceEvents, ignore_events
from responder.sources.framing import BINARY, END_SAMPLE, MAX_PIECES, as_utf8, divide, encoding_of, is_text, not_text
from responder.sources.identity import MARKER_SIZE, mark
from responder.sources.wrappers import Unwrapper
from responder.sources.wrappers.newest_first import oldest_first

BLOCK = 4 << 20
"""Bytes per block."""

STDIN = "-"

_SAMPLE = 4096

_NO_LOGS = frozenset(
    {
        ".toml",
        ".yaml",
        ".yml",
        ".cfg",
        ".ini",
        ".conf",
        ".service",
        ".md",
        ".rst",
        ".html",
        ".py",
        ".pyc",
        ".sh",
        ".csv",
    }
    | {".png", ".jpg", ".svg", ".pdf", ".pem", ".tar", ".tgz", ".zip", ".whl", ".so", ".safetensors", ".bin", ".pt"}
    | {".pkl", ".db", ".sqlite"}
)
"""Suffixes of files in a folder that are passed over.  One that is named itself is read whatever its suffix."""


class UnreadableError(Exception):
    """A path that gives no log.  The text is one line for a person, with the path."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{path}: {reason}")
        self.path = path
        self.reason = reason


def find_logs(paths: Iterable[str]) -> list[str]:
    """The files that `paths` mean: files, folders (with what is in them), globs, and `-`.  Each file once.

    Raises UnreadableError for the first path that means none.
    """
    found: dict[str, str] = {}
    for path in paths:
        for file in _files_of(path):
            found.setdefault(file if file == STDIN else os.path.realpath(file), file)
    return list(found.values())


def read_finished(
    path: str,
    events: SourceEvents = ignore_events,
    *,
    limits: Limits = DEFAULT_LIMITS,
    stdin: BinaryIO | None = None,
) -> Iterator[Block]:
    """The lines of one finished log, unwrapped and oldest first, in blocks of about BLOCK bytes.

    `-` is `stdin`, or standard input.  What cannot be read of a damaged archive is reported as an `unreadable` event
    behind the blocks that could; a path that gives nothing at all raises UnreadableError.
    """
    unwrapper = Unwrapper()
    with _opened(path, stdin) as raw:
        for block in oldest_first(_blocks(path, raw, events, limits)):
            yield from unwrapper.feed(block)
        yield from unwrapper.flush()


def _files_of(path: str) -> list[str]:
    if path == STDIN:
        return [path]
    if Path(path).is_dir():
        return _files_in(path)
    if glob.has_magic(path) and not os.path.lexists(path):
        matches = sorted(glob.glob(path, recursive=True))  # noqa: PTH207 (Path.glob takes no absolute pattern)
        files = [file for file in matches if not Path(file).is_dir()]
        if not files:
            raise UnreadableError(path, "no file matches")
        return files
    with _reasons(path):
        Path(path).stat()
    return [path]


def _files_in(folder: str) -> list[str]:
    with _reasons(folder):
        os.listdir(folder)  # noqa: PTH208 (only to have the error, which walking swallows)
    files = []
    for where, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            file = Path(where, name)
            if not name.startswith(".") and file.suffix.lower() not in _NO_LOGS and file.is_file():
                files.append(str(file))
    if not files:
        raise UnreadableError(folder, "there is no log in this folder")
    return files


@contextmanager
def _reasons(path: str) -> Iterator[None]:
    """Turn the system's errors into one clear line."""
    try:
        yield
    except FileNotFoundError:
        raise UnreadableError(path, "no such file") from None
    except PermissionError:
        raise UnreadableError(path, "permission denied") from None
    except OSError as error:
        raise UnreadableError(path, (error.strerror or str(error)).lower()) from None


@contextmanager
def _opened(path: str, stdin: BinaryIO | None) -> Iterator[BinaryIO]:
    if path == STDIN:
        yield stdin or sys.stdin.buffer
        return
    with _reasons(path):
        mode = Path(path).stat().st_mode
        if stat.S_ISDIR(mode):
            raise UnreadableError(path, "a folder, where a file is meant")
        if not (stat.S_ISREG(mode) or stat.S_ISFIFO(mode)):
            raise UnreadableError(path, "neither a file nor a pipe")
        file = Path(path).open("rb", buffering=0)  # noqa: SIM115 (closed below; only opening it has a reason to give)
    with file:
        yield file


def _blocks(path: str, raw: BinaryIO, events: SourceEvents, limits: Limits) -> Iterator[Block]:
    pieces = decompressed(raw, limits, BLOCK)
    start = _first(path, pieces, events)
    what = not_text(start[:_SAMPLE])
    if what and not (what == BINARY and _ends_as_text(raw)):
        raise UnreadableError(path, f"{what}, not a log")
    encoding = encoding_of(start)
    file_id, arrived = _identity(raw, start), _modified(raw)
    base, position, chunk, inside = 0, len(encoding.mark), start, False
    while True:
        framed = divide(chunk, position, inside=inside, encoding=encoding)
        for piece in framed.pieces:
            offset = base + piece.start
            data, lines = as_utf8(piece.data, offset, encoding)
            if piece.cut:
                events(SourceEvent("line-cut", path, offset))
                data += b"\n"
            yield Block(path, file_id, offset, data, truncated=piece.cut, arrived=arrived, lines=lines)
        position, inside = framed.end, framed.inside
        if len(framed.pieces) >= MAX_PIECES:
            continue
        fresh = _next(path, pieces, events)
        if not fresh:
            break
        base, position, chunk = base + position, 0, chunk[position:] + fresh
    if position < len(chunk) and not inside:
        data, lines = as_utf8(chunk[position:], base + position, encoding)
        yield Block(path, file_id, base + position, data, partial=True, arrived=arrived, lines=lines)


def _first(path: str, pieces: Iterator[bytes], events: SourceEvents) -> bytes:
    """Enough of the beginning to tell the encoding, or all there is."""
    start = b""
    while len(start) < _SAMPLE and (fresh := _next(path, pieces, events)):
        start += fresh
    return start


def _next(path: str, pieces: Iterator[bytes], events: SourceEvents) -> bytes:
    try:
        with _reasons(path):
            return next(pieces, b"")
    except DamagedArchiveError as error:
        events(SourceEvent("unreadable", path, detail=str(error)))
        return b""


def _identity(raw: BinaryIO, start: bytes) -> str:
    """The id that a follower would give the file, so that both name a line alike; for a stream, by its beginning."""
    digest = mark(start[:MARKER_SIZE]).digest.hex()[:12]
    info = _status(raw)
    if info is None or not stat.S_ISREG(info.st_mode):
        return f"stream-{digest}"
    return f"{info.st_dev:x}-{info.st_ino:x}-0-{digest}"


def _ends_as_text(raw: BinaryIO) -> bool:
    """Whether a file on the disk that begins as no text ends as one: garbage before a log hides no log."""
    info = _status(raw)
    if info is None or not stat.S_ISREG(info.st_mode):
        return False
    return is_text(os.pread(raw.fileno(), END_SAMPLE, max(0, info.st_size - END_SAMPLE)))


def _modified(raw: BinaryIO) -> float:
    """When the log was last written to, in place of a time of arrival; 0 for a stream."""
    info = _status(raw)
    return info.st_mtime if info is not None and stat.S_ISREG(info.st_mode) else 0.0


def _status(raw: BinaryIO) -> os.stat_result | None:
    try:
        return os.fstat(raw.fileno())
    except (OSError, ValueError):
        return None
