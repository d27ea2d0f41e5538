"""What is known of the GPUs that a failing server runs on."""

from typing import Literal

import msgspec

GpuStatus = Literal[
    "ok",
    "unknown",
    "no-library",
    "no-driver",
    "driver-mismatch",
    "permission",
    "lost",
    "timeout",
    "error",
]
"""How the query of the GPUs ended.  Whatever it is, the alert goes out."""


class Device(msgspec.Struct, frozen=True, kw_only=True):
    """One GPU.  A field that could not be read is None."""

    name: str | None = None
    sm: int | None = None
    """Compute capability as a number: 9.0 is 90, 10.3 is 103."""
    memory_mib: int | None = None
    driver: str | None = None
    cuda: str | None = None
    """The newest CUDA version the driver supports, as `12.8`; not the one torch was built with."""
    uuid: str | None = None
    mig: bool | None = None
    lost: bool = False
    ecc_uncorrected: int | None = None
    remap_pending: bool | None = None


class GpuFacts(msgspec.Struct, frozen=True, kw_only=True):
    """The GPUs of one host and where the knowledge came from."""

    status: GpuStatus = "unknown"
    source: Literal["nvml", "log", "option", "unknown"] = msgspec.field(name="from", default="unknown")
    torch_cuda: str | None = None
    """`torch.version.cuda` of the server's interpreter: sglang's Blackwell probes want 12.8, Hopper's 12.3."""
    devices: tuple[Device, ...] = ()
    detail: str | None = None
    """One sentence for a person when the status is not `ok`."""

    @property
    def sms(self) -> frozenset[int]:
        """The distinct compute capabilities among the devices; empty where none is known."""
        return frozenset(d.sm for d in self.devices if d.sm is not None)

    @property
    def sm(self) -> int | None:
        """The one compute capability of this host, or None where it is unknown or differs between devices."""
        return next(iter(self.sms)) if len(self.sms) == 1 else None
