"""What another process decides about an incident, the daemon sees at its next wake-up."""

import msgspec

from responder.publish.decision import Told
from responder.store import incidents, presses
from responder.store.database import open_database
from tests.run.daemon_at_hand import AtHand, HandClock


def told(at_hand: AtHand, incident: str) -> Told:
    text = incidents.told(at_hand.database.connection, incident)
    assert text is not None
    return msgspec.json.decode(text, type=Told)


def test_an_acknowledgement_from_another_process_is_seen_at_the_next_wake_up(
    tmp_path, program, catalogue, logs
) -> None:
    at_hand = AtHand(tmp_path, program, catalogue)
    at_hand.write((logs / "real-seed-0523-sm90.log").read_text())
    at_hand.pass_time(6)
    ((_, incident),) = at_hand.told
    assert told(at_hand, incident.id).status == "open"
    elsewhere = open_database(tmp_path / "responder.db", at_hand.clock)
    with elsewhere.transaction() as connection:
        incidents.acknowledge(connection, incident.id, "ada", at_hand.clock.wall())
    elsewhere.close()
    at_hand.daemon.wake_up()
    assert told(at_hand, incident.id).status == "acknowledged"
    at_hand.close()


def test_a_press_is_recorded_once_with_who_and_when(tmp_path) -> None:
    database = open_database(tmp_path / "state.db", HandClock())
    press = presses.Press(key="k", incident="i", action="acknowledge", by="ada", at=5.0)
    with database.transaction() as connection:
        assert presses.note(connection, press)
        assert not presses.note(connection, press)
        assert presses.of(connection, "i") == [press]
        presses.prune(connection, 6.0)
        assert presses.of(connection, "i") == []
    database.close()
