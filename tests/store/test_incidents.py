"""Incidents at rest, what was said of them, and what people decided."""

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from responder.store import incidents
from responder.store.database import Database, open_database
from tests.publish.conftest import Clock
from tests.publish.incidents import change, hardware_incident, seed_incident


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    opened = open_database(tmp_path / "state.db", Clock())
    yield opened
    opened.close()


def test_an_incident_comes_back_as_it_was_saved_and_keeps_when_it_was_first_seen(database: Database) -> None:
    with database.transaction() as connection:
        incidents.save(connection, seed_incident(), 10.0)
        incidents.save(connection, seed_incident(lines=9), 20.0)
    assert incidents.load(database.connection, seed_incident().id) == seed_incident(lines=9)
    assert incidents.known_since(database.connection, seed_incident().id) == 10.0
    assert incidents.load(database.connection, "absent") is None


def test_people_find_an_incident_by_the_start_of_its_id(database: Database) -> None:
    with database.transaction() as connection:
        for ident in ("abc1", "abc2", "xyz%"):
            incidents.save(connection, seed_incident(id=ident), 10.0)
    assert sorted(i.id for i in incidents.find(database.connection, "abc")) == ["abc1", "abc2"]
    assert [i.id for i in incidents.find(database.connection, "xyz%")] == ["xyz%"]
    assert incidents.find(database.connection, "%") == []


def test_the_newest_change_stands_first_and_a_status_can_be_asked_for(database: Database) -> None:
    with database.transaction() as connection:
        incidents.save(connection, seed_incident(id="a"), 10.0)
        incidents.save(connection, seed_incident(id="b", status="resolved"), 20.0)
        incidents.save(connection, seed_incident(id="c"), 30.0)
        incidents.acknowledge(connection, "c", "ada", 31.0)
    assert [i.id for i in incidents.newest(database.connection)] == ["c", "b", "a"]
    assert [i.id for i in incidents.newest(database.connection, limit=1)] == ["c"]
    assert [i.id for i in incidents.newest(database.connection, status="acknowledged")] == ["c"]
    assert [i.id for i in incidents.unresolved(database.connection)] == ["a", "c"]


def test_an_acknowledgement_shows_until_it_is_forgotten(database: Database) -> None:
    with database.transaction() as connection:
        incidents.save(connection, seed_incident(), 10.0)
        incidents.acknowledge(connection, seed_incident().id, "ada", 11.0)
    shown = incidents.load(database.connection, seed_incident().id)
    assert shown is not None
    assert shown.status == "acknowledged"
    assert incidents.acknowledged_by(database.connection, seed_incident().id) == "ada"
    with database.transaction() as connection:
        incidents.forget_acknowledgement(connection, seed_incident().id)
    shown = incidents.load(database.connection, seed_incident().id)
    assert shown is not None
    assert shown.status == "open"


@pytest.mark.parametrize(
    ("matcher", "hushed"),
    [
        ({"incident": seed_incident().id}, True),
        ({"rule": seed_incident().rule}, True),
        ({"server": "llama-70b"}, True),
        ({"server": "llama-70b", "rule": "another"}, False),
        ({"incident": "another"}, False),
    ],
)
def test_a_silence_covers_what_matches_all_of_it(database: Database, matcher: dict[str, str], hushed: bool) -> None:
    with database.transaction() as connection:
        incidents.silence(connection, until=500.0, by="ada", now=1.0, **matcher)
    until = incidents.silenced_until(database.connection, seed_incident())
    assert until == (500.0 if hushed else None)


def test_a_silence_of_everything_is_refused(database: Database) -> None:
    with pytest.raises(ValueError, match="needs an incident, a rule or a server"), database.transaction() as connection:
        incidents.silence(connection, until=500.0, by="ada", now=1.0)


def test_a_silence_can_be_ended_early_and_makes_its_incidents_be_looked_at(database: Database) -> None:
    incident = hardware_incident()
    with database.transaction() as connection:
        incidents.save(connection, incident, 1.0)
        incidents.look_at(connection, incident.id, None)
        incidents.silence(connection, rule=incident.rule, until=500.0, by="ada", now=2.0)
    assert incidents.to_look_at(database.connection, 2.0) == [incident]
    (silence,) = incidents.silences(database.connection, 3.0)
    with database.transaction() as connection:
        assert incidents.end_silence(connection, silence.number, 4.0)
        assert not incidents.end_silence(connection, silence.number, 5.0)
    assert incidents.silences(database.connection, 6.0) == []


def test_ending_a_silence_makes_its_incidents_be_looked_at_again(database: Database) -> None:
    incident = hardware_incident()
    with database.transaction() as connection:
        incidents.save(connection, incident, 1.0)
        incidents.silence(connection, rule=incident.rule, until=500.0, by="ada", now=2.0)
        incidents.look_at(connection, incident.id, 500.0)
        incidents.end_silence(connection, 1, 4.0)
    assert incidents.to_look_at(database.connection, 4.0) == [incident]


def test_incidents_fall_due_to_be_decided_about(database: Database) -> None:
    with database.transaction() as connection:
        for n, ident in enumerate(("a", "b", "c")):
            incidents.save(connection, seed_incident(id=ident), float(n))
            incidents.note_told(connection, ident, "{}", 100.0 + n if n else None)
    assert [i.id for i in incidents.to_look_at(database.connection, 101.0)] == ["b"]
    assert incidents.next_look(database.connection) == 101.0


def test_what_was_resolved_long_ago_goes_with_all_that_belongs_to_it(database: Database) -> None:
    with database.transaction() as connection:
        incidents.save(connection, seed_incident(id="old", status="resolved"), 1.0)
        incidents.note_told(connection, "old", "{}", None)
        incidents.save(connection, seed_incident(id="open"), 1.0)
        incidents.prune(connection, 2.0 + incidents.KEPT)
    assert [i.id for i in incidents.newest(database.connection)] == ["open"]
    assert incidents.told(database.connection, "old") is None


def test_an_incident_with_a_field_of_a_newer_release_can_still_be_read(database: Database) -> None:
    with database.transaction() as connection:
        incidents.save(connection, change(seed_incident()), 1.0)
        newer = msgspec.to_builtins(seed_incident()) | {"added_later": 1}
        connection.execute("UPDATE incident SET json = ?", (msgspec.json.encode(newer).decode(),))
    assert incidents.load(database.connection, seed_incident().id) == seed_incident()
