"""What an incident says, in words: the sentences that every sink shares.

An engineer who is woken by it must know in five seconds what broke, where, and what to do.  Facts stand apart from
guesses, one action stands alone, and where no flag helps, that is said.
"""

import re
from collections.abc import Sequence
from typing import Literal

import msgspec

from responder.nouns import Confidence, GpuFacts, Incident, Phase, Relaunch, Remedy, Server, Severity
from responder.publish.inert import clip, inert_line

ICONS: dict[Severity, str] = {"critical": "🔴", "error": "🟠", "warning": "🟡", "info": "🔵"}
"""One look tells how bad it is."""

PHASES: dict[Phase, str] = {
    "arguments": "while checking its arguments",
    "init": "while initialising",
    "load": "while loading weights",
    "capture": "while capturing CUDA graphs",
    "warmup": "while warming up",
    "serving": "while serving",
    "shutdown": "while stopping",
    "unknown": "phase unknown",
}
"""How far the launch had come."""

_UNKNOWN_REMEDY = "No remedy is known. Read the evidence, and the lines around it in the log."
_ALL_REFUSED = "No remedy is left: each that is known was tried, and refused."

_SURE: dict[Confidence, str] = {
    "certain": "certain: the log says so",
    "likely": "likely: the log points there",
    "possible": "a guess: nothing in the log contradicts it",
}
_UNKNOWN = "unknown: no rule knows this failure"

_HAPPENED: dict[Confidence, str] = {
    "certain": "What happened",
    "likely": "What probably happened",
    "possible": "What may have happened",
}
_VERIFIED = {
    "sglang": "sglang's own argument check accepts it",
    "catalogue": "checked against the rules for this release, not by sglang itself",
    "none": "nobody has checked it",
}

_CODE = re.compile(r"`([^`\n]{1,300})`|(?<![\w-])(--[a-z][a-z0-9-]+)")
_COMMAND_FROM = {
    "config": "from the configuration",
    "unit": "from the systemd unit",
    "process": "from the running process",
    "container": "from the container",
    "log": "as the log shows it",
    "option": "as given",
}


class Advice(msgspec.Struct, frozen=True, kw_only=True):
    """What to do now, and what else could be done."""

    kind: Literal["relaunch", "change", "act", "choose", "none"]
    """A whole command to paste; flags to change in a command nobody knows; steps, for no flag helps; one of several,
    for it depends on what is not known; or nothing."""
    now: Remedy | None = None
    """The one action.  None under `choose` and `none`."""
    choices: tuple[Remedy, ...] = ()
    """Under `choose`: the remedies that may apply, each with its condition."""
    others: tuple[Remedy, ...] = ()
    """What else is known to help, for a second look."""


def advice(incident: Incident) -> Advice:
    """The one thing to do now; a remedy that is known not to apply is never it."""
    possible = [remedy for remedy in incident.remedies if remedy.applies != "no"]
    certain = next((remedy for remedy in possible if remedy.applies == "yes"), None)
    if certain is not None:
        others = tuple(remedy for remedy in possible if remedy is not certain)
        relaunch = relaunch_of(certain, incident)
        kind: Literal["relaunch", "change", "act"] = "act"
        if relaunch is not None:
            kind = "relaunch" if relaunch.complete else "change"
        return Advice(kind=kind, now=certain, others=others)
    if possible:
        return Advice(kind="choose", choices=tuple(possible))
    return Advice(kind="none")


def relaunch_of(remedy: Remedy, incident: Incident) -> Relaunch | None:
    """The relaunch of this remedy; the incident's own where the remedy is the first that applies."""
    if remedy.relaunch is not None:
        return remedy.relaunch
    first = next((r for r in incident.remedies if r.applies == "yes"), None)
    return incident.relaunch if remedy is first else None


def relaunches(incident: Incident) -> list[tuple[Remedy, Relaunch]]:
    """Every remedy that helps or may help and for which a whole command is known, with that command."""
    found = [(remedy, relaunch_of(remedy, incident)) for remedy in incident.remedies if remedy.applies != "no"]
    return [(remedy, relaunch) for remedy, relaunch in found if relaunch is not None and relaunch.complete]


def icon(incident: Incident) -> str:
    """The sign in front of everything: how bad, or what has become of it."""
    return {"acknowledged": "👀", "resolved": "✅"}.get(incident.status, ICONS[incident.severity])


def headline(incident: Incident) -> str:
    """What broke and where, in one line: `llama-70b did not start: …`."""
    return f"{incident.server.name} {verb(incident)}: {incident.title}"


def headline_with_host(incident: Incident) -> str:
    """The same for where nothing else says on which host: `llama-70b (gpu-17) did not start: …`."""
    host = f" ({incident.server.host})" if incident.server.host else ""
    return f"{incident.server.name}{host} {verb(incident)}: {incident.title}"


