"""An incident as Slack messages: one root that is edited in place, and what belongs to it in its thread.

Pure: an incident that went through redaction in, payloads of `chat.postMessage` out (without channel and thread).
Whatever the log or a command line said stands in rich text, where Slack takes it literally.
"""

import re
from collections.abc import Sequence
from datetime import datetime
from itertools import pairwise
from typing import Any, Literal

from responder.nouns import Incident, Relaunch, Remedy
from responder.publish import wording as words
from responder.publish.inert import clip, inert, inert_line, mrkdwn
from responder.publish.inert import code as inline_code
from responder.publish.slack import blocks as b
from responder.publish.slack.buttons import buttons as button_row

Payload = dict[str, Any]

News = Literal["reopened", "severity-raised", "cause-found", "crash-loop", "repeat"]
"""Why an incident that was told before is told aloud again."""

COMMAND_LIMIT = 4000
"""Characters of a command in the root.  A cut command must never look like a whole one, so a longer one goes to the
thread, in parts that fit."""
CHOICES = 3
"""Remedies that are shown side by side where nobody knows which applies."""
LISTED = 15
"""Incidents that a shared message names; the others it counts."""
_RELAUNCH = "Relaunch with this"
_TEXT = 3000
_CAUSE = 1000
_PROOF = 600
_LINE = 200
_STEP = 300
_FIELD = 160
_NAME = 30

_URL = re.compile(r"https?://[A-Za-z0-9._~:/?#@!$&'()*+,;=%-]{1,300}")


def root(incident: Incident, *, again: bool = False, buttons: bool = False) -> Payload:
    """The alert itself; `again`: it came back after a resolution; `buttons`: a hub listens for them."""
    text = words.one_line(incident)
    body = [b.header(f"{_sign(incident, again)} {words.headline(incident)}"), _story(incident)]
    body += [b.fields(_fields(incident)), b.context(_context(incident))]
    row = button_row(incident) if buttons else None
    body += [row] if row else []
    return _payload(f"🔁 Again: {text}" if again and incident.status == "open" else text, body)


def thread(incident: Incident) -> list[Payload]:
    """What stands below the root: the evidence, then the change, other remedies and facts."""
    messages = [_evidence(incident), *_long_commands(incident), _details(incident)]
    return [message for message in messages if message is not None]


def broadcast(incident: Incident, news: News) -> Payload:
    """A short reply that the channel sees too, for an edit pings nobody."""
    sentence = {
        "reopened": "It is back after it had been resolved.",
        "severity-raised": f"It has become {incident.severity}.",
        "cause-found": "The cause is known now; before, only what followed from it was.",
        "crash-loop": f"It is a crash loop: {incident.attempts:,} launches failed alike.",
        "repeat": "It is still open.",
    }[news]
    found = words.advice(incident)
    action = f"Do this: {found.now.title.rstrip('.')}." if found.now else words.no_action(incident)
    line = f"{words.icon(incident)} {words.headline_with_host(incident)}"
    parts = [b.prose(b.bold(clip(inert_line(line), _LINE)), f"\n{sentence} {clip(inert_line(action), _LINE)}")]
    return _payload(f"{line}. {sentence} {action}", [b.rich(*parts)])


def summary(incidents: Sequence[Incident], sentence: str) -> Payload:
    """What was found in the logs of a time without responder; `sentence` says which time that was."""
    title = f"📋 {_incidents(len(incidents))}{_on_host(incidents)} while responder was not running"
    return _list(title, incidents[:LISTED], len(incidents), sentence)


def held_back(first: Sequence[Incident], count: int) -> Payload:
    """What the hourly cap kept from being posted one by one: the first of them, and how many they are."""
    return _list(
        f"📋 {_incidents(count)}{_on_host(first)} held back",
        first,
        count,
        "There were too many in an hour to post each of them.",
    )


def hello(host: str) -> Payload:
    """The test message of `responder check --online`."""
    text = f"👋 responder on {host} can post here."
    return _payload(text, [b.rich(b.prose(text, " This is a test; nothing is wrong."))])


def relaunches(incident: Incident) -> Payload | None:
    """Every whole command that is known to help or may help; None where there is none."""
    parts: list[b.Block] = []
    room = b.MESSAGE_LIMIT - 1000
    for remedy, relaunch in words.relaunches(incident):
        condition = _reason(remedy) if remedy.applies == "unknown" else ""
        lead = ["\n" if parts else "", f"{condition}: " if condition else "", b.bold(_title(remedy)), "\n"]
        if len(relaunch.command) > room:
            parts.append(b.prose(*lead, "It is too long for here: ", b.code(f"responder incidents show {incident.id}")))
            continue
        room -= len(relaunch.command)
        parts.append(b.prose(*lead, b.italic(f"{_RELAUNCH}; {words.verified(remedy)}:")))
        parts.append(b.preformatted(relaunch.command, "bash"))
    return _payload(f"The relaunch of {incident.server.name}", [b.rich(*parts)]) if parts else None


