"""A launch command, and who vouches for it."""

from collections.abc import Mapping
from typing import Literal

import msgspec

from responder.advise.command import Keeper
from responder.advise.environment import Versions

Source = Literal["option", "config", "unit", "process", "container", "log", "unknown"]

TRUST: tuple[Source, ...] = ("option", "config", "unit", "process", "container", "log", "unknown")
"""Whom to believe, the most trusted first.  The log stands last: anyone's prompt can write into it."""


class Launch(msgspec.Struct, frozen=True, kw_only=True):
    """How a server was launched, as far as one source (or all of them together) can tell."""

    command: str | None = None
    """As a shell text, secrets and all; it never leaves this room unmasked."""
    env: Mapping[str, str] = {}
    """The harmless part of the server's environment: never a token."""
    source: Source = "unknown"
    complete: bool = False
    """Something besides the log, bound to this server, vouches for the command: it may be shown for pasting."""
    where: str = ""
    """Where it stands, in words: `ExecStart of sglang.service`."""
    note: str = ""
    """Why there is no command, or what is doubtful about it; for a person, without a full stop."""
    keeper: Keeper = "shell"
    """What the command has to be given to for it to hold."""
    keeper_name: str | None = None
    """The unit, workload or service."""
    versions: Versions = Versions()
    """What the interpreter in the command has installed."""
    unit: str | None = None
    container: str | None = None
    pid: int | None = None


def find_launch(*sources: Launch | None) -> Launch:
    """The most trusted launch of those given, completed by what the others know of its environment and versions.

    Sources that know no command may still say why (`note`); that is kept where no other source has one.
    """
    given = sorted((one for one in sources if one is not None), key=_rank)
    best = next((one for one in given if one.command is not None), None)
    if best is None:
        return Launch(note="; ".join(dict.fromkeys(one.note for one in given if one.note)))
    others = [one for one in given if one is not best and one.complete]
    env: dict[str, str] = {}
    for one in (*reversed(others), best):
        env |= one.env
    versions = [one.versions for one in (best, *others) if one.versions.sglang is not None]
    keeper = _keeper(best, others)
    return msgspec.structs.replace(
        best,
        env=env,
        versions=versions[0] if versions else best.versions,
        keeper=keeper.keeper,
        keeper_name=keeper.keeper_name,
        unit=best.unit or next((one.unit for one in others if one.unit), None),
        container=best.container or next((one.container for one in others if one.container), None),
        pid=best.pid or next((one.pid for one in others if one.pid), None),
    )


def _rank(one: Launch) -> tuple[bool, int]:
    """A launch that nobody vouches for comes behind all others, whatever its source."""
    return one.command is not None and not one.complete, TRUST.index(one.source)


def _keeper(best: Launch, others: list[Launch]) -> Launch:
    """Who keeps the command: whoever says the very same one, where its own source does not know."""
    if best.keeper != "shell":
        return best
    return next((one for one in others if one.keeper != "shell" and one.command == best.command), best)
