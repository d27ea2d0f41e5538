"""Finished logs in, redacted incidents out."""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime

from msgspec.structs import replace

from responder.advise.advise import advise
from responder.advise.gpu.from_log import facts_from_text
from responder.advise.learn import Host
from responder.catalogue import Rule
from responder.diagnose import Finding, Pipeline
from responder.nouns import Incident
from responder.publish.redact import Policy, redact_incident
from responder.replay.workers import Scanned
from responder.scan import Program
from responder.sources.block import Block


def postmortem(
    pieces: Iterable[Block | Scanned],
    program: Program,
    host: Host,
    rules: Mapping[str, Rule],
    policy: Policy | None = None,
) -> Iterator[Incident]:
    """The incidents of one server's logs, in the order of their first lines, as they may leave this host."""
    pipeline = Pipeline(host.server.name, program)
    for piece in pieces:
        if isinstance(piece, Block):
            pipeline.feed(piece)
            continue
        for seen in piece.seen:
            pipeline.take(seen)
        for rule, lines in piece.counted.items():
            pipeline.diagnosis.count(rule, lines)
    pipeline.finish()
    for finding in pipeline.diagnosis.findings():
        yield redact_incident(advise(finding, _of_log(host, finding), rules), policy)


def between(incident: Incident, since: datetime | None, until: datetime | None) -> bool:
    """Whether an incident was seen within a span; one without a time always was."""
    first, last = _naive(incident.first_seen), _naive(incident.last_seen)
    return (since is None or last is None or last >= since) and (until is None or first is None or first <= until)


def _of_log(host: Host, finding: Finding) -> Host:
    """The host with what the log itself says of its GPUs, where nobody said more."""
    if host.gpu.devices:
        return host
    said = facts_from_text([*finding.evidence.excerpt, *finding.stated.values()])
    return host if said is None else replace(host, gpu=said)


def _naive(stamp: str | None) -> datetime | None:
    return datetime.fromisoformat(stamp).replace(tzinfo=None) if stamp else None
