"""What rotation leaves beside a log: renamed files, copies, and files that came and went between two looks."""

import contextlib
import os
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from responder.sources.discovery import is_compressed
from responder.sources.identity import FileKey, continues, marks, open_log
from responder.store.checkpoints import Checkpoint

_ROTATION = r"(?:\d[\dTZ:._-]*|old|prev|bak\d*)"
_AFTER = re.compile(rf"^(?P<base>.+?)[._-]{_ROTATION}$")
_INSIDE = re.compile(rf"^(?P<stem>.+?)[._-]{_ROTATION}(?P<suffix>\.[A-Za-z]\w*)$")


def bases_of(name: str) -> set[str]:
    """The names a file may have had before rotation renamed it: of `log.1`, `log-20260828`, `server.1.log`, ..."""
    bases = set()
    if match := _INSIDE.match(name):
        bases.add(match["stem"] + match["suffix"])
    while match := _AFTER.match(name):
        name = match["base"]
        bases.add(name)
    return bases


@dataclass(frozen=True, slots=True)
class Sibling:
    """A regular, uncompressed file in a folder that is looked through."""

    path: str
    key: FileKey
    size: int
    modified_ns: int


class Folders:
    """What lies in folders, each listed once until told to look afresh."""

    def __init__(self) -> None:
        self._files: dict[str, list[Sibling]] = {}
        self._by_base: dict[str, dict[str, list[Sibling]]] = {}

    def look_afresh(self) -> None:
        """Forget what was listed."""
        self._files.clear()
        self._by_base.clear()

    def beside(self, path: str) -> list[Sibling]:
        """The files in the folder of `path`; none where it cannot be read."""
        folder = str(Path(path).parent)
        if folder not in self._files:
            self._files[folder] = _listed(folder)
        return self._files[folder]

    def rotated_from(self, path: str) -> list[Sibling]:
        """Those that may have been at `path` before, the longest unchanged first."""
        folder = str(Path(path).parent)
        if folder not in self._by_base:
            groups: dict[str, list[Sibling]] = defaultdict(list)
            for sibling in sorted(self.beside(path), key=lambda s: s.modified_ns):
                for base in bases_of(Path(sibling.path).name):
                    groups[base].append(sibling)
            self._by_base[folder] = groups
        return self._by_base[folder].get(Path(path).name, [])


def _listed(folder: str) -> list[Sibling]:
    found = []
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if not is_compressed(entry.name) and entry.is_file(follow_symlinks=False):
                    try:
                        info = entry.stat(follow_symlinks=False)
                    except OSError:
                        continue  # gone since it was listed
                    found.append(Sibling(entry.path, FileKey.of(info), info.st_size, info.st_mtime_ns))
    except OSError:
        return []
    return found


@dataclass(frozen=True, slots=True)
class Missed:
    """A sibling with lines that nobody has read."""

    sibling: Sibling
    copy: bool
    """It begins with what has been read already; else it is to be read whole."""


def missed(
    last: Checkpoint, rotated: Iterable[Sibling], *, gone: bool, live: bool, known: Callable[[Sibling], bool]
) -> list[Missed]:
    """Which of the `rotated` files have unread lines, now that the file read last left its path or was emptied.

    `gone`: it was emptied or deleted, so that what it still held may live on in a copy.  `live`: that happened just
    now, so that lines may have been read which the copy, a moment older, lacks.  `known`: whether a sibling is read
    elsewhere or was there from the beginning.  Nothing older than the last look at the file counts: whatever was
    rotated away before had its turn.
    """
    result = []
    for sibling in rotated:
        if sibling.modified_ns < last.modified_ns or known(sibling):
            continue
        if begins_with(sibling.path, last):
            if gone:
                result.append(Missed(sibling, copy=True))
        elif gone and last.offset == 0 and last.head.size and is_as_left(sibling.path, last):
            # All that was seen of it was the beginning of its first line, and the copy begins so.
            result.append(Missed(sibling, copy=True))
        elif not (gone and live and is_prefix(sibling.path, last)):
            result.append(Missed(sibling, copy=False))
    return result


def begins_with(path: str, last: Checkpoint) -> bool:
    """Whether the file at `path` holds all that was read of another one.  Never where nothing was."""
    return last.offset > 0 and is_as_left(path, last)


def is_as_left(path: str, last: Checkpoint) -> bool:
    """Whether reading can go on in the file at `path` where it stopped then."""
    with _opened(path) as descriptor:
        return descriptor >= 0 and continues(descriptor, last)


def is_prefix(path: str, last: Checkpoint) -> bool:
    """Whether the file at `path` looks like the beginning, and no more, of what was read of another one.

    That is what copying leaves when lines were added, and read, between the copy and the truncation.
    """
    with _opened(path) as descriptor:
        if descriptor < 0 or last.head.size == 0:
            return False
        return last.head.size <= os.fstat(descriptor).st_size < last.offset and marks(last.head, descriptor, 0)


@contextlib.contextmanager
def _opened(path: str) -> Iterator[int]:
    """A descriptor, or -1 where the file cannot be opened."""
    try:
        descriptor = open_log(path)
    except OSError:
        yield -1
        return
    try:
        yield descriptor
    finally:
        os.close(descriptor)
