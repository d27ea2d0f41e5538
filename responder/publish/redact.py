"""The one boundary that every sink lies behind: what leaves this host holds no secret and no prompt.

An incident passes through `redact_incident` once, before it is cut to any length and before any sink sees it.
The log is written by sglang and by whoever sends it requests: sglang prints `api_key` in clear in `server_args=`,
and with `--log-requests` it prints what users typed.
"""

import functools
from collections.abc import Callable
from typing import Any, Literal

import msgspec

from responder.nouns import Incident
from responder.publish.hosts import hide_hosts, host_names
from responder.publish.secrets import MASK, is_harmless, mask_argv, mask_secrets, names_a_secret
from responder.scan.prompts import drop_prompts

Excerpt = Literal["full", "cause", "none"]
"""How much of the log leaves: the line with its surroundings, the line alone, or nothing of it."""


class Policy(msgspec.Struct, frozen=True, kw_only=True):
    """The `[publish]` table: what the operator lets leave the host of all that redaction would let through."""

    excerpt: Excerpt = "full"
    hide_hosts: bool = False
    """Replace host names and IP addresses by a short hash, the same one everywhere."""


def redact_text(text: str) -> str:
    """The text without secrets and without request bodies; what has neither comes back unchanged."""
    return _redact_short(text) if len(text) < 500 else _redact(text)


def _redact(text: str) -> str:
    return mask_secrets(drop_prompts(text))


_redact_short = functools.lru_cache(maxsize=2048)(_redact)
"""An incident that changes with each wake-up of a storm is the same few hundred texts and one new number."""


def redact_incident(incident: Incident, policy: Policy | None = None) -> Incident:
    """The incident as it may leave the host: every string redacted, then cut down to what the policy allows."""
    policy = policy or Policy()
    fields = msgspec.to_builtins(incident)
    _limit(fields, policy.excerpt)
    # A private key or a cut string spans lines: the excerpt is one text.
    lines = fields["evidence"].pop("excerpt")
    fields = _each_string(fields, _redact_value)
    fields["evidence"]["excerpt"] = redact_text("\n".join(lines)).split("\n") if lines else []
    # In an argv the flag that names a secret and the secret are two words.
    fields["server"]["command"] = mask_argv(incident.server.command)
    if policy.hide_hosts:
        names = host_names(incident.server)
        fields = _each_string(fields, lambda _, text: hide_hosts(text, names))
    return msgspec.convert(fields, Incident)


_OUR_OWN = frozenset({"id", "fingerprint", "rule", "kind", "status", "severity"})
"""Fields that no log had a hand in and that must stay what they are."""


def _redact_value(key: str, text: str) -> str:
    if names_a_secret(key) and not is_harmless(text):
        return MASK
    return redact_text(text)


def _each_string(value: Any, change: Callable[[str, str], str], key: str = "") -> Any:
    """The value with `change(key, text)` in place of each text below it; `key` is the nearest one above."""
    if isinstance(value, str):
        return value if key in _OUR_OWN else change(key, value)
    if isinstance(value, dict):
        return {change("", name): _each_string(item, change, name) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_each_string(item, change, key) for item in value]
    return value


def _limit(fields: dict[str, Any], excerpt: Excerpt) -> None:
    if excerpt != "full":
        fields["evidence"]["excerpt"] = []
    if excerpt == "none":
        fields["evidence"]["text"] = ""
        fields["captures"] = {}
