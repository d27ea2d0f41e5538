"""Flags and arguments that rules speak of, held against the flag table."""

import re
from collections.abc import Iterator

from responder.advise.flags import FlagTable
from responder.catalogue import Catalogue, Problem
from responder.catalogue.problem import find_line, shown
from responder.catalogue.rule import LoadedRule

_ARGUMENT = re.compile(r"\b(?:args|typed)\.([a-z][a-z0-9_]*)")

_OTHER_PROGRAMS = frozenset({"router", "platform"})
"""Kinds whose flags may belong to another program than sglang's server."""


def unknown_flags(catalogue: Catalogue) -> Iterator[Problem]:
    """Remedies with a flag, and conditions with an argument, that no release of sglang has."""
    table = FlagTable.load()
    releases = [table.release(version) for version in table.releases]
    flags = {option for release in releases for option in release.options}
    dests = {dest for release in releases for dest in release.by_dest}
    for entry in catalogue.loaded:
        if entry.rule.kind in _OTHER_PROGRAMS:
            continue
        for remedy in entry.rule.remedy:
            for flag in (*remedy.set, *remedy.unset):
                if flag not in flags:
                    yield _problem(entry, f"no release of sglang has the flag `{flag}`", flag)
        for condition in (entry.rule.refused_when, *(remedy.when for remedy in entry.rule.remedy)):
            for name in sorted(set(_ARGUMENT.findall(condition or ""))):
                if name not in dests:
                    yield _problem(entry, f"no release of sglang has the argument `{name}`", f".{name}")


def _problem(entry: LoadedRule, message: str, needle: str) -> Problem:
    text = entry.path.read_text(encoding="utf-8")
    return Problem(path=shown(entry.path), line=find_line(text, needle), message=message)
