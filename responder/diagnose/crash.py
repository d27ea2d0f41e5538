"""An open crash: everything that one failed launch has said so far, and which of it is the cause."""

from collections import Counter
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Literal

import msgspec

from responder.catalogue import Near, Rule
from responder.diagnose.finding import Finding, crash_id, fingerprint_of
from responder.diagnose.launch import Launch, phase_of_fault
from responder.diagnose.unrecognised import cause_of, signature, title_of
from responder.nouns import Clock, Confidence, Phase, Severity
from responder.scan.engine import Match
from responder.scan.seen import Seen

NEAR_FRAMES = 80
"""Lines within which a frame that a rule asks for must stand; ranks interleave, so one traceback may be spread."""

IDLE = timedelta(minutes=30)
"""A line this long after the last one of a crash begins another: collectives time out after ten to thirty minutes."""

MOST_CANDIDATES = 200
"""Candidates a crash keeps; the cause is among the first, and the rest is counted."""

UNRECOGNISED_PRECEDENCE = -1
"""An unknown traceback counts as much as a known wrapper or consequence: the first of them is nearest the cause."""

FALLBACK_PRECEDENCE = -2
"""A traceback that only a conditional rule knows is unknown as long as the condition does not hold."""

_LEVELS: tuple[Confidence, ...] = ("possible", "likely", "certain")


class Candidate(msgspec.Struct, frozen=True, kw_only=True):
    """Something that may be the cause."""

    seen: Seen
    match: Match | None
    """None for an unknown traceback."""
    phase: Phase
    fallback: bool = False

    @property
    def rule(self) -> Rule | None:
        """The rule that fired, if one did."""
        return self.match.rule if self.match else None

    @property
    def precedence(self) -> int:
        """Among the causes of one crash the highest wins."""
        if self.match is not None:
            return self.match.rule.precedence
        return FALLBACK_PRECEDENCE if self.fallback else UNRECOGNISED_PRECEDENCE


class Neighbour(msgspec.Struct, frozen=True):
    """Where a frame or neighbour that some rule asks for was seen."""

    path: str
    stream: str
    offset: int
    ordinal: int
    rule: str
    use: str
    index: int


