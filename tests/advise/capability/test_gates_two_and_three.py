"""A command that passes the argument checks and dies later is refused, and no proposal is made that would."""

import json
from pathlib import Path

import pytest

from responder.advise.command.launch import parse
from responder.advise.learn import Host
from responder.advise.preflight import Preflight, preflight
from responder.catalogue import Catalogue
from responder.nouns import Device, GpuFacts, Server

MODELS = {
    "mha": {"architectures": ["Qwen3ForCausalLM"], "num_attention_heads": 32, "num_key_value_heads": 8},
    "mla": {"architectures": ["DeepseekV3ForCausalLM"], "num_attention_heads": 128, "kv_lora_rank": 512},
    "gdn": {"architectures": ["Qwen3NextForCausalLM"], "num_attention_heads": 16, "num_key_value_heads": 2},
}


@pytest.fixture
def asked(catalogue: Catalogue, tmp_path: Path):
    def ask(sm: int, model: str, arguments: str, release: str = "0.5.23") -> Preflight:
        folder = tmp_path / model
        folder.mkdir(exist_ok=True)
        (folder / "config.json").write_text(json.dumps(MODELS[model] | {"hidden_size": 4096, "head_dim": 128}))
        command = parse(f"python3 -m sglang.launch_server --model-path {folder} {arguments}")
        devices = (Device(sm=sm, memory_mib=144384),) * 8
        host = Host(
            server=Server(name="s", version=release),
            command=command.text,
            gpu=GpuFacts(status="ok", source="option", torch_cuda="13.0", devices=devices),
        )
        return preflight(catalogue.rules, command, host)

    return ask


@pytest.mark.parametrize(
    ("sm", "model", "arguments", "gate", "rule", "instead"),
    [
        (120, "mha", "--attention-backend fa3", "construction", "fa3-needs-sm80-to-sm90", "flashinfer"),
        (86, "mla", "--attention-backend fa3", "construction", "fa3-needs-sm80-to-sm90", "triton"),
        (100, "mla", "--attention-backend trtllm_mha", "construction", "trtllm-mha-with-mla-model", "trtllm_mla"),
        (100, "mha", "--attention-backend trtllm_mla", "construction", "mla-backend-with-mha-model", "trtllm_mha"),
        (100, "mha", "--attention-backend hpc_ops", "construction", "hpc-ops-unsupported", "flashinfer"),
        (90, "mha", "--attention-backend ascend", "construction", "ascend-unsupported", "fa3"),
        (90, "mha", "--decode-attention-backend wave", "kernels", "wave-unsupported", "fa3"),
        (86, "mha", "--prefill-attention-backend fa4", "kernels", "fa4-unsupported", "flashinfer"),
        (
            120,
            "mla",
            "--prefill-attention-backend trtllm_mla",
            "kernels",
            "trtllm-gen-kernel-missing-for-gpu",
            "triton",
        ),
        (100, "gdn", "--attention-backend torch_native", "construction", "hybrid-gdn-backend-on-blackwell", "triton"),
    ],
)
def test_a_backend_that_dies_after_the_argument_checks(
    asked,
    sm: int,
    model: str,
    arguments: str,
    gate: str,
    rule: str,
    instead: str,
) -> None:
    found = asked(sm, model, arguments)
    assert found.verdict == "refused"
    assert [(refusal.gate, refusal.rule.id) for refusal in found.refused_by] == [(gate, rule)]
    assert found.relaunch is not None
    assert f"-backend {instead}" in found.relaunch.command
    assert asked(sm, model, found.relaunch.command.split(f"/{model} ")[1]).verdict == "accepted"


def test_context_parallelism_keeps_its_flags_where_a_backend_can(asked) -> None:
    found = asked(89, "mha", "--tp 4 --attn-cp-size 2 --enable-prefill-cp --cp-strategy zigzag")
    assert [(r.gate, r.rule.id) for r in found.refused_by] == [("kernels", "flashinfer-without-context-parallelism")]
    assert found.relaunch is not None
    assert found.relaunch.diff == ("+ --prefill-attention-backend fa3",)


def test_context_parallelism_is_dropped_where_no_backend_can(asked) -> None:
    found = asked(120, "mha", "--tp 4 --attn-cp-size 2 --enable-prefill-cp --cp-strategy zigzag")
    assert found.relaunch is not None
    assert "cp" not in found.relaunch.command.split("/mha")[1]


def test_the_interleave_strategy_becomes_zigzag_for_a_model_without_sparse_attention(asked) -> None:
    found = asked(90, "mha", "--tp 4 --attn-cp-size 2 --enable-prefill-cp --cp-strategy interleave")
    assert found.relaunch is not None
    assert found.relaunch.diff == ("- --cp-strategy interleave", "+ --cp-strategy zigzag")


def test_a_strategy_that_the_release_does_not_run_refuses_nothing(asked) -> None:
    arguments = "--tp 4 --attn-cp-size 2 --enable-prefill-cp --cp-strategy zigzag"
    assert asked(89, "mha", arguments, "0.5.19").verdict == "accepted"
    assert asked(89, "mha", arguments, "0.5.20").verdict == "refused"


def test_a_decode_server_is_not_refused_for_a_prefill_kernel(asked) -> None:
    arguments = "--prefill-attention-backend fa4 --decode-attention-backend flashinfer"
    assert asked(86, "mha", arguments).verdict == "refused"
    assert asked(86, "mha", f"{arguments} --disaggregation-mode decode").verdict != "refused"
