"""From incidents to messages in a channel, through the real outbox, sender and a strict Slack."""

from typing import Any

import pytest
import structlog

from responder.nouns import Incident
from responder.publish.decision import Decision, Policy
from responder.publish.publisher import Publisher
from responder.publish.redact import Policy as RedactionPolicy
from responder.publish.route import Route
from responder.store import incidents, outbox
from tests.fake_slack import FakeSlack
from tests.publish.conftest import Clock, Rig
from tests.publish.incidents import change, crash_loop_incident, hardware_incident, seed_incident, symptom_incident
from tests.slack_blocks import texts_of


@pytest.fixture
def publisher() -> Publisher:
    return Publisher("alerts", mode="bot")


def offer(rig: Rig, publisher: Publisher, incident: Incident, *, wait: float = 0.0) -> Decision:
    rig.clock.advance(wait)
    with rig.database.transaction() as connection:
        return publisher.offer(connection, incident, rig.clock.wall())


def settle(rig: Rig, publisher: Publisher, seconds: float = 60.0) -> None:
    """Let time pass: decide again where that is due, and send."""
    until = rig.clock.wall() + seconds
    while True:
        with rig.database.transaction() as connection:
            again = publisher.look_again(connection, rig.clock.wall())
        rig.run()
        if again is None or again > until:
            break
        rig.clock.now = max(rig.clock.now, again)
    rig.clock.now = max(rig.clock.now, until)


def test_an_incident_becomes_one_message_with_its_evidence_in_the_thread(
    rig: Rig, publisher: Publisher, slack: FakeSlack
) -> None:
    assert offer(rig, publisher, seed_incident()).reason == "hold"
    settle(rig, publisher)
    (root,) = slack.roots()
    assert root["blocks"][0]["text"]["text"].startswith("🔴 llama-70b did not start")
    assert ["Evidence" in texts_of(reply) for reply in slack.replies(root["ts"])] == [True, False]


def test_a_storm_from_eight_ranks_is_one_message_with_the_right_count(
    rig: Rig, publisher: Publisher, slack: FakeSlack
) -> None:
    ranks: list[str] = []
    for n in range(400):  # a wake-up each; 250 lines in each
        ranks = sorted({*ranks, f"TP{n % 8}"})
        offer(rig, publisher, seed_incident(lines=(n + 1) * 250, ranks=tuple(ranks)), wait=0.1)
        rig.delivery.pump()
    settle(rig, publisher)
    (root,) = slack.roots()
    assert "100,000 lines" in texts_of(root)
    assert "8 ranks (TP0–TP7)" in texts_of(root)
    assert root["edits"] <= 10
    assert len(slack.replies(root["ts"])) == 2


def test_a_cause_that_comes_during_the_hold_is_what_is_posted(rig: Rig, publisher: Publisher, slack: FakeSlack) -> None:
    symptom = change(symptom_incident(), id="same")
    offer(rig, publisher, symptom)
    offer(rig, publisher, change(hardware_incident(), id="same"), wait=4)
    settle(rig, publisher)
    assert ["fallen off the bus" in root["text"] for root in slack.roots()] == [True]


def test_a_cause_that_comes_later_is_broadcast_with_its_own_evidence(
    rig: Rig, publisher: Publisher, slack: FakeSlack
) -> None:
    offer(rig, publisher, change(symptom_incident(), id="same"))
    settle(rig, publisher)
    assert offer(rig, publisher, change(hardware_incident(), id="same")).reason == "cause-found"
    settle(rig, publisher)
    (root,) = slack.roots()
    replies = slack.replies(root["ts"])
    assert [bool(reply.get("reply_broadcast")) for reply in replies] == [False, False, True, False, False]
    assert "fallen off the bus" in root["text"]
    assert "Xid" in texts_of(replies[3])


