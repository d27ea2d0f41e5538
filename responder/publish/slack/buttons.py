"""The buttons under an alert, and what comes back when somebody presses one.

A button carries the incident's id and nothing else: whatever it does is looked up where the incident is known.
"""

from typing import Any, Literal, cast, get_args

import msgspec

from responder.nouns import Incident
from responder.publish import wording as words
from responder.publish.inert import inert_line

Action = Literal["acknowledge", "silence", "silence-rule", "show-relaunch"]

_ID = "responder."
_LABELS: dict[Action, str] = {
    "acknowledge": "Acknowledge",
    "silence": "Silence 1 h",
    "silence-rule": "Silence this rule 1 h",
    "show-relaunch": "Show relaunch",
}


class Pressed(msgspec.Struct, frozen=True, kw_only=True):
    """One press, as Slack told of it."""

    key: str
    """The same each time that Slack tells of this press."""
    action: Action
    incident: str
    user: str
    """Slack's id of who pressed (`U…`)."""
    name: str
    """What that person calls themselves: anything."""
    channel: str
    ts: str
    """Of the message that the button stands under."""
    blocks: list[dict[str, Any]]
    """That message, as Slack holds it."""


def buttons(incident: Incident) -> dict[str, Any] | None:
    """The row of buttons for an alert; None once it is over."""
    if incident.status == "resolved":
        return None
    shown: list[Action] = [] if incident.status == "acknowledged" else ["acknowledge"]
    shown += ["silence", "silence-rule"] if incident.rule else ["silence"]
    if words.relaunches(incident):
        shown.append("show-relaunch")
    return {"type": "actions", "elements": [_button(action, incident.id) for action in shown]}


def _button(action: Action, incident: str) -> dict[str, Any]:
    label = {"type": "plain_text", "text": _LABELS[action], "emoji": False}
    button = {"type": "button", "action_id": f"{_ID}{action}", "value": incident, "text": label}
    return button | {"style": "primary"} if action == "acknowledge" else button


def read_press(payload: dict[str, Any]) -> Pressed | None:
    """The press in an interactive payload; None for what is not one of these buttons."""
    try:
        (pressed, *_) = payload["actions"]
        action = str(pressed["action_id"]).removeprefix(_ID)
        channel, ts = str(payload["channel"]["id"]), str(payload["message"]["ts"])
        user = payload["user"]
        name = inert_line(str(user.get("username") or user.get("name") or user["id"]))[:80]
        if payload.get("type") != "block_actions" or action not in get_args(Action):
            return None
        return Pressed(
            key=f"press:{channel}:{ts}:{user['id']}:{pressed['action_ts']}",
            action=cast("Action", action),
            incident=str(pressed["value"]),
            user=str(user["id"]),
            name=name,
            channel=channel,
            ts=ts,
            blocks=[block for block in payload["message"].get("blocks", []) if isinstance(block, dict)],
        )
    except (KeyError, TypeError, ValueError, AttributeError):
        return None
