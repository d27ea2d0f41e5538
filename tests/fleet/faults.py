"""Failed launches as texts, each with a cause of its own: what a fleet of servers may say in one long bad night."""

import random
import re
from typing import NamedTuple

from responder.catalogue import Catalogue, Rule
from responder.diagnose import Finding, Pipeline
from responder.scan import Program
from responder.sources.block import Block

LONGEST = 300
"""Characters of a sample that is taken."""


class Fault(NamedTuple):
    """One launch that fails."""

    name: str
    """The rule of its cause, or the type of an exception that no rule knows."""
    text: str
    """What the server writes, with `{now}` where a time stamp belongs."""


def known_faults(catalogue: Catalogue, program: Program, seed: int, count: int) -> list[Fault]:
    """Launches that fail of causes which the catalogue knows, one each, and of nothing else."""
    chance = random.Random(seed)
    rules = [rule for rule in catalogue.rules if _is_simple(rule)]
    chance.shuffle(rules)
    found: list[Fault] = []
    for rule in rules:
        said = next((s.text.strip() for s in rule.sample if s.matches and len(s.text) < LONGEST), "\n")
        if "\n" in said or "{" in said:
            continue
        fault = Fault(
            rule.id, _launch(chance, said if re.match(r"\w+(Error|Exception)\b", said) else f"ValueError: {said}")
        )
        findings = diagnosed(program, fault)
        if len(findings) == 1 and _names(findings[0], rule) and findings[0].lines == 1:
            found.append(fault)
        if len(found) == count:
            return found
    raise LookupError(f"the catalogue has only {len(found)} rules of this sort")


def unknown_faults(seed: int, count: int) -> list[Fault]:
    """Launches that fail of exceptions nobody has heard of."""
    chance = random.Random(seed)
    names = [f"Nightly{number}Error" for number in range(count)]
    return [Fault(name, _launch(chance, f"{name}: something new", module=name.lower())) for name in names]


def diagnosed(program: Program, fault: Fault) -> list[Finding]:
    """What is found in its text alone."""
    pipeline = Pipeline("llama", program)
    pipeline.feed(Block("log", "file", 0, fault.text.replace("{now}", "2026-11-30 12:00:00").encode()))
    return pipeline.diagnosis.findings()


def _is_simple(rule: Rule) -> bool:
    conditional = rule.frames or rule.near or rule.event
    return rule.role == "cause" and rule.severity == "critical" and rule.confidence == "certain" and not conditional


def _launch(chance: random.Random, last_words: str, module: str = "scheduler") -> str:
    """A launch that comes some way and then dies, with symptoms before and after the cause on some days."""
    rank = chance.choice(["", " TP0", " DP1 TP3"])
    lines = ["[{now}] server_args=ServerArgs(model_path='/models/llama', tp_size=8)"]
    lines += [f"[{{now}}{rank}] Load weight begin. avail mem={100 - n}.00 GB" for n in range(chance.randrange(4))]
    if chance.random() < 0.5:
        lines.append("[{now}] Received sigquit from a child process. It usually means the child failed.")
    crashed = f"[{{now}}{rank}] Scheduler hit an exception: " if chance.random() < 0.5 else ""
    lines.append(f"{crashed}Traceback (most recent call last):")
    for depth in range(chance.randrange(2, 9)):
        lines.append(f'  File "/opt/sglang/srt/{module}.py", line {40 + depth}, in step_{depth}')
        lines.append(f"    self.step_{depth + 1}(batch)")
    lines += [last_words, ""]
    if chance.random() < 0.5:
        lines.append("[{now}] Received sigquit from a child process. It usually means the child failed.")
    return "\n".join(lines) + "\n"


def _names(finding: Finding, rule: Rule) -> bool:
    return finding.rule is not None and finding.rule.id == rule.id
