"""Scenarios 1 to 43 with the real `responder tail`."""

import pytest

from tests.sources.following import Process
from tests.sources.scenarios import SCENARIOS


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_the_command_shows_every_line_in(scenario: str, process: Process) -> None:
    """What the scenario says."""
    SCENARIOS[scenario](process)
