"""A finding: what the diagnosis knows of one fault, before facts of the host and remedies are added."""

import hashlib
from datetime import datetime

import msgspec

from responder.catalogue import Rule
from responder.nouns import Clock, Confidence, Phase, Severity
from responder.scan.seen import Seen


class Finding(msgspec.Struct, kw_only=True):
    """One fault of one server, all its ranks and attempts together."""

    id: str
    fingerprint: str
    server: str
    rule: Rule | None
    """The rule of the cause; of the first symptom where no cause was found; None for an unknown traceback."""
    kind: str
    title: str
    severity: Severity
    confidence: Confidence
    why: str
    """What the confidence rests on."""
    phase: Phase
    cause: str
    evidence: Seen
    captures: dict[str, str] = {}
    first_seen: datetime | None = None
    last_seen: datetime | None = None
    clock: Clock = "arrival"
    lines: int = 1
    attempts: int = 1
    ranks: tuple[str, ...] = ()
    symptoms: dict[str, int] = {}
    """Matching lines by the id of a symptom's rule."""
    crashes: dict[str, tuple[int, int]] = {}
    """Lines and attempts by the id of each crash folded in; one that was counted is not counted again."""
    earlier: tuple[str, ...] = ()
    """Rules of the crashes before this one, oldest first: what the operator may just have acted on."""
    stated: dict[str, str] = {}
    """What the launch said of itself before it failed, such as `server_args`."""


def crash_id(server: str, stream: str, offset: int) -> str:
    """The id of the crash whose first line stands there: the same whenever and however often it is read."""
    return hashlib.sha256(f"{server}\0{stream}\0{offset}".encode()).hexdigest()[:16]


def fingerprint_of(server: str, what: str) -> str:
    """What makes two faults the same: the server and the rule, or an unknown traceback's type and frames."""
    return hashlib.sha256(f"{server}\0{what}".encode()).hexdigest()[:16]
