"""One message to Slack, and what became of it.  Nothing here waits, retries or knows the outbox's table.

The SDK's own retries are off: its default one posts twice where Slack took the message and the connection broke.
"""

import logging
import uuid
from typing import Any, Literal, Protocol

import msgspec
from slack_sdk import WebClient, WebhookClient

from responder.publish.slack.errors import CALL_ERRORS, NO_THREAD, Failure, read, read_status
from responder.publish.slack.message import plain_version
from responder.publish.slack.token import Secret
from responder.store.outbox import Outcome, Row

EVENT_TYPE = "responder_incident"
"""Of the metadata that every message carries and that its history is searched for."""
TIMEOUT = 10
"""Seconds for one call."""
DEFAULT_BASE_URL = "https://slack.com/api/"

_MAYBE_TWICE = "(possible duplicate) "
_PAGES = 10
_SKEW = 900.0
"""Seconds that this host's clock may be ahead of Slack's before a message is looked for in vain."""

# At DEBUG the SDK logs whole message bodies and a webhook's address.
for _name in ("slack_sdk", "slack_sdk.web.base_client", "slack_sdk.webhook.client"):
    logging.getLogger(_name).setLevel(logging.INFO)


class Transport(Protocol):
    """A way to Slack."""

    def deliver(self, row: Row) -> tuple[Outcome, Failure | None]:
        """Try once.  The outcome has no `due` yet: when to try again is the sender's to say."""
        ...


def client(token: Secret, base_url: str = DEFAULT_BASE_URL, timeout: int = TIMEOUT) -> WebClient:
    """The SDK's client as it is safe to use here."""
    url = base_url if base_url.endswith("/") else f"{base_url}/"
    return WebClient(token=token.value, base_url=url, timeout=timeout, retry_handlers=[])


class BotTransport:
    """As a bot: posts, replies in threads, edits, and can look for what it may have posted already."""

    def __init__(self, client: WebClient) -> None:
        self._client = client

    def deliver(self, row: Row) -> tuple[Outcome, Failure | None]:
        """Send it; where an earlier attempt may have arrived, look for that one first."""
        mark = ""
        if row.state == "ambiguous" and row.kind != "update":
            found = self._look_for(row)
            if isinstance(found, Outcome):
                return found, None
            if found is not None and found.meaning in ("again", "ambiguous"):
                return Outcome(key=row.key, state="ambiguous", error=f"cannot ask: {found.error}"), found
            # Nobody can say whether it is there: rather twice than never, and it says so.
            mark = _MAYBE_TWICE if found is not None else ""
        outcome, failure = self._send(row, row.plain, mark)
        if failure is not None and failure.meaning == "plainer" and not row.plain:
            return self._send(row, True, mark)
        if failure is not None and failure.error in NO_THREAD:  # someone deleted the post
            if row.kind == "broadcast":  # what was worth a ping still is
                return self._send(msgspec.structs.replace(row, parent_ts=None), row.plain, mark)
            if row.kind == "update":  # what is gone needs no edit, and that is no fault
                return Outcome(key=row.key, state="sent"), None
        return outcome, failure

    def _send(self, row: Row, plain: bool, mark: str) -> tuple[Outcome, Failure | None]:
        payload = plain_version(row.payload, row.incident or None) if plain else dict(row.payload)
        payload.pop("event", None)
        payload["text"] = mark + payload["text"]
        if mark and "blocks" in payload:
            note = {"type": "context", "elements": [{"type": "mrkdwn", "text": mark.strip()}]}
            payload["blocks"] = [*payload["blocks"], note]
        try:
            answer = self._call(row, payload)
        except CALL_ERRORS as error:
            failure = read(error)
            return _failed(row, failure, plain), failure
        return Outcome(
            key=row.key, state="sent", channel_id=answer.get("channel"), ts=answer.get("ts"), plain=plain
        ), None

    def _call(self, row: Row, payload: dict[str, Any]) -> Any:
        about = row.parent if row.kind == "update" else row.key
        event = {"incident_id": row.incident, "row": about, **row.payload.get("event", {})}
        metadata = {"event_type": EVENT_TYPE, "event_payload": event}
        if row.kind == "update":
            body = {name: payload[name] for name in ("text", "blocks") if name in payload}
            channel = row.parent_channel_id or row.channel
            return self._client.chat_update(channel=channel, ts=row.parent_ts or "", metadata=metadata, **body)
        thread: dict[str, Any] = {}
        if row.parent_ts:
            thread = {"thread_ts": row.parent_ts, "reply_broadcast": row.kind == "broadcast"}
        return self._client.chat_postMessage(
            channel=row.parent_channel_id or row.channel,
            metadata=metadata,
            # Not documented, and honoured by some of Slack: it costs nothing.
            client_msg_id=str(uuid.uuid5(uuid.NAMESPACE_URL, f"responder:{row.key}")),
            **thread,
            **payload,
        )

    # --- Was it there already? ---------------------------------------------------------------------------------------

    def _look_for(self, row: Row) -> Outcome | Failure | None:
        """The message of an earlier attempt; None: it is not there; a Failure: Slack did not say."""
        try:
            channel = row.parent_channel_id or row.channel_id or self._id_of(row.channel)
            if channel is None:
                return Failure(meaning="never", error=f"the id of the channel {row.channel} is not known")
            cursor: str | None = None
            for _ in range(_PAGES):
                page = self._page(row, channel, cursor)
                for posted in page.get("messages", []):
                    if _is(posted, row.key):
                        return Outcome(key=row.key, state="sent", channel_id=channel, ts=posted["ts"])
                cursor = page.get("response_metadata", {}).get("next_cursor")
                if not cursor:
                    return None
        except CALL_ERRORS as error:
            return read(error)
        return None

    def _page(self, row: Row, channel: str, cursor: str | None) -> dict[str, Any]:
        oldest = f"{(row.first_sent or row.queued) - _SKEW:.6f}"
        common: dict[str, Any] = {"channel": channel, "include_all_metadata": True, "limit": 200}
        if cursor:
            common["cursor"] = cursor
        if row.parent_ts:
            answer = self._client.conversations_replies(ts=row.parent_ts, oldest=oldest, **common)
        else:
            answer = self._client.conversations_history(oldest=oldest, **common)
        return dict(answer.data) if isinstance(answer.data, dict) else {}

    def _id_of(self, channel: str) -> str | None:
        if is_id(channel):
            return channel
        name, cursor = channel.lstrip("#"), ""
        for _ in range(_PAGES):
            answer = self._client.conversations_list(
                types="public_channel,private_channel", exclude_archived=True, limit=1000, cursor=cursor
            )
            for found in answer.get("channels") or []:
                if found.get("name") == name:
                    return str(found["id"])
            cursor = (answer.get("response_metadata") or {}).get("next_cursor", "")
            if not cursor:
                break
        return None


