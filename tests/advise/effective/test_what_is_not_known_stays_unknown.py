"""An effective argument is either what sglang would run with or absent; never a guess."""

from typing import Any

import pytest

from responder.advise.command import read
from responder.advise.effective import effective, typed_facts
from responder.advise.effective.resolve import Steps
from responder.advise.gpu.probes import probe_values
from responder.catalogue.conditions import check, holds
from responder.nouns import Device, GpuFacts

DENSE = {"is_mla": False, "is_dsa": False, "architecture": "LlamaForCausalLM", "is_deepseek_family": False}
DENSE |= {"has_attention_sinks": False, "has_asymmetric_kv": False}


def gpu(sm: int) -> dict[str, Any]:
    return {**probe_values(GpuFacts(devices=(Device(sm=sm, memory_mib=81920),))), "sm": sm, "memory_gib": 80.0}


def args(line: str, release: str = "0.5.23", **known: Any) -> dict[str, Any]:
    return effective(read(f"sglang serve m {line}", release), **known)


def test_without_a_gpu_the_typed_backend_is_known_and_the_default_is_not() -> None:
    found = args("--prefill-attention-backend fa3")
    assert found["prefill_attention_backend"] == "fa3"
    assert "decode_attention_backend" not in found
    assert "attention_backend" not in found


def test_without_a_model_hopper_still_decides_for_fa3() -> None:
    found = args("", gpu=gpu(90))
    assert "attention_backend" not in found  # some architectures choose for themselves
    assert args("", gpu=gpu(90), model=DENSE)["attention_backend"] == "fa3"


def test_the_umbrella_covers_what_is_not_set_on_its_own() -> None:
    found = args("--attention-backend trtllm_mha --decode-attention-backend triton --attn-cp-size 2")
    assert (found["prefill_attention_backend"], found["decode_attention_backend"]) == ("trtllm_mha", "triton")
    refused = 'args.prefill_attention_backend == "trtllm_mha" && !gpu.is_sm100_supported && args.attn_cp_size > 1'
    assert holds(refused, {"args": found, "gpu": gpu(90)}) is True
    assert holds(refused, {"args": found, "gpu": gpu(100)}) is False
    assert holds(refused, {"args": found, "gpu": {}}) is None


def test_a_hidden_argument_is_unknown_and_so_is_what_follows_from_it() -> None:
    found = args('--tp-size "$TP" --moe-a2a-backend deepep', gpu=gpu(90), model=DENSE)
    assert "tp_size" not in found
    assert "ep_size" not in found
    assert found["dp_size"] == 1


def test_an_open_command_has_no_defaults_at_all() -> None:
    found = args("--tp-size 2 $MORE", gpu=gpu(90), model=DENSE)
    assert found["tp_size"] == 2
    assert "dp_size" not in found
    assert "attn_cp_size" not in found


def test_what_the_server_computes_from_its_memory_is_unknown_unless_typed() -> None:
    assert "mem_fraction_static" not in args("", gpu=gpu(90), model=DENSE)
    assert args("--mem-fraction-static 0.8")["mem_fraction_static"] == 0.8
    assert args("", gpu=gpu(90))["chunked_prefill_size"] == 8192
    assert "chunked_prefill_size" not in args("")


@pytest.mark.parametrize(
    ("release", "sm", "backend"),
    [
        ("0.5.6", 90, "fa3"),
        ("0.5.6", 100, "flashinfer"),
        ("0.5.7", 100, "trtllm_mha"),
        ("0.5.19", 120, "flashinfer"),
        ("0.5.23", 86, "flashinfer"),
        ("0.5.23", 103, "trtllm_mha"),
        ("0.4.0", 90, "flashinfer"),
    ],
)
def test_the_default_backend_is_that_of_the_release(release: str, sm: int, backend: str) -> None:
    assert args("", release, gpu=gpu(sm), model=DENSE)["attention_backend"] == backend


def test_old_context_parallelism_counts_as_the_new() -> None:
    found = args("--enable-prefill-context-parallel", "0.5.19")
    assert (found["enable_prefill_cp"], found["cp_strategy"]) == (True, "zigzag")
    assert args("--enable-prefill-cp --cp-strategy zigzag", "0.5.19", gpu=gpu(90), model=DENSE)[
        "enable_prefill_context_parallel"
    ]


def test_attention_dp_is_one_layout_in_both_spellings() -> None:
    old = args("--tp-size 8 --dp-size 4 --enable-dp-attention", gpu=gpu(90), model=DENSE)
    new = args("--tp-size 8 --attn-dp-size 4", gpu=gpu(90), model=DENSE)
    assert old == new
    assert (new["attn_dp_size"], new["dp_size"], new["chunked_prefill_size"]) == (4, 1, 2048)


def test_typed_is_null_where_nothing_was_typed_and_absent_where_it_is_hidden() -> None:
    found = typed_facts(read("sglang serve m --tp-size $TP --dp-size 2", "0.5.23"))
    assert (found["dp_size"], found["attn_cp_size"]) == (2, None)
    assert "tp_size" not in found


def test_every_step_is_valid_and_names_its_source() -> None:
    for step in Steps.load().step:
        check(step.when)
        assert "srt/" in step.source or "to 0." in step.source
        for value in step.set.values():
            if isinstance(value, str) and value.startswith("="):
                check(value[1:])
