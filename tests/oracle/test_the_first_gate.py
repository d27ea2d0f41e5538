"""Preflight's first gate says what sglang's own argument checks say."""

import pytest

from tests.oracle import verdicts
from tests.oracle.proposing import examined
from tests.oracle.sampling import every, some
from tests.oracle.verdicts import Cell

RELEASES = verdicts.releases("matrix")


def disagreement(cell: Cell) -> str | None:
    """Where we and sglang differ on a cell."""
    found = [r.rule.id for r in examined(cell.release, cell.card, cell.command).refused_by if r.gate == "arguments"]
    if bool(found) == cell.refused:
        return None
    said = cell.printed if cell.refused else "accepted"
    return f"[{cell.card}] {cell.command}: sglang {said}; we: {found or 'accepted'}"


def test_several_releases_are_on_record() -> None:
    assert {"0.5.19", "0.5.21", "0.5.23"} <= set(RELEASES)


@pytest.mark.parametrize("release", RELEASES)
def test_no_refusal_is_missed_and_none_invented(release: str) -> None:
    assert [text for cell in some(release) if (text := disagreement(cell))] == []


@pytest.mark.slow
@pytest.mark.parametrize("release", RELEASES)
def test_no_refusal_is_missed_and_none_invented_in_the_whole_matrix(release: str) -> None:
    assert [text for cell in every(release) if (text := disagreement(cell))] == []
