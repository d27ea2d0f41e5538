"""This host's GPUs, asked of NVML in a child process with a hard limit.

NVML is initialised anew for every query: a handle kept from before a driver reload or a cgroup change answers
`Unknown Error` for ever.  Only a child makes the limit hold, since a call into a broken driver cannot be interrupted.
"""

import os
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import msgspec

from responder.nouns import GpuFacts

DEFAULT_LIMIT_S = 3.0
_CHILD = Path(__file__).with_name("nvml_child.py")
_GRACE_S = 0.2


def query_gpus(limit_s: float = DEFAULT_LIMIT_S, env: Mapping[str, str] | None = None) -> GpuFacts:
    """The GPUs of this host.  Never raises and never takes longer than `limit_s` seconds and a moment.

    `env` replaces the child's environment (the tests put another NVML in front with it).
    """
    try:
        child = subprocess.Popen(
            [sys.executable, "-P", str(_CHILD)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=_child_environment(os.environ if env is None else env),
        )
    except OSError as error:
        return _failed(f"The GPU query could not start: {error.strerror}.")
    try:
        output, errors = child.communicate(timeout=limit_s)
    except subprocess.TimeoutExpired:
        _abandon(child)
        return GpuFacts(
            status="timeout", source="nvml", detail=f"The NVIDIA driver did not answer within {limit_s:g} s."
        )
    try:
        return msgspec.json.decode(output, type=GpuFacts)
    except msgspec.MsgspecError:
        said = errors.decode("utf-8", "replace").strip().splitlines()
        return _failed(f"The GPU query ended with status {child.returncode}: {said[-1] if said else 'no output'}.")


def _failed(detail: str) -> GpuFacts:
    return GpuFacts(status="error", source="nvml", detail=detail)


def _child_environment(env: Mapping[str, str]) -> dict[str, str]:
    """`env` with this interpreter's import path, so that the child finds pynvml wherever this process found it."""
    return {**env, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p), "PYTHONDONTWRITEBYTECODE": "1"}


def _abandon(child: subprocess.Popen[bytes]) -> None:
    """Kill `child` without waiting for it: one that hangs inside the driver dies only when the driver lets go."""
    child.kill()
    for pipe in (child.stdout, child.stderr):
        if pipe:
            pipe.close()
    with suppress(subprocess.TimeoutExpired):
        child.wait(_GRACE_S)
