"""Asks NVML once and prints what it says as JSON.  A child of `nvml.py`: a broken GPU can hang the call for ever.

Knows nothing of the package, so that it starts fast: the standard library and pynvml only.
"""

import json
from collections.abc import Callable
from typing import Any

import pynvml

_STATUS = {
    pynvml.NVML_ERROR_LIBRARY_NOT_FOUND: (
        "no-library",
        "NVIDIA's management library (libnvidia-ml.so.1) is not on this host: no driver, or a container without it.",
    ),
    pynvml.NVML_ERROR_DRIVER_NOT_LOADED: ("no-driver", "The NVIDIA kernel driver is not loaded."),
    pynvml.NVML_ERROR_LIB_RM_VERSION_MISMATCH: (
        "driver-mismatch",
        "The NVIDIA libraries and the loaded kernel driver are of different versions: upgraded without a reboot.",
    ),
    pynvml.NVML_ERROR_NO_PERMISSION: ("permission", "This user may not open the NVIDIA devices."),
    pynvml.NVML_ERROR_GPU_IS_LOST: ("lost", "A GPU has fallen off the bus."),
    pynvml.NVML_ERROR_UNKNOWN: (
        "error",
        "NVML answers `Unknown Error`: in a container, the host has often taken the devices away (systemd reloaded).",
    ),
}


def _read(call: Callable[..., Any], *args: Any) -> Any:
    """What `call` returns, or None where this card or an old driver has no answer.  A lost GPU is raised."""
    try:
        return call(*args)
    except pynvml.NVMLError as error:
        if error.value == pynvml.NVML_ERROR_GPU_IS_LOST:
            raise
        return None


def _device(index: int, driver: str | None, cuda: str | None) -> dict[str, Any]:
    facts: dict[str, Any] = {"driver": driver, "cuda": cuda}
    try:
        handle = pynvml.nvmlDeviceGetHandleByIndex(index)
        facts["name"] = _read(pynvml.nvmlDeviceGetName, handle)
        facts["uuid"] = _read(pynvml.nvmlDeviceGetUUID, handle)
        if capability := _read(pynvml.nvmlDeviceGetCudaComputeCapability, handle):
            facts["sm"] = capability[0] * 10 + capability[1]
        if memory := _read(pynvml.nvmlDeviceGetMemoryInfo, handle):
            facts["memory_mib"] = memory.total >> 20
        if mig := _read(pynvml.nvmlDeviceGetMigMode, handle):
            facts["mig"] = mig[0] == pynvml.NVML_DEVICE_MIG_ENABLE
        facts["ecc_uncorrected"] = _read(
            pynvml.nvmlDeviceGetTotalEccErrors,
            handle,
            pynvml.NVML_MEMORY_ERROR_TYPE_UNCORRECTED,
            pynvml.NVML_VOLATILE_ECC,
        )
        if rows := _read(pynvml.nvmlDeviceGetRemappedRows, handle):
            facts["remap_pending"] = bool(rows[2])
    except pynvml.NVMLError as error:
        if error.value != pynvml.NVML_ERROR_GPU_IS_LOST:
            raise
        facts["lost"] = True
    return facts


def _cuda_version() -> str | None:
    """The newest CUDA the driver can run; NVML packs 12.8 as 12080."""
    packed = _read(pynvml.nvmlSystemGetCudaDriverVersion_v2) or _read(pynvml.nvmlSystemGetCudaDriverVersion)
    return f"{packed // 1000}.{packed % 1000 // 10}" if packed else None


def _query() -> dict[str, Any]:
    pynvml.nvmlInit()
    driver, cuda = _read(pynvml.nvmlSystemGetDriverVersion), _cuda_version()
    devices = [_device(i, driver, cuda) for i in range(pynvml.nvmlDeviceGetCount())]
    if lost := [str(i) for i, d in enumerate(devices) if d.get("lost")]:
        detail = f"GPU {', '.join(lost)} of {len(devices)} has fallen off the bus."
        return {"status": "lost", "detail": detail, "devices": devices}
    if not devices:
        return {"status": "unknown", "detail": "The driver is loaded and reports no GPU."}
    if any(d.get("mig") for d in devices):
        detail = "MIG is on: a server sees a slice of the card, with less memory than the card has."
        return {"status": "ok", "detail": detail, "devices": devices}
    return {"status": "ok", "devices": devices}


def main() -> None:
    """Print the facts of one query, whatever happens, as one JSON object."""
    try:
        facts = _query()
    except pynvml.NVMLError as error:
        status, detail = _STATUS.get(error.value, ("error", f"NVML failed: {error} (code {error.value})."))
        facts = {"status": status, "detail": detail}
    print(json.dumps({**facts, "from": "nvml"}), flush=True)


if __name__ == "__main__":
    main()
