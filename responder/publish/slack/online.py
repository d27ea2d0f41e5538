"""Whether Slack would take an alert: for `responder check --online`."""

from collections.abc import Sequence
from typing import Literal

import msgspec
from slack_sdk import WebClient, WebhookClient

from responder.publish.slack import message
from responder.publish.slack.errors import CALL_ERRORS, Failure, read, read_status
from responder.publish.slack.token import Secret
from responder.publish.slack.transport import TIMEOUT, client, is_id


class Scope(msgspec.Struct, frozen=True, kw_only=True):
    """What a bot is allowed to do, and what goes wrong without it."""

    name: str
    without: str
    needed: Literal["always", "by name", "for groups"] = "always"
    """`by name`: where a channel is not given by its id; `for groups`: where `[hub] usergroups` names who may press."""
    fatal: bool = False


_BLIND = "a message may come twice after a broken connection, and a button pressed at a hub elsewhere is not heard of"

SCOPES = (
    Scope(name="chat:write", without="nothing can be posted", fatal=True),
    Scope(name="channels:history", without=f"in a public channel {_BLIND}"),
    Scope(name="groups:history", without=f"in a private channel {_BLIND}"),
    Scope(
        name="channels:read", without="a public channel cannot be found by its name; or use its id", needed="by name"
    ),
    Scope(name="groups:read", without="a private channel cannot be found by its name; or use its id", needed="by name"),
    Scope(name="usergroups:read", without="nobody of [hub] usergroups may press a button", needed="for groups"),
)

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


def check_bot(bot: WebClient, channels: Sequence[str], host: str, *, groups: bool = False) -> list[Finding]:
    """Who the token is, which scope is missing, and whether a test message arrives in each channel.

    `groups`: user groups say who may press a button.
    """
    try:
        answer = bot.auth_test()
    except CALL_ERRORS as error:
        return [_failed("the token", read(error))]
    findings = [Finding(status="ok", text=f"the token belongs to {answer.get('user')} in {answer.get('team')}")]
    headers = {str(name).lower(): value for name, value in dict(answer.headers).items()}
    granted = str(headers["x-oauth-scopes"]) if "x-oauth-scopes" in headers else None
    missing = [] if granted is None else _missing(granted, channels, groups)
    findings += [_lacking(scope) for scope in missing]
    if any(scope.fatal for scope in missing):
        return findings
    if granted is not None and not missing:
        findings.append(Finding(status="ok", text="no scope is missing"))
    return [*findings, *(finding for channel in channels for finding in _test_message(bot, channel, host))]


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


def _missing(granted: str, channels: Sequence[str], groups: bool) -> list[Scope]:
    have = {scope.strip() for scope in granted.split(",")}
    needs = {"always": True, "by name": not all(map(is_id, channels)), "for groups": groups}
    return [scope for scope in SCOPES if needs[scope.needed] and scope.name not in have]


def _lacking(scope: Scope) -> Finding:
    return Finding(status="error" if scope.fatal else "warning", text=_add(scope.name, f"without it {scope.without}"))


def _test_message(bot: WebClient, channel: str, host: str) -> list[Finding]:
    try:
        posted = bot.chat_postMessage(channel=channel, **message.hello(host))
    except CALL_ERRORS as error:
        return [_failed(f"posting to {channel}", read(error))]
    return [Finding(status="ok", text=f"a test message stands in {channel}"), *_history(bot, str(posted["channel"]))]


def _history(bot: WebClient, channel_id: str) -> list[Finding]:
    try:
        bot.conversations_history(channel=channel_id, limit=1, include_all_metadata=True)
    except CALL_ERRORS as error:
        failure = read(error)
        if failure.needed is not None:
            return []  # said already, by name
        return [Finding(status="warning", text=f"the history of {channel_id} cannot be read: {failure.error}")]
    return [Finding(status="ok", text=f"the history of {channel_id} can be read")]


def _add(scope: str, why: str) -> str:
    return f"the scope {scope} is missing: {why}; add it under OAuth & Permissions and install the app again"


def _failed(what: str, failure: Failure) -> Finding:
    if failure.needed is not None:
        return Finding(status="error", text=_add(failure.needed, f"{what} needs it"))
    mend = _MEND.get(failure.error, "")
    return Finding(status="error", text=f"{what}: {failure.error}{'; ' + mend if mend else ''}")