def test_resolved_is_an_edit_and_back_again_is_a_broadcast(rig: Rig, publisher: Publisher, slack: FakeSlack) -> None:
    offer(rig, publisher, seed_incident())
    settle(rig, publisher)
    offer(rig, publisher, seed_incident(status="resolved", resolved_at="2026-11-30T13:20:00Z"))
    settle(rig, publisher)
    (root,) = slack.roots()
    assert "✅ Resolved" in root["blocks"][0]["text"]["text"]
    loud = len(slack.messages)
    offer(rig, publisher, seed_incident(attempts=2))
    settle(rig, publisher)
    assert len(slack.messages) == loud + 1
    assert slack.messages[-1]["reply_broadcast"] is True
    assert "🔴 Again:" in root["blocks"][0]["text"]["text"]
    offer(rig, publisher, seed_incident(attempts=2, lines=7))
    settle(rig, publisher)
    assert "🔴 Again:" in root["blocks"][0]["text"]["text"]


def test_what_is_open_for_months_is_said_again_and_edited_to_its_end(
    rig: Rig, publisher: Publisher, slack: FakeSlack
) -> None:
    offer(rig, publisher, seed_incident())
    settle(rig, publisher)
    loud = len(slack.messages)
    rig.clock.now += outbox.KEPT + 24 * 3600
    rig.die()
    settle(rig, publisher)
    assert len(slack.messages) == loud + 1
    offer(rig, publisher, seed_incident(status="resolved", resolved_at="2027-01-30T13:20:00Z"))
    settle(rig, publisher)
    (root,) = slack.roots()
    assert "✅ Resolved" in root["blocks"][0]["text"]["text"]
    assert outbox.counts(rig.database.connection)["dead"] == 0


def test_an_acknowledgement_shows_and_ends_with_the_resolution(
    rig: Rig, publisher: Publisher, slack: FakeSlack
) -> None:
    offer(rig, publisher, seed_incident())
    settle(rig, publisher)
    with rig.database.transaction() as connection:
        incidents.acknowledge(connection, seed_incident().id, "ada", rig.clock.wall())
    settle(rig, publisher, seconds=5 * 3600)
    (root,) = slack.roots()
    assert "👀 Acknowledged by ada: llama-70b" in root["blocks"][0]["text"]["text"]
    assert not [reply for reply in slack.messages if reply.get("reply_broadcast")]
    offer(rig, publisher, seed_incident(status="resolved"))
    offer(rig, publisher, seed_incident(attempts=2))
    settle(rig, publisher)
    assert "🔴 Again" in root["blocks"][0]["text"]["text"]


def test_a_silence_by_rule_holds_a_post_back_until_it_ends(rig: Rig, publisher: Publisher, slack: FakeSlack) -> None:
    now = rig.clock.wall()
    with rig.database.transaction() as connection:
        incidents.silence(connection, rule=seed_incident().rule, until=now + 3600, by="ada", now=now)
    assert offer(rig, publisher, seed_incident()).reason == "silenced"
    settle(rig, publisher, seconds=1800)
    assert slack.messages == []
    settle(rig, publisher, seconds=1801)
    assert len(slack.roots()) == 1


def test_a_message_says_that_it_is_silenced_only_as_long_as_it_is(
    rig: Rig, publisher: Publisher, slack: FakeSlack
) -> None:
    offer(rig, publisher, seed_incident())
    settle(rig, publisher)
    now = rig.clock.wall()
    with rig.database.transaction() as connection:
        incidents.silence(connection, incident=seed_incident().id, until=now + 600, by="ada", now=now)
    settle(rig, publisher, seconds=599)
    (root,) = slack.roots()
    assert "🔕 silenced until" in texts_of(root)
    settle(rig, publisher, seconds=12)
    assert "🔕" not in texts_of(root)
    assert not [reply for reply in slack.messages if reply.get("reply_broadcast")]


def test_an_incident_still_open_is_said_again_after_hours(rig: Rig, publisher: Publisher, slack: FakeSlack) -> None:
    offer(rig, publisher, seed_incident())
    settle(rig, publisher, seconds=9 * 3600)
    assert [m.get("reply_broadcast") for m in slack.messages if m.get("reply_broadcast")] == [True, True]


