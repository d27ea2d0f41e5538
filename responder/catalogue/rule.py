"""A rule: one failure of sglang, as one TOML file.

The contract's rule file, field for field.  `rules/README.md` tells how one is made.
"""

from pathlib import Path
from typing import Literal

import msgspec

from responder.nouns import Confidence, Phase, Severity

RuleRole = Literal["cause", "symptom", "noise", "marker"]


class Origin(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Where sglang (or another package) prints the text, per range of releases."""

    file: str
    function: str | None = None
    package: str = "sglang"
    since: str | None = None
    until: str | None = None


class Near(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Another line that must stand (or that changes how sure the rule is) within some lines of the match."""

    pattern: str
    where: Literal["before", "after", "around"] = "around"
    within: int = 40
    """In lines."""
    effect: Literal["require", "forbid", "raise", "lower"] = "require"


class RemedySpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One way to mend the failure, with the condition under which it holds.

    A value of `set` or `env` that starts with `=` is CEL and is computed; `{name}` in any text is a capture.
    """

    title: str
    when: str | None = None
    since: str | None = None
    until: str | None = None
    set: dict[str, str | bool] = {}
    unset: tuple[str, ...] = ()
    env: dict[str, str] = {}
    unset_env: tuple[str, ...] = ()
    steps: tuple[str, ...] = ()
    why: str = ""
    next: str = ""
    confidence: Confidence = "certain"
    """How sure it is that this mends the failure.  A `possible` remedy never stands first."""


class Sample(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A text the rule must match, or a near miss it must not."""

    text: str
    matches: bool = True
    captures: dict[str, str] = {}
    releases: tuple[str, ...] = ()
    """The releases that print it in just this form, where that was checked."""


class Rule(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What one rule file holds."""

    id: str
    title: str
    kind: str
    role: RuleRole
    severity: Severity = "error"
    confidence: Confidence = "certain"
    phase: Phase = "unknown"
    enters: Phase | None = None
    """Of a marker: the phase that the launch has reached when this line stands in the log."""
    launch: bool = False
    """Of a marker: only a new launch prints this line, so an open crash ends before it."""
    since: str | None = None
    until: str | None = None
    exception: str | None = None
    patterns: tuple[str, ...] = ()
    event: str | None = None
    frames: tuple[str, ...] = ()
    """Regular expressions for traceback frames; each must stand in the record around the match."""
    near: tuple[Near, ...] = ()
    covers: Literal["line", "record"] = "line"
    """Of a noise rule: what it makes harmless, its own line or the whole record (with the traceback below it)."""
    escalate_when: str | None = None
    """Of a noise rule: CEL over `captures`, `count` and `span` (seconds); true turns it into a cause."""
    precedence: int = 0
    """Among the causes of one crash the highest wins, then the first.  -1: a wrapper or a consequence of something
    deeper (`Capture cuda graph failed`, a collective's timeout); 1: outranks every other (a dead GPU)."""
    cause: str = ""
    refused_when: str | None = None
    """CEL: the arguments and GPUs for which sglang refuses with this text; lets `preflight` predict it."""
    references: tuple[str, ...] = ()
    false_positives: tuple[str, ...] = ()
    origin: tuple[Origin, ...] = ()
    remedy: tuple[RemedySpec, ...] = ()
    sample: tuple[Sample, ...] = ()


class LoadedRule(msgspec.Struct, frozen=True, kw_only=True):
    """A rule and the file it came from."""

    rule: Rule
    path: Path
