"""What the daemon's tests share."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

import pytest

from responder.store.database import Database, StoreUnavailableError


@pytest.fixture
def disk_full(monkeypatch: pytest.MonkeyPatch) -> Callable[[Database], AbstractContextManager[None]]:
    """While it is entered, nothing can be written to a database."""

    @contextmanager
    def refused(*, durable: bool = False) -> Iterator[None]:
        raise StoreUnavailableError("database or disk is full")
        yield

    @contextmanager
    def full(database: Database) -> Iterator[None]:
        with monkeypatch.context() as patched:
            patched.setattr(database, "transaction", refused)
            yield

    return full
