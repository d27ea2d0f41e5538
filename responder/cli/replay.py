"""`responder replay`: the post-mortem of finished logs."""

import sys
from collections.abc import Iterator
from datetime import datetime
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

import click

from responder.catalogue import load_catalogue
from responder.cli.errors import Failure
from responder.cli.options import host_of, host_options
from responder.cli.progress import Watch
from responder.cli.say import say
from responder.cli.show import FORMATS, show
from responder.nouns import Incident
from responder.sources.finished import UnreadableError, find_logs, read_finished

if TYPE_CHECKING:
    from responder.replay.line_numbers import LineNumbers
    from responder.replay.workers import Scanned


@click.command()
@click.argument("paths", nargs=-1, required=True)
@host_options
@click.option("--since", metavar="TIME", help="Only incidents seen at or after this time (ISO 8601).")
@click.option("--until", metavar="TIME", help="Only incidents first seen at or before this time.")
@click.option("--jobs", type=click.IntRange(1), default=1, show_default=True, help="Processes that scan a large log.")
@click.option("--format", "form", type=click.Choice(FORMATS), default="text", show_default=True)
@click.option("-o", "--output", type=click.Path(path_type=Path, readable=False), help="Write to this file.")
@click.option("--exit-code", is_flag=True, help="Exit with 1 where an incident was found.")
def replay(
    paths: tuple[str, ...],
    gpu_spec: str | None,
    version: str | None,
    launch: str | None,
    since: str | None,
    until: str | None,
    jobs: int,
    form: str,
    output: Path | None,
    exit_code: bool,
) -> None:
    """Diagnose finished logs: files, folders, globs, archives (.gz .zst .xz .bz2), or - for standard input."""
    span = (_time("--since", since), _time("--until", until))
    if gpu_spec or version or launch:
        # Said before hours of reading, not after.  Nothing of advice is imported where nothing was found.
        host_of("replay", gpu_spec, version, launch)
    try:
        found = list(_incidents(paths, gpu_spec, version, launch, jobs))
    except UnreadableError as error:
        raise Failure(f"{error}") from None
    incidents = [incident for incident in found if _within(incident, *span)]
    _write(incidents, form, output)
    alerting = [incident for incident in incidents if incident.severity != "info"]
    if not incidents and form == "text":
        click.echo(f"No failure in this span; {len(found)} outside it." if found else "No failure found.", err=True)
    sys.exit(1 if exit_code and alerting else 0)


def _incidents(
    paths: tuple[str, ...], gpu_spec: str | None, version: str | None, launch: str | None, jobs: int
) -> Iterator[Incident]:
    from responder.replay.chains import chains, server_name
    from responder.replay.line_numbers import LineNumbers
    from responder.replay.postmortem import postmortem
    from responder.replay.ranges import parts_of
    from responder.replay.workers import scan_parts
    from responder.scan import build_program

    logs = chains(Path(path) for path in _readable(find_logs(paths), paths))
    catalogue = load_catalogue()
    program, _ = build_program(catalogue)
    parts = [part for number, log in enumerate(logs) for part in parts_of(number, log, jobs)]
    numbers, watch = LineNumbers(), Watch(parts)
    by_log = groupby(scan_parts(parts, program, catalogue.by_id, jobs), key=lambda pair: pair[0].log)
    with watch:
        for number, pieces in by_log:
            name = server_name(logs[number])
            host = partial(host_of, name, gpu_spec, version, launch)
            scanned = (_noted(piece, watch, numbers) for _, piece in pieces)
            for incident in postmortem(scanned, program, name, host, catalogue.by_id):
                yield numbers.numbered(incident)


def _readable(found: list[str], named: tuple[str, ...]) -> list[str]:
    """The logs that can be read: of a folder or a glob, one that cannot is told and passed over."""
    kept = []
    for path in found:
        if path not in named:
            try:
                next(read_finished(path), None)
            except UnreadableError as error:
                say(f"{error}; passed over")
                continue
        kept.append(path)
    if not kept:
        raise UnreadableError(", ".join(named), "there is no log that can be read")
    return kept


def _noted(scanned: "Scanned", watch: Watch, numbers: "LineNumbers") -> "Scanned":
    watch.saw(scanned)
    numbers.learn(scanned.newlines)
    return scanned


def _within(incident: Incident, since: datetime | None, until: datetime | None) -> bool:
    from responder.replay.postmortem import between

    return between(incident, since, until)


def _write(incidents: list[Incident], form: str, output: Path | None) -> None:
    if output is None:
        show(incidents, form, sys.stdout)
        return
    try:
        with output.open("w", encoding="utf-8") as file:
            show(incidents, form, file)
    except OSError as error:
        raise Failure(f"{output}: cannot be written: {error.strerror}") from None


def _time(option: str, text: str | None) -> datetime | None:
    if text is None:
        return None
    try:
        return datetime.fromisoformat(text).replace(tzinfo=None)
    except ValueError:
        raise Failure(f"{option}: `{text}` is no time; write it like 2026-09-14T07:02:10") from None
