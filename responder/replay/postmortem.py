"""Finished logs in, redacted incidents out."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from typing import TYPE_CHECKING

from msgspec.structs import replace

from responder.catalogue import Rule
from responder.diagnose import Finding, Pipeline
from responder.nouns import Incident
from responder.replay.workers import Scanned
from responder.scan import Program
from responder.sources.block import Block

if TYPE_CHECKING:
    from responder.advise.learn import Host


def postmortem(
    pieces: Iterable[Block | Scanned],
    program: Program,
    server: str,
    host: "Callable[[], Host]",
    rules: Mapping[str, Rule],
) -> Iterator[Incident]:
    """The incidents of one server's logs, in the order of their first lines, as they may leave this host.

    `host` is asked for what is known of the server where there is anything to advise.
    """
    pipeline = Pipeline(server, program)
    for piece in pieces:
        if isinstance(piece, Block):
            pipeline.feed(piece)
            continue
        for seen in piece.seen:
            pipeline.take(seen)
        for rule, lines in piece.counted.items():
            pipeline.diagnosis.count(rule, lines)
        if pipeline.diagnosis.last is not None:
            _expect_advice()
    pipeline.finish()
    findings = pipeline.diagnosis.findings()
    if not findings:
        return
    from responder.advise.advise import advise
    from responder.publish.redact import redact_incident

    known = host()
    for finding in findings:
        yield redact_incident(advise(finding, _of_log(known, finding), rules), None)


def _expect_advice() -> None:
    """Import what advice takes.  Only where there will be some, for it costs more than the reading of a small log; and
    as soon as that is known, while other processes scan."""
    import responder.advise.advise
    import responder.publish.redact  # noqa: F401


def between(incident: Incident, since: datetime | None, until: datetime | None) -> bool:
    """Whether an incident was seen within a span; one without a time always was."""
    first, last = _naive(incident.first_seen), _naive(incident.last_seen)
    return (since is None or last is None or last >= since) and (until is None or first is None or first <= until)


def _of_log(host: "Host", finding: Finding) -> "Host":
    """The host with what the log itself says of its GPUs, where nobody said more."""
    from responder.advise.gpu.from_log import facts_from_text

    if host.gpu.devices:
        return host
    said = facts_from_text([*finding.evidence.excerpt, *finding.stated.values()])
    return host if said is None else replace(host, gpu=said)


def _naive(stamp: str | None) -> datetime | None:
    return datetime.fromisoformat(stamp).replace(tzinfo=None) if stamp else None