def common_host(incidents: Sequence[Incident]) -> str | None:
    """The host that all of them are on; None where they are on several, or on one that nobody knows."""
    hosts = {incident.server.host for incident in incidents}
    return hosts.pop() if len(hosts) == 1 else None


def verb(incident: Incident) -> str:
    """How the server failed, and how often, as the verb of its name."""
    times = f" {incident.attempts:,} times" if incident.attempts > 1 else ""
    if incident.phase in ("arguments", "init", "load", "capture", "warmup"):
        return f"failed to start{times}" if times else "did not start"
    return f"failed{times}" + {"serving": " while serving", "shutdown": " while stopping"}.get(incident.phase, "")


def happened(incident: Incident) -> str:
    """The heading above the cause; it tells a fact from a guess."""
    return _HAPPENED[incident.confidence] if incident.rule is not None else "What the log shows"


def sure(incident: Incident) -> str:
    """How sure the diagnosis is."""
    return _SURE[incident.confidence] if incident.rule is not None else _UNKNOWN


def refused(incident: Incident) -> list[Remedy]:
    """Remedies that would have been the answer, had their relaunch not been refused."""
    return [remedy for remedy in incident.remedies if remedy.refused]


def unknown_remedy(incident: Incident) -> str:
    """What to do where no remedy is left."""
    return _ALL_REFUSED if refused(incident) else _UNKNOWN_REMEDY


def acknowledged_by(incident: Incident) -> str:
    """Who has it in hand, without the id that Slack knows them by; empty where nobody has."""
    return inert_line(incident.acknowledged_by or "").partition(" (Slack ")[0]


def wants_proof(incident: Incident) -> bool:
    """Whether the line itself must stand beside the cause, for the reader has to judge it."""
    unsure = incident.rule is None or incident.confidence != "certain" or advice(incident).kind == "none"
    return unsure and bool(incident.evidence.text) and incident.status != "resolved"


def one_line(incident: Incident) -> str:
    """The whole alert on one line, for a notification or a screen reader."""
    line = f"{icon(incident)} {headline_with_host(incident).rstrip('.')}."
    if incident.status == "resolved":
        return f"{line} Resolved."
    found = advice(incident)
    if found.now is not None:
        return f"{line} Do this: {found.now.title.rstrip('.')}."
    return f"{line} {no_action(incident)}"


def no_action(incident: Incident) -> str:
    """Why no single action stands there."""
    if advice(incident).kind != "choose":
        return "No remedy is known."
    if not incident.gpu.sms:
        return "What to do depends on the GPUs, which are not known here."
    return "What to do depends on what is not known here."


def depends(incident: Incident) -> str:
    """The sentence above several remedies."""
    if not incident.gpu.sms and incident.server.version is None:
        return "It depends on the GPUs or the sglang release, and neither is known here:"
    if not incident.gpu.sms:
        return "It depends on the GPUs, and they are not known here:"
    if incident.gpu.sm is None:
        return "This host holds different GPUs; it depends on which of them the server uses:"
    if incident.server.version is None:
        return "It depends on something that is not known here, such as the sglang release:"
    return "It depends on something that is not known here:"


def set_words(remedy: Remedy) -> str:
    """The flags and variables that a remedy changes, on one line: `--a b`, `without --c`, `X=1`."""
    env = [f"{name}={value}" for name, value in remedy.env.items() if value is not None]
    flags = [name if value is True else f"{name} {value}" for name, value in remedy.set.items()]
    without = [*remedy.unset, *(name for name, value in remedy.env.items() if value is None)]
    words = " ".join([*env, *flags])
    return "; ".join(part for part in (words, "without " + " ".join(without) if without else "") if part)


def change(remedy: Remedy, relaunch: Relaunch | None = None) -> str:
    """The same without what the title says already, and without flags that the command never had."""
    if relaunch is not None and relaunch.complete:
        dropped = {line[2:].split(" ", 1)[0].split("=", 1)[0] for line in relaunch.diff if line.startswith("- ")}
        remedy = msgspec.structs.replace(remedy, unset=tuple(flag for flag in remedy.unset if flag in dropped))
    named = [*remedy.set, *remedy.env, *remedy.unset]
    return "" if all(name in remedy.title for name in named) else set_words(remedy)


def changes_nothing(remedy: Remedy) -> bool:
    """Whether the remedy is work outside of what a launch command holds."""
    return not (remedy.set or remedy.unset or remedy.env)


def aside(remedy: Remedy) -> str:
    """That no flag helps, where none does: the steps of a remedy may name flags to set by hand."""
    text = " ".join([remedy.title, remedy.why, *remedy.steps])
    silent = changes_nothing(remedy) and not re.search(r"(?<![\w-])--[a-z]|\bflags?\b", text)
    return "no launch flag mends it" if silent else ""


