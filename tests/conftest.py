"""What every room's tests share."""

from pathlib import Path

import pytest

from responder.catalogue import Catalogue, load_catalogue
from responder.scan import Program, build_program

DATA = Path(__file__).parent / "data"


@pytest.fixture(scope="session")
def cache_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A private cache, so that no test touches the user's."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="session")
def catalogue(cache_folder: Path) -> Catalogue:
    """The shipped rules."""
    return load_catalogue(cache=cache_folder)


@pytest.fixture(scope="session")
def program(catalogue: Catalogue, cache_folder: Path) -> Program:
    """The shipped rules, compiled."""
    compiled, _ = build_program(catalogue, cache=cache_folder)
    return compiled


@pytest.fixture(scope="session")
def logs() -> Path:
    """Logs that the real sglang wrote."""
    return DATA / "logs"


@pytest.fixture(autouse=True)
def private_places(monkeypatch: pytest.MonkeyPatch, cache_folder: Path, tmp_path: Path) -> None:
    """No test reads or writes the cache and state of whoever runs it."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache_folder))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.delenv("RESPONDER_SLACK_TOKEN", raising=False)
