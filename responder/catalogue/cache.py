"""A private folder for files that are made from the rules: the decoded catalogue, the compiled patterns.

The compiled patterns are input to native code, so nobody else may be able to write there.
"""

import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")


def private_cache(folder: Path | None = None) -> Path | None:
    """The cache folder, made with mode 0700, or None where it cannot be made or is not ours alone.

    `folder` None means systemd's $CACHE_DIRECTORY, else $XDG_CACHE_HOME/responder, else ~/.cache/responder.
    """
    path = folder or default_cache()
    try:
        path.mkdir(parents=True, exist_ok=True, mode=0o700)
        status = path.lstat()
    except (OSError, RuntimeError):
        return None
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid():
        return None
    if status.st_mode & 0o077:
        try:
            path.chmod(0o700)
        except OSError:
            return None
    return path


def default_cache() -> Path:
    """Where the cache lies when nobody says otherwise."""
    systemd = os.environ.get("CACHE_DIRECTORY", "").split(":")[0]
    if systemd:
        return Path(systemd)
    xdg = os.environ.get("XDG_CACHE_HOME")
    return Path(xdg) / "responder" if xdg else Path.home() / ".cache" / "responder"


def read_cached(path: Path, decode: Callable[[bytes], T]) -> T | None:
    """What a cache file holds; None where there is none.  A damaged or foreign one is deleted, to be made anew."""
    try:
        return decode(path.read_bytes())
    except FileNotFoundError:
        return None
    except Exception:  # noqa: BLE001 - whatever the decoder says of bytes that it did not write
        path.unlink(missing_ok=True)
        return None


def replace_cached(path: Path, content: bytes) -> None:
    """Write a cache file in place of all others of its kind, which its name tells up to the first dash.

    A full or read-only disk costs time at the next start, nothing else.
    """
    try:
        for old in path.parent.glob(f"{path.name.partition('-')[0]}-*"):
            old.unlink(missing_ok=True)
        temporary = path.with_suffix(".tmp")
        temporary.write_bytes(content)
        temporary.replace(path)
    except OSError:
        return
