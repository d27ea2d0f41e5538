"""What can be known of a server from its launch command, its log and its host."""

from collections.abc import Mapping
from typing import Any

import msgspec

from responder.advise.command.arguments import read
from responder.advise.command.launch import Command, parse
from responder.advise.command.shell import CommandError
from responder.advise.facts import Known
from responder.nouns import GpuFacts, Phase, Server


class Host(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a server besides its log."""

    server: Server
    command: str | None = None
    """The launch command as it was typed, secrets and all; it never leaves this room unmasked."""
    gpu: GpuFacts = GpuFacts()


def parsed(text: str | None) -> tuple[Command | None, str | None]:
    """The launch command, or None and (where there is a text) why it could not be read."""
    if text is None:
        return None, None
    try:
        return parse(text), None
    except CommandError as error:
        return None, f"the launch command could not be read: {error}"


def learn(
    host: Host,
    command: Command | None,
    *,
    release: str | None = None,
    phase: Phase = "unknown",
    captures: Mapping[str, str] | None = None,
) -> Known:
    """What conditions may rest on, for this command on this host.

    `release` is used where the server's own is not known (the release that a matched wording proves).
    """
    release = host.server.version or release
    return Known(
        release=release,
        typed=_typed(command, release) if command is not None else None,
        env=command.env if command is not None else None,
        gpu=host.gpu,
        role=host.server.role,
        phase=phase,
        captures=captures or {},
    )


def _typed(command: Command, release: str | None) -> dict[str, Any]:
    """Every dest of the release, None where it was not typed; one whose value is hidden is absent."""
    found = read(command, release)
    typed: dict[str, Any] = {dest: None for dest in found.release.by_dest if dest not in found.unknown}
    return {} if found.open else typed | found.values
