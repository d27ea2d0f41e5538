"""Finished logs in, redacted incidents out."""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from pathlib import Path

from msgspec.structs import replace

from responder.advise.advise import advise
from responder.advise.gpu.from_log import facts_from_text
from responder.advise.learn import Host
from responder.catalogue import Rule
from responder.diagnose import Finding, Pipeline
from responder.nouns import Incident
from responder.publish.redact import Policy, redact_incident
from responder.replay.ranges import ranges_of, scan_ranges
from responder.scan import Program
from responder.scan.seen import Seen
from responder.sources.block import Block
from responder.sources.events import SourceEvents
from responder.sources.finished import read_finished


def postmortem(
    logs: Iterable[Block | Seen], program: Program, host: Host, rules: Mapping[str, Rule], policy: Policy | None = None
) -> Iterator[Incident]:
    """The incidents of one server's logs, in the order of their first lines, as they may leave this host."""
    pipeline = Pipeline(host.server.name, program)
    for piece in logs:
        if isinstance(piece, Seen):
            pipeline.take(piece)
        else:
            pipeline.feed(piece)
    pipeline.finish()
    for finding in pipeline.diagnosis.findings():
        yield redact_incident(advise(finding, _of_log(host, finding), rules), policy)


def read_chain(
    chain: Iterable[Path], program: Program, rules: Mapping[str, Rule], events: SourceEvents, jobs: int = 1
) -> Iterator[Block | Seen]:
    """The pieces of one log, one after the other: scanned in `jobs` processes where it is bare and large enough, else
    as blocks.  Raises UnreadableError."""
    for path in chain:
        blocks = read_finished(str(path), events)
        first = next(blocks, None)
        if first is None:
            continue
        if _is_bare(path, first):
            yield from scan_ranges(ranges_of(str(path), first.file_id, jobs), program, rules, jobs)
        else:
            yield first
            yield from blocks


def _is_bare(path: Path, first: Block) -> bool:
    """Whether the log is the file's own bytes, from its start: no wrapper, archive, other encoding or order."""
    bare = first.lines is None and first.offset == 0 and not first.truncated and path.is_file()
    if not bare or path.stat().st_size <= len(first.data):
        return False
    with path.open("rb") as file:
        return file.read(64) == first.data[:64]


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
