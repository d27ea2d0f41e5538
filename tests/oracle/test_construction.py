"""The capability table says what the constructors of the attention backends say."""

import pytest

from responder.advise.capability import PHASES, Cell, Situation, verdict
from tests.oracle import verdicts
from tests.oracle.verdicts import Cell as Recorded

RELEASES = verdicts.releases("construction")

LATER = frozenset({"hpc_ops", "flashmla", "dsa", "nsa"})
"""Backends whose gate lies behind what a pretended runner can answer, so that `passed` means little."""


def answers(recorded: Recorded) -> list[Cell]:
    """The table's answer for each phase."""
    backend, kind = recorded.command.split()
    sm, _, cuda = recorded.card.partition("/")
    at = Situation(release=recorded.release, platform="cuda", sm=int(sm), torch_cuda=cuda or "13.0", model=kind)  # type: ignore[arg-type]
    return [verdict(backend, phase, at) for phase in PHASES]


def cells(release: str) -> list[Recorded]:
    """What was recorded on GPUs."""
    return [cell for cell in verdicts.cells("construction", release) if cell.card != "cpu"]


@pytest.mark.parametrize("release", RELEASES)
def test_what_a_constructor_refuses_the_table_refuses(release: str) -> None:
    refused = [cell for cell in cells(release) if cell.refused]
    assert len(refused) > 30
    assert [
        (cell.card, cell.command)
        for cell in refused
        if not all(answer.allowed is False and answer.gate in ("construction", "arguments") for answer in answers(cell))
    ] == []


@pytest.mark.parametrize("release", RELEASES)
def test_the_table_claims_no_refusal_of_a_constructor_that_takes_it(release: str) -> None:
    passed = [cell for cell in cells(release) if cell.answer["verdict"] == "passed"]
    assert [
        (cell.card, cell.command)
        for cell in passed
        if cell.command.split()[0] not in LATER and any(answer.gate == "construction" for answer in answers(cell))
    ] == []


@pytest.mark.parametrize("release", RELEASES)
def test_the_message_of_a_constructor_is_the_one_of_the_rule_that_the_table_names(release: str) -> None:
    import regex

    from tests.oracle.proposing import catalogue

    rules = catalogue().by_id
    for cell in cells(release):
        named = {answer.rule for answer in answers(cell) if answer.gate == "construction"}
        if cell.refused and named != {None} and named:
            patterns = [pattern for rule in named if rule for pattern in rules[rule].patterns]
            assert any(regex.search(pattern, cell.printed) for pattern in patterns), (cell.command, named)
