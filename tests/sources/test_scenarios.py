"""Scenarios 1 to 43 with the follower itself, under a clock of our own."""

import pytest

from tests.sources.following import InProcess
from tests.sources.scenarios import SCENARIOS


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_every_line_comes_out_in(scenario: str, tail: InProcess) -> None:
    """What the scenario says, and nothing after it."""
    SCENARIOS[scenario](tail)
    before = list(tail.lines)
    tail.pause(5.0)
    assert tail.lines == before
