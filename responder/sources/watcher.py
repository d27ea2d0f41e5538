"""Early wake-ups when a name appears in a folder or leaves it.

Only that: created, moved, deleted.  Growth is never asked for (every write would be an event), and whatever is missed
here, by an overflowing queue or a folder too many, the poll finds all the same.
"""

from collections.abc import Set
from typing import TYPE_CHECKING

from responder.sources.clock import Waker
from responder.sources.events import SourceEvent, SourceEvents

if TYPE_CHECKING:
    from watchdog.observers.api import BaseObserver, ObservedWatch

MAX_FOLDERS = 32
"""watchdog keeps a thread per folder; folders beyond these are found by the poll alone."""


class FolderWatcher:
    """Wakes the loop through watchdog."""

    def __init__(self, waker: Waker, events: SourceEvents) -> None:
        # Imported here: whoever only replays a finished log has no use for it.
        from watchdog.events import (
            DirCreatedEvent,
            DirDeletedEvent,
            DirMovedEvent,
            FileCreatedEvent,
            FileDeletedEvent,
            FileMovedEvent,
            FileSystemEvent,
            FileSystemEventHandler,
        )

        class Handler(FileSystemEventHandler):
            def on_any_event(self, event: FileSystemEvent) -> None:
                waker.wake()

        self._handler = Handler()
        self._names = [
            FileCreatedEvent,
            FileMovedEvent,
            FileDeletedEvent,
            DirCreatedEvent,
            DirMovedEvent,
            DirDeletedEvent,
        ]
        self._observer: BaseObserver | None = None
        self._watches: dict[str, ObservedWatch] = {}
        self._failed: set[str] = set()
        self._events = events
        self._parts: list[WatcherPart] = []
        self._wanted: frozenset[str] = frozenset()

    def part(self) -> "WatcherPart":
        """For one of several followers, each of which watches folders of its own."""
        self._parts.append(WatcherPart(self))
        return self._parts[-1]

    def watch_parts(self) -> None:
        """Watch what the followers want together, if that has changed."""
        wanted = frozenset[str]().union(*(part.folders for part in self._parts))
        if wanted != self._wanted:
            self._wanted = wanted
            self.watch(wanted)

    def watch(self, folders: Set[str]) -> None:
        """Watch these and no others."""
        for gone in self._watches.keys() - folders:
            self._running().unschedule(self._watches.pop(gone))
        self._failed &= folders
        for folder in sorted(folders - self._watches.keys() - self._failed)[: MAX_FOLDERS - len(self._watches)]:
            try:
                self._watches[folder] = self._running().schedule(
                    self._handler, folder, recursive=False, event_filter=list(self._names)
                )
            except OSError as error:  # no such folder, or one of the system's limits on watches
                self._failed.add(folder)
                self._events(SourceEvent("watch-failed", folder, detail=error.strerror or str(error)))

    def close(self) -> None:
        """Stop the threads."""
        if self._observer:
            self._observer.stop()
            self._observer.join()
            self._observer = None
            self._watches.clear()

    def _running(self) -> "BaseObserver":
        """The observer; OSError when the system has no more of what it needs."""
        if self._observer is None:
            from watchdog.observers import Observer

            observer = Observer()
            observer.start()
            self._observer = observer
        return self._observer


class WatcherPart:
    """One follower's share in a watcher."""

    def __init__(self, whole: FolderWatcher) -> None:
        self._whole = whole
        self.folders: Set[str] = frozenset()

    def watch(self, folders: Set[str]) -> None:
        """Watch these for this follower."""
        if folders != self.folders:
            self.folders = frozenset(folders)
            self._whole.watch_parts()

    def close(self) -> None:
        """Close the whole: followers end together."""
        self._whole.close()
