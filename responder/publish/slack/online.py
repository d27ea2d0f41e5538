"""Whether Slack would take an alert: for `responder check --online`."""

from importlib import resources
from typing import Literal

import msgspec
from slack_sdk import WebClient, WebhookClient

from responder.publish.slack import message
from responder.publish.slack.errors import CALL_ERRORS, Failure, read, read_status
from responder.publish.slack.token import Secret
from responder.publish.slack.transport import TIMEOUT, client, is_id

REQUIRED = "chat:write"
_PUBLIC, _PRIVATE = "channels:history", "groups:history"

_MEND = {
    "invalid_auth": "the token is wrong or was revoked; copy the bot token again from the app's page",
    "token_revoked": "the token was revoked; install the app again and copy its new token",
    "account_inactive": "the app was removed from the workspace; install it again",
    "not_in_channel": "invite the bot: /invite @responder in the channel",
    "channel_not_found": "no such channel, or a private one that the bot is not in; invite it, or use the channel's id",
    "is_archived": "the channel is archived; choose another",
    "not_allowed_token_type": "this is no bot token; use the one that starts with xoxb-",
}


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that was tried."""

    status: Literal["ok", "warning", "error"]
    text: str
    """What was found and, where it is not well, what to do."""


def manifest() -> str:
    """The Slack app to paste when making one."""
    return resources.files("responder.publish.slack").joinpath("manifest.yaml").read_text(encoding="utf-8")


def check_bot(bot: WebClient, channel: str, host: str) -> list[Finding]:
    """Who the token is, which scope is missing, and whether a test message arrives in the channel."""
    try:
        answer = bot.auth_test()
    except CALL_ERRORS as error:
        return [_failed("the token", read(error))]
    findings = [Finding(status="ok", text=f"the token belongs to {answer.get('user')} in {answer.get('team')}")]
    headers = {str(name).lower(): value for name, value in dict(answer.headers).items()}
    if "x-oauth-scopes" in headers:
        findings += _scopes(str(headers["x-oauth-scopes"]), channel)
    try:
        posted = bot.chat_postMessage(channel=channel, **message.hello(host))
    except CALL_ERRORS as error:
        return [*findings, _failed(f"posting to {channel}", read(error))]
    findings.append(Finding(status="ok", text=f"a test message stands in {channel}"))
    return [*findings, *_history(bot, str(posted.get("channel")))]


def check_hub(app_token: Secret, base_url: str) -> list[Finding]:
    """Whether the app-level token opens a connection for buttons."""
    try:
        client(app_token, base_url).apps_connections_open(app_token=app_token.value)
    except CALL_ERRORS as error:
        failure = read(error)
        mend = {
            "missing_scope": "make an app-level token with the scope connections:write",
            "not_allowed_token_type": "this is no app-level token (xapp-…)",
            "invalid_auth": "the app-level token is wrong or was revoked; make a new one under Basic Information",
            "forbidden_team": "switch Socket Mode on in the app's settings",
        }.get(failure.error.partition(":")[0], "")
        return [Finding(status="error", text=f"Socket Mode: {failure.error}{'; ' + mend if mend else ''}")]
    return [Finding(status="ok", text="Socket Mode can be opened")]


def check_webhook(webhook: Secret, host: str) -> list[Finding]:
    """Whether a test message goes through the webhook."""
    try:
        answer = WebhookClient(webhook.value, timeout=TIMEOUT, retry_handlers=[]).send_dict(message.hello(host))
        failure = read_status(answer.status_code, answer.body, answer.headers)
    except CALL_ERRORS as error:
        failure = read(error)
    if failure is not None:
        return [_failed("the webhook", failure)]
    return [
        Finding(status="ok", text="a test message went through the webhook"),
        Finding(
            status="warning",
            text="a webhook can neither edit nor reply, and may post twice after a broken connection; a bot token can",
        ),
    ]


def _scopes(header: str, channel: str) -> list[Finding]:
    granted = {scope.strip() for scope in header.split(",")}
    findings = []
    if REQUIRED not in granted:
        findings.append(Finding(status="error", text=_add(REQUIRED, "without it nothing can be posted")))
    for scope, kind in ((_PUBLIC, "public"), (_PRIVATE, "private")):
        if scope not in granted:
            why = f"without it a message in a {kind} channel may come twice after a broken connection"
            findings.append(Finding(status="warning", text=_add(scope, why)))
    if not is_id(channel):
        for scope in ("channels:read", "groups:read"):
            if scope not in granted:
                why = f"without it the channel {channel} cannot be found by its name; or use its id (C…)"
                findings.append(Finding(status="warning", text=_add(scope, why)))
    return findings or [Finding(status="ok", text="no scope is missing")]


def _history(bot: WebClient, channel_id: str) -> list[Finding]:
    try:
        bot.conversations_history(channel=channel_id, limit=1, include_all_metadata=True)
    except CALL_ERRORS as error:
        failure = read(error)
        if failure.needed is not None:
            return []  # said already, by name
        return [Finding(status="warning", text=f"the channel's history cannot be read: {failure.error}")]
    return [Finding(status="ok", text="the channel's history can be read")]


def _add(scope: str, why: str) -> str:
    return f"the scope {scope} is missing: {why}; add it under OAuth & Permissions and install the app again"


def _failed(what: str, failure: Failure) -> Finding:
    if failure.needed is not None:
        return Finding(status="error", text=_add(failure.needed, f"{what} needs it"))
    mend = _MEND.get(failure.error, "")
    return Finding(status="error", text=f"{what}: {failure.error}{'; ' + mend if mend else ''}")
