"""On which GPUs a remedy holds, in words: for a person who knows their cards where we do not."""

from responder.advise.facts import Known, gpu_values
from responder.advise.gpu.products import known_as
from responder.catalogue.conditions import Bound, holds
from responder.nouns import Device, GpuFacts

_SMS = (75, 80, 86, 87, 89, 90, 100, 103, 110, 120, 121)


def on_which_gpu(condition: str | None, known: Known) -> str:
    """`On SM90 (H100, H200)`: the compute capabilities on which the condition holds, all else as it is known.

    Nothing where the GPU does not decide it, or where too many would have to be named.
    """
    if condition is None or "gpu." not in condition:
        return ""
    facts = known.facts()
    held = [sm for sm in _SMS if holds(condition, Bound(facts | {"gpu": _gpu(sm, known)}))]
    if not held or len(held) == len(_SMS):
        return ""
    names = [f"SM{sm}" for sm in held]
    listed = names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
    cards = ", ".join(dict.fromkeys(name for sm in held if (name := known_as(sm))))
    return f"On {listed}{f' ({cards})' if cards and len(held) < 4 else ''}"


def _gpu(sm: int, known: Known) -> dict[str, object]:
    return gpu_values(GpuFacts(status="ok", source="option", devices=(Device(sm=sm),)), known.release)
