"""What a failed call to Slack means for the message: go again, ask first, send it plainer, or give up."""

import http.client
import re
import socket
import ssl
import urllib.error
from collections.abc import Mapping
from typing import Any, Literal

import msgspec
from slack_sdk.errors import SlackApiError, SlackClientError

from responder.publish.redact import redact_text

Meaning = Literal["again", "ambiguous", "plainer", "never", "done"]
"""`again`: it surely did not arrive, later it may; `ambiguous`: it may have arrived; `plainer`: Slack refuses what is
in it; `never`: no later attempt will fare better until a person acts; `done`: it had arrived before."""

_AGAIN = frozenset({"ratelimited", "rate_limited", "service_unavailable", "request_timeout", "team_added_to_org"})
# Slack says of these that some of what was asked may have been done.
_AMBIGUOUS = frozenset({"fatal_error", "internal_error"})
_PLAINER = frozenset(
    {
        "invalid_blocks",
        "invalid_blocks_format",
        "msg_blocks_too_long",
        "msg_too_long",
        "invalid_attachments",
        "metadata_too_large",
        "invalid_metadata_format",
        "invalid_metadata_schema",
        "no_text",
    }
)
CALL_ERRORS = (SlackClientError, http.client.HTTPException, OSError, ValueError)
"""What a call may raise: the SDK's own, the connection's, and what comes of an answer that is not Slack's."""
NO_THREAD = frozenset({"thread_not_found", "message_not_found", "invalid_thread_ts"})
"""The post that a reply belongs to was deleted."""

_DONE = frozenset({"duplicate_message_not_found", "duplicate_channel_not_found", "duplicate_message"})
_CODE = re.compile(r"[a-z0-9_.-]+")
_NEVER_SENT = (ConnectionRefusedError, socket.gaierror, ssl.SSLCertVerificationError)


class Failure(msgspec.Struct, frozen=True, kw_only=True):
    """A failed call, read."""

    meaning: Meaning
    error: str
    """For a person; holds no secret."""
    retry_after: float | None = None
    """Seconds that Slack asked to wait."""
    needed: str | None = None
    """The scope that is missing."""


def read(error: BaseException) -> Failure:
    """What the exception of a call means.  Holds nothing of it: the SDK's exceptions carry the token."""
    if isinstance(error, SlackApiError):
        return _api(error)
    if isinstance(error, urllib.error.URLError):
        reason = error.reason
        meaning: Meaning = "again" if isinstance(reason, _NEVER_SENT) or _unreachable(reason) else "ambiguous"
        return Failure(meaning=meaning, error=_words(f"cannot connect: {reason}"))
    if isinstance(error, _NEVER_SENT):
        return Failure(meaning="again", error=_words(f"cannot connect: {error}"))
    if isinstance(error, TimeoutError):
        return Failure(meaning="ambiguous", error="no answer in time")
    return Failure(meaning="ambiguous", error=_words(f"{type(error).__name__}: {error}"))


def read_status(status: int, body: str, headers: Mapping[str, Any]) -> Failure | None:
    """What a webhook's answer means; None: it took the message."""
    if status == 200:
        return None if body.strip() == "ok" else Failure(meaning="ambiguous", error="the answer is not Slack's")
    if status == 400 and body.strip() in _PLAINER | {"invalid_payload"}:
        return Failure(meaning="plainer", error=_words(body))
    if 400 <= status < 500 and status != 429:
        return Failure(meaning="never", error=_words(body) or f"HTTP {status}")
    return _http(status, headers)


def _api(error: SlackApiError) -> Failure:
    response: Any = error.response
    status = int(getattr(response, "status_code", 200))
    headers = getattr(response, "headers", {})
    data = getattr(response, "data", None)
    code = str(data.get("error", "")) if isinstance(data, dict) else ""
    if not isinstance(data, dict) or not _CODE.fullmatch(code):
        return _http(status, headers)  # the SDK puts a sentence there when the body is not JSON
    needed = data.get("needed")
    if code in _AGAIN or status in (429, 503):
        return Failure(meaning="again", error=code, retry_after=_retry_after(headers))
    if code in _AMBIGUOUS or status >= 500:
        return Failure(meaning="ambiguous", error=code)
    if code in _DONE:
        return Failure(meaning="done", error=code)
    if code in _PLAINER:
        details = data.get("errors") or data.get("response_metadata", {}).get("messages") or ""
        return Failure(meaning="plainer", error=_words(f"{code} {details}".strip()))
    if code == "missing_scope" and needed:
        return Failure(meaning="never", error=f"missing_scope: the app needs {needed}", needed=str(needed))
    return Failure(meaning="never", error=_words(code))


def _http(status: int, headers: Mapping[str, Any]) -> Failure:
    """An answer that is not Slack's own: a proxy's, or none of its programs'."""
    meaning: Meaning = "again" if 400 <= status < 500 or status == 503 else "ambiguous"
    return Failure(
        meaning=meaning, error=f"HTTP {status}, and the answer is not Slack's", retry_after=_retry_after(headers)
    )


def _retry_after(headers: Mapping[str, Any]) -> float | None:
    found = {str(name).lower(): value for name, value in dict(headers).items()}.get("retry-after")
    value = found[0] if isinstance(found, list) and found else found
    try:
        return max(0.0, float(str(value)))
    except ValueError:
        return None


def _unreachable(reason: object) -> bool:
    # Linux's ENETUNREACH, EHOSTUNREACH and ENETDOWN: no packet got out.
    return isinstance(reason, OSError) and reason.errno in (100, 101, 113)


def _words(text: str) -> str:
    return redact_text(" ".join(text.split()))[:300]