def condition(remedy: Remedy) -> tuple[str, str]:
    """On which GPUs the remedy holds, and why it helps; either may be empty."""
    why = sentence(remedy.why)
    if not why.startswith("On SM"):
        return "", why
    where, _, reason = why.partition(": ")
    return where, sentence(reason)


def reason(remedy: Remedy) -> str:
    """Why a remedy helps and, where that is not certain, that it may not."""
    where, why = condition(remedy)
    if remedy.applies == "yes":
        return ". ".join(part for part in (where, why) if part)
    may = f"It applies {where[0].lower()}{where[1:]}" if where else "It may apply"
    return ". ".join(part for part in (may, why) if part)


def change_label(incident: Incident, remedy: Remedy, relaunch: Relaunch) -> str:
    """What to do with the lines below it, where no whole command can be shown."""
    if not (remedy.set or remedy.unset) and not any(value is None for value in remedy.env.values()):
        return "Set this in the server's environment:"
    taken = any(line.startswith("- ") for line in relaunch.diff) and not incident.server.command
    hint = "; take out what has a minus" if taken else ""
    return f"Change this in the launch command ({incomplete(incident.server)}{hint}):"


def next_step(remedy: Remedy) -> tuple[str, str]:
    """What to do when the fault comes again, and the words in front of it."""
    label = "Else:" if re.match(r"If\b", remedy.next) else "If it recurs:"
    return label, remedy.next


def others_heading(found: Advice) -> str:
    """The heading above what else is known."""
    certain = any(remedy.applies == "yes" for remedy in found.others)
    return "What else helps" if certain else "What else may help"


def listed(others: Sequence[Remedy], most: int) -> tuple[list[Remedy], str]:
    """The remedies to show in full, and one sentence that names those for which there is no room."""
    shown, rest = list(others[:most]), others[most:]
    titles = "; ".join(remedy.title.rstrip(".") for remedy in rest[:4])
    more = f"; and {len(rest) - 4} more" if len(rest) > 4 else ""
    return shown, f"Also: {titles}{more}." if rest else ""


def verified(remedy: Remedy) -> str:
    """Who said that the relaunch passes."""
    return _VERIFIED[remedy.verified]


def incomplete(server: Server) -> str:
    """Why only the change can be named, and no whole command."""
    if not server.command:
        return "it is not known here"
    if server.command_from == "log":
        return "only the log shows it, which proves nothing"
    return "what is known of it may belong to another server"


def gpu(facts: GpuFacts) -> str:
    """The GPUs on one line: `8 × NVIDIA H100 80GB HBM3 (SM90)`."""
    groups: dict[str, int] = {}
    for device in facts.devices:
        known = f"SM{device.sm}" if device.sm is not None else ""
        name = f"{device.name} ({known})" if device.name and known else device.name or known or "GPU of unknown name"
        label = f"{name}{', lost' if device.lost else ''}"
        groups[label] = groups.get(label, 0) + 1
    return ", ".join(f"{count} × {label}" for label, count in groups.items()) or "unknown"


def gpu_details(facts: GpuFacts) -> str:
    """Driver, CUDA and where the facts come from; the status where the query failed."""
    drivers = sorted({device.driver for device in facts.devices if device.driver})
    cuda = sorted({device.cuda for device in facts.devices if device.cuda})
    parts = [f"driver {', '.join(drivers)}" if drivers else "", f"CUDA up to {', '.join(cuda)}" if cuda else ""]
    parts.append(f"torch built for CUDA {facts.torch_cuda}" if facts.torch_cuda else "")
    parts.append({"nvml": "asked from NVML", "log": "read in the log", "option": "as given"}.get(facts.source, ""))
    if facts.status not in ("ok", "unknown") or facts.detail:
        parts.append(facts.detail or facts.status)
    return "; ".join(part for part in parts if part)


def where(server: Server) -> str:
    """Host, and the unit, pod or container it runs as."""
    pod = "/".join(part for part in (server.namespace, server.pod) if part)
    parts = [server.host or "host unknown", pod, server.container or "", server.unit or ""]
    if server.nnodes and server.nnodes > 1:
        parts.append(f"node {server.node_rank if server.node_rank is not None else '?'} of {server.nnodes}")
    return " · ".join(part for part in parts if part)


def release(server: Server) -> str:
    """The sglang release and how it is known."""
    if server.version is None:
        return "unknown"
    sources = {"environment": "installed", "option": "as given", "log": "from the log", "rule": "judging by the text"}
    source = sources.get(server.version_from)
    return f"{server.version} ({source})" if source else server.version


def counts(incident: Incident) -> list[str]:
    """Ranks, lines and launches, each only where it says something."""
    found = [ranks(incident.ranks)] if incident.ranks else []
    found.append(lines(incident.lines))
    if incident.attempts > 1:
        found.append(f"{incident.attempts:,} failed launches")
    return found


