"""The diagnosis of one server: lines in, findings out."""

from collections import deque
from typing import NamedTuple

import msgspec

from responder.catalogue.conditions import holds
from responder.diagnose.crash import Crash, Neighbour, later, merge_clock
from responder.diagnose.finding import Finding
from responder.diagnose.launch import Launch
from responder.nouns import Phase
from responder.scan.engine import Match
from responder.scan.seen import Seen

REMEMBERED = 512
"""Frames and neighbours kept: what stands above a match may have been seen long before the crash opened."""

RUN_GAP = 200
"""Lines between two occurrences of a noise that still belong to one run of it: what hits every request stands close,
what is sprinkled over a healthy day does not."""


KEPT_CRASHES = 8
"""Crashes of one fault whose counts are kept here once the database has them: by one of them it knows the fault."""


class Run(NamedTuple):
    """A noise that comes again and again."""

    first: Seen
    last: Seen
    times: int


class Memory(msgspec.Struct, frozen=True, kw_only=True):
    """What lines that are not read again after a restart have told: where the launch stood before the others."""

    phase: Phase = "unknown"
    stated: dict[str, str] = {}
    earlier: tuple[str, ...] = ()


class Diagnosis:
    """Feed it the lines of one server's logs, in the order of their arrival."""

    def __init__(self, server: str, memory: Memory | None = None) -> None:
        memory = memory or Memory()
        self.server = server
        self._launch = Launch(memory.phase, dict(memory.stated))
        self._crash: Crash | None = None
        self._neighbours: deque[Neighbour] = deque(maxlen=REMEMBERED)
        self._silenced: dict[str, int] = {}
        """By stream, the offset of the last noise line that covers its whole record."""
        self._noise: dict[str, Run] = {}
        """By rule, the run of a noise that may escalate."""
        self._closed: dict[str, Finding] = {}
        """Findings of the crashes that are over, by fingerprint."""
        self.ready = 0
        """How many launches have become ready to serve."""
        self._earlier: deque[str] = deque(memory.earlier, maxlen=4)
        self._told: dict[str, Finding] = {}
        """What the last call of `changes` left the caller with, by incident id."""

    @property
    def phase(self) -> Phase:
        """How far the current launch has come."""
        return self._launch.phase

    def findings(self) -> list[Finding]:
        """Everything found so far, the open crash included, in the order of its first line."""
        found = dict(self._closed)
        now = self._crash.finding(self._neighbours) if self._crash is not None else None
        if now is not None:
            now.earlier = tuple(self._earlier)
            before = found.get(now.fingerprint)
            found[now.fingerprint] = fold(before, now) if before is not None else now
        return list(found.values())

    def changes(self) -> tuple[list[Finding], list[str]]:
        """What is new or different since the last call, and the ids that turned out to be part of another finding."""
        now = {finding.id: finding for finding in self.findings()}
        changed = [finding for key, finding in now.items() if self._told.get(key) != finding]
        gone = [key for key in self._told if key not in now]
        self._told = now
        return changed, gone

    @property
    def last(self) -> Seen | None:
        """The newest line of the open crash; None where none is open."""
        return self._crash.last if self._crash else None

    def memory(self) -> Memory:
        """What a restart, which reads again what `holds` says, has to be given."""
        phase = self._crash.phase if self._crash else self._launch.phase
        return Memory(phase=phase, stated=dict(self._launch.stated), earlier=tuple(self._earlier))

    def stored(self) -> None:
        """What `changes` returned is in the database: the crashes of old need not be counted from here any more."""
        for finding in self._closed.values():
            for crash in list(finding.crashes)[:-KEPT_CRASHES]:
                del finding.crashes[crash]

    def holds(self) -> dict[str, int]:
        """By stream, the offset of the oldest line that the open crash still needs."""
        return dict(self._crash.starts) if self._crash else {}

    def close(self) -> None:
        """The open crash is over: what follows is another one."""
        now = self._crash.finding(self._neighbours) if self._crash is not None else None
        if now is not None and now.rule is not None:
            self._earlier.append(now.rule.id)
        self._closed = {finding.fingerprint: finding for finding in self.findings()}
        self._crash = None

    def count(self, rule: str, lines: int) -> None:
        """Further lines of a rule that were only counted, because it is hot."""
        if self._crash is not None:
            self._crash.count(rule, lines)

    def feed(self, seen: Seen) -> None:
        """Take one line."""
        for aside in seen.asides:
            self._neighbours.append(
                Neighbour(seen.path, seen.stream, seen.offset, seen.ordinal, aside.rule, aside.use, aside.index)
            )
        noise = [match for match in seen.matches if match.rule.role == "noise"]
        for match in noise:
            self._take_noise(seen, match)
        for match in seen.matches:
            if match.rule.role == "marker":
                self._take_marker(match)
        if noise or self._is_silenced(seen):
            return
        self._take_faults(seen)

    def _take_faults(self, seen: Seen) -> None:
        causes = [match for match in seen.matches if match.rule.role == "cause"]
        symptoms = [match for match in seen.matches if match.rule.role == "symptom"]
        for match in causes:
            self._opened(seen).add_cause(seen, match, self._launch.phase, near=self._neighbours)
        for match in symptoms:
            self._opened(seen).add_symptom(seen, match, self._neighbours)
        if seen.traceback and not symptoms and not (self._crash and self._crash.claims(seen)):
            self._opened(seen).add_cause(seen, None, self._launch.phase)
        elif seen.traceback and causes and all(match.rule.frames or match.rule.near for match in causes):
            self._opened(seen).add_cause(seen, None, self._launch.phase, fallback=True)

    def _opened(self, seen: Seen) -> Crash:
        if self._crash is not None and not self._crash.goes_on_with(seen):
            self.close()
        if self._crash is None:
            self._crash = Crash(self.server, seen, self._launch)
        return self._crash

    def _take_marker(self, match: Match) -> None:
        rule = match.rule
        phase = rule.enters or "unknown"
        # A crash that is open when a new launch begins is over; without one only a step backwards proves a new launch.
        if rule.launch and (self._crash is not None or self._launch.is_over(phase)):
            self.close()
            self._launch = Launch()
            self._noise.clear()
            self._neighbours.clear()
        self.ready += phase == "serving" and self._launch.phase != "serving"
        self._launch.reach(phase)
        self._launch.stated.update(match.captures)

    def _take_noise(self, seen: Seen, match: Match) -> None:
        rule = match.rule
        if rule.covers == "record":
            self._silenced[seen.stream] = seen.offset
        if rule.escalate_when is None:
            return
        run = self._noise.get(rule.id)
        if run is None or seen.stream != run.last.stream or seen.ordinal - run.last.ordinal > RUN_GAP:
            run = Run(first=seen, last=seen, times=0)
        run = self._noise[rule.id] = Run(first=run.first, last=seen, times=run.times + 1)
        span = _seconds_between(run.first, seen)
        facts = {"captures": match.captures, "count": run.times, "span": span, "phase": self._launch.phase}
        if holds(rule.escalate_when, facts):
            self._opened(seen).add_cause(seen, match, self._launch.phase)

    def _is_silenced(self, seen: Seen) -> bool:
        """Whether a noise line above covers this one: no record has begun between the two."""
        covered = self._silenced.get(seen.stream)
        return covered is not None and covered <= seen.offset and seen.record <= covered


