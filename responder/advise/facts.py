"""Everything that is known of one failure and its host, as the facts that conditions speak of."""

from collections.abc import Mapping
from typing import Any

import msgspec

from responder.advise.gpu.probes import gpu_platform, probe_values
from responder.nouns import GpuFacts, Phase, Role


class Known(msgspec.Struct, frozen=True, kw_only=True):
    """What was learned of a server and its GPUs, from wherever.  What nobody knows is None or absent."""

    release: str | None = None
    args: Mapping[str, Any] = {}
    """Effective arguments by dest."""
    typed: Mapping[str, Any] | None = None
    """Arguments as typed, every dest of the release present; None where the launch command is not known."""
    env: Mapping[str, str] | None = None
    model: Mapping[str, Any] = {}
    gpu: GpuFacts = GpuFacts()
    role: Role = "unknown"
    nnodes: int | None = None
    node_rank: int | None = None
    phase: Phase = "unknown"
    captures: Mapping[str, str] = {}
    steps: Mapping[str, int] = {}
    """By flag, which way the operator has just turned it; see `steps_taken`."""

    def facts(self) -> dict[str, Any]:
        """The maps that a condition is evaluated over."""
        facts: dict[str, Any] = {
            "args": dict(self.args),
            "model": dict(self.model),
            "gpu": gpu_values(self.gpu, self.release),
            "server": self._server(),
            "captures": dict(self.captures),
            "phase": self.phase,
        }
        if self.typed is not None:
            facts["typed"] = dict(self.typed)
        if self.env is not None:
            facts["env"] = dict(self.env)
        return facts

    def _server(self) -> dict[str, Any]:
        # Disaggregation shows in the command and in the log; a server where neither names it is a unified one.
        values: dict[str, Any] = {"role": "unified" if self.role == "unknown" else self.role}
        if self.nnodes is not None:
            values["nnodes"] = self.nnodes
        return values


def gpu_values(gpu: GpuFacts, release: str | None) -> dict[str, Any]:
    """`gpu` of a condition.  A host whose devices differ in SM has no `sm` and no probes: nothing is asserted of it."""
    values: dict[str, Any] = dict(probe_values(gpu, release))
    if len(gpu.devices) > 1 or (gpu.devices and gpu.source == "nvml"):
        # `--gpu sm90`, like a rank that names its own card in the log, tells the kind of GPU and not how many.
        values["count"] = len(gpu.devices)
        values["uniform"] = len({device.sm for device in gpu.devices}) == 1
    if gpu.sm is not None:
        values["sm"] = gpu.sm
    if gpu_platform(gpu) == "cpu":
        values |= {"sm": 0, "count": 0, "uniform": True}
    memory = [device.memory_mib for device in gpu.devices if device.memory_mib is not None]
    if memory:
        values["memory_gib"] = min(memory) // 1024
    return values
