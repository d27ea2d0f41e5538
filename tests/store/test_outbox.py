"""A queue on the disk: nothing twice, nothing lost, and the order that Slack needs."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from responder.store import outbox
from responder.store.database import Database, open_database
from responder.store.outbox import Outcome
from tests.publish.conftest import Clock


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    opened = open_database(tmp_path / "state.db", Clock())
    yield opened
    opened.close()


def put(
    database: Database, key: str, *, now: float = 0.0, parent: str | None = None, kind: outbox.Kind = "post"
) -> None:
    with database.transaction() as connection:
        outbox.put(
            connection, key=key, incident="i", kind=kind, channel="#c", payload={"text": key}, now=now, parent=parent
        )


def settle(database: Database, outcome: Outcome, now: float = 1.0) -> None:
    with database.transaction() as connection:
        outbox.settle(connection, outcome, now)


def test_queueing_the_same_thing_twice_changes_nothing(database: Database) -> None:
    put(database, "a")
    put(database, "a", now=99.0)
    row = outbox.next_due(database.connection, 100.0)
    assert row is not None
    assert row.queued == 0.0
    assert outbox.counts(database.connection)["queued"] == 1


def test_a_row_that_was_rolled_back_was_never_queued(database: Database) -> None:
    def fail_after_queueing() -> None:
        with database.transaction() as connection:
            outbox.put(connection, key="a", incident="i", kind="post", channel="c", payload={"text": "x"}, now=0.0)
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail_after_queueing()
    assert outbox.next_due(database.connection, 9.0) is None


def test_a_reply_waits_for_the_timestamp_of_its_post(database: Database) -> None:
    put(database, "root")
    put(database, "reply", parent="root", kind="reply")
    settle(database, Outcome(key="root", state="ambiguous", due=50.0))
    assert outbox.next_due(database.connection, 10.0) is None
    assert outbox.next_wake(database.connection) == 50.0
    settle(database, Outcome(key="root", state="sent", ts="1.2", channel_id="C1"))
    row = outbox.next_due(database.connection, 10.0)
    assert row is not None
    assert (row.key, row.parent_ts, row.parent_channel_id) == ("reply", "1.2", "C1")
    assert outbox.channel_id(database.connection, "#c") == "C1"


def test_what_belongs_to_a_dead_post_is_dead_whenever_it_was_queued(database: Database) -> None:
    put(database, "root")
    put(database, "early", parent="root", kind="reply")
    settle(database, Outcome(key="root", state="dead", error="channel_not_found"))
    put(database, "late", parent="root", kind="reply")
    assert outbox.counts(database.connection)["dead"] == 3
    assert [row.key for row in outbox.dead(database.connection)] == ["root"]


def test_of_edits_that_wait_only_the_last_goes_and_one_under_way_is_left_alone(database: Database) -> None:
    put(database, "root")
    settle(database, Outcome(key="root", state="sent", ts="1.2"))
    for text in ("one", "two"):
        with database.transaction() as connection:
            outbox.put_update(connection, incident="i", parent="root", channel="c", payload={"text": text}, now=1.0)
    under_way = outbox.next_due(database.connection, 2.0)
    assert under_way is not None
    assert under_way.payload == {"text": "two"}
    with database.transaction() as connection:
        outbox.begin(connection, under_way.key, 2.0)
        outbox.put_update(connection, incident="i", parent="root", channel="c", payload={"text": "three"}, now=2.0)
    after = outbox.next_due(database.connection, 3.0)
    assert after is not None
    assert after.payload == {"text": "three"}


def test_what_a_dead_process_was_sending_is_in_doubt(database: Database) -> None:
    put(database, "a")
    with database.transaction(durable=True) as connection:
        outbox.begin(connection, "a", 5.0)
    with database.transaction() as connection:
        assert outbox.recover(connection, 7.0) == 1
    row = outbox.next_due(database.connection, 7.0)
    assert row is not None
    assert (row.state, row.first_sent, row.attempts) == ("ambiguous", 5.0, 1)


def test_only_letters_that_died_lately_and_not_for_their_content_are_revived(database: Database) -> None:
    for key, now in (("old", 0.0), ("new", 100.0), ("refused", 100.0)):
        put(database, key, now=now)
        settle(database, Outcome(key=key, state="dead", plain=key == "refused"))
    with database.transaction() as connection:
        assert outbox.revive(connection, 200.0, since=50.0) == 1
    row = outbox.next_due(database.connection, 200.0)
    assert row is not None
    assert row.key == "new"


def test_finished_rows_are_deleted_after_their_time_and_waiting_ones_never(database: Database) -> None:
    for key in ("sent", "waiting"):
        put(database, key)
    settle(database, Outcome(key="sent", state="sent", ts="1.2"), now=10.0)
    with database.transaction() as connection:
        outbox.prune(connection, 10.0 + outbox.KEPT)
        assert outbox.counts(connection)["sent"] == 1
        outbox.prune(connection, 11.0 + outbox.KEPT)
    counts = outbox.counts(database.connection)
    assert (counts["sent"], counts["queued"]) == (0, 1)


def test_edits_are_queued_however_many_of_those_before_were_deleted(database: Database) -> None:
    put(database, "root")
    settle(database, Outcome(key="root", state="sent", ts="1.2"))
    for day in range(1, 6):
        with database.transaction() as connection:
            edit = {"text": f"edit of day {day}"}
            outbox.put_update(connection, incident="i", parent="root", channel="c", payload=edit, now=float(day))
        row = outbox.next_due(database.connection, float(day))
        assert row is not None
        assert row.payload == edit
        settle(database, Outcome(key=row.key, state="sent"), now=float(day))
        with database.transaction() as connection:
            outbox.prune(connection, day + 0.5, kept=2.0)
            connection.execute("INSERT OR IGNORE INTO telling (incident, post) VALUES ('i', 'root')")
    assert outbox.get(database.connection, "root") is not None


def test_only_what_pings_counts_against_the_cap(database: Database) -> None:
    put(database, "root", now=10.0)
    put(database, "reply", now=10.0, parent="root", kind="reply")
    put(database, "again", now=20.0, parent="root", kind="broadcast")
    assert outbox.loud_since(database.connection, 5.0) == 2
    assert outbox.loud_since(database.connection, 15.0) == 1
