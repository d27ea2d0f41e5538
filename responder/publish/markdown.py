"""Incidents as Markdown, to paste into a report or an issue.

Text from the log stands in fences that nothing in it can close, or is escaped, so that no markup, link or mention of
somebody comes of it.
"""

import re
from collections.abc import Iterable, Sequence

import msgspec

from responder.nouns import Incident, Remedy
from responder.publish import wording as words
from responder.publish.inert import inert_line, inert_strings

_EXCERPT = 6000
_SPECIAL = re.compile(r"([\\*_{}\[\]<>|~^$]|^[#+-]|^\d+(?=[.)]))")


def render(incidents: Sequence[Incident]) -> str:
    """One document for all of them, each of which went through redaction."""
    if not incidents:
        return "No incident was found.\n"
    head = [] if len(incidents) == 1 else [f"# {len(incidents)} incidents\n"]
    return "\n".join([*head, *(_incident(incident) for incident in incidents)])


def _incident(incident: Incident) -> str:
    incident = msgspec.convert(inert_strings(msgspec.to_builtins(incident)), Incident)
    state = "" if incident.status == "open" else f" ({incident.status})"
    parts = [f"## {words.icon(incident)} {text(words.headline(incident))}{state}\n"]
    parts.append(f"**{words.happened(incident)}.** {text(incident.cause)} ({words.sure(incident)})\n")
    if incident.status != "resolved":
        parts += _action(incident)
    parts.append(f"### Evidence\n\n{code(words.place(incident))}\n")
    parts.append(fence(words.excerpt(incident.evidence.text, incident.evidence.excerpt, _EXCERPT)))
    if incident.symptoms:
        parts.append("### What followed from it\n")
        parts.append(_list(f"{text(s.title)} ({words.lines(s.lines)})" for s in incident.symptoms))
    others = words.advice(incident).others
    if others:
        parts.append(f"### {words.others_heading(words.advice(incident))}\n")
        parts += [part for remedy in others for part in _remedy(remedy)]
    if words.refused(incident):
        parts.append("### What was tried and refused\n")
        parts.append(_list(f"{text(r.title.rstrip('.'))}: {text(r.refused)}" for r in words.refused(incident)))
    parts.append("### Facts\n")
    parts.append(
        "| | |\n|---|---|\n" + "\n".join(f"| {name} | {text(value)} |" for name, value in words.facts(incident))
    )
    return "\n".join(parts) + "\n"


def _action(incident: Incident) -> list[str]:
    found = words.advice(incident)
    if found.now is not None:
        aside = f" ({words.aside(found.now)})" if words.aside(found.now) else ""
        parts = [f"### Do this{aside}\n", *_remedy(found.now), *_relaunch(incident, found.now)]
        label, following = words.next_step(found.now)
        return [*parts, f"*{label}* {text(following)}\n"] if following else parts
    if found.kind == "choose":
        parts = [f"### Do one of these\n\n{words.depends(incident)}\n"]
        for remedy in found.choices:
            parts += [*_remedy(remedy), *_relaunch(incident, remedy)]
        return parts
    return [f"### Do this\n\n{words.unknown_remedy(incident)}\n"]


def _remedy(remedy: Remedy) -> list[str]:
    why = f": {text(words.sentence(remedy.why))}." if remedy.why else "."
    change = words.set_words(remedy)
    parts = [f"**{text(remedy.title.rstrip('.'))}**{why}{' ' + code(change) if change else ''}\n"]
    if remedy.steps:
        parts.append("\n".join(f"{n}. {text(step)}" for n, step in enumerate(remedy.steps, 1)) + "\n")
    return parts


def _relaunch(incident: Incident, remedy: Remedy) -> list[str]:
    relaunch = words.relaunch_of(remedy, incident)
    if relaunch is None:
        return []
    if not relaunch.complete:
        lead = f"{words.change_label(incident, remedy, relaunch)}\n"
        return [lead, fence("\n".join(relaunch.diff) or relaunch.command, "diff")]
    parts = [f"Relaunch with this; {words.verified(remedy)}:\n", fence(relaunch.command, "bash")]
    if relaunch.diff:
        parts.append(fence("\n".join(relaunch.diff), "diff"))
    if relaunch.apply and relaunch.apply.kind != "shell" and relaunch.apply.text:
        parts += [f"How to apply it: {text(relaunch.apply.where)}\n", fence(relaunch.apply.text)]
    return parts


def text(value: str) -> str:
    """Prose so that Markdown shows it as it stands; what stands between backticks is code."""
    return "".join(code(piece) if is_code else _escaped(piece) for piece, is_code in words.spans(inert_line(value)))


def _escaped(value: str) -> str:
    # A backtick that is left over could join those of the code beside it.
    escaped = _SPECIAL.sub(r"\\\1", value.replace("&", "&amp;").replace("`", "ʼ"))
    # A mention pings somebody, and a bare address becomes a link.
    return escaped.replace("@", "&#64;").replace("://", "&#58;//").replace("www.", "www&#46;")


def code(value: str) -> str:
    """The text as inline code, with ticks enough around it."""
    shown = inert_line(value).replace("|", "¦")
    ticks = "`" * (1 + _longest_run(shown))
    return f"{ticks} {shown} {ticks}" if "`" in shown else f"{ticks}{shown}{ticks}"


def fence(value: str, language: str = "") -> str:
    """The text in a fence longer than any in it."""
    ticks = "`" * max(3, 1 + _longest_run(value))
    return f"{ticks}{language}\n{value}\n{ticks}\n"


def _list(items: Iterable[str]) -> str:
    return "\n".join(f"- {item}" for item in items) + "\n"


def _longest_run(value: str) -> int:
    return max((len(run) for run in re.findall("`+", value)), default=0)
