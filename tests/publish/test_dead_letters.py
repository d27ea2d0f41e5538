"""Whatever Slack does, an alert is one message or a dead letter, and a dead letter shows in the log and in `check`."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import structlog
from click.testing import CliRunner

from responder.cli.check import check
from responder.publish.dead_letters import undelivered
from responder.publish.slack import message
from responder.publish.slack.online import check_hub
from responder.publish.slack.token import Secret
from responder.store import outbox
from tests.fake_slack import APP_TOKEN, TOKEN, FakeSlack
from tests.publish.conftest import Clock, Rig
from tests.publish.incidents import seed_incident

PASSING = (
    "429:3", "500", "502", "503", "504", "drop-before", "drop-after", "html", "half", "slow:1.3",
    "after/500", "after/html", "after/error:internal_error",
)  # fmt: skip
LASTING = (
    "token_revoked", "invalid_auth", "account_inactive", "missing_scope", "channel_not_found", "not_in_channel",
    "is_archived", "restricted_action", "not_allowed_token_type", "ekm_access_denied", "some_error_of_tomorrow",
)  # fmt: skip


@pytest.fixture
def rig(tmp_path: Path, slack: FakeSlack, clock: Clock) -> Iterator[Rig]:
    made = Rig(tmp_path, slack, clock, name="responder.db")
    yield made
    made.close()


def post(rig: Rig, key: str) -> None:
    with rig.database.transaction() as connection:
        payload: dict[str, Any] = message.root(seed_incident(id=key))
        now = rig.clock.wall()
        outbox.put(connection, key=key, incident=key, kind="post", channel="C0000ALERT", payload=payload, now=now)


def checked(tmp_path: Path) -> str:
    config = tmp_path / "responder.toml"
    config.write_text(f'[state]\ndir = "{tmp_path}"\n')
    return str(CliRunner().invoke(check, ["--config", str(config)]).output)


@pytest.mark.parametrize("times", [1, 2, 4])
def test_each_fault_ends_in_one_message_or_in_a_dead_letter_that_the_log_names(
    rig: Rig, slack: FakeSlack, times: int
) -> None:
    faults = [*PASSING, *(f"error:{error}" for error in LASTING), "error:invalid_blocks", "error:fatal_error"]
    with structlog.testing.capture_logs() as logs:
        for fault in faults:
            slack.fail(*[fault] * times)
            post(rig, fault)
            rig.run()
            slack._faults.clear()
    posted = [m["metadata"]["event_payload"]["row"] for m in slack.messages]
    dead = [row.key for row in outbox.dead(rig.database.connection, 100)]
    assert sorted([*posted, *dead]) == sorted(faults)
    said = [entry["row"] for entry in logs if entry["log_level"] == "error"]
    assert sorted(said) == sorted(dead)
    assert set(dead) >= {f"error:{error}" for error in LASTING}


def test_check_names_the_dead_letters_with_their_reason_and_fails(rig: Rig, slack: FakeSlack, tmp_path: Path) -> None:
    slack.scopes.remove("chat:write")
    post(rig, "abc123:post:1")
    rig.run()
    said = checked(tmp_path)
    assert "fail  Slack: dead letter: abc123:post:1 to C0000ALERT: missing_scope: the app needs chat:write" in said
    assert "restart responder within a day" in said


def test_check_only_warns_of_a_dead_letter_once_others_got_through(
    rig: Rig, slack: FakeSlack, clock: Clock, tmp_path: Path
) -> None:
    slack.fail("error:is_archived")
    post(rig, "old")
    rig.run()
    clock.now += 60
    post(rig, "new")
    rig.run()
    assert "warn  Slack: dead letter: old" in checked(tmp_path)


def test_check_names_what_waits_and_what_it_waits_for(rig: Rig, slack: FakeSlack, clock: Clock) -> None:
    slack.fail("503")
    post(rig, "a")
    rig.woken.clear()
    rig.delivery.pump()
    assert rig.woken.wait(10)
    rig.delivery.pump()
    (letter,) = undelivered(rig.path, clock)
    assert (letter.state, "1 message waits: a" in letter.text, "503" in letter.text) == ("warn", True, True)


def test_check_says_that_all_is_well_where_it_is(rig: Rig, slack: FakeSlack, clock: Clock, tmp_path: Path) -> None:
    assert list(undelivered(tmp_path / "none", clock)) == []
    post(rig, "a")
    rig.run()
    assert [letter.state for letter in undelivered(rig.path, clock)] == ["ok"]


def test_a_restart_sends_a_dead_letter_of_today_once_its_cause_is_mended(rig: Rig, slack: FakeSlack) -> None:
    slack.tokens.clear()
    post(rig, "a")
    rig.run()
    slack.tokens.add(TOKEN)
    rig.die()
    rig.run()
    assert len(slack.messages) == 1


@pytest.mark.parametrize(("token", "status"), [(APP_TOKEN, "ok"), (TOKEN, "error")])
def test_check_online_tries_the_hubs_token(slack: FakeSlack, token: str, status: str) -> None:
    (found,) = check_hub(Secret(value=token, source="test"), slack.base_url)
    assert found.status == status
    assert token not in found.text
