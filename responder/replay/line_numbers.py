"""The numbers of the few lines that are evidence."""

import os
from bisect import bisect_right, insort
from collections.abc import Iterable
from pathlib import Path

import stringzilla
from msgspec.structs import replace

from responder.nouns import Incident
from responder.replay.reading import Count

_CHUNK = 1 << 20


class LineNumbers:
    """Counts on from the nearest line that was counted before, so that many incidents cost one pass."""

    def __init__(self) -> None:
        self._known: dict[Path, list[tuple[int, int]]] = {}
        """By file, offsets and how many newlines stand before them, ascending."""

    def learn(self, counts: Iterable[Count]) -> None:
        """Take what the scan has counted, in the order of the file."""
        for path, offset, newlines in counts:
            known = self._known.setdefault(Path(path), [(0, 0)])
            known.append((offset, known[-1][1] + newlines))

    def numbered(self, incident: Incident) -> Incident:
        """The incident with the line number of its evidence; unchanged for standard input and archives."""
        number = self.of(Path(incident.evidence.path), incident.evidence.offset)
        return incident if number is None else replace(incident, evidence=replace(incident.evidence, line=number))

    def of(self, path: Path, offset: int) -> int | None:
        """The number, from 1, of the line that holds this byte; None where the file is not the log itself."""
        if path.suffix.lower() in (".gz", ".zst", ".xz", ".bz2") or not path.is_file():
            return None
        known = self._known.setdefault(path, [(0, 0)])
        at, count = known[bisect_right(known, (offset, offset)) - 1]
        try:
            with path.open("rb", buffering=0) as file:
                if os.fstat(file.fileno()).st_size < offset:
                    return None
                while at < offset:
                    chunk = os.pread(file.fileno(), min(_CHUNK, offset - at), at)
                    if not chunk:
                        return None
                    at, count = at + len(chunk), count + stringzilla.count(chunk, b"\n")
        except OSError:
            return None
        if (at, count) not in known:
            insort(known, (at, count))
        return count + 1
