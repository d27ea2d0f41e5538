"""What happens to the sources, as the daemon's own log tells it."""

import structlog

from responder.sources.events import SourceEvent

log = structlog.get_logger(__name__)

_LOUD = frozenset({"missing", "unreadable", "readable", "watch-failed", "line-cut"})


class SourceLog:
    """Writes each event down; of the lines that were cut only the first of each log, for there may be thousands."""

    def __init__(self) -> None:
        self._cut: set[str] = set()

    def __call__(self, event: SourceEvent) -> None:
        """Write it down."""
        detail = event.detail
        if event.kind == "line-cut":
            if event.path in self._cut:
                return
            self._cut.add(event.path)
            detail = "what follows its first 256 KiB is left out; later ones are only counted, in /metrics"
        say = log.warning if event.kind in _LOUD else log.info
        say(event.kind, path=event.path, **({"detail": detail} if detail else {}))