class WebhookTransport:
    """Through an incoming webhook: it posts, and that is all it can.

    It has no history to ask, so what may have arrived is posted again: rather twice than never.
    """

    def __init__(self, webhook: Secret, timeout: int = TIMEOUT) -> None:
        self._client = WebhookClient(webhook.value, timeout=timeout, retry_handlers=[])

    def deliver(self, row: Row) -> tuple[Outcome, Failure | None]:
        """Post it."""
        outcome, failure = self._send(row, row.plain)
        if failure is not None and failure.meaning == "plainer" and not row.plain:
            return self._send(row, True)
        return outcome, failure

    def _send(self, row: Row, plain: bool) -> tuple[Outcome, Failure | None]:
        payload = plain_version(row.payload, row.incident or None) if plain else row.payload
        try:
            answer = self._client.send_dict(payload)
            failure = read_status(answer.status_code, answer.body, answer.headers)
        except CALL_ERRORS as error:
            failure = read(error)
        if failure is None:
            return Outcome(key=row.key, state="sent", plain=plain), None
        return _failed(row, failure, plain), failure


def _failed(row: Row, failure: Failure, plain: bool) -> Outcome:
    if failure.meaning == "done":
        # Its timestamp is worth a look at the history, once.
        state: Literal["sent", "ambiguous"] = "sent" if row.state == "ambiguous" else "ambiguous"
        return Outcome(key=row.key, state=state, error=failure.error, plain=plain)
    if failure.meaning == "again":
        # What an earlier attempt left in doubt, this one does not clear up.
        return Outcome(
            key=row.key,
            state="ambiguous" if row.state == "ambiguous" else "queued",
            error=failure.error,
            plain=plain,
        )
    if failure.meaning == "ambiguous":
        return Outcome(key=row.key, state="ambiguous", error=failure.error, plain=plain)
    return Outcome(key=row.key, state="dead", error=failure.error, plain=plain)


def _is(posted: dict[str, Any], key: str) -> bool:
    metadata = posted.get("metadata") or {}
    return metadata.get("event_type") == EVENT_TYPE and metadata.get("event_payload", {}).get("row") == key


def is_id(channel: str) -> bool:
    """Whether this is a channel's id (`C…`) and not its name."""
    return len(channel) >= 9 and channel[0] in "CGD" and channel.isalnum() and channel.isupper()
