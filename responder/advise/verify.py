"""Would sglang refuse this command?  What the rules of its release say, gate by gate.

Three gates, as sglang passes them: the argument checks, the construction of the attention backend in the scheduler,
and the kernels.  The first is what the rules say; for the other two the capability table of the attention backends
speaks as well.  All of it can only reject: nobody here has the hardware that says yes.
"""

from collections.abc import Iterator
from typing import Literal

import msgspec

from responder.advise.capability import PHASES, AttentionPhase, as_rule, situation, verdict
from responder.advise.command.arguments import read
from responder.advise.command.launch import Command
from responder.advise.facts import Known
from responder.advise.within import before, same, within
from responder.catalogue import Rule
from responder.catalogue.conditions import Bound, holds
from responder.nouns import Phase, Role

Gate = Literal["arguments", "construction", "kernels"]

_GATES: dict[Phase, Gate] = {"arguments": "arguments", "init": "construction", "load": "construction"}
_OTHER_ROLE: dict[AttentionPhase, Role] = {"prefill": "decode", "decode": "prefill"}


class Refusal(msgspec.Struct, frozen=True, kw_only=True):
    """One reason why a command would not start, or (not certain) may not."""

    gate: Gate
    rule: Rule
    text: str = ""
    """What argparse would print; empty for a check of sglang's own."""
    captures: dict[str, str] = {}
    certain: bool = True
    """False where the check rests on something unknown."""


def refusals(rules: tuple[Rule, ...], command: Command, known: Known) -> Iterator[Refusal]:
    """Everything that refuses these arguments on these GPUs, in the order of the gates."""
    yield from parser_refusals(rules, command, known.release)
    found = {refusal.rule.id: refusal for refusal in check_refusals(rules, known)}
    for refusal in backend_refusals(rules, known):
        if refusal.rule.id not in found or not found[refusal.rule.id].certain:
            found[refusal.rule.id] = refusal
    order = ("arguments", "construction", "kernels")
    yield from sorted(found.values(), key=lambda refusal: order.index(refusal.gate))


def parser_refusals(rules: tuple[Rule, ...], command: Command, release: str | None) -> Iterator[Refusal]:
    """What argparse refuses, by the rule that its message belongs to."""
    import regex

    arguments = read(command, release)
    # Another release's flags are a guess at this one's.
    certain = release is not None and same(release, arguments.release.version)
    for problem in arguments.problems:
        line = f"error: {problem.text}"
        for rule in rules:
            if rule.kind != "cli-arguments" or rule.role != "cause":
                continue
            found = next((m for pattern in rule.patterns if (m := regex.search(pattern, line))), None)
            if found is not None:
                captures = {name: value for name, value in found.groupdict().items() if value is not None}
                yield Refusal(gate="arguments", rule=rule, text=line, captures=captures, certain=certain)
                break


def check_refusals(rules: tuple[Rule, ...], known: Known) -> Iterator[Refusal]:
    """What sglang's own checks refuse."""
    facts = Bound(known.facts())
    for rule in rules:
        if rule.refused_when is None:
            continue
        inside = within(known.release, rule.since, rule.until) if known.release else None
        if inside is False:
            continue
        answer = holds(rule.refused_when, facts)
        if answer is not False:
            certain = answer is True and inside is True
            yield Refusal(gate=_GATES.get(rule.phase, "kernels"), rule=rule, certain=certain)


def backend_refusals(rules: tuple[Rule, ...], known: Known) -> Iterator[Refusal]:
    """What the attention backends in use cannot do here: no constructor takes it, or there is no kernel."""
    at, backends = situation(known), attention_backends(known)
    seen = set()
    for phase, backend in backends.items():
        cell = verdict(backend, phase, at)
        if cell.allowed is not False or cell.gate is None or cell.gate == "arguments":
            continue
        if cell.gate == "kernels" and known.role == _OTHER_ROLE[phase]:
            continue  # a server of that role never runs this phase
        named = next((rule for rule in rules if rule.id == cell.rule), None)
        rule = named or as_rule(backend, cell, at, backends)
        if rule.id not in seen:
            seen.add(rule.id)
            yield Refusal(gate=cell.gate, rule=rule, certain=known.release is not None)


def attention_backends(known: Known) -> dict[AttentionPhase, str]:
    """The attention backend of each phase, where it is known."""
    split = known.release is None or not before(known.release, "0.5.1")
    found = {phase: known.args.get(f"{phase}_attention_backend" if split else "attention_backend") for phase in PHASES}
    return {phase: backend for phase, backend in found.items() if isinstance(backend, str)}
