"""What a model's config.json decides, and that nothing is guessed without it."""

import json
from pathlib import Path
from typing import Any

import pytest

from responder.advise.effective import facts_of, model_facts

MODELS = Path(__file__).parent / "models"


def test_a_dense_model_with_grouped_heads() -> None:
    facts = model_facts(str(MODELS / "qwen3"))
    assert facts["architecture"] == "Qwen3ForCausalLM"
    assert (facts["is_mla"], facts["is_dsa"], facts["num_experts"]) == (False, False, 0)
    assert (facts["num_attention_heads"], facts["num_key_value_heads"]) == (32, 8)
    assert (facts["quantization"], facts["context_length"]) == (None, 40960)


def test_latent_and_sparse_attention_are_told_apart() -> None:
    dense, sparse = model_facts(str(MODELS / "dsv3")), model_facts(str(MODELS / "dsv32"))
    assert (dense["is_mla"], dense["is_dsa"], dense["num_experts"]) == (True, False, 256)
    assert (sparse["is_mla"], sparse["is_dsa"]) == (True, True)
    # The rope factor is in the length already.
    assert dense["context_length"] == 163840


@pytest.mark.parametrize(
    ("config", "fact", "value"),
    [
        (
            {"rope_scaling": {"rope_type": "linear", "factor": 4.0}, "max_position_embeddings": 4096},
            "context_length",
            16384,
        ),
        (
            {"rope_scaling": {"rope_type": "llama3", "factor": 8.0}, "max_position_embeddings": 8192},
            "context_length",
            8192,
        ),
        ({"quantization_config": {"quant_method": "fp8"}}, "quantization", "fp8"),
        ({"text_config": {"num_attention_heads": 64, "num_key_value_heads": 4}}, "num_key_value_heads", 4),
        ({"num_attention_heads": 16}, "num_key_value_heads", 16),
        ({"num_local_experts": 32}, "num_experts", 32),
        ({"head_dim": 192, "v_head_dim": 128}, "has_asymmetric_kv", True),
    ],
)
def test_a_fact_is_derived_as_sglang_derives_it(config: dict[str, Any], fact: str, value: Any) -> None:
    assert facts_of(config)[fact] == value


def test_an_unknown_architecture_that_looks_latent_leaves_the_kind_open() -> None:
    assert "is_mla" not in facts_of({"architectures": ["BrandNewForCausalLM"], "kv_lora_rank": 512})
    assert facts_of({"architectures": ["BrandNewForCausalLM"]})["is_mla"] is False


def test_a_path_that_cannot_be_read_gives_no_facts(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{broken")
    for path in (
        None,
        "",
        "deepseek-ai/DeepSeek-V3",
        "/nowhere/DeepSeek-V3",
        str(tmp_path),
        str(MODELS / "qwen3" / "config.json"),
    ):
        assert model_facts(path) == {}
    (tmp_path / "config.json").write_text(json.dumps(["a list"]))
    assert model_facts(str(tmp_path)) == {}
