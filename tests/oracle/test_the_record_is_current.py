"""The record is what sglang says: asked afresh.  SGLANG_ORACLE_PYTHON lists interpreters, separated by `:`."""

import pytest

from tests.advise.oracles import pythons
from tests.oracle import verdicts
from tests.oracle.record import Sglang
from tests.oracle.sampling import some


@pytest.mark.oracle
@pytest.mark.parametrize("python", pythons())
def test_a_part_of_the_matrix_asked_afresh_gets_the_recorded_answers(python: str) -> None:
    sglang = Sglang(python)
    assert sglang.release in verdicts.releases("matrix")
    recorded = [cell for cell in some(sglang.release) if cell.card in ("90", "120")]
    fresh = [
        found for card in ("90", "120") for found in sglang.check(card, [c.command for c in recorded if c.card == card])
    ]
    assert sorted(map(str, fresh)) == sorted(map(str, recorded))
