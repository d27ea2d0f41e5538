"""Incidents as one self-contained HTML page: no script, nothing loaded from anywhere, everything escaped."""

import functools
from collections.abc import Sequence
from importlib import resources
from typing import Any

import jinja2
import msgspec

from responder.nouns import Incident, Remedy
from responder.publish import wording as words
from responder.publish.inert import inert_line, inert_strings

IN_FULL = 200
"""Incidents shown whole; the table above them names all."""
_EXCERPT = 6000


def render(incidents: Sequence[Incident], *, title: str = "Post-mortem", note: str = "") -> str:
    """The page for incidents that went through redaction.  `note` says what it was made from."""
    shown = [msgspec.convert(inert_strings(msgspec.to_builtins(incident)), Incident) for incident in incidents]
    page: str = _template().render(
        title=inert_line(title),
        note=inert_line(note),
        rows=[_row(incident) for incident in shown],
        stories=[_story(incident) for incident in shown[:IN_FULL]],
        left_out=max(0, len(shown) - IN_FULL),
    )
    return page


@functools.cache
def _template() -> jinja2.Template:
    source = resources.files("responder.publish").joinpath("templates/page.html").read_text(encoding="utf-8")
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    return environment.from_string(source)


def _row(incident: Incident) -> dict[str, Any]:
    return {
        "id": incident.id,
        "severity": incident.severity,
        "status": incident.status,
        "server": incident.server.name,
        "title": incident.title,
        "when": incident.first_seen or "",
        "counts": ", ".join(words.counts(incident)),
    }


def _story(incident: Incident) -> dict[str, Any]:
    found = words.advice(incident)
    return {
        **_row(incident),
        "verb": words.verb(incident),
        "happened": words.happened(incident),
        "cause": words.spans(incident.cause),
        "sure": words.sure(incident),
        "kind": found.kind if incident.status != "resolved" else "resolved",
        "depends": words.depends(incident),
        "now": _remedy(incident, found.now) if found.now else None,
        "choices": [_remedy(incident, remedy) for remedy in found.choices],
        "others_heading": words.others_heading(found),
        "others": [_remedy(incident, remedy) for remedy in found.others],
        "unknown_remedy": words.unknown_remedy(incident),
        "refused": [(r.title.rstrip("."), words.spans(r.refused)) for r in words.refused(incident)],
        "place": words.place(incident),
        "excerpt": words.excerpt(incident.evidence.text, incident.evidence.excerpt, _EXCERPT).splitlines(),
        "symptoms": [f"{s.title} ({words.lines(s.lines)})" for s in incident.symptoms],
        "facts": words.facts(incident),
    }


def _remedy(incident: Incident, remedy: Remedy) -> dict[str, Any]:
    relaunch = words.relaunch_of(remedy, incident)
    apply = relaunch.apply if relaunch and relaunch.apply and relaunch.apply.kind != "shell" else None
    return {
        "title": remedy.title.rstrip("."),
        "why": words.spans(words.sentence(remedy.why)),
        "change": words.set_words(remedy),
        "aside": words.aside(remedy),
        "steps": [words.spans(step) for step in remedy.steps],
        "next_label": words.next_step(remedy)[0],
        "next": words.spans(remedy.next),
        "command": relaunch.command if relaunch and relaunch.complete else "",
        "verified": words.verified(remedy),
        "change_label": words.change_label(incident, remedy, relaunch) if relaunch and not relaunch.complete else "",
        "diff": list(relaunch.diff) or ([relaunch.command] if not relaunch.complete else []) if relaunch else [],
        "apply": apply,
    }
