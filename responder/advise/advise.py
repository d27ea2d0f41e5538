"""A finding and what is known of its host, into an incident: facts, remedies and the command that will start."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Literal

import msgspec

from responder.advise.command.arguments import read
from responder.advise.command.launch import Command, parse
from responder.advise.command.secret import mask_argv
from responder.advise.command.shell import CommandError
from responder.advise.facts import Known
from responder.advise.remedies import resolve
from responder.diagnose import Finding
from responder.nouns import Clock, Evidence, GpuFacts, Incident, Remedy, Server, Symptom

CommandFrom = Literal["config", "unit", "process", "container", "log", "option", "unknown"]


class Host(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a server besides its log."""

    server: Server
    command: str | None = None
    """The launch command as it was typed, secrets and all; it never leaves this room unmasked."""
    gpu: GpuFacts = GpuFacts()


def advise(finding: Finding, host: Host, titles: Mapping[str, str]) -> Incident:
    """The incident of a finding.  `titles` gives the titles of symptoms by rule id."""
    command, problem = _parsed(host.command)
    known = learn(finding, host, command)
    remedies = resolve(finding.rule, known, command, _confidence(finding)) if finding.rule is not None else ()
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
        cause=" ".join([finding.cause, *([problem] if problem else [])]),
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
            Symptom(rule=rule, title=titles.get(rule, rule), lines=lines) for rule, lines in finding.symptoms.items()
        ),
        server=_server(host, known, command),
        gpu=host.gpu,
        remedies=remedies,
        relaunch=first.relaunch if first else None,
        references=finding.rule.references if finding.rule else (),
    )


def learn(finding: Finding, host: Host, command: Command | None) -> Known:
    """What conditions may rest on: the command's arguments, the release, the GPUs, the model."""
    return Known(
        release=host.server.version,
        typed=_typed(command, host.server.version) if command is not None else None,
        env=command.env if command is not None else None,
        gpu=host.gpu,
        role=host.server.role,
        phase=finding.phase,
        captures=finding.captures,
    )


def stamp(time: datetime | None, clock: Clock) -> str | None:
    """A time as ISO 8601: with its zone where the wrapper knows one, without where only the log does."""
    if time is None:
        return None
    return (time.astimezone(UTC) if time.tzinfo and clock == "wrapper" else time).isoformat()


def _parsed(text: str | None) -> tuple[Command | None, str | None]:
    if text is None:
        return None, None
    try:
        return parse(text), None
    except CommandError as error:
        return None, f"The launch command could not be read: {error}."


def _typed(command: Command, release: str | None) -> dict[str, Any]:
    """Every dest of the release, None where it was not typed; one whose value is hidden is absent."""
    found = read(command, release)
    typed: dict[str, Any] = {dest: None for dest in found.release.by_dest if dest not in found.unknown}
    return {} if found.open else typed | found.values


def _server(host: Host, known: Known, command: Command | None) -> Server:
    argv = mask_argv(command.argv) if command is not None else ()
    return msgspec.structs.replace(host.server, command=argv, role=known.role, nnodes=known.nnodes)


def _confidence(finding: Finding) -> str:
    return f"The diagnosis is {finding.confidence}: it rests on {finding.why}."


__all__ = ["Host", "Remedy", "advise", "learn", "stamp"]
