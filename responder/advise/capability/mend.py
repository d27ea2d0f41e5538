"""A no of the table in the shape of a rule: what would happen, why, and the changes that lead to a yes."""

from collections.abc import Iterator, Mapping

import msgspec
from msgspec.structs import replace

from responder.advise.capability.situation import Situation
from responder.advise.capability.table import PHASES, AttentionPhase, Cell, preferred, verdict
from responder.catalogue import RemedySpec, Rule

_FLAGS: dict[AttentionPhase, str] = {
    "prefill": "--prefill-attention-backend",
    "decode": "--decode-attention-backend",
}
_CONTEXT_PARALLEL = (
    "--attn-cp-size",
    "--moe-dp-size",
    "--enable-prefill-cp",
    "--cp-strategy",
    "--enable-prefill-context-parallel",
    "--prefill-cp-mode",
)
_NO = {
    "build": "cannot serve this model on this GPU",
    "context-parallelism": "cannot shard a prompt over several GPUs",
    "kv-cache-dtype": "cannot keep its cache in this dtype",
}


class _Plan(msgspec.Struct, frozen=True, kw_only=True):
    """What may change besides the backends, and the situation then."""

    at: Situation
    doing: str = ""
    set: Mapping[str, str] = {}
    unset: tuple[str, ...] = ()


def as_rule(backend: str, cell: Cell, at: Situation, backends: Mapping[AttentionPhase, str]) -> Rule:
    """The rule for a failure that prints no text of its own, or none that the catalogue has."""
    return Rule(
        id=f"{backend.replace('_', '-')}-{'unsupported' if cell.about == 'build' else f'without-{cell.about}'}",
        title=f"The attention backend {backend} {_NO[cell.about]}",
        kind="attention-backend",
        role="cause",
        severity="critical",
        phase="init" if cell.gate == "construction" else "warmup",
        cause=f"{cell.why} (sglang, {cell.source}.)",
        remedy=remedies(at, backends),
    )


def remedies(at: Situation, backends: Mapping[AttentionPhase, str]) -> tuple[RemedySpec, ...]:
    """What turns the table's answer for these backends into a yes, the least change first.

    None where the GPU is not known: the table would answer for a GPU that it was not asked about.
    """
    if at.platform is None or (at.platform == "cuda" and at.sm is None):
        return ()
    return tuple(spec for plan in _plans(at) for spec in _specs(plan, backends))


def _plans(at: Situation) -> Iterator[_Plan]:
    """The least change first."""
    yield _Plan(at=at)
    if at.strategy == "interleave" and at.model != "dsa":
        zigzag = replace(at, strategy="zigzag")
        yield _Plan(at=zigzag, doing="shard the prompt by the zigzag strategy", set={"--cp-strategy": "zigzag"})
    whole = _Plan(at=replace(at, strategy="off"), doing="turn context parallelism off", unset=_CONTEXT_PARALLEL)
    if at.strategy != "off":
        yield whole
    if at.kv_dtype not in (None, "auto"):
        plain = ("--kv-cache-dtype",)
        yield _Plan(at=replace(at, kv_dtype="auto"), doing="keep the cache in the model's dtype", unset=plain)
        if at.strategy != "off":
            doing = f"{whole.doing} and keep the cache in the model's dtype"
            yield _Plan(at=replace(whole.at, kv_dtype="auto"), doing=doing, unset=(*whole.unset, *plain))


def _specs(plan: _Plan, backends: Mapping[AttentionPhase, str]) -> Iterator[RemedySpec]:
    """The remedies of one plan: each names a backend for every phase that its own cannot serve then."""
    refused = [
        phase for phase in PHASES if phase in backends and verdict(backends[phase], phase, plan.at).allowed is False
    ]
    if not refused:
        if plan.doing:
            yield RemedySpec(title=_sentence(plan.doing), set=dict(plan.set), unset=plan.unset, why=_WHY)
        return
    choices = [preferred(phase, plan.at) for phase in refused]
    for names in zip(*choices, strict=False):
        doing = [f"use {' and '.join(dict.fromkeys(names))} for {' and '.join(refused)}", *filter(None, [plan.doing])]
        every = len(refused) == len(PHASES) and len(set(names)) == len(set(backends.values())) == 1
        flags = (
            {"--attention-backend": names[0]}
            if every
            else dict(zip(map(_FLAGS.__getitem__, refused), names, strict=True))
        )
        yield RemedySpec(
            title=_sentence(", and ".join(doing)),
            set={**plan.set, **flags},
            unset=(*plan.unset, *(_FLAGS.values() if every else ())),
            why=_WHY,
        )


_WHY = "By the table of what each attention backend can do, these serve the model on this GPU."


def _sentence(doing: str) -> str:
    return f"{doing[:1].upper()}{doing[1:]}"
