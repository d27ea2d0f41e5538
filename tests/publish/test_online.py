"""`responder check --online` says exactly what is missing and how to mend it."""

import pytest
from slack_sdk import WebClient

from responder.publish.slack import online
from responder.publish.slack.online import Finding, check_bot, check_webhook, manifest
from responder.publish.slack.token import Secret
from responder.publish.slack.transport import client
from tests.fake_slack import SCOPES, TOKEN, FakeSlack


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
    text = manifest()
    for scope in online.SCOPES:
        assert f"- {scope.name}" in text
