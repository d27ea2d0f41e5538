"""Incidents on standard output, in the form that was asked for."""

from collections.abc import Iterable
from typing import IO

from responder.nouns import Incident

FORMATS = ("text", "jsonl", "html", "markdown")
"""What `--format` takes."""


def show(incidents: Iterable[Incident], form: str, out: IO[str]) -> None:
    """Write redacted incidents as JSON lines for a script, or as a page for a person."""
    if form == "jsonl":
        from responder.publish.jsonl import encode

        for incident in incidents:
            out.write(f"{encode(incident)}\n")
        out.flush()
        return
    if form in ("html", "markdown"):
        from responder.publish import html, markdown

        found = list(incidents)
        out.write(html.render(found) if form == "html" else markdown.render(found))
        return
    from responder.publish.terminal import console, render

    page = console(out)
    for incident in incidents:
        render(incident, page)
