"""An incident on a terminal: the page that a person reads in `responder replay`, and in `run` where no Slack is set up.

Calm, from the top: what broke, why, what to do, the command to paste, then the evidence and the facts.  Styles only on
a terminal and never with NO_COLOR; the command is one line, flush left and never wrapped, so that it can be selected.
"""

import os
import textwrap
from collections.abc import Iterable
from typing import IO

import msgspec
from rich.console import Console
from rich.text import Text

from responder.nouns import Incident, Relaunch, Remedy, Severity
from responder.publish import wording as words
from responder.publish.inert import inert_strings

_WIDTH = 100
_COLOURS: dict[Severity, str] = {"critical": "red", "error": "yellow", "warning": "yellow", "info": "blue"}
_EXCERPT = 4000
OTHERS = 3
"""Remedies shown in full besides the one to do now; the rest is named."""


def console(stream: IO[str]) -> Console:
    """A console on the stream that takes text as it stands: no markup, no highlighting, no emoji codes."""
    reconfigure = getattr(stream, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors="replace")  # an ASCII locale shows ?, and the alert still shows
    plain = bool(os.environ.get("NO_COLOR"))
    made = Console(file=stream, markup=False, highlight=False, emoji=False, color_system=None if plain else "auto")
    made.width = min(made.width, _WIDTH)
    return made


def render(incident: Incident, out: Console) -> None:
    """Write the page of one redacted incident."""
    incident = msgspec.convert(inert_strings(msgspec.to_builtins(incident)), Incident)
    page = _Page(out)
    _title(page, incident)
    page.heading(words.happened(incident))
    page.prose(incident.cause.strip())
    if incident.status != "resolved":
        _action(page, incident)
    _evidence(page, incident)
    _others(page, incident)
    _refused(page, incident)
    _facts(page, incident)
    page.gap()


class _Page:
    """The few shapes that the page is made of."""

    def __init__(self, out: Console) -> None:
        self.out = out

    def gap(self) -> None:
        self.out.print()

    def heading(self, text: str, aside: str = "") -> None:
        self.gap()
        self.out.print(Text.assemble("  ", (text, "bold"), (f"  {aside}" if aside else "", "dim")), soft_wrap=True)

    def prose(self, text: str, style: str = "", lead: str = "  ") -> None:
        """Wrapped to the page, with `lead` before the first line and as much space before the others."""
        # By hand, for rich fills wrapped lines up with spaces and cuts what has no space in it, as an address.
        width = self.out.width - len(lead)
        for paragraph in text.splitlines():
            for line in textwrap.wrap(paragraph, width, break_long_words=False, break_on_hyphens=False):
                self.out.print(Text.assemble((lead, "dim"), (line, style)), soft_wrap=True)
                lead = " " * len(lead)

    def exactly(self, text: str, style: str = "", lead: str = "    ") -> None:
        """One line as it is, however long."""
        self.out.print(Text.assemble(lead, (text, style)), soft_wrap=True)

    def diff(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.exactly(line, {"-": "red", "+": "green"}.get(line[:1], ""))


def _title(page: _Page, incident: Incident) -> None:
    colour = {"acknowledged": "cyan", "resolved": "green"}.get(incident.status, _COLOURS[incident.severity])
    state = incident.severity if incident.status == "open" else incident.status
    page.gap()
    page.out.print(
        Text.assemble(
            ("● ", colour), (f"{incident.server.name} {words.verb(incident)}", f"bold {colour}"), (f"  {state}", "dim")
        )
    )
    page.prose(incident.title, "bold")


def _action(page: _Page, incident: Incident) -> None:
    found = words.advice(incident)
    if found.now is not None:
        _do_this(page, incident, found.now)
    elif found.kind == "choose":
        page.heading("Do one of these")
        page.prose(words.depends(incident))
        for remedy in found.choices:
            page.gap()
            where, why = words.condition(remedy)
            if where:
                page.prose(f"{where}:")
            _remedy(page, msgspec.structs.replace(remedy, why=why))
            _relaunch(page, incident, remedy)
    else:
        page.heading("Do this")
        page.prose(words.unknown_remedy(incident))


def _do_this(page: _Page, incident: Incident, remedy: Remedy) -> None:
    page.heading("Do this", words.aside(remedy))
    _remedy(page, remedy)
    _relaunch(page, incident, remedy)
    if remedy.next:
        page.gap()
        page.prose(" ".join(words.next_step(remedy)))


def _remedy(page: _Page, remedy: Remedy) -> None:
    page.prose(remedy.title, "bold")
    if remedy.why:
        page.prose(f"{words.sentence(remedy.why)}.")
    for number, step in enumerate(remedy.steps, 1):
        page.prose(step, lead=f"  {number}. ")


def _relaunch(page: _Page, incident: Incident, remedy: Remedy) -> None:
    relaunch = words.relaunch_of(remedy, incident)
    if relaunch is None:
        if not words.changes_nothing(remedy):
            page.prose(words.set_words(remedy))
    elif relaunch.complete:
        page.prose(f"Relaunch with this; {words.verified(remedy)}:", "dim")
        page.gap()
        page.exactly(relaunch.command, "bold", lead="")
        page.gap()
        page.diff(relaunch.diff)
        _apply(page, relaunch)
    else:
        page.prose(words.change_label(incident, remedy, relaunch), "dim")
        page.gap()
        page.diff(relaunch.diff or (relaunch.command,))


def _apply(page: _Page, relaunch: Relaunch) -> None:
    if relaunch.apply is None or relaunch.apply.kind == "shell" or not relaunch.apply.text:
        return
    page.heading("How to apply it", relaunch.apply.where)
    for line in relaunch.apply.text.splitlines():
        page.exactly(line)


def _evidence(page: _Page, incident: Incident) -> None:
    evidence = incident.evidence
    page.heading("Evidence", words.place(incident))
    for line in words.excerpt(evidence.text, evidence.excerpt, _EXCERPT).splitlines():
        page.exactly(line, "" if line.startswith("▶") else "dim", lead="  ")
    if incident.symptoms:
        page.heading("What followed from it")
        for symptom in incident.symptoms:
            page.prose(f"{symptom.title} ({words.lines(symptom.lines)})", lead="  · ")


def _others(page: _Page, incident: Incident) -> None:
    found = words.advice(incident)
    shown, rest = words.listed(found.others, OTHERS)
    for n, remedy in enumerate(shown):
        if n == 0:
            page.heading(words.others_heading(found))
        else:
            page.gap()
        _remedy(page, msgspec.structs.replace(remedy, why=words.reason(remedy)))
        change = words.change(remedy, words.relaunch_of(remedy, incident))
        if change:
            page.prose(change)
    if rest:
        page.gap()
        page.prose(rest)


def _refused(page: _Page, incident: Incident) -> None:
    for n, remedy in enumerate(words.refused(incident)):
        if n == 0:
            page.heading("What was tried and refused")
        page.prose(f"{remedy.title.rstrip('.')}: {remedy.refused}", lead="  · ")


def _facts(page: _Page, incident: Incident) -> None:
    page.heading("Facts")
    for name, value in words.facts(incident):
        page.prose(value, lead=f"  {name:<15} ")
