"""A crash that is read twice is the same crash, and what was known of it is not lost."""

from pathlib import Path

from responder.store import crashes, incidents
from responder.store.database import open_database
from tests.publish.conftest import Clock
from tests.publish.incidents import seed_incident


def test_a_crash_that_is_read_again_without_its_stamps_keeps_when_it_was_seen(tmp_path: Path) -> None:
    database = open_database(tmp_path / "state.db", Clock())
    stamped = {"first_seen": "2026-09-14T07:01:05", "last_seen": "2026-09-14T07:01:09", "clock": "log"}
    again = seed_incident(first_seen=None, last_seen=None, clock="arrival")
    with database.transaction() as connection:
        incidents.save(connection, crashes.fold(connection, seed_incident(**stamped), {"crash": (3, 1)}, 0.0), 0.0)
        folded = crashes.fold(connection, again, {"crash": (3, 1)}, 1.0)
    database.close()
    assert {name: getattr(folded, name) for name in stamped} == stamped
    assert (folded.lines, folded.attempts) == (3, 1)
