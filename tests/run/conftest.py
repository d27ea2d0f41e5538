"""What the daemon's tests share."""

import resource
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

import pytest

from responder.store.database import Database


@pytest.fixture
def disk_full() -> Callable[[Database], AbstractContextManager[None]]:
    """While it is entered, the system refuses every byte by which a database would grow, as a full disk does."""

    @contextmanager
    def full(database: Database) -> Iterator[None]:
        log = database.path.with_name(database.path.name + "-wal")
        before = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (log.stat().st_size, before[1]))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)

    return full
