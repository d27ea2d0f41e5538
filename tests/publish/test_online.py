"""`responder check --online` says exactly what is missing and how to mend it."""

from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner, Result
from slack_sdk import WebClient

from responder.cli.check import check
from responder.publish.slack import online
from responder.publish.slack.online import Finding, check_bot, check_webhook
from responder.publish.slack.token import MANIFEST, Secret
from responder.publish.slack.transport import client
from tests.fake_slack import APP_TOKEN, SCOPES, TOKEN, FakeSlack


@pytest.fixture
def bot(slack: FakeSlack) -> WebClient:
    return client(Secret(value=TOKEN, source="test"), slack.base_url, timeout=1)


def worst(findings: list[Finding]) -> list[str]:
    return [finding.text for finding in findings if finding.status != "ok"]


def test_when_all_is_well_a_test_message_arrives_and_every_finding_is_good(slack: FakeSlack, bot: WebClient) -> None:
    findings = check_bot(bot, ["alerts"], "gpu-17")
    assert worst(findings) == []
    assert "gpu-17 can post here" in slack.messages[0]["text"]


@pytest.mark.parametrize("scope", sorted(SCOPES - {"files:write"}))
def test_the_missing_scope_is_named(slack: FakeSlack, bot: WebClient, scope: str) -> None:
    slack.scopes.remove(scope)
    (found,) = worst(check_bot(bot, ["alerts"], "gpu-17"))
    assert f"the scope {scope} is missing" in found


def test_the_scope_for_user_groups_is_missed_only_where_they_say_who_may_press(
    slack: FakeSlack, bot: WebClient
) -> None:
    assert worst(check_bot(bot, ["alerts"], "gpu-17")) == []
    (found,) = worst(check_bot(bot, ["alerts"], "gpu-17", groups=True))
    assert "the scope usergroups:read is missing" in found


def test_each_channel_that_a_route_names_gets_a_test_message(slack: FakeSlack, bot: WebClient) -> None:
    (text,) = worst(check_bot(bot, ["alerts", "#other", "gone"], "gpu-17"))
    assert text.startswith("posting to gone: channel_not_found; ")
    assert [message["channel"] for message in slack.messages] == ["C0000ALERT", "C0000OTHER"]


def test_an_id_needs_no_scope_to_find_a_channel_by_name(slack: FakeSlack, bot: WebClient) -> None:
    slack.scopes -= {"channels:read", "groups:read"}
    assert worst(check_bot(bot, ["C0000ALERT"], "gpu-17")) == []


def test_a_wrong_token_is_one_line_that_says_what_to_do(slack: FakeSlack, bot: WebClient) -> None:
    slack.tokens.clear()
    (finding,) = check_bot(bot, ["alerts"], "gpu-17")
    assert finding.status == "error"
    assert "copy the bot token again" in finding.text


@pytest.mark.parametrize("channel", ["nowhere", "#nowhere", "C0NOWHERE1"])
def test_a_channel_that_is_not_there_is_named(slack: FakeSlack, bot: WebClient, channel: str) -> None:
    (text,) = worst(check_bot(bot, [channel], "gpu-17"))
    assert text.startswith(f"posting to {channel}: channel_not_found; ")


def test_slack_out_of_reach_is_one_line() -> None:
    nowhere = client(Secret(value=TOKEN, source="test"), "http://127.0.0.1:9/api", timeout=1)
    (finding,) = check_bot(nowhere, ["alerts"], "gpu-17")
    assert "cannot connect" in finding.text
    assert TOKEN not in finding.text


def test_a_webhook_works_and_says_what_it_cannot_do(slack: FakeSlack) -> None:
    findings = check_webhook(Secret(value=slack.webhook, source="test"), "gpu-17")
    assert [finding.status for finding in findings] == ["ok", "warning"]
    slack.fail("error:no_service")
    (finding,) = check_webhook(Secret(value=slack.webhook, source="test"), "gpu-17")
    assert finding.text == "the webhook: no_service"


def test_the_manifest_asks_for_what_the_checks_ask_for() -> None:
    app = yaml.safe_load(MANIFEST.read_text(encoding="utf-8"))
    asked = app["oauth_config"]["scopes"]["bot"]
    assert asked == [scope.name for scope in online.SCOPES if scope.needed != "for groups"]
    assert "usergroups:read" in MANIFEST.read_text(encoding="utf-8")
    assert (app["settings"]["socket_mode_enabled"], app["settings"]["interactivity"]["is_enabled"]) == (True, True)


def checked(tmp_path: Path, slack: FakeSlack, monkeypatch: pytest.MonkeyPatch, more: str = "") -> Result:
    """`responder check --online` with the fake's tokens in the environment."""
    config = tmp_path / "responder.toml"
    config.write_text(
        f'[slack]\nchannel = "alerts"\nbase_url = "{slack.base_url}"\n[state]\ndir = "{tmp_path}"\n{more}'
    )
    monkeypatch.setenv("RESPONDER_SLACK_TOKEN", TOKEN)
    monkeypatch.setenv("RESPONDER_SLACK_APP_TOKEN", APP_TOKEN)
    return CliRunner().invoke(check, ["--config", str(config), "--online"])


def test_the_command_names_the_missing_scope_and_fails(
    tmp_path: Path, slack: FakeSlack, monkeypatch: pytest.MonkeyPatch
) -> None:
    slack.scopes.remove("chat:write")
    ran = checked(tmp_path, slack, monkeypatch)
    assert "fail  Slack: the scope chat:write is missing: without it nothing can be posted; add it under" in ran.output
    assert (ran.exit_code, slack.messages) == (69, [])
    assert TOKEN not in ran.output


def test_the_command_posts_its_test_message_and_tries_the_hubs_connection(
    tmp_path: Path, slack: FakeSlack, monkeypatch: pytest.MonkeyPatch
) -> None:
    routed = '[[slack.route]]\nchannel = "other"\nkinds = ["driver"]\n[hub]\nusergroups = ["S123"]\n'
    ran = checked(tmp_path, slack, monkeypatch, routed)
    for text in (
        "ok    Slack: a test message stands in alerts",
        "ok    Slack: a test message stands in other",
        "warn  Slack: the scope usergroups:read is missing",
        "ok    hub: Socket Mode can be opened",
    ):
        assert text in ran.output
    assert [message["channel"] for message in slack.messages] == ["C0000ALERT", "C0000OTHER"]
    assert APP_TOKEN not in ran.output


def test_without_a_token_the_command_says_where_the_app_to_paste_lies(
    tmp_path: Path, slack: FakeSlack, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = tmp_path / "responder.toml"
    config.write_text(f'[state]\ndir = "{tmp_path}"\n')
    monkeypatch.delenv("RESPONDER_SLACK_TOKEN", raising=False)
    ran = CliRunner().invoke(check, ["--config", str(config), "--online"])
    assert f"make a Slack app from {MANIFEST}" in ran.output
    assert MANIFEST.exists()
