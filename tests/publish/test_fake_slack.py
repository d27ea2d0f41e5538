"""The fake refuses what Slack refuses; else the tests that lean on it prove nothing."""

import io
import json
import subprocess
import sys
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError
from slack_sdk.socket_mode import SocketModeClient
from slack_sdk.socket_mode.response import SocketModeResponse

from tests.fake_slack import APP_TOKEN, TOKEN, FakeSlack
from tests.slack_blocks import dangers, refusals


@pytest.fixture
def bot(slack: FakeSlack) -> WebClient:
    return WebClient(token=TOKEN, base_url=slack.base_url, timeout=5, retry_handlers=[])


def section(text: str) -> dict[str, Any]:
    return {"type": "section", "text": {"type": "mrkdwn", "text": text}}


def rich(*elements: dict[str, Any]) -> dict[str, Any]:
    return {"type": "rich_text", "elements": list(elements)}


def button(n: int = 0, *, text: str = "x", **more: Any) -> dict[str, Any]:
    return {"type": "button", "action_id": f"a{n}", "value": "x", "text": {"type": "plain_text", "text": text}} | more


def actions(*buttons: dict[str, Any]) -> dict[str, Any]:
    return {"type": "actions", "elements": list(buttons)}


@pytest.mark.parametrize(
    ("blocks", "error"),
    [
        ([section("x")] * 51, "invalid_blocks"),
        ([section("")], "invalid_blocks"),
        ([section("x" * 3001)], "invalid_blocks"),
        ([{"type": "section"}], "invalid_blocks"),
        ([{"type": "section", "fields": [{"type": "mrkdwn", "text": "x" * 2001}]}], "invalid_blocks"),
        ([{"type": "section", "fields": [{"type": "mrkdwn", "text": "x"}] * 11}], "invalid_blocks"),
        ([{"type": "header", "text": {"type": "plain_text", "text": "x" * 151}}], "invalid_blocks"),
        ([{"type": "header", "text": {"type": "mrkdwn", "text": "x"}}], "invalid_blocks"),
        ([{"type": "context", "elements": [{"type": "mrkdwn", "text": "x"}] * 11}], "invalid_blocks"),
        ([{"type": "context", "elements": []}], "invalid_blocks"),
        ([{"type": "hologram"}], "invalid_blocks"),
        ([section("x") | {"colour": "red"}], "invalid_blocks"),
        ([section("x") | {"block_id": "a"}, section("y") | {"block_id": "a"}], "invalid_blocks"),
        ([rich()], "invalid_blocks"),
        ([rich({"type": "rich_text_section", "elements": [{"type": "text", "text": ""}]})], "invalid_blocks"),
        ([rich({"type": "rich_text_preformatted", "elements": [{"type": "emoji", "name": "fire"}]})], "invalid_blocks"),
        ([section("x") | {"block_id": "a" * 256}], "invalid_blocks"),
        ([actions(button(text="x" * 76))], "invalid_blocks"),
        ([actions(button(value="x" * 2001))], "invalid_blocks"),
        ([actions(button(), button())], "invalid_blocks"),
        ([actions(button(action_id="a" * 256))], "invalid_blocks"),
        ([actions(*map(button, range(26)))], "invalid_blocks"),
        ([actions()], "invalid_blocks"),
        ([{"type": "markdown", "text": "x" * 6_500}] * 2, "invalid_blocks"),
        ([actions(*map(button, range(25)))], ""),
        ([section("x" * 2900)] * 5, "msg_blocks_too_long"),
        ([section("x")], ""),
        (
            [rich({"type": "rich_text_preformatted", "language": "bash", "elements": [{"type": "text", "text": "x"}]})],
            "",
        ),
    ],
)
def test_blocks_that_slack_refuses_are_refused(blocks: list[dict[str, Any]], error: str) -> None:
    assert refusals({"text": "x", "blocks": blocks})[0] == error


@pytest.mark.parametrize(
    ("text", "live"),
    [("<!channel>", True), ("<@U0000000ON>", True), ("<https://x|y>", True), ("a & b", True), ("a < b", True),
     ("@here", True), ("x :fire: y", True), ("&lt;!channel&gt; &amp;", False), ("<!date^1^{date}|x>", False)],
)  # fmt: skip
def test_what_slack_would_act_on_is_noticed(text: str, live: bool) -> None:
    assert bool(dangers({"text": text})) is live


def refused(call: Callable[[], object]) -> str:
    with pytest.raises(SlackApiError) as caught:
        call()
    return str(caught.value.response["error"])


