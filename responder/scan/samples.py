"""Rules proved on their own samples: each must fire where it says so, and nowhere else."""

from collections.abc import Iterable, Iterator

import regex

from responder.catalogue import Catalogue, Problem, Rule, Sample
from responder.catalogue.problem import find_line, shown
from responder.catalogue.rule import LoadedRule
from responder.scan.engine import Match, Scanner
from responder.scan.program import build_program, patterns_of, without_refused


def check_samples(catalogue: Catalogue, *, only: Iterable[str] | None = None) -> list[Problem]:
    """Every sample that behaves otherwise than its rule says, and every pattern that no sample exercises.

    `only` limits the report to these rules; the samples still meet the whole catalogue.
    """
    program, problems = build_program(catalogue)
    if not problems:
        _, problems = without_refused(catalogue)
    scanner = Scanner(program)
    wanted = None if only is None else set(only)
    for entry in catalogue.loaded:
        if wanted is None or entry.rule.id in wanted:
            problems += _check_rule(scanner, entry)
    return problems


def matches_of(scanner: Scanner, text: str) -> list[Match]:
    """Every match on any line of a text."""
    return [match for hit in scanner.scan(text.encode()) for match in hit.matches]


def broken_rules(catalogue: Catalogue) -> tuple[list[str], list[Problem]]:
    """The ids of rules whose own sample does not match, and why: they must not run."""
    program, problems = build_program(catalogue)
    scanner = Scanner(program)
    broken: list[str] = []
    for entry in catalogue.loaded:
        found = [p for sample in entry.rule.sample for p in _must_match(scanner, entry, sample)]
        if found:
            broken.append(entry.rule.id)
            problems += found
    return broken, problems


def _check_rule(scanner: Scanner, entry: LoadedRule) -> Iterator[Problem]:
    rule = entry.rule
    for sample in rule.sample:
        yield from _must_match(scanner, entry, sample)
        yield from _one_cause(scanner, entry, sample)
    exercised = {
        index
        for sample in rule.sample
        if sample.matches
        for index, pattern in enumerate(rule.patterns)
        if any(regex.search(pattern.encode(), line) for line in sample.text.encode().splitlines())
    }
    for index, pattern in enumerate(rule.patterns):
        if index not in exercised:
            yield _problem(entry, f"no sample exercises the pattern {pattern!r}", pattern[:40])


def _must_match(scanner: Scanner, entry: LoadedRule, sample: Sample) -> Iterator[Problem]:
    rule = entry.rule
    found = [match for match in matches_of(scanner, sample.text) if match.rule.id == rule.id]
    first = next((line for line in sample.text.splitlines() if line.strip()), "")[:40]
    if sample.matches and not found and rule.patterns:
        yield _problem(entry, f"the sample {first!r} does not match; {how_far(rule, sample.text)}", first)
    if not sample.matches and found:
        yield _problem(entry, f"the near miss {first!r} matches", first)
    if sample.matches and found and sample.captures:
        for name, value in sample.captures.items():
            got = found[0].captures.get(name)
            if got != value:
                yield _problem(entry, f"the capture `{name}` is {got!r}, not {value!r}", f"{name} =", first)


def _one_cause(scanner: Scanner, entry: LoadedRule, sample: Sample) -> Iterator[Problem]:
    if not sample.matches or entry.rule.role != "cause":
        return
    precedence = entry.rule.precedence
    for match in matches_of(scanner, sample.text):
        other = match.rule
        if other.id == entry.rule.id:
            continue
        first = sample.text.strip().splitlines()[-1][:40]
        if other.role == "cause" and other.precedence == precedence and not other.frames and not other.near:
            yield _problem(entry, f"the sample {first!r} is also claimed by the cause `{other.id}`", first)
        elif other.role == "noise" and other.escalate_when is None:
            yield _problem(entry, f"the sample {first!r} is silenced by the noise rule `{other.id}`", first)


def how_far(rule: Rule, text: str) -> str:
    """How much of each pattern matches somewhere in a text: the longest beginning that does, and what comes next."""
    told = []
    for pattern in rule.patterns:
        length = next((n for n in range(len(pattern), 0, -1) if _matches(pattern[:n], text)), 0)
        told.append(f"{pattern[:length]!r} matches, then {pattern[length : length + 30]!r} does not")
    return "; ".join(told) or "it has no pattern"


def _matches(pattern: str, text: str) -> bool:
    try:
        return regex.search(pattern.encode(), text.encode(), timeout=1) is not None
    except (regex.error, TimeoutError):
        return False


def _problem(entry: LoadedRule, message: str, *needles: str) -> Problem:
    text = entry.path.read_text(encoding="utf-8")
    return Problem(path=shown(entry.path), line=find_line(text, *needles), message=message)


__all__ = ["broken_rules", "check_samples", "how_far", "matches_of", "patterns_of"]
