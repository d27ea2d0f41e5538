"""What a model's config.json says that sglang's checks ask about.

Nothing is guessed from a path or a name: without a readable config.json there are no facts, and a fact that the file
does not decide is left out.
"""

import json
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

LIMIT = 1 << 22
"""Bytes of a config.json; larger ones are not read."""

_CONTEXT_KEYS = ("max_sequence_length", "seq_length", "max_seq_len", "model_max_length", "max_position_embeddings")
_KV_HEAD_KEYS = ("n_head_kv", "num_kv_heads", "num_key_value_heads", "multi_query_group_num", "num_attention_groups")
_EXPERT_KEYS = ("num_experts", "n_routed_experts", "num_local_experts", "moe_num_experts")


class _Lists(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    mla: frozenset[str]
    mla_with_kv_lora_rank: frozenset[str]
    mla_unless_disabled: frozenset[str]
    dsa: frozenset[str]
    deepseek_family: frozenset[str]
    attention_sinks: frozenset[str]

    @staticmethod
    @cache
    def load() -> "_Lists":
        return msgspec.convert(tomllib.loads(Path(__file__).with_name("models.toml").read_text()), _Lists)


def model_facts(path: str | None, base: Path | None = None) -> dict[str, Any]:
    """The facts of the model in the folder `path`, as `model` in a rule's conditions; empty where unreadable.

    A relative path counts from `base`, the server's working directory; without it, it is not read.
    `architecture`, `model_type`, `is_mla`, `is_dsa`, `is_deepseek_family`, `has_attention_sinks`, `has_asymmetric_kv`,
    `num_attention_heads`, `num_key_value_heads`, `num_experts` (0 for a dense model), `num_hidden_layers`,
    `quantization` (null for none), `context_length` (in tokens).
    """
    config = _config(path, base)
    return {} if config is None else facts_of(config)


def facts_of(config: dict[str, Any]) -> dict[str, Any]:
    """The facts that a config.json's content decides."""
    text = config.get("text_config") if isinstance(config.get("text_config"), dict) else config
    assert isinstance(text, dict)
    names = config.get("architectures")
    facts = {
        "model_type": config.get("model_type"),
        "num_attention_heads": text.get("num_attention_heads"),
        "num_key_value_heads": _first(text, _KV_HEAD_KEYS, text.get("num_attention_heads")),
        "num_hidden_layers": text.get("num_hidden_layers"),
        "num_experts": _first(text, _EXPERT_KEYS, 0),
        "context_length": _context_length(text),
        "index_kpool": text.get("index_kpool", 1),
        "has_asymmetric_kv": _asymmetric(text),
    }
    known = {key: value for key, value in facts.items() if value is not None}
    quantization = (config.get("quantization_config") or text.get("quantization_config") or {}).get("quant_method")
    known["quantization"] = quantization
    if isinstance(names, list) and names and isinstance(names[0], str):
        known |= _by_architecture(names[0], text)
    return known


def _by_architecture(name: str, text: dict[str, Any]) -> dict[str, Any]:
    lists = _Lists.load()
    facts: dict[str, Any] = {
        "architecture": name,
        "is_dsa": name in lists.dsa and text.get("index_topk") is not None,
        "is_deepseek_family": name in lists.deepseek_family,
        "has_attention_sinks": name in lists.attention_sinks or bool(text.get("learnable_sink")),
    }
    is_mla = _is_mla(name, text)
    return facts if is_mla is None else facts | {"is_mla": is_mla}


def _is_mla(name: str, text: dict[str, Any]) -> bool | None:
    """Whether sglang treats it as MLA; None for an architecture we do not know whose config looks like it."""
    lists = _Lists.load()
    if name in lists.mla:
        return True
    has_rank = text.get("kv_lora_rank") is not None
    if name in lists.mla_with_kv_lora_rank:
        return bool(has_rank)
    if name in lists.mla_unless_disabled:
        return bool(text.get("use_mla", True))
    return None if has_rank and not name.startswith("DeepseekV4") else False


def _config(path: str | None, base: Path | None) -> dict[str, Any] | None:
    if not path or not (base or Path(path)).is_absolute():
        return None
    file = (base or Path()) / path / "config.json"
    try:
        if not file.is_file() or file.stat().st_size > LIMIT:
            return None
        config = json.loads(file.read_bytes())
    except (OSError, ValueError):
        return None
    return config if isinstance(config, dict) else None


def _first(config: dict[str, Any], keys: tuple[str, ...], default: Any) -> Any:
    return next((config[key] for key in keys if isinstance(config.get(key), int)), default)


def _context_length(config: dict[str, Any]) -> int:
    """As sglang derives it: the first length the config has, times the rope factor unless that is already in it."""
    rope = config.get("rope_scaling") or {}
    factor = rope.get("factor", 1) if isinstance(rope, dict) else 1
    if "original_max_position_embeddings" in rope or rope.get("rope_type") == "llama3":
        factor = 1
    return int((factor or 1) * _first(config, _CONTEXT_KEYS, 2048))


def _asymmetric(config: dict[str, Any]) -> bool | None:
    """Whether keys and values differ in width."""
    heads, hidden = config.get("num_attention_heads"), config.get("hidden_size")
    head = config.get("head_dim") or (hidden // heads if heads and hidden else None)
    if head is None:
        return None
    swa = config.get("swa_head_dim") or head
    return bool(head != (config.get("v_head_dim") or head) or swa != (config.get("swa_v_head_dim") or swa))