class Crash:
    """Collects the lines of one crash.  `finding()` may be asked at any time; it gets better as lines arrive."""

    def __init__(self, server: str, first: Seen, launch: Launch) -> None:
        self.server = server
        self.first = first
        self.launch = launch
        self.planned = launch.phase == "shutdown"
        self.last = first
        self.starts: dict[str, int] = {}
        """Offset of the first line this crash needs, by stream: the checkpoint waits for it."""
        self.phase = launch.phase
        """How far the launch had come when this crash began."""
        self._candidates: list[Candidate] = []
        self._symptoms: list[tuple[Seen, Match]] = []
        self._lines: Counter[str] = Counter()
        self._ranks: dict[str, dict[str, None]] = {}
        self._attempts: dict[str, list[Seen]] = {}

    @property
    def id(self) -> str:
        """Stable: where its first line stands; of a traceback that is its header, cut off or whole."""
        return crash_id(self.server, *_begin(self.first))

    def goes_on_with(self, seen: Seen) -> bool:
        """Whether a line is near enough in time; times of different clocks are never compared."""
        if self.last.time is None or seen.time is None or self.last.clock != seen.clock:
            return True
        return timedelta(minutes=-IDLE.total_seconds() / 60) <= seen.time - self.last.time <= IDLE

    def add_cause(
        self,
        seen: Seen,
        match: Match | None,
        phase: Phase,
        *,
        fallback: bool = False,
        near: Iterable[Neighbour] = (),
    ) -> None:
        """A line that a cause rule fired on, or (match None) the end of an unknown traceback.

        `fallback`: unknown only if no rule that fired on it proves to hold.  `near`: what was seen above.
        """
        key = match.rule.id if match else _unknown_key(seen)
        self._note(seen, key, match, near)
        self._attempts.setdefault(key, []).append(seen) if len(self._attempts.get(key, ())) < 64 else None
        if len(self._candidates) < MOST_CANDIDATES:
            self._candidates.append(Candidate(seen=seen, match=match, phase=phase, fallback=fallback))

    def add_symptom(self, seen: Seen, match: Match, near: Iterable[Neighbour] = ()) -> None:
        """A line that follows from the cause."""
        self._note(seen, match.rule.id, match, near)
        if len(self._symptoms) < MOST_CANDIDATES:
            self._symptoms.append((seen, match))

    def count(self, rule: str, lines: int) -> None:
        """Further lines of a rule that were counted without being looked at."""
        if rule in self._lines:
            self._lines[rule] += lines

    def claims(self, seen: Seen) -> bool:
        """Whether a known cause or symptom stands in this traceback below its header: then it is not an unknown one."""
        begins = seen.traceback.begins if seen.traceback else {}
        cut = seen.traceback is not None and seen.traceback.exception is None
        known = [c.seen for c in self._candidates if c.match] + [s for s, _ in self._symptoms]
        return any(
            s.offset >= begins.get(s.stream, s.offset + 1)
            and (s.stream, s.offset) != _begin(seen)
            and (cut or s.ordinal <= seen.ordinal)
            for s in known
        )

    def finding(self, neighbours: Iterable[Neighbour]) -> Finding | None:
        """What is known now; None where nothing that was seen amounts to a fault."""
        around = list(neighbours)
        candidates = [c for c in self._candidates if c.match is None or _conditions_met(c, around)]
        if candidates:
            return self._of_cause(choose(candidates), around)
        return self._of_symptoms() if self._symptoms else None

    def _note(self, seen: Seen, key: str, match: Match | None, near: Iterable[Neighbour]) -> None:
        self.last = seen
        # Read again from there, the line must mean the same: with its whole traceback, and with what its rule asks for.
        needed = [(seen.stream, seen.offset), *(seen.traceback.begins.items() if seen.traceback else ())]
        if match is not None:
            within = max(NEAR_FRAMES, *(each.within for each in match.rule.near), 0)
            needed += [(n.stream, n.offset) for n in near if n.rule == key and _is_near(n, seen, within)]
        for stream, offset in needed:
            self.starts[stream] = min(offset, self.starts.get(stream, offset))
        self._lines[key] += int(seen.labels.get("repeated", "1"))
        if seen.ranks:
            self._ranks.setdefault(key, {})[" ".join(seen.ranks)] = None

    def _of_cause(self, chosen: Candidate, around: list[Neighbour]) -> Finding:
        rule, seen = chosen.rule, chosen.seen
        key = rule.id if rule else _unknown_key(seen)
        phase = phase_of_fault(chosen.phase, rule.phase) if rule else chosen.phase
        if rule is not None:
            confidence, why = _confidence(chosen, around)
            kind, title, severity, cause = rule.kind, rule.title, rule.severity, rule.cause
        else:
            assert seen.traceback is not None
            confidence, why = "possible", "no rule knows this text"
            kind, title, severity = "unrecognised", title_of(seen.traceback), self._severity_of_unknown(phase)
            cause = cause_of(seen.traceback)
        return self._build(
            key,
            rule,
            kind,
            title,
            severity,
            confidence,
            why,
            phase,
            cause,
            seen,
            chosen.match.captures if chosen.match else {},
        )

    def _of_symptoms(self) -> Finding:
        # The most telling of them, then the first: "rank 8 died" says more than "a process hit an exception".
        seen, match = max(self._symptoms, key=lambda pair: pair[1].rule.precedence)
        rule = match.rule
        severity: Severity = "info" if self.planned else rule.severity
        cause = rule.cause or "Only follow-on lines are in this log; the cause is not."
        return self._build(
            rule.id, rule, rule.kind, rule.title, severity, "possible",
            "only follow-on lines were seen; the cause is not in this log",
            phase_of_fault(self.launch.phase, rule.phase), cause, seen, match.captures,
        )  # fmt: skip

    def _build(
        self, key: str, rule: Rule | None, kind: str, title: str, severity: Severity, confidence: Confidence,
        why: str, phase: Phase, cause: str, seen: Seen, captures: dict[str, str],
    ) -> Finding:  # fmt: skip
        symptoms: dict[str, int] = {}
        for _, match in self._symptoms:
            if match.rule.id != key:
                symptoms[match.rule.id] = self._lines[match.rule.id]
        same = self._attempts.get(key, [seen])
        lines, attempts = max(1, self._lines[key]), _attempts(same, phase)
        return Finding(
            id=self.id,
            fingerprint=fingerprint_of(self.server, key),
            server=self.server,
            rule=rule,
            kind=kind,
            title=title,
            severity="info" if self.planned and severity != "critical" else severity,
            confidence=confidence,
            why=why,
            phase=phase,
            cause=_filled(cause, captures),
            evidence=seen,
            captures=captures,
            first_seen=same[0].time,
            last_seen=self.last.time or same[-1].time,
            clock=same[0].clock,
            lines=lines,
            attempts=attempts,
            ranks=tuple(self._ranks.get(key, {})),
            symptoms=symptoms,
            crashes={self.id: (lines, attempts)},
            stated=self.launch.stated,
        )

    def _severity_of_unknown(self, phase: Phase) -> Severity:
        """An unknown traceback is critical where the server died of it, else a warning: it may be one request's."""
        died = bool(self._symptoms) or any(
            "hit an exception" in c.seen.traceback.header for c in self._candidates if c.seen.traceback
        )
        return "critical" if died or phase not in ("serving", "shutdown") else "warning"


