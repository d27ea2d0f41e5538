"""A button under an alert does what it says, once, for those who may, and everybody sees who pressed it."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from responder.hub.allow_list import FRESH
from responder.publish.publisher import Publisher
from responder.publish.slack import message
from responder.store import incidents, presses
from tests.fake_slack import APP_TOKEN, BOT_ID, TOKEN, FakeSlack
from tests.hub.conftest import ADA, BEN, EVE, GROUP, Host, HubAtHand
from tests.publish.incidents import seed_incident, unrecognised_incident
from tests.slack_blocks import texts_of


def header(root: dict[str, Any]) -> str:
    return str(root["blocks"][0]["text"]["text"])


def buttons(root: dict[str, Any]) -> list[str]:
    rows = [block for block in root["blocks"] if block["type"] == "actions"]
    return [button["text"]["text"] for row in rows for button in row["elements"]]


def thread_texts(slack: FakeSlack) -> list[str]:
    return [reply["text"] for reply in slack.replies(slack.roots()[0]["ts"])]


# --- The buttons themselves ------------------------------------------------------------------------------------------


def test_without_a_hub_no_message_has_a_button(host: Host, slack: FakeSlack) -> None:
    host.publisher = Publisher("alerts", mode="bot")
    host.alert()
    assert buttons(slack.roots()[0]) == []


def test_a_webhook_has_no_buttons_for_nothing_could_be_edited(host: Host) -> None:
    assert not Publisher("webhook", mode="webhook", buttons=True).buttons


def test_an_alert_offers_only_what_can_be_done_with_it() -> None:
    open_ = message.root(seed_incident(), buttons=True)
    assert buttons(open_) == ["Acknowledge", "Silence 1 h", "Silence this rule 1 h", "Show relaunch"]
    taken = message.root(seed_incident(status="acknowledged"), buttons=True)
    assert buttons(taken) == ["Silence 1 h", "Silence this rule 1 h", "Show relaunch"]
    unknown = message.root(unrecognised_incident(), buttons=True)
    assert buttons(unknown) == ["Acknowledge", "Silence 1 h"]
    assert buttons(message.root(seed_incident(status="resolved"), buttons=True)) == []


# --- On the hub's own host -------------------------------------------------------------------------------------------


def test_acknowledging_shows_in_the_alert_and_says_who(host: Host, hub: HubAtHand, slack: FakeSlack) -> None:
    incident = host.alert()
    hub.press(incident, "acknowledge")
    host.pass_time(1)
    assert header(slack.roots()[0]).startswith("👀 Acknowledged by ada: llama-70b")
    assert thread_texts(slack)[-1] == "👀 ada has it in hand."
    assert incidents.acknowledged_by(host.rig.database.connection, incident.id) == f"ada (Slack {ADA})"
    (press,) = presses.of(host.rig.database.connection, incident.id)
    assert (press.action, press.by) == ("acknowledge", f"ada (Slack {ADA})")


def test_slack_gets_its_acknowledgement_within_three_seconds_although_it_is_slow_itself(
    host: Host, hub: HubAtHand, slack: FakeSlack
) -> None:
    incident = host.alert()
    slack.fail("slow:0.8", "503", "drop-after")
    hub.press(incident, "acknowledge")
    assert [ack["after"] < 3 for ack in slack.acks] == [True]
    assert thread_texts(slack).count("👀 ada has it in hand.") == 1


def test_silencing_an_incident_keeps_what_would_be_loud_quiet_for_an_hour(
    host: Host, hub: HubAtHand, slack: FakeSlack
) -> None:
    incident = host.alert()
    hub.press(incident, "silence")
    host.alert(seed_incident(attempts=5))
    assert not [m for m in slack.messages if m.get("reply_broadcast")]
    assert "🔕 silenced until" in texts_of(slack.roots()[0])
    host.pass_time(3600)
    assert [m["reply_broadcast"] for m in slack.messages if m.get("reply_broadcast")] == [True]


def test_silencing_a_rule_keeps_the_next_incident_of_it_quiet_too(host: Host, hub: HubAtHand, slack: FakeSlack) -> None:
    hub.press(host.alert(), "silence-rule")
    host.alert(seed_incident(id="another"))
    assert len(slack.roots()) == 1
    assert "silenced this rule" in thread_texts(slack)[-1]


def test_the_relaunch_is_shown_to_the_one_who_asked_and_nobody_else(
    host: Host, hub: HubAtHand, slack: FakeSlack
) -> None:
    incident = host.alert()
    said = len(slack.messages)
    hub.press(incident, "show-relaunch")
    (whisper,) = slack.whispers
    assert whisper["user"] == ADA
    assert [texts_of(whisper).count(r.relaunch.command) for r in incident.remedies if r.relaunch] == [1, 1]
    assert len(slack.messages) == said


def test_a_press_on_what_is_over_changes_nothing_and_says_so(host: Host, hub: HubAtHand, slack: FakeSlack) -> None:
    incident = host.alert()
    with host.rig.database.transaction() as connection:  # its message still shows the buttons
        incidents.save(connection, seed_incident(status="resolved"), host.rig.clock.wall())
    hub.press(incident, "acknowledge")
    assert "over already" in slack.whispers[0]["text"]
    assert incidents.acknowledged_by(host.rig.database.connection, incident.id) is None


def test_a_press_that_slack_tells_of_three_times_counts_once(host: Host, hub: HubAtHand, slack: FakeSlack) -> None:
    incident = host.alert()
    hub.press(incident, "silence", times=3)
    now = host.rig.clock.wall()
    assert len(incidents.silences(host.rig.database.connection, now)) == 1
    assert len([text for text in thread_texts(slack) if "silenced" in text]) == 1
    assert len(slack.acks) == 3


def test_a_press_is_heard_after_slack_asked_for_a_new_connection(host: Host, hub: HubAtHand, slack: FakeSlack) -> None:
    incident = host.alert()
    before = slack.sockets[0]
    slack.refresh_sockets()
    slack.wait_for(lambda: slack.sockets and before not in slack.sockets, 30)
    hub.press(incident, "acknowledge")
    host.pass_time(1)
    assert header(slack.roots()[0]).startswith("👀 Acknowledged by ada")


# --- Who may ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("action", ["acknowledge", "silence", "silence-rule", "show-relaunch"])
def test_who_is_not_named_can_do_nothing_and_is_told_why(
    host: Host, hub: HubAtHand, slack: FakeSlack, action: str
) -> None:
    incident = host.alert()
    said = len(slack.messages)
    hub.press(incident, action, user=EVE)
    host.pass_time(60)
    (whisper,) = slack.whispers
    assert (whisper["user"], "may not press" in whisper["text"]) == (EVE, True)
    assert len(slack.messages) == said
    assert presses.of(host.rig.database.connection, incident.id) == []
    assert header(slack.roots()[0]).startswith("🔴")


def test_members_of_a_group_may_and_a_group_that_cannot_be_asked_for_lets_nobody_in(
    host: Host, hub: HubAtHand, slack: FakeSlack
) -> None:
    slack.scopes.add("usergroups:read")
    incident = host.alert()
    hub.press(incident, "silence", user=BEN)
    assert "may not press" in slack.whispers[0]["text"]
    slack.usergroups[GROUP] = [BEN]
    hub.press(incident, "silence", user=BEN)
    assert len(incidents.silences(host.rig.database.connection, host.rig.clock.wall())) == 1


def test_who_left_the_group_may_not_once_its_members_cannot_be_asked_for_again(
    host: Host, hub: HubAtHand, slack: FakeSlack, clock: Any
) -> None:
    slack.scopes.add("usergroups:read")
    slack.usergroups[GROUP] = [BEN]
    incident = host.alert()
    hub.press(incident, "silence", user=BEN)
    assert slack.whispers == []
    slack.usergroups.clear()
    clock.now += FRESH + 1
    hub.press(incident, "acknowledge", user=BEN)
    assert "may not press" in slack.whispers[0]["text"]


def test_a_name_that_shouts_is_shown_and_does_nothing(host: Host, hub: HubAtHand, slack: FakeSlack) -> None:
    incident = host.alert()
    slack.press(incident.id, "responder.acknowledge", ADA, name="<!channel> *x* `y`\n@here")
    slack.wait_for(lambda: slack.acks)
    hub.settle()
    assert "has it in hand" in thread_texts(slack)[-1]
    assert slack.dangers == []


def test_a_button_of_another_app_or_a_broken_payload_is_acknowledged_and_ignored(
    host: Host, hub: HubAtHand, slack: FakeSlack
) -> None:
    incident = host.alert()
    said = len(slack.messages)
    for action in ("approve", "responder.reboot", "responder."):
        slack.press(incident.id, action, ADA)
    slack.wait_for(lambda: len(slack.acks) == 3)
    hub.settle()
    assert (len(slack.messages), slack.whispers) == (said, [])


# --- On another host -------------------------------------------------------------------------------------------------


def test_a_press_reaches_the_daemon_of_another_host_through_the_thread(
    hosts: Callable[[str], Host], hub: HubAtHand, slack: FakeSlack
) -> None:
    far = hosts("far-host")
    incident = far.alert()
    hub.press(incident, "acknowledge")
    assert "changes as soon as its host has read this" in thread_texts(slack)[-1]
    assert header(slack.roots()[0]).startswith("🔴")
    far.read_threads()
    assert header(slack.roots()[0]).startswith("👀 Acknowledged")
    assert incidents.acknowledged_by(far.rig.database.connection, incident.id) == f"ada (Slack {ADA})"


def test_a_press_is_carried_out_once_however_often_the_thread_is_read(
    hosts: Callable[[str], Host], hub: HubAtHand, slack: FakeSlack, clock: Any
) -> None:
    far = hosts("far-host")
    incident = far.alert()
    hub.press(incident, "silence")
    for _ in range(3):
        far.reader._newest.clear()  # as after a restart
        clock.now += 60
        far.read_threads()
    connection = far.rig.database.connection
    assert connection.execute("SELECT count(*) FROM silence").fetchone() == (1,)


def test_only_the_bots_own_word_counts_in_a_thread(hosts: Callable[[str], Host], slack: FakeSlack) -> None:
    far = hosts("far-host")
    incident = far.alert()
    root = slack.roots()[0]
    event = {"incident_id": incident.id, "row": "x", "press": "p", "action": "acknowledge", "by": "eve", "at": 1.0}
    forged = {"event_type": "responder_incident", "event_payload": event}
    slack.accept(root["channel"], {"text": "hello", "thread_ts": root["ts"], "metadata": forged, "bot_id": "B00OTHER"})
    slack.accept(root["channel"], {"text": "hello", "thread_ts": root["ts"], "metadata": forged})
    far.read_threads()
    assert incidents.acknowledged_by(far.rig.database.connection, incident.id) is None


def test_a_press_counts_only_in_the_thread_of_its_own_incident(hosts: Callable[[str], Host], slack: FakeSlack) -> None:
    far = hosts("far-host")
    first, other = far.alert(), far.alert(seed_incident(id="other"))
    root = slack.roots()[0]
    event = {"incident_id": other.id, "row": "x", "press": "p", "action": "acknowledge", "by": "eve", "at": 1.0}
    astray = {"event_type": "responder_incident", "event_payload": event}
    slack.accept(root["channel"], {"text": "x", "thread_ts": root["ts"], "metadata": astray, "bot_id": BOT_ID})
    for _ in range(3):
        far.read_threads()
    for incident in (first, other):
        assert incidents.acknowledged_by(far.rig.database.connection, incident.id) is None


def test_the_relaunch_of_another_host_is_taken_from_the_message(
    hosts: Callable[[str], Host], hub: HubAtHand, slack: FakeSlack
) -> None:
    incident = hosts("far-host").alert()
    hub.press(incident, "show-relaunch")
    assert incident.relaunch is not None
    assert incident.relaunch.command in texts_of(slack.whispers[0])


def test_a_thread_is_read_often_at_first_and_seldom_later(
    hosts: Callable[[str], Host], slack: FakeSlack, clock: Any
) -> None:
    far = hosts("far-host")
    far.alert()

    def looks(seconds: int) -> int:
        before = len([method for method, _ in slack.calls if method == "conversations.replies"])
        for _ in range(seconds // 2):
            clock.now += 2
            far.presses.pump()
            far.reader.look()
        return len([method for method, _ in slack.calls if method == "conversations.replies"]) - before

    assert looks(240) > 15
    clock.now += 3 * 3600
    assert looks(240) <= 3


def test_when_slack_asks_for_patience_the_reader_has_it(hosts: Callable[[str], Host], slack: FakeSlack) -> None:
    far = hosts("far-host")
    incident = far.alert()
    slack.fail("history/429:45")
    assert far.read_threads() >= 45
    assert far.read_threads() < 45
    assert incident.id


# --- The process -----------------------------------------------------------------------------------------------------


def hub_process(tmp_path: Path, slack: FakeSlack, users: str, **environment: str) -> "subprocess.Popen[str]":
    config = tmp_path / "hub.toml"
    config.write_text(f'[slack]\nbase_url = "{slack.base_url}"\n[hub]\nusers = {users}\n')
    command = [sys.executable, "-m", "responder", "hub", "--config", str(config), "--state", str(tmp_path / "state")]
    return subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env={**os.environ, **environment})


def test_the_process_listens_answers_and_ends_cleanly(tmp_path: Path, slack: FakeSlack) -> None:
    slack.accept("C0000ALERT", message.root(seed_incident(), buttons=True))
    tokens = {"RESPONDER_SLACK_TOKEN": TOKEN, "RESPONDER_SLACK_APP_TOKEN": APP_TOKEN}
    process = hub_process(tmp_path, slack, f'["{ADA}"]', **tokens)
    try:
        slack.wait_for(lambda: slack.sockets, 20)
        slack.press(seed_incident().id, "responder.acknowledge", ADA)
        slack.wait_for(lambda: slack.replies(slack.roots()[0]["ts"]), 20)
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=20)
    finally:
        process.kill()
    assert process.returncode == 143
    assert ADA in errors
    assert TOKEN not in errors
    assert APP_TOKEN not in errors


@pytest.mark.parametrize(
    ("tokens", "users", "says", "status"),
    [
        ({}, '["*"]', "no bot token", 78),
        ({"RESPONDER_SLACK_TOKEN": TOKEN}, '["*"]', "no app-level token", 78),
        ({"RESPONDER_SLACK_TOKEN": TOKEN, "RESPONDER_SLACK_APP_TOKEN": TOKEN}, '["*"]', "connections:write", 78),
        ({"RESPONDER_SLACK_TOKEN": TOKEN, "RESPONDER_SLACK_APP_TOKEN": APP_TOKEN}, "[]", "nobody may press", 78),
        ({"RESPONDER_SLACK_TOKEN": TOKEN, "RESPONDER_SLACK_APP_TOKEN": "xapp-9-old"}, '["*"]', "Socket Mode", 69),
    ],
)
def test_what_is_missing_is_one_clear_line(
    tmp_path: Path, slack: FakeSlack, tokens: dict[str, str], users: str, says: str, status: int
) -> None:
    process = hub_process(tmp_path, slack, users, **tokens)
    _, errors = process.communicate(timeout=30)
    assert says in errors.splitlines()[-1]
    assert process.returncode == status
