"""What can be known of a server from its launch command, its log and its host."""

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec.structs import replace

from responder.advise.command.arguments import Arguments, read
from responder.advise.command.launch import Command, parse
from responder.advise.command.shell import CommandError
from responder.advise.effective import effective, model_facts, typed_facts
from responder.advise.facts import Known, gpu_values
from responder.nouns import GpuFacts, Phase, Role, Server


class Host(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a server besides its log."""

    server: Server
    command: str | None = None
    """The launch command as it was typed, secrets and all; it never leaves this room unmasked."""
    gpu: GpuFacts = GpuFacts()
    earlier: tuple[str, ...] = ()
    """Rules of the failures of this server before this one, oldest first."""


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
    known = Known(release=release, gpu=host.gpu, role=host.server.role, phase=phase, captures=captures or {})
    return known if command is None else _with_command(known, command)


def _with_command(known: Known, command: Command) -> Known:
    found = read(command, known.release)
    env = command.env
    model = model_facts(_text(found.values.get("model_path")))
    gpu = gpu_values(known.gpu, known.release)
    nnodes = found.values.get("nnodes")
    return replace(
        known,
        args=effective(found, gpu=gpu, model=model, env=env),
        typed=typed_facts(found),
        env=env,
        model=model,
        role=known.role if known.role != "unknown" else _role(found, command),
        nnodes=nnodes if isinstance(nnodes, int) else None if found.open else 1,
    )


def _role(found: Arguments, command: Command) -> Role:
    """The role that the command gives the server."""
    if command.entry == "router":
        return "router"
    mode = found.values.get("disaggregation_mode")
    if mode in ("prefill", "decode"):
        return "prefill" if mode == "prefill" else "decode"
    return "unknown" if found.open else "unified"


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None
