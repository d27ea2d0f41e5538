"""What sglang refuses is diagnosed by the rule of that check, and the relaunch that is proposed starts."""

from functools import cache

import pytest

from responder.advise.capability import PHASES, situation, verdict
from responder.advise.learn import learn, parsed
from responder.advise.verify import attention_backends
from tests.oracle import verdicts
from tests.oracle.proposing import arguments, diagnosed, examined, host_of, relaunch_of, typed
from tests.oracle.sampling import rows, some
from tests.oracle.verdicts import Cell

RELEASES = verdicts.releases("matrix")
ASKED = verdicts.releases("proposals")
"""The releases that were asked about the relaunches too."""


@cache
def answers(release: str) -> dict[tuple[str, str], str]:
    """What sglang said to each proposed command, by card and command."""
    return {(cell.card, cell.command): cell.answer["verdict"] for cell in verdicts.cells("proposals", release)}


def misdiagnosis(cell: Cell) -> str | None:
    """What is wrong with the diagnosis of a refused cell."""
    incident = diagnosed(cell)
    expected = [r.rule.id for r in examined(cell.release, cell.card, cell.command).refused_by if r.gate == "arguments"]
    if incident is not None and incident.rule in expected:
        return None
    return f"[{cell.card}] {cell.command}: {cell.printed[:80]}: {incident and incident.rule}, not {expected}"


def wrong_relaunch(cell: Cell) -> str | None:
    """What is wrong with what is proposed for a refused cell: by the alert, and by preflight."""
    nearest = examined(cell.release, cell.card, cell.command).relaunch
    for relaunch in (relaunch_of(cell), arguments(nearest.command) if nearest else None):
        if relaunch is None:
            continue
        said = answers(cell.release).get((cell.card, relaunch), "was never asked")
        if said != "accepted":
            return f"[{cell.card}] {cell.command} -> {relaunch}: sglang {said}"
        if refused := impossible(cell, relaunch):
            return f"[{cell.card}] {cell.command} -> {relaunch}: {refused}"
    return None


def impossible(cell: Cell, relaunch: str) -> list[str]:
    """What the capability table says against a command."""
    command, _ = parsed(typed(relaunch))
    known = learn(host_of(cell.release, cell.card, relaunch), command)
    backends, at = attention_backends(known), situation(known)
    assert set(backends) == set(PHASES), f"{relaunch}: its attention backends are not known"
    return [cell.why for phase, name in backends.items() if (cell := verdict(name, phase, at)).allowed is False]


def refused(cells: list[Cell]) -> list[Cell]:
    """The refused ones."""
    return [cell for cell in cells if cell.refused]


@pytest.mark.parametrize("release", RELEASES)
def test_a_refusal_is_diagnosed_by_the_rule_that_predicts_it(release: str) -> None:
    cells = refused(list(some(release)))
    assert len(cells) > 20
    assert [text for cell in cells if (text := misdiagnosis(cell))] == []


@pytest.mark.parametrize("release", ASKED)
def test_a_proposed_relaunch_is_accepted_by_sglang_and_possible_by_the_table(release: str) -> None:
    assert [text for cell in refused(list(some(release))) if (text := wrong_relaunch(cell))] == []


@pytest.mark.slow
@pytest.mark.parametrize("release", RELEASES)
def test_every_refused_command_is_diagnosed(release: str) -> None:
    assert [text for cell in refused(rows(release)) if (text := misdiagnosis(cell))] == []


@pytest.mark.slow
@pytest.mark.parametrize("release", ASKED)
def test_no_relaunch_is_refused(release: str) -> None:
    assert [text for cell in refused(rows(release)) if (text := wrong_relaunch(cell))] == []


@pytest.mark.parametrize("release", RELEASES)
def test_nearly_every_refused_cell_has_a_nearest_command(release: str) -> None:
    """A flag that another backend replaces always has one; where none is named, no flag mends it."""
    left = {
        cell.printed
        for cell in refused(list(some(release)))
        if examined(cell.release, cell.card, cell.command).relaunch is None
    }
    assert left <= NO_FLAG_HELPS


NO_FLAG_HELPS: frozenset[str] = frozenset()
"""Messages that no change of the command mends."""
