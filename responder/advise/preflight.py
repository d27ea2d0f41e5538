"""Before a launch: would this command be refused, by which gate, and what to run instead."""

from typing import Literal

import msgspec

from responder.advise.command.launch import Command
from responder.advise.command.secret import mask
from responder.advise.learn import Host, learn
from responder.advise.settle import net, settle
from responder.advise.verify import Refusal, refusals
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


def preflight(rules: tuple[Rule, ...], command: Command, host: Host) -> Preflight:
    """Hold a launch command against every rule of its release."""
    known = learn(host, command, phase="arguments")
    found = tuple(refusals(rules, command, known))
    certain = tuple(refusal for refusal in found if refusal.certain)
    doubts = tuple(refusal for refusal in found if not refusal.certain)
    missing = tuple(_missing(host, command, doubts))
    if not certain:
        return Preflight(verdict="unknown" if missing else "accepted", doubts=doubts, missing=missing)
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
    )


def _missing(host: Host, command: Command, doubts: tuple[Refusal, ...]) -> list[str]:
    """What stops us from saying yes: the release and the GPUs decide too much to go without."""
    missing = []
    if host.server.version is None:
        missing.append("sglang's release: give --sglang VERSION")
    if host.gpu.sm is None and any("gpu." in (refusal.rule.refused_when or "") for refusal in doubts):
        devices = "this host's GPUs differ" if len(host.gpu.sms) > 1 else "the GPUs are unknown"
        missing.append(f"{devices}: give --gpu SPEC, such as --gpu sm90")
    if any(word.open for word in command.arguments):
        missing.append("arguments that only the shell knows ($VARIABLES): write them out")
    return missing
