"""An incident: one fault of one server, its cause and what followed.  The unit of every alert."""

from typing import Literal

import msgspec

from responder.nouns.gpu import GpuFacts
from responder.nouns.kinds import Confidence, Phase, Severity
from responder.nouns.remedy import Relaunch, Remedy
from responder.nouns.server import Server

SCHEMA_VERSION = 1
"""Of the incident's JSON.  A change that an old reader would misread raises it."""

Status = Literal["open", "acknowledged", "resolved"]
Clock = Literal["wrapper", "log", "arrival"]
"""Where a time came from: the log's wrapper (with a zone), the line's own stamp (no zone), or when it arrived."""


class Evidence(msgspec.Struct, frozen=True, kw_only=True):
    """The line that proves the cause, with its surroundings."""

    path: str
    line: int | None = None
    """Counted from 1; None where the file's start was not seen."""
    offset: int
    """Of the line's first byte in the file."""
    text: str
    excerpt: tuple[str, ...] = ()


class Symptom(msgspec.Struct, frozen=True, kw_only=True):
    """A follow-on failure, folded into the incident of its cause."""

    rule: str
    title: str
    lines: int


class Incident(msgspec.Struct, frozen=True, kw_only=True):
    """One fault: the row the store keeps and, as JSON, the object that scripts read."""

    schema: int = SCHEMA_VERSION
    id: str
    fingerprint: str
    status: Status = "open"
    acknowledged_by: str | None = None
    silenced_until: str | None = None
    resolved_at: str | None = None
    rule: str | None
    kind: str
    title: str
    severity: Severity
    confidence: Confidence
    phase: Phase
    cause: str
    evidence: Evidence
    captures: dict[str, str] = {}
    first_seen: str | None = None
    last_seen: str | None = None
    clock: Clock = "arrival"
    lines: int = 1
    attempts: int = 1
    ranks: tuple[str, ...] = ()
    symptoms: tuple[Symptom, ...] = ()
    server: Server
    gpu: GpuFacts = GpuFacts()
    remedies: tuple[Remedy, ...] = ()
    relaunch: Relaunch | None = None
    references: tuple[str, ...] = ()
