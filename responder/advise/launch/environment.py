"""The part of a server's environment that may be kept: variables that steer sglang and what it stands on."""

from collections.abc import Mapping

from responder.advise.command.secret import mask_shapes, names_a_secret

KEPT = ("SGLANG_", "SGL_", "CUDA_", "NCCL_", "TORCH_", "PYTORCH_", "FLASHINFER_", "TRITON_")
"""Prefixes of the variables that rules and sglang's checks ask about; everything else is left where it is."""

LONGEST = 4096
"""Characters of a value; no setting needs more."""


def safe_part(env: Mapping[str, str]) -> dict[str, str]:
    """What of `env` may be remembered: allowed by name, and no secret by name or by shape."""
    return {
        name: value
        for name, value in env.items()
        if name.startswith(KEPT)
        and len(value) <= LONGEST
        and not names_a_secret(name, value)
        and mask_shapes(value) == value
    }