def test_a_flood_of_incidents_ends_in_the_cap_and_one_message_that_counts_the_rest(rig: Rig, slack: FakeSlack) -> None:
    publisher = Publisher("alerts", mode="bot", posting=Policy(cap_per_hour=5))
    for n in range(60):
        offer(rig, publisher, seed_incident(id=f"incident-{n:03}"), wait=0.5)
    settle(rig, publisher)
    roots = slack.roots()
    assert len(roots) == 6
    (held,) = [root for root in roots if "held back" in root["text"]]
    assert "55 incidents on gpu-17 held back" in held["blocks"][0]["text"]["text"]
    assert "… and 40 more" in texts_of(held)


def test_incidents_held_back_at_once_are_counted_before_their_message_goes_out(rig: Rig, slack: FakeSlack) -> None:
    publisher = Publisher("alerts", mode="bot", posting=Policy(cap_per_hour=1, hold=0.0))
    for n in range(9):
        offer(rig, publisher, seed_incident(id=f"incident-{n}"))
    settle(rig, publisher)
    (held,) = [root for root in slack.roots() if "held back" in root["text"]]
    assert "8 incidents on gpu-17 held back" in held["blocks"][0]["text"]["text"]
    assert held["edits"] == 0


def test_why_nothing_is_said_is_logged_once_however_many_lines_come(rig: Rig, publisher: Publisher) -> None:
    now = rig.clock.wall()
    with rig.database.transaction() as connection:
        incidents.silence(connection, rule=seed_incident().rule, until=now + 3600, by="ada", now=now)
    with structlog.testing.capture_logs() as logs:
        for n in range(50):
            offer(rig, publisher, seed_incident(lines=n + 1), wait=0.1)
        offer(rig, publisher, seed_incident(id="quiet", severity="info"))
    said = [(entry["incident"], entry["reason"]) for entry in logs if entry["log_level"] == "info"]
    assert said == [(seed_incident().id, "silenced"), ("quiet", "info")]
    settle(rig, publisher, seconds=3601)
    with structlog.testing.capture_logs() as logs:
        offer(rig, publisher, seed_incident(severity="info", lines=99))
    assert [entry["reason"] for entry in logs if entry["event"] == "said nothing"] == ["info"]


def test_a_summary_stays_as_it_is_when_one_of_those_it_names_is_resolved(
    rig: Rig, publisher: Publisher, slack: FakeSlack
) -> None:
    missed = [seed_incident(id=f"incident-{n}") for n in range(5)]
    with rig.database.transaction() as connection:
        publisher.summarise(connection, missed, "These stand in the logs.", rig.clock.wall())
    settle(rig, publisher)
    offer(rig, publisher, change(missed[3], status="resolved"), wait=60)
    settle(rig, publisher)
    (root,) = slack.roots()
    assert root["edits"] == 0
    assert "5 incidents" in root["blocks"][0]["text"]["text"]


def test_what_was_missed_while_down_is_one_summary(rig: Rig, publisher: Publisher, slack: FakeSlack) -> None:
    missed = [seed_incident(id=f"incident-{n:03}") for n in range(30)]
    quiet = seed_incident(id="quiet", severity="info")
    with rig.database.transaction() as connection:
        publisher.summarise(connection, [*missed, quiet], "These stand in the logs of the last hour.", rig.clock.wall())
    for incident in missed:  # found again as the diagnosis goes on
        offer(rig, publisher, incident)
    settle(rig, publisher)
    (root,) = slack.roots()
    assert "30 incidents on gpu-17 while responder was not running" in root["blocks"][0]["text"]["text"]
    offer(rig, publisher, change(missed[3], attempts=5))
    settle(rig, publisher)
    assert "crash loop" not in slack.roots()[0]["text"]
    assert len(slack.roots()) == 2  # its own post, for the summary cannot be edited into it


