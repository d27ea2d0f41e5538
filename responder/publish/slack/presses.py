"""What a press does, and how a hub tells of it to the daemon that watches the server.

The hub answers in the thread of the alert, for everybody to see.  Where the alert came from another host, that answer
carries the press in its metadata, and the daemon there reads its own threads: Slack, which both of them talk to
already, is the only way between them.
"""

import sqlite3
from datetime import UTC, datetime
from typing import Any, cast

from responder.publish.inert import mrkdwn
from responder.publish.slack.transport import EVENT_TYPE
from responder.store import incidents, presses
from responder.store.presses import ACTIONS, Action, Press

SILENCE_SECONDS = 3600.0
"""How long a press of `Silence 1 h` lasts."""


def carry_out(connection: sqlite3.Connection, press: Press) -> bool:
    """Do what was pressed, once.  False where the incident is not known here, is over, or the press was known."""
    incident = incidents.load(connection, press.incident)
    if incident is None or incident.status == "resolved" or not presses.note(connection, press):
        return False
    if press.action == "acknowledge":
        incidents.acknowledge(connection, incident.id, press.by, press.at)
        return True
    by_rule = press.action == "silence-rule" and incident.rule is not None
    incidents.silence(
        connection,
        until=press.at + SILENCE_SECONDS,
        by=press.by,
        now=press.at,
        incident=None if by_rule else incident.id,
        rule=incident.rule if by_rule else None,
    )
    return True


def answer(press: Press, name: str, *, here: bool) -> dict[str, Any]:
    """The reply in the thread.  `here`: it is done; else the daemon of another host has yet to read it."""
    who = mrkdwn(name, 100)
    until = int(press.at + SILENCE_SECONDS)
    end = f"<!date^{until}^{{time}}|{datetime.fromtimestamp(until, UTC):%H:%M UTC}>"
    text = {
        "acknowledge": f"👀 {who} has it in hand.",
        "silence": f"🔕 {who} silenced this until {end}.",
        "silence-rule": f"🔕 {who} silenced this rule until {end}, on the host that this alert came from.",
    }[press.action]
    if not here:
        text += " The alert above changes as soon as its host has read this."
    block = {"type": "section", "text": {"type": "mrkdwn", "text": text, "verbatim": True}}
    payload: dict[str, Any] = {"text": text, "blocks": [block], "unfurl_links": False, "unfurl_media": False}
    if not here:
        payload["event"] = {"press": press.key, "action": press.action, "by": press.by, "at": press.at}
    return payload


def press_in(posted: dict[str, Any], bot_id: str) -> Press | None:
    """The press that a message of our own bot carries; None for every other message."""
    metadata = posted.get("metadata") or {}
    event = metadata.get("event_payload") or {}
    # Anybody may post into the thread; only the bot's own word counts.
    if not bot_id or posted.get("bot_id") != bot_id or metadata.get("event_type") != EVENT_TYPE:
        return None
    if event.get("action") not in ACTIONS:
        return None
    try:
        return Press(
            key=str(event["press"]),
            incident=str(event["incident_id"]),
            action=cast("Action", event["action"]),
            by=str(event["by"]),
            at=float(event["at"]),
        )
    except (KeyError, TypeError, ValueError):
        return None
