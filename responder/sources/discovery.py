"""Which paths to follow, from the paths and globs that the user named."""

import glob
import re
from collections.abc import Sequence, Set
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path

RESCAN_PLAIN = 5.0
"""Seconds between two looks at a glob whose folder is fixed; a change of the folder brings the next one forward."""
RESCAN_DEEP = 1.0
"""Seconds between two looks at a glob with wildcards in its folders too, where no one folder tells of a change."""

STDIN = "-"

_COMPRESSED = re.compile(r"\.(gz|zst|xz|bz2|lz4|zip|Z|lzma)(\.(tmp|part))?$")


def is_compressed(name: str) -> bool:
    """Whether a file by this name is an archive that is never followed: what it holds has been read before."""
    return _COMPRESSED.search(name) is not None


def matches(path: str, pattern: str) -> bool:
    """Whether a glob finds this path where it is there: a `*` ends at a slash and begins no hidden name."""
    return _match(path.split("/"), pattern.split("/"))


def _match(names: Sequence[str], patterns: Sequence[str]) -> bool:
    if not patterns:
        return not names
    first, *rest = patterns
    if first == "**":
        return any(_match(names[skipped:], rest) for skipped in range(len(names) + 1))
    if not names or (names[0].startswith(".") and not first.startswith(".")):
        return False
    return fnmatchcase(names[0], first) and _match(names[1:], rest)


class Folder:
    """Tells whether names came to a folder or left it.

    Its time moves in steps, so a change that was just seen is reported once more: there may have been another.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._stamp: tuple[int, int] | None = None
        self._settled = False

    def changed(self) -> bool:
        """Whether something may have changed since the last question."""
        try:
            info = self._path.stat()
            stamp = (info.st_mtime_ns, info.st_ino)
        except OSError:
            stamp = (0, 0)
        before, self._stamp = self._stamp, stamp
        if stamp != before:
            self._settled = False
            return True
        settled, self._settled = self._settled, True
        return not settled


@dataclass(slots=True)
class _Glob:
    pattern: str
    plain: bool
    """Its folder has no wildcard, so that a change of the folder's own time tells of every new name."""
    found: list[str] = field(default_factory=list)
    looked: float = float("-inf")
    folder: "Folder" = field(init=False)

    def __post_init__(self) -> None:
        self.folder = Folder(Path(self.pattern).parent)


class Discovery:
    """The paths to follow, from what the user named."""

    def __init__(self, targets: Sequence[str]) -> None:
        self.targets = tuple(dict.fromkeys(targets))
        self._literal = [t for t in self.targets if not glob.has_magic(t) or Path(t).exists()]
        self._globs = [
            _Glob(t, not glob.has_magic(str(Path(t).parent))) for t in self.targets if t not in self._literal
        ]
        self._found: Set[str] = frozenset()
        self.changed = True
        """The last call of `paths` found others than the one before."""

    def paths(self, now: float) -> dict[str, str]:
        """Every path to look at, with the target it comes from: the named ones, there or not, and what globs find."""
        found = {path: path for path in self._literal}
        for pattern in self._globs:
            for path in self._expand(pattern, now):
                found.setdefault(path, pattern.pattern)
        self.changed = found.keys() != self._found
        self._found = found.keys()
        return found

    def target_of(self, path: str) -> str | None:
        """The path or glob under which `path`, present or not, is followed; None if it is not."""
        if path in self._literal:
            return path
        return next((g.pattern for g in self._globs if matches(path, g.pattern)), None)

    def folders(self) -> set[str]:
        """The folders in which names may appear."""
        named = {str(Path(p).parent) for p in self._literal if p != STDIN}
        plain = {str(Path(g.pattern).parent) for g in self._globs if g.plain}
        return named | plain | {str(Path(p).parent) for g in self._globs for p in g.found}

    def _expand(self, pattern: _Glob, now: float) -> list[str]:
        changed = pattern.plain and pattern.folder.changed()
        if not changed and now - pattern.looked < (RESCAN_PLAIN if pattern.plain else RESCAN_DEEP):
            return pattern.found
        pattern.looked = now
        names = glob.glob(pattern.pattern, recursive=True)  # noqa: PTH207 - Path.glob takes no absolute pattern
        pattern.found = sorted(name for name in names if not is_compressed(name))
        return pattern.found