def test_channels_by_severity_kind_and_server(rig: Rig, slack: FakeSlack) -> None:
    routes = [Route(channel="other", kinds=("gpu-hardware",)), Route(channel="alerts", severities=("warning",))]
    publisher = Publisher("alerts", mode="bot", routes=routes)
    offer(rig, publisher, hardware_incident())
    offer(rig, publisher, seed_incident())
    settle(rig, publisher)
    assert {root["channel"]: "Xid" in root["text"] for root in slack.roots()} == {
        "C0000OTHER": True,
        "C0000ALERT": False,
    }


@pytest.mark.parametrize(
    ("route", "takes"),
    [
        (Route(channel="c"), True),
        (Route(channel="c", severities=("critical", "error")), True),
        (Route(channel="c", severities=("warning",)), False),
        (Route(channel="c", kinds=("attention-backend",)), True),
        (Route(channel="c", kinds=("hang",)), False),
        (Route(channel="c", servers=("llama-70b",)), True),
        (Route(channel="c", servers=("llama-8b",)), False),
        (Route(channel="c", severities=("critical",), kinds=("hang",)), False),
    ],
)
def test_a_route_takes_what_fits_all_that_it_names(route: Route, takes: bool) -> None:
    assert route.takes(seed_incident()) is takes


def test_a_webhook_gets_what_is_loud_and_nothing_else(webhook_rig: Rig, slack: FakeSlack) -> None:
    publisher = Publisher("alerts", mode="webhook")
    offer(webhook_rig, publisher, seed_incident())
    settle(webhook_rig, publisher)
    offer(webhook_rig, publisher, seed_incident(lines=5))
    settle(webhook_rig, publisher)
    offer(webhook_rig, publisher, crash_loop_incident())
    settle(webhook_rig, publisher)
    assert ["crash loop" in m["text"] for m in slack.messages] == [False, True]


def test_without_slack_the_listener_hears_what_is_loud_and_nothing_is_queued(rig: Rig) -> None:
    heard: list[tuple[str, str]] = []
    publisher = Publisher(on_loud=lambda incident, decision: heard.append((incident.title, decision.reason)))
    offer(rig, publisher, seed_incident())
    offer(rig, publisher, seed_incident(lines=9), wait=10)
    offer(rig, publisher, crash_loop_incident(), wait=10)
    assert [reason for _, reason in heard] == ["first", "crash-loop"]
    assert sum(outbox.counts(rig.database.connection).values()) == 0


def test_neither_slack_nor_the_state_gets_a_secret(rig: Rig, slack: FakeSlack) -> None:
    publisher = Publisher("alerts", mode="bot", redaction=RedactionPolicy(hide_hosts=True))
    secret = "hf_" + "Z9" * 17
    incident = seed_incident(cause=f"the token {secret} is not valid", captures={"token": secret})
    offer(rig, publisher, incident)
    settle(rig, publisher)
    tables: list[Any] = [
        rig.database.connection.execute(f"SELECT * FROM {t}").fetchall() for t in ("incident", "outbox")
    ]
    assert secret not in str(tables)
    assert secret not in str(slack.messages)
    assert "gpu-17" not in str(slack.messages)


def test_offering_the_same_state_twice_says_nothing_twice(rig: Rig, publisher: Publisher, slack: FakeSlack) -> None:
    for _ in range(5):
        offer(rig, publisher, seed_incident(), wait=6)
        settle(rig, publisher)
    assert len(slack.roots()) == 1
    assert slack.roots()[0]["edits"] == 0


def test_a_restart_in_between_changes_nothing(rig: Rig, publisher: Publisher, slack: FakeSlack, clock: Clock) -> None:
    offer(rig, publisher, seed_incident())
    rig.die()
    settle(rig, publisher)
    rig.die()
    offer(rig, Publisher("alerts", mode="bot"), seed_incident())
    settle(rig, publisher)
    assert len(slack.roots()) == 1
