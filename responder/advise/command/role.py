"""What a launch command says of its server's place: role, nodes, model."""

from typing import Any

import msgspec

from responder.advise.command.arguments import Arguments
from responder.advise.command.launch import Command
from responder.nouns import Role


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """A server's place among others.  None is unknown, not a default."""

    role: Role = "unknown"
    nnodes: int | None = None
    node_rank: int | None = None
    model_path: str | None = None


def place_of(command: Command, found: Arguments) -> Place:
    """The place that a command and its arguments (`read`) give."""
    if command.entry == "router":
        return Place(role="router")
    return Place(
        role=_role(found),
        nnodes=_value(found, "nnodes", 1),
        node_rank=_value(found, "node_rank", 0),
        model_path=_value(found, "model_path", None),
    )


def role_of(command: Command, found: Arguments) -> Role:
    """`router` for a router, else by `--disaggregation-mode`; `unknown` where an expansion hides it."""
    return place_of(command, found).role


def _role(found: Arguments) -> Role:
    mode = _value(found, "disaggregation_mode", "null")
    if mode is None:
        return "unknown"
    return mode if mode in ("prefill", "decode") else "unified"


def _value(found: Arguments, dest: str, default: Any) -> Any:
    """What was typed, else the default; None where an expansion or an unread file may hold it."""
    if dest in found.unknown or (found.open and dest not in found.values):
        return None
    return found.values.get(dest, default)