def relaunches_in(blocks: Sequence[b.Block]) -> Payload | None:
    """The whole commands that stand in a message of ours, as Slack holds it; None where there is none."""
    parts: list[b.Block] = []
    for block in blocks:
        elements = block.get("elements", []) if block.get("type") == "rich_text" else []
        for label, box in pairwise(elements):
            text = "".join(str(part.get("text", "")) for part in label.get("elements", []))
            command = "".join(str(part.get("text", "")) for part in box.get("elements", []))
            if text.startswith(_RELAUNCH) and box.get("type") == "rich_text_preformatted":
                parts += [b.prose(b.italic(text)), b.preformatted(command, "bash")]
    return _payload("The relaunch", [b.rich(*parts)]) if parts else None


def plain_version(payload: Payload, incident_id: str | None) -> Payload:
    """The same as bare text, for when Slack refuses the blocks: better a plain alert than none."""
    more = f"\nDetails: `responder incidents show {incident_id}`" if incident_id else ""
    return {"text": payload["text"] + more, "unfurl_links": False, "unfurl_media": False}


def _list(title: str, first: Sequence[Incident], count: int, sentence: str) -> Payload:
    shown = first[:LISTED]
    named = words.headline if words.common_host(shown) else words.headline_with_host
    lines = [f"{words.icon(i)} {clip(inert_line(named(i)), _LINE)} ({i.id})" for i in shown]
    if count > len(shown):
        lines.append(f"… and {count - len(shown):,} more")
    story = [b.prose(inert_line(sentence)), b.steps(lines, ordered=False)]
    story.append(b.prose("Each in full: ", b.code("responder incidents show ID")))
    text = f"{title}. {sentence} " + "; ".join(named(i) for i in shown[:3])
    return _payload(text, [b.header(title), b.rich(*story)])


def _on_host(incidents: Sequence[Incident]) -> str:
    host = words.common_host(incidents)
    return f" on {clip(inert_line(host), _NAME)}" if host else ""


def _incidents(count: int) -> str:
    return "1 incident" if count == 1 else f"{count:,} incidents"


# --- The root --------------------------------------------------------------------------------------------------------


def _sign(incident: Incident, again: bool) -> str:
    by = clip(words.acknowledged_by(incident), _NAME)
    state = {
        "acknowledged": f" Acknowledged by {by}:" if by else " Acknowledged:",
        "resolved": " Resolved:",
    }.get(incident.status, "")
    return words.icon(incident) + (" Again:" if again and incident.status == "open" else state)


def _story(incident: Incident) -> b.Block:
    parts = [b.prose(b.bold(words.happened(incident)), "\n" + clip(incident.cause.strip(), _CAUSE))]
    if words.wants_proof(incident):
        parts.append(b.preformatted(clip(inert_line(incident.evidence.text), _PROOF)))
    if incident.status != "resolved":
        parts += _action(incident)
    return b.rich(*parts)