def test_calls_that_slack_refuses_are_refused(slack: FakeSlack, bot: WebClient) -> None:
    stranger = WebClient(token="xoxb-9-wrong", base_url=slack.base_url, retry_handlers=[])
    assert refused(lambda: stranger.auth_test()) == "invalid_auth"
    assert refused(lambda: bot.chat_postMessage(channel="nowhere", text="x")) == "channel_not_found"
    assert refused(lambda: bot.chat_postMessage(channel="alerts", text="x", thread_ts="1.1")) == "thread_not_found"
    assert refused(lambda: bot.chat_update(channel="C0000ALERT", ts="1.1", text="x")) == "message_not_found"
    assert refused(lambda: bot.api_call("chat.postMessage", json={"channel": "alerts"})) == "no_text"
    assert refused(lambda: bot.conversations_history(channel="alerts")) == "channel_not_found"
    slack.scopes.remove("chat:write")
    assert refused(lambda: bot.chat_postMessage(channel="alerts", text="x")) == "missing_scope"


def test_timestamps_are_unique_and_rise_even_on_a_clock_that_stands(bot: WebClient) -> None:
    stamps = [bot.chat_postMessage(channel="alerts", text="x")["ts"] for _ in range(20)]
    assert stamps == sorted(set(stamps))


def test_the_history_shows_metadata_only_when_asked_and_hides_threads(slack: FakeSlack, bot: WebClient) -> None:
    metadata = {"event_type": "e", "event_payload": {"a": "b"}}
    root = bot.chat_postMessage(channel="alerts", text="root", metadata=metadata)
    bot.chat_postMessage(channel="alerts", text="reply", thread_ts=root["ts"])
    bot.chat_postMessage(channel="alerts", text="both", thread_ts=root["ts"], reply_broadcast=True)
    plain = bot.conversations_history(channel="C0000ALERT")["messages"]
    full = bot.conversations_history(channel="C0000ALERT", include_all_metadata=True)["messages"]
    assert [m["text"] for m in plain] == ["both", "root"]
    assert [m.get("metadata") for m in (plain[1], full[1])] == [None, metadata]
    assert len(bot.conversations_replies(channel="C0000ALERT", ts=root["ts"])["messages"]) == 3


def test_a_file_goes_up_in_three_steps(slack: FakeSlack, bot: WebClient) -> None:
    root = bot.chat_postMessage(channel="alerts", text="root")
    bot.files_upload_v2(
        file=io.BytesIO(b"a long excerpt"), filename="log.txt", channel="C0000ALERT", thread_ts=root["ts"]
    )
    (file,) = slack.files
    assert (file["bytes"].endswith(b"a long excerpt"), file["thread_ts"]) == (True, root["ts"])


def test_a_button_reaches_a_socket_and_its_answer_comes_back(slack: FakeSlack) -> None:
    web = WebClient(token=TOKEN, base_url=slack.base_url)
    hub = SocketModeClient(app_token=APP_TOKEN, web_client=web, auto_reconnect_enabled=False)
    pressed: list[str] = []

    def on_request(client: Any, request: Any) -> None:
        pressed.append(request.payload["actions"][0]["value"])
        client.send_socket_mode_response(SocketModeResponse(envelope_id=request.envelope_id))

    hub.socket_mode_request_listeners.append(on_request)
    hub.connect()
    try:
        slack.wait_for(lambda: slack.sockets)
        slack.press("incident-1", "acknowledge")
        slack.wait_for(lambda: slack.acks)
    finally:
        hub.close()
    assert pressed == ["incident-1"]
    assert slack.acks[0]["envelope_id"].endswith("acknowledge")


def test_as_a_process_it_prints_its_address_and_records_what_it_accepted(tmp_path: Path) -> None:
    script, record = Path(__file__).parent.parent / "fake_slack.py", tmp_path / "record.jsonl"
    command = [sys.executable, str(script), "--port", "0", "--record", str(record), "--fault", "500"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            address = process.stdout.readline().strip()
            bot = WebClient(token=TOKEN, base_url=address, retry_handlers=[])
            with pytest.raises(SlackApiError):
                bot.chat_postMessage(channel="alerts", text="lost")
            bot.chat_postMessage(channel="alerts", text="found")
            more = urllib.request.Request(
                f"{address.removesuffix('/api/')}/control/fail", data=b'["error:is_archived"]'
            )
            urllib.request.urlopen(more).read()
            assert refused(lambda: bot.chat_postMessage(channel="alerts", text="late")) == "is_archived"
        finally:
            process.terminate()
    assert [json.loads(line)["text"] for line in record.read_text().splitlines()] == ["found"]
