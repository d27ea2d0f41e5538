"""The closed lists of words that rules and incidents are sorted by."""

from typing import Literal

KINDS: tuple[str, ...] = (
    "attention-backend",
    "parallelism",
    "quantization",
    "gpu-memory",
    "kv-cache",
    "host-memory",
    "hicache",
    "kernel-image",
    "kernel-resources",
    "toolchain",
    "cuda-graph",
    "collectives",
    "hang",
    "gpu-fault",
    "gpu-hardware",
    "driver",
    "weights",
    "model-support",
    "dependencies",
    "cli-arguments",
    "disaggregation",
    "network",
    "hub-access",
    "feature-config",
    "router",
    "platform",
    "unrecognised",
)
"""What a failure is about.  A rule's `kind` is one of these and names the folder its file lies in."""

Severity = Literal["critical", "error", "warning", "info"]
"""How bad it is.  `info` is reported and never alerts."""

Confidence = Literal["certain", "likely", "possible"]
"""How sure the diagnosis is: the text proves it, the text suggests it, or it is the best guess."""

Phase = Literal["arguments", "init", "load", "capture", "warmup", "serving", "shutdown", "unknown"]
"""How far a launch had come: argument checks, distributed init, weights, CUDA graphs, warm-up, ready, stopping."""
