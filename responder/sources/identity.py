"""How a file is known again, whatever its name: by device and inode, and by what it contains.

An inode alone will not do.  It is reused after a deletion, and it stays the same while the content is emptied and
written anew; so every place that was reached is remembered together with a hash of the bytes before it, and with one
of the file's first bytes.
"""

import errno
import os
import stat
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple

from responder.store.checkpoints import Checkpoint, Marker

MARKER_SIZE = 256
"""How many bytes a marker covers, where there are that many."""

_FLAGS = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY


class FileKey(NamedTuple):
    """What the system calls a file; unique at any one moment, and while a descriptor is open."""

    device: int
    inode: int

    @classmethod
    def of(cls, info: os.stat_result) -> "FileKey":
        """The key of a file that was asked for its status."""
        return cls(info.st_dev, info.st_ino)


def mark(data: bytes | memoryview) -> Marker:
    """The marker of these bytes."""
    return Marker(len(data), blake2b(data, digest_size=16).digest())


NOTHING = mark(b"")
"""The marker of no bytes at all; matches everywhere."""


def marks(marker: Marker, descriptor: int, offset: int) -> bool:
    """Whether the bytes that start at `offset` are those the marker was made of."""
    return marker.size == 0 or mark(os.pread(descriptor, marker.size, offset)) == marker


def continues(descriptor: int, last: Checkpoint) -> bool:
    """Whether the open file holds, up to where reading stopped, what was read then."""
    return (
        os.fstat(descriptor).st_size >= last.offset
        and marks(last.head, descriptor, 0)
        and marks(last.tail, descriptor, last.offset - last.tail.size)
    )


def open_log(path: str) -> int:
    """Open a regular file or a FIFO for reading; never waits for a writer, never follows anything but data.

    Raises OSError, with EINVAL for what is neither: a device or a socket must not even be touched.
    """
    _refuse_others(Path(path).stat())
    descriptor = os.open(path, _FLAGS)
    try:
        _refuse_others(os.fstat(descriptor))  # it may have been replaced in between
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _refuse_others(info: os.stat_result) -> None:
    if stat.S_ISDIR(info.st_mode):
        raise IsADirectoryError(errno.EISDIR, "a folder, not a file")
    if not (stat.S_ISREG(info.st_mode) or stat.S_ISFIFO(info.st_mode)):
        raise OSError(errno.EINVAL, "neither a file nor a pipe")
