"""The launch commands that the matrix asks about: attention backends by phase, context parallelism, KV cache dtype.

A command is written as its argument list, variables of the environment before it, and with `models/NAME` for a folder
of this package; `located` takes it apart and puts the real path in.
"""

import shlex
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).parent

CARDS = ("cpu", "80", "86", "89", "90", "100", "103", "110", "120", "121", "100/12.6")
"""Compute capabilities, `cpu` without a GPU; behind the slash torch's CUDA version where it is not 13.0."""

BACKENDS = (
    "aiter",
    "ascend",
    "cutedsl_mla",
    "cutlass_mla",
    "dsa",
    "fa3",
    "fa4",
    "flashinfer",
    "flashmla",
    "flex_attention",
    "hpc_ops",
    "intel_amx",
    "intel_xpu",
    "nsa",
    "tokenspeed_mla",
    "torch_native",
    "triton",
    "trtllm_mha",
    "trtllm_mla",
    "wave",
)
COMMON = ("fa3", "fa4", "flashinfer", "triton", "trtllm_mha", "trtllm_mla", "cutedsl_mla")
PHASES = {
    "both": "--attention-backend",
    "prefill": "--prefill-attention-backend",
    "decode": "--decode-attention-backend",
}
PAIRS = {
    "qwen3": (("fa3", "trtllm_mha"), ("trtllm_mha", "fa3"), ("fa4", "flashinfer"), ("flashinfer", "fa4")),
    "dsv3": (("fa3", "trtllm_mla"), ("trtllm_mla", "cutedsl_mla"), ("flashinfer", "cutedsl_mla")),
}
"""Prefill and decode backends that differ."""
CONTEXT_PARALLEL = (
    "--attn-cp-size 2",
    "--enable-prefill-cp --cp-strategy zigzag --attn-cp-size 2",
    "--enable-prefill-cp --cp-strategy interleave --attn-cp-size 2",
    "--enable-prefill-cp --cp-strategy zigzag",
    "--enable-prefill-context-parallel",
)
KV_DTYPES = ("fp8_e5m2", "fp8_e4m3", "bf16", "fp4_e2m1")


def commands(card: str) -> list[str]:
    """Every argument list of the matrix for a card, in one fixed order, as a shell would read it."""
    if card != "cpu":
        return list(dict.fromkeys(_commands()))
    # A sparse model asks torch for its GPU; what is then raised is torch's own text, and depends on its build.
    return [f"{command} --device cpu" for command in dict.fromkeys(_commands()) if "models/dsv32" not in command]


def _commands() -> Iterator[str]:
    yield from (f"--model-path models/{model}" for model in ("qwen3", "dsv3", "gptoss", "llama", "dsv32", "qwen3moe"))
    yield from _phases("qwen3", BACKENDS)
    yield from _phases("dsv3", BACKENDS)
    yield from _phases("gptoss", COMMON)
    yield from (f"--model-path models/llama --attention-backend {backend}" for backend in COMMON)
    for backend in ("dsa", "nsa", "fa3", "flashinfer", "triton", "trtllm_mla"):
        yield f"--model-path models/dsv32 --attention-backend {backend}"
    for model, pairs in PAIRS.items():
        for prefill, decode in pairs:
            yield f"--model-path models/{model} {PHASES['prefill']} {prefill} {PHASES['decode']} {decode}"
    yield from _context_parallel()
    yield from _kv_dtypes()


def _phases(model: str, backends: tuple[str, ...]) -> Iterator[str]:
    for backend in backends:
        yield from (f"--model-path models/{model} {flag} {backend}" for flag in PHASES.values())


def _kv_dtypes() -> Iterator[str]:
    for model in ("qwen3", "dsv3"):
        for dtype in KV_DTYPES:
            yield f"--model-path models/{model} --kv-cache-dtype {dtype}"
            for backend in COMMON:
                yield f"--model-path models/{model} --attention-backend {backend} --kv-cache-dtype {dtype}"
    for dtype in ("fp8_e4m3", "fp8_e5m2"):
        for phase in ("prefill", "decode"):
            yield f"--model-path models/qwen3 {PHASES[phase]} trtllm_mha --kv-cache-dtype {dtype}"


def _context_parallel() -> Iterator[str]:
    for cp in CONTEXT_PARALLEL:
        for model in ("qwen3moe", "dsv3", "llama"):
            yield f"--model-path models/{model} --tp-size 4 {cp}"
            for backend in COMMON:
                yield f"--model-path models/{model} --tp-size 4 {cp} --prefill-attention-backend {backend}"
        for backend in ("trtllm_mha", "fa3"):
            yield f"--model-path models/qwen3 --tp-size 4 {cp} --attention-backend {backend}"
            yield f"--model-path models/qwen3 --tp-size 4 {cp} --decode-attention-backend {backend}"
        yield f"--model-path models/dsv32 --tp-size 4 {cp}"


def located(command: str) -> tuple[dict[str, str], list[str]]:
    """The environment and the argument list of a command, the models where they are on this machine."""
    words = [str(HERE / word) if word.startswith("models/") else word for word in shlex.split(command)]
    first = next((index for index, word in enumerate(words) if word.startswith("-")), len(words))
    return dict(word.split("=", 1) for word in words[:first]), words[first:]


def unlocated(text: str) -> str:
    """A text without the place of this folder."""
    return text.replace(f"{HERE}/", "")