def fold(before: Finding, now: Finding) -> Finding:
    """One finding of two crashes that failed alike; a crash that was counted already changes nothing."""
    if now.id in before.crashes:
        return before
    return Finding(
        id=before.id,
        fingerprint=before.fingerprint,
        server=before.server,
        rule=now.rule,
        kind=now.kind,
        title=now.title,
        severity=now.severity,
        confidence=now.confidence,
        why=now.why,
        phase=now.phase,
        cause=now.cause,
        evidence=before.evidence,
        captures=now.captures,
        first_seen=before.first_seen,
        last_seen=later(before.last_seen, now.last_seen),
        clock=merge_clock(before.clock, now.clock),
        lines=before.lines + now.lines,
        attempts=before.attempts + now.attempts,
        ranks=tuple(dict.fromkeys([*before.ranks, *now.ranks])),
        symptoms={
            key: before.symptoms.get(key, 0) + now.symptoms.get(key, 0) for key in (*before.symptoms, *now.symptoms)
        },
        crashes=before.crashes | now.crashes,
        earlier=now.earlier,
        stated=now.stated,
    )


def _seconds_between(one: Seen, other: Seen) -> float:
    """0 where the times are unknown or of different clocks."""
    if one.time is None or other.time is None or one.clock != other.clock:
        return 0.0
    return (other.time - one.time).total_seconds()
