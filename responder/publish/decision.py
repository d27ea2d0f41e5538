"""Whether to say something about an incident now, and how loud: a pure function that gives its reason.

A post and a broadcast are loud, they ping.  An edit pings nobody, so what a person should not miss (it is back, it is
worse, the cause is known now, it is a crash loop) is broadcast, and what they can wait to see (a count, a resolution)
is an edit.  "Matched but nothing was said" is the most common confusion with alerting, hence the reason.
"""

import hashlib
from datetime import datetime
from typing import Literal

import msgspec

from responder.nouns import Incident, Severity, Status

Action = Literal["post", "update", "broadcast", "nothing"]
Reason = Literal[
    "first",
    "reopened",
    "cause-found",
    "severity-raised",
    "crash-loop",
    "repeat",
    "changed",
    "acknowledged",
    "resolved",
    "info",
    "silenced",
    "unchanged",
    "hold",
    "cap",
]

_RANK: dict[Severity, int] = {"info": 0, "warning": 1, "error": 2, "critical": 3}


class Policy(msgspec.Struct, frozen=True, kw_only=True):
    """How patient and how loud to be.  Times in seconds."""

    hold: float = 5.0
    """Before the first post of a certain diagnosis: the rest of the traceback, the other ranks."""
    hold_unsure: float = 20.0
    """Before the first post of one that is not certain: the cause often follows its symptoms."""
    repeat: float = 4 * 3600.0
    """Said again, aloud, while it stays open and nobody has acknowledged it."""
    edit_every: float = 10.0
    """Least time between two edits of a message: a storm of lines is not a storm of edits."""
    crash_loop: int = 3
    """Launches that failed alike make a crash loop."""
    cap_per_hour: int = 20
    """Loud messages in an hour, over all incidents; what exceeds it is counted and said in one message."""


class Told(msgspec.Struct, frozen=True, kw_only=True):
    """What was last said of an incident.  Times are wall clock seconds."""

    post: str
    """The outbox key of its root message."""
    loud_at: float
    """When it last pinged."""
    said_at: float
    """When it was last posted or edited."""
    rule: str | None
    """This, the severity and the attempts: as when it last pinged."""
    severity: Severity
    status: Status
    attempts: int
    digest: str
    """Of all that the message can show."""
    posts: int = 1
    """How many loud messages it has had."""
    own: bool = True
    """Whether `post` is about this incident alone; a summary cannot be edited into one of those it names."""
    again: bool = False
    """Whether it came back after a resolution."""


class Decision(msgspec.Struct, frozen=True, kw_only=True):
    """What to do, and why."""

    action: Action
    reason: Reason
    again_at: float | None = None
    """When to decide anew even if nothing changes; wall clock seconds."""


def decide(
    incident: Incident, told: Told | None, now: float, policy: Policy, *, known: float, loud_last_hour: int = 0
) -> Decision:
    """What to say of the incident now.

    `known` is when it was first seen, `loud_last_hour` how many loud messages all incidents together had since `now`
    less an hour; all times are wall clock seconds.
    """
    if incident.severity == "info":
        return Decision(action="nothing", reason="info")
    silence_ends = _silence_ends(incident, now)
    capped = loud_last_hour >= policy.cap_per_hour
    if told is None:
        return _first(incident, now, policy, known, silence_ends, capped)
    news = _news(incident, told, now, policy)
    if news is not None and silence_ends is None and not capped:
        return Decision(action="broadcast", reason=news, again_at=_repeat_at(incident, now, policy))
    return _edit(incident, told, now, policy, silence_ends, held_back=news is not None and capped)


def digest(incident: Incident) -> str:
    """Equal for two states of an incident that look the same."""
    return hashlib.sha256(msgspec.json.encode(incident)).hexdigest()[:16]


def tell(incident: Incident, told: Told | None, post: str, now: float, *, loud: bool) -> Told:
    """What was told, after `incident` was.

    An edit leaves what would be news as it was: what a silence or the cap kept quiet is still to be said.
    """
    if told is None or loud:
        rule, severity, attempts, status = incident.rule, incident.severity, incident.attempts, incident.status
    else:
        rule, severity, attempts = told.rule, told.severity, told.attempts
        status = told.status if told.status == "resolved" else incident.status
    return Told(
        post=post,
        loud_at=now if told is None or loud else told.loud_at,
        said_at=now,
        rule=rule,
        severity=severity,
        status=status,
        attempts=attempts,
        digest=digest(incident),
        posts=(told.posts if told else 0) + (told is None or loud),
    )


def _first(
    incident: Incident, now: float, policy: Policy, known: float, silence_ends: float | None, capped: bool
) -> Decision:
    if silence_ends is not None:
        return Decision(action="nothing", reason="silenced", again_at=silence_ends)
    ready = known + (policy.hold if incident.confidence == "certain" else policy.hold_unsure)
    if now < ready:
        return Decision(action="nothing", reason="hold", again_at=ready)
    if capped:
        return Decision(action="nothing", reason="cap", again_at=now + _CAP_RETRY)
    return Decision(action="post", reason="first", again_at=_repeat_at(incident, now, policy))


_CAP_RETRY = 60.0


def _news(incident: Incident, told: Told, now: float, policy: Policy) -> Reason | None:
    if incident.status == "resolved":
        return None
    if told.status == "resolved":
        return "reopened"
    if incident.rule is not None and incident.rule != told.rule:
        return "cause-found"
    if _RANK[incident.severity] > _RANK[told.severity]:
        return "severity-raised"
    if told.attempts < policy.crash_loop <= incident.attempts:
        return "crash-loop"
    if incident.status == "open" and now >= told.loud_at + policy.repeat:
        return "repeat"
    return None


def _edit(
    incident: Incident, told: Told, now: float, policy: Policy, silence_ends: float | None, *, held_back: bool
) -> Decision:
    again = now + _CAP_RETRY if held_back else silence_ends or _repeat_at(incident, told.loud_at, policy)
    if digest(incident) == told.digest:
        reason: Reason = "cap" if held_back else "silenced" if silence_ends is not None else "unchanged"
        return Decision(action="nothing", reason=reason, again_at=again)
    if incident.status != told.status:
        # People wait for these: they go at once.
        by_status: dict[Status, Reason] = {"resolved": "resolved", "acknowledged": "acknowledged", "open": "changed"}
        return Decision(action="update", reason=by_status[incident.status], again_at=again)
    ready = told.said_at + policy.edit_every
    if now < ready:
        return Decision(action="nothing", reason="hold", again_at=ready)
    return Decision(action="update", reason="changed", again_at=again)


def _repeat_at(incident: Incident, loud_at: float, policy: Policy) -> float | None:
    return loud_at + policy.repeat if incident.status == "open" else None


def _silence_ends(incident: Incident, now: float) -> float | None:
    if incident.silenced_until is None:
        return None
    ends = datetime.fromisoformat(incident.silenced_until).timestamp()
    return ends if ends > now else None
