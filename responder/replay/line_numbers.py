"""Line numbers, counted only for the few lines that are evidence: the scan itself counts none."""

import os
from pathlib import Path

from msgspec.structs import replace

from responder.nouns import Incident

_CHUNK = 1 << 20


def numbered(incident: Incident) -> Incident:
    """The incident with the line number of its evidence; unchanged for standard input and archives."""
    number = line_number(Path(incident.evidence.path), incident.evidence.offset)
    return incident if number is None else replace(incident, evidence=replace(incident.evidence, line=number))


def line_number(path: Path, offset: int) -> int | None:
    """The number, from 1, of the line that holds this byte; None where the file is not the log itself."""
    if path.suffix.lower() in (".gz", ".zst", ".xz", ".bz2") or not path.is_file():
        return None
    count, left = 1, offset
    try:
        with path.open("rb", buffering=0) as file:
            if os.fstat(file.fileno()).st_size < offset:
                return None
            while left > 0:
                chunk = file.read(min(_CHUNK, left))
                if not chunk:
                    return None
                count += chunk.count(b"\n")
                left -= len(chunk)
    except OSError:
        return None
    return count
