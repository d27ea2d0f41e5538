"""A no of the table in the shape of a rule: what would happen, why, and the changes that lead to a yes."""

from msgspec.structs import replace

from responder.advise.capability.situation import Situation
from responder.advise.capability.table import PHASES, AttentionPhase, Cell, preferred, verdict
from responder.catalogue import RemedySpec, Rule

_FLAGS = {"prefill": "--prefill-attention-backend", "decode": "--decode-attention-backend"}
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


def as_rule(backend: str, cell: Cell, at: Situation, backends: dict[AttentionPhase, str]) -> Rule:
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


def remedies(at: Situation, backends: dict[AttentionPhase, str]) -> tuple[RemedySpec, ...]:
    """What turns the table's answer for these backends into a yes, the least change first."""
    refused = [phase for phase in PHASES if phase in backends and verdict(backends[phase], phase, at).allowed is False]
    found = [*_other_backend(at, backends, refused)]
    if "prefill" in refused and at.strategy != "off":
        if at.strategy == "interleave" and at.model != "dsa":
            found += _other_strategy(replace(at, strategy="zigzag"), backends["prefill"])
        found.append(
            RemedySpec(
                title="Turn context parallelism off; the attention backend stays as it is",
                unset=_CONTEXT_PARALLEL,
                why="Without it every GPU prefills whole prompts, which this backend can.",
                next="Long prompts now take longer to prefill.",
            )
        )
    return tuple(found)


def _other_backend(
    at: Situation, backends: dict[AttentionPhase, str], refused: list[AttentionPhase]
) -> list[RemedySpec]:
    """Backends that serve the refused phases."""
    if len(refused) == len(PHASES) and len(set(backends.values())) == 1:
        both = [name for name in preferred("prefill", at) if name in preferred("decode", at)]
        return [
            RemedySpec(
                title=f"Use {name} as the attention backend",
                set={"--attention-backend": name},
                unset=tuple(_FLAGS.values()),
                why=f"{name} serves both phases of this model on this GPU.",
            )
            for name in both
        ]
    return [
        RemedySpec(
            title=f"Use {name} for {phase}; the other phase stays as it is",
            set={_FLAGS[phase]: name},
            why=f"{name} can {phase} this model on this GPU.",
        )
        for phase in refused
        for name in preferred(phase, at)
    ]


def _other_strategy(at: Situation, backend: str) -> list[RemedySpec]:
    """The zigzag strategy, with a backend that has it."""
    zigzag: dict[str, str | bool] = {"--cp-strategy": "zigzag"}
    names = [backend] if verdict(backend, "prefill", at).allowed else preferred("prefill", at)
    return [
        RemedySpec(
            title=f"Shard the prompt by the zigzag strategy, with {name} for prefill",
            set=zigzag if name == backend else {**zigzag, _FLAGS["prefill"]: name},
            why="The zigzag strategy is the one for models without DeepSeek Sparse Attention.",
        )
        for name in names
    ]
