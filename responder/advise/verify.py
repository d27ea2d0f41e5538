"""Would sglang refuse this command?  What the rules of its release say, gate by gate.

Three gates, as sglang passes them: the argument checks, the construction of the attention backend in the scheduler,
and the kernels.  The rules can only reject: nobody here has the hardware that says yes.
"""

from collections.abc import Iterator
from typing import Literal

import msgspec

from responder.advise.command.arguments import read
from responder.advise.command.launch import Command
from responder.advise.facts import Known
from responder.advise.within import within
from responder.catalogue import Rule
from responder.catalogue.conditions import Bound, holds
from responder.nouns import Phase

Gate = Literal["arguments", "construction", "kernels"]

_GATES: dict[Phase, Gate] = {"arguments": "arguments", "init": "construction"}


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
    """Every rule of the release that refuses these arguments on these GPUs, in the order of the gates."""
    yield from parser_refusals(rules, command, known.release)
    yield from check_refusals(rules, known)


def parser_refusals(rules: tuple[Rule, ...], command: Command, release: str | None) -> Iterator[Refusal]:
    """What argparse refuses, by the rule that its message belongs to."""
    import regex

    for problem in read(command, release).problems:
        line = f"error: {problem.text}"
        for rule in rules:
            if rule.kind != "cli-arguments" or rule.role != "cause":
                continue
            found = next((m for pattern in rule.patterns if (m := regex.search(pattern, line))), None)
            if found is not None:
                captures = {name: value for name, value in found.groupdict().items() if value is not None}
                yield Refusal(gate="arguments", rule=rule, text=line, captures=captures)
                break


def check_refusals(rules: tuple[Rule, ...], known: Known) -> Iterator[Refusal]:
    """What sglang's own checks refuse."""
    facts = Bound(known.facts())
    found = []
    for rule in rules:
        if rule.refused_when is None:
            continue
        inside = within(known.release, rule.since, rule.until) if known.release else None
        if inside is False:
            continue
        answer = holds(rule.refused_when, facts)
        if answer is not False:
            certain = answer is True and inside is True
            found.append(Refusal(gate=_GATES.get(rule.phase, "kernels"), rule=rule, certain=certain))
    order = ("arguments", "construction", "kernels")
    yield from sorted(found, key=lambda refusal: order.index(refusal.gate))
