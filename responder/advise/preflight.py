"""Before a launch: would this command be refused, by which gate, and what to run instead."""

from collections.abc import Iterator
from typing import Literal

import msgspec

from responder.advise.command.launch import Command
from responder.advise.command.secret import mask
from responder.advise.facts import Known
from responder.advise.flags import FlagTable, ReleaseFlags
from responder.advise.learn import Host, learn
from responder.advise.remedies import resolve
from responder.advise.settle import net, settle
from responder.advise.verify import Refusal, refusals
from responder.advise.within import same, within
from responder.catalogue import Rule
from responder.nouns import Relaunch, Remedy

Verdict = Literal["accepted", "refused", "unknown"]


class Preflight(msgspec.Struct, frozen=True, kw_only=True):
    """What was found."""

    verdict: Verdict
    refused_by: tuple[Refusal, ...] = ()
    """Certain refusals, in the order of the gates."""
    doubts: tuple[Refusal, ...] = ()
    """Checks that rest on something unknown."""
    missing: tuple[str, ...] = ()
    """What would have to be known, and how to say it."""
    remedies: tuple[Remedy, ...] = ()
    """What leads to the nearest command that no rule refuses."""
    relaunch: Relaunch | None = None
    unmended: tuple[Refusal, ...] = ()
    """Refusals that no change of flags mends."""
    steps: tuple[str, ...] = ()
    """What a person can do about those."""
    notes: tuple[str, ...] = ()
    """What was taken in place of something unknown."""


def preflight(rules: tuple[Rule, ...], command: Command, host: Host) -> Preflight:
    """Hold a launch command against every rule of its release."""
    if command.entry == "router":
        return Preflight(verdict="unknown", missing=("this launches sglang's router: only servers are checked",))
    known = learn(host, command, phase="arguments")
    table = FlagTable.load()
    flags = table.release(known.release)
    found = tuple(refusals(rules, command, known))
    certain = tuple(refusal for refusal in found if refusal.certain)
    doubts = tuple(refusal for refusal in found if not refusal.certain)
    missing = tuple(_missing(host, command, doubts))
    notes = tuple(_notes(known, flags))
    if within(known.release or flags.version, table.releases[0], table.releases[-1]) is not True:
        # Which checks and flags it has can only be guessed: the nearest release's answer is told as a doubt.
        missing = (f"sglang {known.release} is not known here: flags and checks are those of {flags.version}", *missing)
        return Preflight(verdict="unknown", doubts=(*certain, *doubts), missing=missing, notes=notes)
    if not certain:
        verdict: Verdict = "unknown" if missing else "accepted"
        return Preflight(verdict=verdict, doubts=doubts, missing=missing, notes=notes)
    settled = settle(rules, command, host)
    diff = net([line for step in settled.remedies if step.relaunch for line in step.relaunch.diff])
    relaunch = Relaunch(command=mask(settled.command), diff=diff, complete=True) if settled.accepted else None
    return Preflight(
        verdict="refused",
        refused_by=certain,
        doubts=doubts,
        missing=missing,
        remedies=settled.remedies,
        relaunch=relaunch,
        unmended=settled.left,
        steps=tuple(dict.fromkeys(_steps(settled.left, settled.command, host))),
        notes=notes,
    )


def _missing(host: Host, command: Command, doubts: tuple[Refusal, ...]) -> Iterator[str]:
    """What stops us from saying yes: the release and the GPUs decide too much to go without."""
    if host.server.version is None:
        yield "sglang's release: give --sglang VERSION"
    if host.gpu.sm is None and any("gpu." in (refusal.rule.refused_when or "") for refusal in doubts):
        devices = "this host's GPUs differ" if len(host.gpu.sms) > 1 else "the GPUs are unknown"
        yield f"{devices}: give --gpu SPEC, such as --gpu sm90"
    if host.server.version is not None and any(refusal.text for refusal in doubts):
        yield f"the flags of sglang {host.server.version}: give the nearest release that is known by --sglang"
    if any(word.open for word in command.arguments):
        yield "arguments that only the shell knows ($VARIABLES): write them out"


def _notes(known: Known, flags: ReleaseFlags) -> Iterator[str]:
    """What the answer rests on besides the command."""
    if known.release is not None and not same(known.release, flags.version):
        yield f"{flags.note[:1].upper()}{flags.note[1:]}."
    path = known.args.get("model_path")
    if path and not known.model:
        yield f"The config.json of {path} cannot be read here, so checks that depend on the model are left open."


def _steps(left: tuple[Refusal, ...], command: Command, host: Host) -> Iterator[str]:
    """The steps of the remedies that may apply."""
    for refusal in left:
        known = learn(host, command, phase="arguments", captures=refusal.captures)
        for option in resolve(refusal.rule, known, command):
            if option.remedy.applies != "no":
                yield from option.remedy.steps
