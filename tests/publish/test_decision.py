"""What is said, how loud, and why not."""

from datetime import UTC, datetime

import pytest

from responder.nouns import Incident
from responder.publish.decision import Decision, Policy, Told, decide, tell
from tests.publish.incidents import change, crash_loop_incident, seed_incident

NOW = 1_796_050_000.0
POLICY = Policy()


def told(incident: Incident, *, ago: float = 600.0, loud: bool = True) -> Told:
    return tell(incident, None, "post", NOW - ago, loud=loud)


def said(incident: Incident, before: Told | None, *, known: float = NOW - 600, loud_last_hour: int = 0) -> Decision:
    return decide(incident, before, NOW, POLICY, known=known, loud_last_hour=loud_last_hour)


def stamp(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat()


def test_the_first_post_waits_a_little_and_longer_for_what_is_not_certain() -> None:
    incident = seed_incident()
    assert said(incident, None, known=NOW - 1) == Decision(action="nothing", reason="hold", again_at=NOW + 4)
    assert said(incident, None, known=NOW - 5).action == "post"
    unsure = change(incident, confidence="likely")
    assert said(unsure, None, known=NOW - 5).reason == "hold"
    assert said(unsure, None, known=NOW - 20).reason == "first"


def test_information_is_never_told() -> None:
    assert said(seed_incident(severity="info"), None) == Decision(action="nothing", reason="info")


def test_what_has_not_changed_is_not_said_again_until_it_has_been_open_for_long() -> None:
    incident = seed_incident()
    assert said(incident, told(incident)).reason == "unchanged"
    late = said(incident, told(incident, ago=POLICY.repeat))
    assert (late.action, late.reason) == ("broadcast", "repeat")


def test_an_acknowledged_incident_is_not_repeated() -> None:
    incident = seed_incident()
    acknowledged = change(incident, status="acknowledged")
    before = told(incident, ago=POLICY.repeat * 3)
    assert said(acknowledged, before).reason == "acknowledged"
    after = tell(acknowledged, before, "post", NOW - 60, loud=False)
    assert said(acknowledged, after).reason == "unchanged"


def test_more_lines_are_an_edit_and_not_more_often_than_every_few_seconds() -> None:
    incident = seed_incident()
    more = change(incident, lines=900)
    assert said(more, told(incident, ago=3)) == Decision(action="nothing", reason="hold", again_at=NOW + 7)
    assert said(more, told(incident, ago=30)).action == "update"


@pytest.mark.parametrize(
    ("before", "after", "reason"),
    [
        (seed_incident(status="resolved"), seed_incident(), "reopened"),
        (seed_incident(rule="nccl-watchdog-timeout"), seed_incident(), "cause-found"),
        (seed_incident(rule=None), seed_incident(), "cause-found"),
        (seed_incident(severity="warning"), seed_incident(severity="critical"), "severity-raised"),
        (seed_incident(attempts=2), crash_loop_incident(), "crash-loop"),
    ],
)
def test_what_a_person_should_not_miss_is_broadcast(before: Incident, after: Incident, reason: str) -> None:
    decision = said(after, told(before, ago=1))
    assert (decision.action, decision.reason) == ("broadcast", reason)
    assert said(after, tell(after, told(before), "post", NOW - 60, loud=True)).reason == "unchanged"


def test_a_resolution_never_pings_and_is_shown_at_once() -> None:
    before = told(seed_incident(), ago=1)
    resolved = seed_incident(status="resolved", resolved_at=stamp(NOW), severity="critical", attempts=9)
    assert said(resolved, before) == Decision(action="update", reason="resolved")


def test_a_fall_in_severity_or_fewer_attempts_is_no_news() -> None:
    assert said(seed_incident(severity="warning"), told(seed_incident(severity="critical"))).action == "update"


def test_a_silence_keeps_quiet_but_lets_edits_through_and_what_it_hid_is_said_afterwards() -> None:
    hushed = seed_incident(silenced_until=stamp(NOW + 100))
    assert said(hushed, None) == Decision(action="nothing", reason="silenced", again_at=NOW + 100)
    before = told(seed_incident(severity="warning"))
    edit = said(hushed, before)
    assert (edit.action, edit.again_at) == ("update", NOW + 100)
    after = tell(hushed, before, "post", NOW, loud=False)
    ended = seed_incident(silenced_until=stamp(NOW - 1))
    assert said(ended, after).reason == "severity-raised"


def test_past_the_hourly_cap_nothing_is_loud_and_what_was_held_back_is_still_to_be_said() -> None:
    full = POLICY.cap_per_hour
    assert said(seed_incident(), None, loud_last_hour=full).reason == "cap"
    before = told(seed_incident(status="resolved"))
    capped = said(seed_incident(), before, loud_last_hour=full)
    assert (capped.action, capped.reason) == ("update", "changed")
    after = tell(seed_incident(), before, "post", NOW - 60, loud=False)
    assert said(seed_incident(), after, loud_last_hour=full).reason == "cap"
    assert said(seed_incident(), after, loud_last_hour=full - 1).reason == "reopened"


def test_a_changed_policy_counts_and_not_the_one_it_was_told_under() -> None:
    incident = seed_incident()
    impatient = Policy(repeat=60.0)
    assert decide(incident, told(incident, ago=61), NOW, impatient, known=NOW - 99).reason == "repeat"
