"""`responder incidents` shows what the daemon stored, and nothing in it is live on a terminal."""

from pathlib import Path

import pytest

from responder.store import incidents
from responder.store.database import open_database
from tests.cli.helpers import responder
from tests.publish.conftest import Clock
from tests.publish.hostile import ACTIVE, HOSTILE
from tests.publish.incidents import change, seed_incident


@pytest.fixture
def state(tmp_path: Path) -> Path:
    """The state of a daemon whose servers and logs speak in hostile texts."""
    database = open_database(tmp_path / "responder.db", Clock())
    with database.transaction() as connection:
        for number, text in enumerate(text.encode(errors="replace").decode() for text in HOSTILE):
            hostile = seed_incident(id=f"i{number:03}", title=text, cause=text)
            hostile = change(hostile, server=change(hostile.server, name=text))
            incidents.save(connection, hostile, float(number))
    database.close()
    return tmp_path


def test_a_list_of_hostile_incidents_has_a_line_for_each_and_is_inert(state: Path) -> None:
    ran = responder("incidents", "--state", str(state), "list")
    assert ran.returncode == 0, ran.stderr
    assert not set(ran.stdout) & set(ACTIVE)
    assert len(ran.stdout.splitlines()) == min(100, len(HOSTILE))


def test_who_has_it_in_hand_is_shown_and_said_in_the_json(state: Path) -> None:
    assert responder("incidents", "--state", str(state), "ack", "i007", "--by", "night shift").returncode == 0
    shown = responder("incidents", "--state", str(state), "show", "i007")
    assert "night shift" in shown.stdout
    assert not set(shown.stdout) & set(ACTIVE)
    as_json = responder("incidents", "--state", str(state), "show", "i007", "--json")
    assert '"acknowledged_by":"night shift"' in as_json.stdout.replace(": ", ":")


def test_the_state_is_named_before_the_command_or_behind_it_or_by_the_configuration(state: Path) -> None:
    config = state / "responder.toml"
    config.write_text(f'[state]\ndir = "{state}"\n')
    expected = responder("incidents", "--state", str(state), "list").stdout
    assert expected
    assert responder("incidents", "list", "--state", str(state)).stdout == expected
    assert responder("incidents", "list", "--config", str(config)).stdout == expected
    assert responder("incidents", "--config", "/no/such.toml", "list", "--state", str(state)).returncode != 0
