"""A finding and what is known of its host, into an incident: facts, remedies and the command that will start."""

from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, Protocol

from msgspec.structs import replace

from responder.advise.command.launch import Command
from responder.advise.command.secret import mask_argv
from responder.advise.facts import Known
from responder.advise.launch import Launch, log_launch
from responder.advise.learn import Host, launched, learn, parsed
from responder.advise.real_check import RealCheck
from responder.advise.refusal import why_refused
from responder.advise.relaunch import applied, withheld
from responder.advise.remedies import resolve
from responder.advise.settle import checked, other_backends
from responder.advise.steps_taken import steps_after
from responder.catalogue import Rule
from responder.diagnose import Finding
from responder.nouns import Clock, Evidence, Incident, Remedy, Server, Symptom


class Verifier(Protocol):
    """Whatever asks the real sglang about a command, beside the caller."""

    def __call__(self, command: str, env: Mapping[str, str], release: str | None) -> RealCheck | None:
        """What it said, or None while it is being asked."""
        ...


def advise(finding: Finding, host: Host, rules: Mapping[str, Rule], verify: Verifier | None = None) -> Incident:
    """The incident of a finding.  `rules` is the catalogue by id: it names the symptoms and checks the relaunch.

    With `verify` the relaunch of the remedy to take is put before the real sglang, and withdrawn where that refuses.
    """
    host = _with_release(_with_log(host, finding), finding.rule)
    command, problem = parsed(host.command)
    known = learn(host, command, phase=finding.phase, captures=finding.captures, stated=finding.stated)
    earlier = [rules[rule] for rule in (*host.earlier, *finding.earlier) if rule in rules and rule != _id(finding)]
    known = replace(known, steps=steps_after(earlier))
    every = tuple(rules.values())
    resolved = resolve(finding.rule, known, command) if finding.rule is not None else ()
    remedies = tuple(_shown(checked(one, every, host), host, known) for one in resolved)
    if finding.rule is not None and not any(remedy.applies == "yes" for remedy in remedies):
        others = other_backends(finding.rule, known, command)
        remedies = (*(_shown(checked(one, every, host), host, known) for one in others), *remedies)
    remedies = _in_order(_verified(_in_order(remedies), known, verify))
    first = remedies[0] if remedies and remedies[0].applies == "yes" else None
    return Incident(
        id=finding.id,
        fingerprint=finding.fingerprint,
        rule=finding.rule.id if finding.rule else None,
        kind=finding.kind,
        title=finding.title,
        severity=finding.severity,
        confidence=finding.confidence,
        phase=finding.phase,
        cause=" ".join([finding.cause, *_told(why_refused(finding, known), host, problem)]),
        evidence=Evidence(
            path=finding.evidence.path,
            offset=finding.evidence.offset,
            text=finding.evidence.text,
            excerpt=finding.evidence.excerpt,
        ),
        captures=finding.captures,
        first_seen=stamp(finding.first_seen, finding.clock),
        last_seen=stamp(finding.last_seen, finding.clock),
        clock=finding.clock,
        lines=finding.lines,
        attempts=finding.attempts,
        ranks=finding.ranks,
        symptoms=tuple(
            Symptom(rule=rule, title=rules[rule].title if rule in rules else rule, lines=lines)
            for rule, lines in finding.symptoms.items()
        ),
        server=_server(host, known, command, finding.evidence.labels),
        gpu=host.gpu,
        remedies=remedies,
        relaunch=first.relaunch if first else None,
        references=finding.rule.references if finding.rule else (),
    )


def stamp(time: datetime | None, clock: Clock) -> str | None:
    """A time as ISO 8601: with its zone where the wrapper knows one, without where only the log does."""
    if time is None:
        return None
    return (time.astimezone(UTC) if time.tzinfo and clock == "wrapper" else time).isoformat()


def _in_order(remedies: Iterable[Remedy]) -> tuple[Remedy, ...]:
    return tuple(sorted(remedies, key=lambda remedy: ("yes", "unknown", "no").index(remedy.applies)))


def _verified(remedies: tuple[Remedy, ...], known: Known, verify: Verifier | None) -> Iterator[Remedy]:
    """Put relaunches before the real sglang, from the first on, until one is not refused."""
    for at, remedy in enumerate(remedies):
        if verify is None or remedy.applies != "yes" or remedy.relaunch is None or not remedy.relaunch.complete:
            yield from remedies[at:]
            return
        said = verify(remedy.relaunch.command, known.env or {}, known.release)
        if said is None or said.outcome != "refused":
            accepted = said is not None and said.outcome == "accepted"
            yield replace(remedy, verified="sglang") if accepted else remedy
            yield from remedies[at + 1 :]
            return
        reason = f"sglang itself refuses this relaunch: {said.text.rstrip('.')}."
        yield replace(remedy, applies="no", why=f"{remedy.why} {reason}".strip(), refused=reason, relaunch=None)


def _with_log(host: Host, finding: Finding) -> Host:
    """The host with the launch command that the log shows, where nothing better is known."""
    said = log_launch(finding.stated) if host.command is None else None
    if said is None:
        return host
    return launched(host, said if host.launch is None else replace(host.launch, **_command_of(said)))


def _command_of(launch: Launch) -> dict[str, Any]:
    return {name: getattr(launch, name) for name in ("command", "source", "complete", "where")}


def _shown(remedy: Remedy, host: Host, known: Known) -> Remedy:
    """The remedy as it may be shown: with how to apply it, or with the change alone where nobody vouches for more."""
    if remedy.relaunch is None or not remedy.relaunch.complete:
        return remedy
    if not host.vouched:
        return replace(remedy, relaunch=withheld(remedy.relaunch))
    return replace(remedy, relaunch=applied(remedy.relaunch, host.launch, known))


def _told(refusal: str | None, host: Host, problem: str | None) -> list[str]:
    """What is said behind the cause: the conditions of the refusal, and what is doubtful about the launch command."""
    note = host.launch.note if host.launch is not None else ""
    doubts = [f"({one[:1].upper()}{one[1:]}.)" for one in (problem, note) if one]
    return [*([refusal] if refusal else []), *doubts]


def _server(host: Host, known: Known, command: Command | None, labels: Mapping[str, str]) -> Server:
    """The server with what its command and the wrapper of the failing line say of it."""
    argv = mask_argv(command.argv) if command is not None else ()
    server = replace(host.server, command=argv, role=known.role, nnodes=known.nnodes, node_rank=known.node_rank)
    named = {key: labels[key] for key in ("host", "unit", "namespace", "pod", "container") if key in labels}
    placed = {key: value for key, value in named.items() if getattr(server, key) is None}
    pid = labels.get("pid", "")
    return replace(server, **placed, pid=server.pid or (int(pid) if pid.isdigit() else None))


def _with_release(host: Host, rule: Rule | None) -> Host:
    """The host with the release that the wording proves, where nobody said and only one release prints it."""
    if host.server.version is not None or rule is None or rule.since is None or rule.since != rule.until:
        return host
    return replace(host, server=replace(host.server, version=rule.since, version_from="rule"))


def _id(finding: Finding) -> str | None:
    return finding.rule.id if finding.rule else None
