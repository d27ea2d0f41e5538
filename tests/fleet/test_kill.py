"""kill -9 at random instants: every incident is alerted, and none twice.

The real daemon follows a log that is written in pieces of any size and rotated in both ways, at any moment, inside a
traceback and while symptoms wait for their cause too; Slack drops, delays and refuses.
"""

import signal
from pathlib import Path

import pytest

from responder.catalogue import Catalogue
from responder.nouns import Incident
from responder.scan import Program
from tests.fleet.faults import known_faults, unknown_faults
from tests.fleet.rig import Night, Server, killed_at_random, posted, slack_process, until

KILLS = 50
LONGEST = 3.0
"""Seconds that the daemon lives at most; it needs about one to start."""
KNOWN, UNKNOWN = 9, 3
"""Launches in a night.  Slack takes a message a second, and the hourly cap is 20."""
PATIENCE = 150.0
"""Seconds for the rest of the messages once the daemon is left alone."""

SEEDS = [pytest.param(1, marks=pytest.mark.slow), *(pytest.param(n, marks=pytest.mark.fleet) for n in range(2, 21))]


@pytest.mark.parametrize("seed", SEEDS)
def test_every_incident_is_alerted_once_however_often_the_daemon_is_killed(
    tmp_path: Path, catalogue: Catalogue, program: Program, seed: int
) -> None:
    print(f"seed {seed}")
    known = known_faults(catalogue, program, seed, KNOWN)
    unknown = unknown_faults(seed, UNKNOWN)
    faults = [*known, *unknown]
    record = tmp_path / "slack.jsonl"
    with slack_process(record, rate=0.2, seed=seed) as base_url:
        night = Night(tmp_path, base_url)
        with night.start() as first:
            assert until(lambda: night.ask("SELECT target FROM followed_target"), 30)
            first.send_signal(signal.SIGKILL)
        server = Server(night.log, faults, seed, seconds=KILLS * LONGEST / 2)
        server.start()
        killed_at_random(night, KILLS, LONGEST, seed)
        assert server.done.wait(60)
        with night.start() as last:
            came_to_rest = until(lambda: _told(night) == len(faults) and not _waiting(night), PATIENCE)
            last.terminate()
            assert last.wait(20) == 128 + signal.SIGTERM
    print(server.rotated, f"{len(posted(record))} messages")

    import msgspec

    incidents = {
        row[0]: msgspec.json.decode(row[1], type=Incident) for row in night.ask("SELECT id, json FROM incident")
    }
    roots = [m["metadata"]["event_payload"]["incident_id"] for m in posted(record) if not m.get("thread_ts")]
    names = [incidents[key].rule or incidents[key].title.split()[2] for key in roots]
    assert sorted(names) == sorted(fault.name for fault in faults)
    assert came_to_rest, "messages were left in the outbox"
    rows = [m["metadata"]["event_payload"]["row"] for m in posted(record)]
    assert len(rows) == len(set(rows)), "a message was posted twice"
    assert not night.ask("SELECT key FROM outbox WHERE kind = 'broadcast' OR state = 'dead'")
    assert {(incident.attempts, incident.lines) for incident in incidents.values()} == {(1, 1)}


def _told(night: Night) -> int:
    return len(night.ask("SELECT incident FROM telling WHERE told IS NOT NULL"))


def _waiting(night: Night) -> int:
    return len(night.ask("SELECT key FROM outbox WHERE state IN ('queued', 'sending', 'ambiguous')"))