def choose(candidates: list[Candidate]) -> Candidate:
    """The cause among candidates: highest precedence, then the first; a wrapper that quotes an unknown one names it."""
    best = max(candidates, key=lambda c: c.precedence)
    first = next(c for c in candidates if c.precedence == best.precedence)
    if first.match is None and first.seen.traceback and first.seen.traceback.message:
        quoted = first.seen.traceback.message[:60]
        for other in candidates:
            if other.match is not None and other.precedence == first.precedence and quoted in other.seen.text:
                return other
    return first


def _unknown_key(seen: Seen) -> str:
    return f"unrecognised:{signature(seen.traceback)}" if seen.traceback else "unrecognised"


def _conditions_met(candidate: Candidate, around: list[Neighbour]) -> bool:
    rule = candidate.rule
    assert rule is not None
    frames = all(_stands(candidate, around, "frame", index, NEAR_FRAMES, "around") for index in range(len(rule.frames)))
    return frames and all(
        _near(candidate, around, index, near) is (near.effect == "require")
        for index, near in enumerate(rule.near)
        if near.effect in ("require", "forbid")
    )


def _near(candidate: Candidate, around: list[Neighbour], index: int, near: Near) -> bool:
    return _stands(candidate, around, "near", index, near.within, near.where)


def _stands(
    candidate: Candidate,
    around: list[Neighbour],
    use: str,
    index: int,
    within: int,
    where: Literal["before", "after", "around"],
) -> bool:
    """Whether a neighbour the rule asks for stands where it has to, on the match's own line included."""
    rule, seen = candidate.rule, candidate.seen
    for other in around:
        if rule is None or (other.path, other.rule, other.use, other.index) != (seen.path, rule.id, use, index):
            continue
        distance = other.ordinal - seen.ordinal
        if abs(distance) <= within and (
            where == "around" or (where == "before" and distance <= 0) or (where == "after" and distance >= 0)
        ):
            return True
    return False


def _is_near(neighbour: Neighbour, seen: Seen, within: int) -> bool:
    return neighbour.path == seen.path and abs(neighbour.ordinal - seen.ordinal) <= within


def _begin(seen: Seen) -> tuple[str, int]:
    """Where a line, or the traceback that it ends, begins."""
    begins = seen.traceback.begins if seen.traceback else {}
    return next(iter(begins.items()), (seen.stream, seen.offset))


def _confidence(candidate: Candidate, around: list[Neighbour]) -> tuple[Confidence, str]:
    rule = candidate.rule
    assert rule is not None
    level, why = _LEVELS.index(rule.confidence), ["the text of the line"]
    for index, near in enumerate(rule.near):
        if near.effect in ("raise", "lower") and _near(candidate, around, index, near):
            level += 1 if near.effect == "raise" else -1
            why.append(f"a nearby line {'supports' if near.effect == 'raise' else 'speaks against'} it")
    if rule.frames:
        why.append("the frames of the traceback")
    return _LEVELS[max(0, min(level, 2))], " and ".join(why)


def _attempts(same: list[Seen], phase: Phase) -> int:
    """Failed launches within one crash: an argument check fails once per launch, whatever else repeats."""
    if phase != "arguments" or any(seen.ranks for seen in same):
        return 1
    attempts, last = 1, same[0]
    for seen in same[1:]:
        apart = None if last.time is None or seen.time is None else abs((seen.time - last.time).total_seconds())
        if seen.traceback is not None and (apart is None or apart > 2):
            attempts += 1
            last = seen
    return attempts


def _filled(text: str, captures: dict[str, str]) -> str:
    for name, value in captures.items():
        text = text.replace("{" + name + "}", value)
    return " ".join(text.split())


def merge_clock(one: Clock, other: Clock) -> Clock:
    """The weaker of two clocks: what can be said of both times."""
    order: tuple[Clock, ...] = ("arrival", "log", "wrapper")
    return min(one, other, key=order.index)


def later(one: datetime | None, other: datetime | None) -> datetime | None:
    """The later of two times where both are known and comparable, else whichever is known."""
    if one is None or other is None:
        return other or one
    if (one.tzinfo is None) != (other.tzinfo is None):
        return other
    return max(one, other)