def lines(count: int) -> str:
    """`1 line`, `48 lines`."""
    return "1 line" if count == 1 else f"{count:,} lines"


def times(incident: Incident) -> str:
    """First and last time seen, as the log has them; empty where it has none."""
    first, last = incident.first_seen, incident.last_seen if incident.last_seen != incident.first_seen else None
    if first and last and first[:11] == last[:11]:
        last = last[11:]  # the day need not be said twice
    known = " to ".join(stamp for stamp in (first, last) if stamp)
    zoned = known.endswith("Z") or re.search(r"[+-]\d\d:\d\d$", known)
    return known if zoned or not known else f"{known} (log time, zone unknown)"


def sentence(text: str) -> str:
    """The text with a capital letter and without a full stop, as the start of a sentence.

    A name that begins it (`fa3`, `--tp-size`) keeps its spelling.
    """
    text = inert_line(text).rstrip(".")
    first = text.split(" ", 1)[0]
    return text[:1].upper() + text[1:] if first.isalpha() and first != "sglang" else text


def facts(incident: Incident) -> list[tuple[str, str]]:
    """What is known besides the story, as name and value, for a page that has room for all of it."""
    server, gpus = incident.server, gpu_details(incident.gpu)
    command = _COMMAND_FROM.get(server.command_from, "known") if server.command else "not known"
    pairs = [
        ("Where", where(server)),
        ("GPUs", f"{gpu(incident.gpu)}{'; ' + gpus if gpus else ''}"),
        ("sglang", release(server)),
        ("Failed", PHASES[incident.phase]),
        ("Launch command", command),
        ("Diagnosis", f"{sure(incident)}{' · ' + incident.rule if incident.rule else ''}"),
        ("Seen", " · ".join([*counts(incident), times(incident)]).rstrip(" ·")),
        ("In hand", acknowledged_by(incident)),
        ("Incident", incident.id),
        *(("Read more", url) for url in incident.references),
    ]
    return [(name, value) for name, value in pairs if value]


def ranks(names: tuple[str, ...]) -> str:
    """The ranks with runs folded: `8 ranks (TP0–TP7)`."""
    if len(names) == 1:
        return f"rank {names[0].removeprefix('RANK')}"
    runs: list[tuple[str, int, int]] = []
    loose: list[str] = []
    for prefix, number in sorted(_numbered(name) for name in names):
        if number < 0:
            loose.append(prefix)
        elif runs and runs[-1][0] == prefix and runs[-1][2] == number - 1:
            runs[-1] = (prefix, runs[-1][1], number)
        else:
            runs.append((prefix, number, number))
    words = [f"{p}{a}" if a == b else f"{p}{a}–{p}{b}" for p, a, b in runs] + loose
    shown = ", ".join(words[:8]) + (", …" if len(words) > 8 else "")
    return f"{len(names)} ranks ({shown})"


def place(incident: Incident) -> str:
    """File and line of the evidence."""
    line = f":{incident.evidence.line}" if incident.evidence.line is not None else ""
    return f"{incident.evidence.path}{line}"


def spans(text: str) -> list[tuple[str, bool]]:
    """Prose in pieces, and whether each is code: what its author put between backticks, and flags."""
    pieces: list[tuple[str, bool]] = []
    end = 0
    for found in _CODE.finditer(text):
        pieces += [(text[end : found.start()], False), (found[1] or found[2], True)]
        end = found.end()
    return [(piece, is_code) for piece, is_code in [*pieces, (text[end:], False)] if piece]


def excerpt(line: str, around: Sequence[str], room: int) -> str:
    """The line that proves the cause, marked, and around it the nearest ones that `room` has characters for."""
    lines = [inert_line(text) if text.strip() else "" for text in around]
    wanted = inert_line(line)
    at = next((n for n in range(len(lines) - 1, -1, -1) if lines[n].strip() == wanted.strip()), None)
    if at is None:
        lines, at = [*lines, wanted], len(lines)
    shown = {at: "▶ " + clip(wanted, room // 3)}
    left = room - len(shown[at])
    for n in sorted((n for n in range(len(lines)) if n != at), key=lambda n: (abs(n - at), n)):
        text = "  " + clip(_indented(around, n, lines), 400)
        left -= len(text) + 1
        if left < 0:
            break
        shown[n] = text
    return "\n".join(shown[n] for n in sorted(shown))


def _indented(around: Sequence[str], n: int, lines: Sequence[str]) -> str:
    indent = len(around[n]) - len(around[n].lstrip(" ")) if n < len(around) else 0
    return " " * min(indent, 8) + lines[n]


def _numbered(name: str) -> tuple[str, int]:
    prefix = name.rstrip("0123456789")
    digits = name[len(prefix) :]
    return (prefix, int(digits)) if digits and len(digits) < 10 else (name, -1)
