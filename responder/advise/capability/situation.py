"""What the capability table asks of a server, from what is known of it."""

import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Literal

import msgspec

from responder.advise.facts import Known
from responder.advise.gpu.probes import gpu_platform
from responder.advise.within import before

Model = Literal["mha", "mla", "dsa", "gdn", "encoder-decoder"]
Strategy = Literal["off", "none", "zigzag", "interleave", "legacy"]

_OFF = ("0", "false", "no", "off", "n", "f", "")


class Situation(msgspec.Struct, frozen=True, kw_only=True):
    """The facts that decide what an attention backend can do.  None is unknown."""

    release: str | None = None
    platform: str | None = None
    sm: int | None = None
    torch_cuda: str | None = None
    model: Model | None = None
    strategy: Strategy | None = "off"
    """How a prompt is sharded: `off` not at all, `none` asked for by --attn-cp-size without a strategy, `legacy` by the
    code of a few models, as before 0.5.20."""
    kv_dtype: str | None = "auto"


def situation(known: Known) -> Situation:
    """The situation of a server."""
    args = known.args
    return Situation(
        release=known.release,
        platform=gpu_platform(known.gpu),
        sm=known.gpu.sm,
        torch_cuda=known.gpu.torch_cuda,
        model=_model(known.model),
        strategy=_strategy(args, known.env or {}, known.release),
        kv_dtype=args.get("kv_cache_dtype"),
    )


def _model(model: Mapping[str, Any]) -> Model | None:
    """The kind of attention; None where config.json does not decide it."""
    name, is_mla = model.get("architecture"), model.get("is_mla")
    if name is None or is_mla is None:
        return None
    if model.get("is_dsa"):
        return "dsa"
    if is_mla:
        return "mla"
    kinds: tuple[Model, ...] = ("gdn", "encoder-decoder")
    return next((kind for kind in kinds if name in _architectures()[kind]), "mha")


def _strategy(args: Mapping[str, Any], env: Mapping[str, str], release: str | None) -> Strategy | None:
    """How a prompt is sharded."""
    if release is not None and before(release, "0.5.9"):
        return "off"  # no such flag, but for the sparse models' own
    size, on = args.get("attn_cp_size"), _on(args)
    if size == 1 or (size is None and on is False):
        return "off"
    if size is None or on is None:
        return None
    if not on:
        return "none"
    if release is not None and before(release, "0.5.20") and env.get("SGLANG_ENABLE_CP_V2", "0").lower() in _OFF:
        return "legacy"  # the flag is read, the strategy bound and never asked: srt/layers/cp/utils.py:132 of 0.5.19
    strategy: Strategy | None = args.get("cp_strategy")
    return strategy


def _on(args: Mapping[str, Any]) -> bool | None:
    """Whether a prompt is to be sharded, by the flag of the release."""
    said = [args[flag] for flag in ("enable_prefill_cp", "enable_prefill_context_parallel") if flag in args]
    return any(said) if said else None


@cache
def _architectures() -> dict[str, list[str]]:
    table = tomllib.loads(Path(__file__).with_name("backends.toml").read_text(encoding="utf-8"))
    kinds: dict[str, list[str]] = table["architectures"]
    return kinds
