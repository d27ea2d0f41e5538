"""What can be known of a server from its launch command, its log and its host."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from responder.advise.command import Place, parse_server_args, place_of
from responder.advise.command.arguments import read
from responder.advise.command.launch import Command, parse
from responder.advise.command.shell import CommandError
from responder.advise.effective import effective, model_facts, typed_facts
from responder.advise.facts import Known, gpu_values
from responder.advise.launch import Launch
from responder.nouns import GpuFacts, Phase, Server


class Host(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a server besides its log."""

    server: Server
    command: str | None = None
    """The launch command as it was typed, secrets and all; it never leaves this room unmasked."""
    gpu: GpuFacts = GpuFacts()
    earlier: tuple[str, ...] = ()
    """Rules of the failures of this server before this one, oldest first."""
    folder: Path | None = None
    """The server's working directory, from which a relative model path counts; None where it is not known."""
    launch: Launch | None = None
    """Where the command was found, with the environment beside it; None for one that was given on the command line."""

    @property
    def vouched(self) -> bool:
        """Whether the command may be shown for pasting: something besides the log says that it is this server's."""
        return self.launch is None or self.launch.complete


def launched(host: Host, launch: Launch) -> Host:
    """The host with what was found of its launch."""
    server, versions = host.server, launch.versions
    return replace(
        host,
        server=replace(
            server,
            unit=server.unit or launch.unit,
            container=server.container or launch.container,
            pid=server.pid or launch.pid,
            version=versions.sglang or server.version,
            version_from="environment" if versions.sglang else server.version_from,
            command_from=launch.source if launch.command is not None else "unknown",
        ),
        command=launch.command,
        gpu=replace(host.gpu, torch_cuda=versions.torch_cuda or host.gpu.torch_cuda),
        launch=launch,
    )


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
    stated: Mapping[str, str] | None = None,
) -> Known:
    """What conditions may rest on, for this command on this host.

    `release` is used where the server's own is not known (the release that a matched wording proves).  `stated` is what
    this very launch said of itself: its `server_args` are what ran, whatever was typed.
    """
    release = host.server.version or release
    known = Known(release=release, gpu=host.gpu, role=host.server.role, phase=phase, captures=captures or {})
    if command is not None:
        known = _with_command(known, command, host.launch.env if host.launch is not None else {}, host.folder)
    resolved = parse_server_args(f"server_args={stated['server_args']}") if stated and "server_args" in stated else None
    return known if resolved is None else _with_resolved(known, resolved)


def _with_command(known: Known, command: Command, env: Mapping[str, str], folder: Path | None) -> Known:
    found = read(command, known.release)
    place = place_of(command, found)
    env = {**env, **command.env}
    model = model_facts(_text(place.model_path), folder)
    gpu = gpu_values(known.gpu, known.release)
    return replace(
        _placed(known, place),
        args=effective(found, gpu=gpu, model=model, env=env),
        typed=typed_facts(found),
        env=env,
        model=model,
    )


def _with_resolved(known: Known, resolved: Mapping[str, Any]) -> Known:
    """What ran, over what was worked out from the command; `typed` stays what the command says."""
    mode = resolved.get("disaggregation_mode")
    place = Place(
        role=mode if mode in ("prefill", "decode") else "unified" if "disaggregation_mode" in resolved else "unknown",
        nnodes=_number(resolved.get("nnodes")),
        node_rank=_number(resolved.get("node_rank")),
    )
    return replace(
        _placed(known, place),
        args={**known.args, **resolved},
        model=known.model or model_facts(_text(resolved.get("model_path"))),
    )


def _placed(known: Known, place: Place) -> Known:
    """With the place that one source gives, where nobody gave one before; a configured role is the operator's word."""
    return replace(
        known,
        role=known.role if known.role != "unknown" else place.role,
        nnodes=place.nnodes if place.nnodes is not None else known.nnodes,
        node_rank=place.node_rank if place.node_rank is not None else known.node_rank,
    )


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _number(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