def _action(incident: Incident) -> list[b.Block]:
    found = words.advice(incident)
    if found.now is not None:
        return _do_this(incident, found.now)
    if found.kind == "choose":
        parts = [b.prose(b.bold("\nDo one of these"), f"\n{words.depends(incident)}")]
        shown = found.choices[:CHOICES]
        for remedy in shown:
            parts += _choice(incident, remedy, COMMAND_LIMIT // len(shown))
        return parts
    parts = [b.prose(b.bold("\nDo this"), f"\n{words.unknown_remedy(incident)}")]
    return [*parts, _refusals(incident)] if words.refused(incident) else parts


def _do_this(incident: Incident, remedy: Remedy) -> list[b.Block]:
    relaunch = words.relaunch_of(remedy, incident)
    aside = f" ({words.aside(remedy)})\n" if words.aside(remedy) else "\n"
    title = _titled(remedy, relaunch, with_change=relaunch is None or relaunch.complete)
    why = f"\n{_reason(remedy)}." if remedy.why else ""
    parts = [b.prose(b.bold("\nDo this"), aside, *title, why)]
    if remedy.steps:
        parts.append(b.steps(clip(step, _STEP) for step in remedy.steps[:6]))
    if relaunch is not None:
        parts += _command(incident, remedy, relaunch, COMMAND_LIMIT)
    if remedy.next:
        label, text = words.next_step(remedy)
        parts.append(b.prose(b.italic(f"{label} "), clip(text, _STEP)))
    return parts


def _choice(incident: Incident, remedy: Remedy, room: int) -> list[b.Block]:
    where, why = words.condition(remedy)
    lead = f"{clip(where, _LINE)}: " if where else ""
    parts = [b.prose("\n", lead, b.bold(_title(remedy)), f"\n{clip(why, _LINE)}." if why else "")]
    if remedy.steps:
        parts.append(b.steps(clip(step, _STEP) for step in remedy.steps[:2]))
    relaunch = words.relaunch_of(remedy, incident)
    return parts + (_command(incident, remedy, relaunch, room) if relaunch else [])


def _command(incident: Incident, remedy: Remedy, relaunch: Relaunch, room: int) -> list[b.Block]:
    if not relaunch.complete:
        label = words.change_label(incident, remedy, relaunch)
        return [b.prose(b.italic(label)), b.preformatted(clip(_change(remedy, relaunch), room))]
    if len(relaunch.command) > room:
        label = "Change this; the whole command is too long for here and stands in the thread:"
        return [b.prose(b.italic(label)), b.preformatted(clip(_change(remedy, relaunch), room), "diff")]
    label = f"{_RELAUNCH}; {words.verified(remedy)}:"
    return [b.prose(b.italic(label)), b.preformatted(relaunch.command, "bash")]


def _change(remedy: Remedy, relaunch: Relaunch) -> str:
    return "\n".join(relaunch.diff) or relaunch.command or words.set_words(remedy)


def _title(remedy: Remedy) -> str:
    return clip(inert_line(remedy.title).rstrip("."), _LINE)


def _titled(remedy: Remedy, relaunch: Relaunch | None, *, with_change: bool = True) -> list[b.Block | str]:
    change = clip(words.change(remedy, relaunch), _LINE) if with_change else ""
    title = b.bold(_title(remedy))
    return [title, " ", b.code(change)] if change else [title]


def _reason(remedy: Remedy) -> str:
    return clip(words.sentence(remedy.why), _LINE)


def _fields(incident: Incident) -> list[tuple[str, str]]:
    sure = words.sure(incident)
    return [
        ("Where", mrkdwn(words.where(incident.server), _FIELD)),
        ("GPUs", mrkdwn(words.gpu(incident.gpu), _FIELD)),
        ("sglang", f"{mrkdwn(words.release(incident.server), _FIELD)}\n{words.PHASES[incident.phase]}"),
        ("Diagnosis", f"{sure}\n{inline_code(incident.rule, _FIELD)}" if incident.rule else sure),
    ]


def _context(incident: Incident) -> list[str]:
    seen = [mrkdwn(part, _FIELD) for part in words.counts(incident)]
    if incident.resolved_at:
        seen.insert(0, f"resolved {_date(incident.resolved_at)}")
    elif incident.silenced_until:
        seen.insert(0, f"🔕 silenced until {_date(incident.silenced_until)}")
    place = inline_code(words.place(incident), 2 * _FIELD)
    return [*seen, _span(incident), place, inline_code(incident.id, _FIELD)]


def _span(incident: Incident) -> str:
    """First and last time seen; the day, and the doubt about the zone, are said once."""
    first, last = incident.first_seen or incident.last_seen, incident.last_seen
    if not first or not last or first == last:
        return _date(first) if first else ""
    one, other = _moment(first), _moment(last)
    if one is None or other is None or one.tzinfo or other.tzinfo:
        return f"{_date(first)} to {_date(last)}"
    later = f"{other:%H:%M:%S}" if one.date() == other.date() else f"{other:%Y-%m-%d %H:%M:%S}"
    return f"`{one:%Y-%m-%d %H:%M:%S}` to `{later}` (log time)"


def _date(stamp: str) -> str:
    """The time in the reader's own zone; as it stands where the log gave none."""
    moment = _moment(stamp)
    if moment is None:
        return mrkdwn(stamp, _FIELD)
    if moment.tzinfo is None:
        # As code, for Slack might know an emoji called :35:.
        return f"`{moment:%Y-%m-%d %H:%M:%S}` (log time)"
    return f"<!date^{int(moment.timestamp())}^{{date_short_pretty}} {{time_secs}}|{moment:%Y-%m-%d %H:%M:%SZ}>"


def _moment(stamp: str) -> datetime | None:
    try:
        return datetime.fromisoformat(stamp)
    except ValueError:
        return None


# --- The thread ------------------------------------------------------------------------------------------------------


def _evidence(incident: Incident) -> Payload | None:
    evidence = incident.evidence
    if not evidence.text and not evidence.excerpt:
        return None
    parts = [
        b.prose(b.bold("Evidence"), " ", b.code(clip(inert_line(words.place(incident)), _LINE))),
        b.preformatted(words.excerpt(evidence.text, evidence.excerpt, 6000)),
    ]
    if incident.symptoms:
        parts.append(b.prose(b.bold("\nWhat followed from it")))
        shown = [f"{s.title} ({words.lines(s.lines)})" for s in incident.symptoms[:8]]
        parts.append(b.steps((clip(inert_line(text), _LINE) for text in shown), ordered=False))
    return _payload(f"Evidence for {incident.server.name}: {words.place(incident)}", [b.rich(*parts)])


def _long_commands(incident: Incident) -> list[Payload]:
    found = words.advice(incident)
    relaunch = words.relaunch_of(found.now, incident) if found.now else None
    if relaunch is None or not relaunch.complete or len(relaunch.command) <= COMMAND_LIMIT:
        return []
    command = inert(relaunch.command)
    pieces = [command[n : n + 9000] for n in range(0, len(command), 9000)]
    label = (
        "The whole command" if len(pieces) == 1 else "The whole command, part {} of {}; join the parts without a gap"
    )
    return [
        _payload(
            f"The relaunch command of {incident.server.name}",
            [b.rich(b.prose(b.bold(label.format(n, len(pieces)))), b.preformatted(piece, "bash"))],
        )
        for n, piece in enumerate(pieces, 1)
    ]


def _details(incident: Incident) -> Payload | None:
    parts = [*_difference(incident), *_others(incident), *_refused(incident), *_facts(incident)]
    if not parts:
        return None
    heading = parts[0]["elements"][0]
    heading["text"] = heading["text"].lstrip("\n")
    return _payload(f"Details of {incident.server.name}: {incident.title}", [b.rich(*parts)])


def _difference(incident: Incident) -> list[b.Block]:
    found = words.advice(incident)
    relaunch = words.relaunch_of(found.now, incident) if found.now else None
    if relaunch is None:
        return []
    parts = []
    if relaunch.diff and relaunch.complete:
        parts += [b.prose(b.bold("What changes")), b.preformatted(clip("\n".join(relaunch.diff), 1500), "diff")]
    if relaunch.apply and relaunch.apply.kind != "shell" and relaunch.apply.text:
        place = clip(inert_line(relaunch.apply.where), _LINE)
        label = b.prose(b.bold("\nHow to apply it"), f" {place}" if place else "")
        parts += [label, b.preformatted(clip(relaunch.apply.text, 2000))]
    return parts


def _others(incident: Incident) -> list[b.Block]:
    found = words.advice(incident)
    parts: list[b.Block] = []
    shown, rest = words.listed(found.others, CHOICES)
    for n, remedy in enumerate(shown):
        reason = clip(words.reason(remedy), 2 * _LINE)
        title = _titled(remedy, words.relaunch_of(remedy, incident))
        lead = ["\n"] if n else [b.bold(f"\n{words.others_heading(found)}"), "\n"]
        parts.append(b.prose(*lead, *title, f"\n{reason}." if reason else ""))
        parts += [b.steps(clip(step, _STEP) for step in remedy.steps[:4])] if remedy.steps else []
    parts += [b.prose("\n", clip(rest, 3 * _LINE))] if rest else []
    return parts


def _refused(incident: Incident) -> list[b.Block]:
    if not words.refused(incident) or words.advice(incident).kind == "none":  # then they stand in the root
        return []
    return [b.prose(b.bold("\nWhat was tried and refused")), _refusals(incident)]


def _refusals(incident: Incident) -> b.Block:
    found = words.refused(incident)[:CHOICES]
    return b.steps(
        (f"{_title(remedy)}: {clip(inert_line(remedy.refused), 2 * _LINE)}" for remedy in found), ordered=False
    )


def _facts(incident: Incident) -> list[b.Block]:
    details = words.gpu_details(incident.gpu)
    facts = [f"GPUs: {details}"] if details not in ("", "as given") else []
    if incident.server.command:
        facts.append(f"Launch command: {dict(words.facts(incident))['Launch command']}")
    lines = [clip(inert_line(fact), _STEP) for fact in facts]
    parts = [b.prose(b.bold("\nFacts")), b.steps(lines, ordered=False)] if lines else []
    links = [url for url in incident.references[:5] if _URL.fullmatch(url)]
    if links:
        parts += [b.prose(b.bold("\nRead more")), b.links(links)]
    return parts


def _payload(text: str, body: list[b.Block]) -> Payload:
    return {
        "text": mrkdwn(text, _TEXT),
        "blocks": body,
        "unfurl_links": False,
        "unfurl_media": False,
    }
