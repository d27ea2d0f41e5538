"""Argument lists whose resolution is recorded: models by sizes, backends, parallelism and KV cache."""

from collections.abc import Iterator

MODELS = ("qwen3", "qwen3moe", "llama", "gptoss", "nemo", "dsv3", "dsv32")
CP = ("--enable-prefill-cp", "--attn-cp-size", "2", "--cp-strategy")
VARIANTS: tuple[tuple[str, ...], ...] = (
    (),
    ("--attn-dp-size", "2"),
    ("--dp-size", "4", "--enable-dp-attention"),
    ("--dp-size", "8", "--enable-dp-attention", "--disaggregation-mode", "decode"),
    ("--dp-size", "2"),
    (*CP, "zigzag"),
    (*CP, "interleave"),
    ("--enable-prefill-cp", "--cp-strategy", "interleave"),
    ("--enable-prefill-context-parallel",),
    ("--enable-prefill-context-parallel", "--attn-cp-size", "2"),
    ("--moe-a2a-backend", "deepep"),
    ("--ep-size", "4"),
    ("--ep-size", "8", "--moe-a2a-backend", "mooncake"),
    ("--prefill-attention-backend", "fa4"),
    ("--decode-attention-backend", "trtllm_mha"),
    ("--attention-backend", "triton", "--prefill-attention-backend", "fa3"),
    ("--prefill-attention-backend", "triton", "--decode-attention-backend", "triton"),
    ("--kv-cache-dtype", "fp8_e5m2"),
    ("--kv-cache-dtype", "fp8_e4m3"),
    ("--page-size", "32"),
    ("--page-size", "16", "--attention-backend", "trtllm_mha"),
    ("--chunked-prefill-size", "4096"),
    ("--chunked-prefill-size", "-1"),
    ("--enable-deterministic-inference",),
    ("--disaggregation-mode", "prefill"),
    ("--speculative-algorithm", "NGRAM"),
    ("--dcp-size", "2"),
)


def trials() -> Iterator[list[str]]:
    """Every variant on every model; the model's path is its folder's name below `models`."""
    for model in MODELS:
        for variant in VARIANTS:
            yield ["--model-path", f"models/{model}", "--tp-size", "8", *variant]
