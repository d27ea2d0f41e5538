"""Followers for the tests of the sources."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.sources.following import InProcess, Process


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where the logs lie; state and the like go beside it."""
    logs = tmp_path / "logs"
    logs.mkdir()
    return logs


@pytest.fixture
def tail(folder: Path) -> Iterator[InProcess]:
    """The follower, under a clock of our own."""
    follower = InProcess(folder)
    yield follower
    if follower.follower:
        follower.stop()


@pytest.fixture
def process(folder: Path) -> Iterator[Process]:
    """The real command."""
    running = Process(folder)
    yield running
    if running.process:
        running.kill()
