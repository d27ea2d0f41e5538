"""A start on logs that hold old failures: one summary, not a flood.

What lay in the logs before the daemon came is history once it is some minutes old: nobody can act on each of five
crashes of last night at once, and Slack takes a message a second.  So until all that was there has been read, what is
old is stored and kept quiet; then it is told, in one message where it is more than a few.  All of it is decided from
what the database holds, so that a kill in between changes nothing: the next start finds it untold.
"""

import sqlite3
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path

from responder.nouns import Incident
from responder.publish.publisher import Publisher
from responder.store import incidents

OLD_SECONDS = 600.0
"""A failure whose last line is older than this when the daemon finds it is history.  A restart takes less."""

MOST_SINGLE = 3
"""So many old incidents still get a message each."""

SENTENCE = "Their last lines were older than ten minutes when responder came to read them."


class CatchUp:
    """Knows which servers' logs are still read for the first time, and what is kept quiet meanwhile."""

    def __init__(self, servers: Iterable[str]) -> None:
        self._behind = set(servers)
        self._told = False

    @property
    def due(self) -> bool:
        """Whether all has been read and what was kept quiet is to be told."""
        return not self._behind and not self._told

    def reached_end(self, server: str) -> None:
        """All that lay in the logs of a server has been read."""
        self._behind.discard(server)

    def keeps_quiet(self, incident: Incident, wall: float) -> bool:
        """Whether to store an incident and say nothing yet."""
        return not self._told and is_old(incident, wall)

    def tell(self, connection: sqlite3.Connection, publisher: Publisher, wall: float) -> None:
        """Tell what was kept quiet.  Inside the caller's transaction; `told` says that it succeeded."""
        untold = [i for i in incidents.unresolved(connection) if incidents.told(connection, i.id) is None]
        old = [i for i in untold if i.severity != "info" and is_old(i, wall) and not _silenced(connection, i, wall)]
        # A terminal is no channel: whoever looks at it wants each of them.
        if len(old) > MOST_SINGLE and publisher.mode != "none":
            publisher.summarise(connection, old, SENTENCE, wall)
            return
        for incident in old:
            publisher.offer(connection, incident, wall)

    def told(self) -> None:
        """What `tell` did is in the database."""
        self._told = True


def is_old(incident: Incident, wall: float) -> bool:
    """Whether its last line was written some minutes before now; by the file's own time where lines have none."""
    written = _written(incident)
    return written is not None and wall - written > OLD_SECONDS


def _written(incident: Incident) -> float | None:
    """When its last line was written, in wall clock seconds; a stamp without a zone is in this host's."""
    if incident.last_seen is not None:
        return datetime.fromisoformat(incident.last_seen).timestamp()
    try:
        return Path(incident.evidence.path).stat().st_mtime
    except OSError:
        return None


def _silenced(connection: sqlite3.Connection, incident: Incident, wall: float) -> bool:
    until = incidents.silenced_until(connection, incident)
    return until is not None and until > wall
