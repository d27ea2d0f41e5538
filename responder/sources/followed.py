"""A followed file's part in what goes on around it, and the paths that lead to it."""

from dataclasses import dataclass, field
from pathlib import Path

from responder.sources.discovery import Folder
from responder.sources.growing_file import GrowingFile
from responder.sources.identity import FileKey
from responder.sources.pipe import Pipe
from responder.store.checkpoints import Checkpoint


@dataclass(slots=True, eq=False)
class Followed:
    """A regular file that is followed."""

    file: GrowingFile
    names: int = 0
    """How many of the followed paths lead to it now."""
    rotated: float | None = None
    """When its own path was found to lead elsewhere; monotonic."""
    grown: float = 0.0
    """When it grew last; monotonic."""
    turn: int = 0
    """The poll that read it last."""
    found: int = 0
    """The poll that came across it first; 0 for files of an earlier run."""
    after: "Followed | None" = None
    """The file that was at its path before: what is left of that one comes first."""
    originals: list["Followed"] = field(default_factory=list)
    """It may be the copy, made before truncating, of one of these: held back until that is clear."""
    trouble: str = ""
    """Why it cannot be read at the moment, as it was reported."""
    stored: int = 0
    """The version of its checkpoint that was stored last."""


@dataclass(slots=True, eq=False)
class Slot:
    """A path that is followed, and what it leads to."""

    path: str
    target: str
    """The path or glob, as given, that it comes from."""
    location: Path = field(init=False)
    folder: Folder = field(init=False)
    current: Followed | None = None
    last: Checkpoint | None = None
    """How far the file was read that the path led to last; None while it leads to one."""
    previous: Followed | None = None
    """That file, if it is still open."""
    pipe: Pipe | None = None
    missing: bool = False
    """It was said that there is nothing at this path."""
    trouble: str = ""
    """Why it cannot be read at the moment, as it was reported."""
    passed_over: tuple[FileKey, int] | None = None
    """A file that was there at the start, of this size, to be read from its end as soon as it can be opened."""
    older: dict[FileKey, int] = field(default_factory=dict)
    """Rotated siblings that were there when the path was first found, with their times."""

    def __post_init__(self) -> None:
        self.location = Path(self.path)
        self.folder = Folder(self.location.parent)


@dataclass(frozen=True, slots=True)
class FileStatus:
    """What is known of one followed file, for metrics and for noticing silence."""

    path: str
    file_id: str
    size: int
    offset: int
    quiet: float
    """Seconds since it last grew, unfinished lines included: a progress bar counts."""
