"""What sglang's own probes (`is_sm100_supported`, `is_hip`, …) answer on given GPUs, from `probes.toml`.

sglang asks device 0 only.  Where the devices of a host differ this module leaves the probe out instead, because the
order in which a server sees them (CUDA_VISIBLE_DEVICES) is not known: unknown is unknown, not false.
"""

import re
import tomllib
from collections.abc import Mapping
from functools import cache, lru_cache
from importlib import resources
from types import MappingProxyType

import msgspec
from packaging.version import InvalidVersion, Version

from responder.advise.gpu.products import Platform, Product, find_product
from responder.nouns import GpuFacts


class Probe(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One definition of one probe, over the releases that had it."""

    name: str
    platforms: tuple[Platform, ...]
    majors: tuple[int, ...] = ()
    sms: tuple[int, ...] = ()
    gfx: tuple[str, ...] = ()
    torch_cuda: str | None = None
    since: str
    until: str | None = None

    def answer(self, platform: Platform, sm: int | None, gfx: str | None, torch_cuda: str | None) -> bool | None:
        """What sglang would get, or None where that rests on something unknown."""
        if platform not in self.platforms:
            return False
        return _all((self._matches_sm(sm), self._matches_gfx(gfx), self._torch_is_new_enough(torch_cuda)))

    def _matches_sm(self, sm: int | None) -> bool | None:
        if not self.majors and not self.sms:
            return True
        return None if sm is None else sm // 10 in self.majors or sm in self.sms

    def _matches_gfx(self, gfx: str | None) -> bool | None:
        if not self.gfx:
            return True
        return None if gfx is None else gfx.startswith(self.gfx)

    def _torch_is_new_enough(self, torch_cuda: str | None) -> bool | None:
        # Where torch's CUDA is unknown it is taken to be new enough, because a released wheel brings one that is.  It
        # pins torch (0.4.6: 2.6.0, 0.4.9: 2.7.1, 0.5.1 to 0.5.5: 2.8.0, 0.5.6 to 0.5.10: 2.9.1, 0.5.11 to 0.5.17:
        # 2.11.0, then 2.13.0 and 2.14.1), and those torch wheels require CUDA 12.4, 12.6, 12.8, 12.8, 13.0 and 13.0
        # (Requires-Dist in each METADATA).  A probe that wants 12.8 first stands in 0.5.3, one of 12.3 in 0.4.6.
        if self.torch_cuda is None or torch_cuda is None:
            return True
        have = _cuda_version(torch_cuda)
        want = _cuda_version(self.torch_cuda)
        return None if have is None or want is None else have >= want


@lru_cache(maxsize=64)
def probe_values(facts: GpuFacts, release: str | None = None) -> Mapping[str, bool]:
    """Each probe's answer on these GPUs, by its name in sglang; one that rests on an unknown is left out.

    `release` picks the definition of that sglang release where a probe changed, else the newest holds.
    """
    platform = gpu_platform(facts)
    if platform is None:
        return {}
    answers = {
        name: _in_release(history, release).answer(platform, facts.sm, _gfx(facts), facts.torch_cuda)
        for name, history in _probes().items()
    }
    return MappingProxyType({name: answer for name, answer in answers.items() if answer is not None})


def gpu_platform(facts: GpuFacts) -> Platform | None:
    """`cuda` or `rocm`, as the devices' compute capabilities and names prove it; None where they do not or disagree.

    `cpu` where the operator says that there is no GPU.
    """
    if facts.status == "ok" and facts.source == "option" and not facts.devices:
        return "cpu"
    platforms = {p.platform for p in _named_products(facts)}
    if facts.sms:
        platforms.add("cuda")
    return platforms.pop() if len(platforms) == 1 else None


def _gfx(facts: GpuFacts) -> str | None:
    architectures = {p.gfx for p in _named_products(facts)}
    return architectures.pop() if len(architectures) == 1 else None


def _named_products(facts: GpuFacts) -> list[Product]:
    return [product for d in facts.devices if d.name and (product := find_product(d.name))]


def _all(parts: tuple[bool | None, ...]) -> bool | None:
    if False in parts:
        return False
    return None if None in parts else True


def _in_release(history: list[Probe], release: str | None) -> Probe:
    """The definition that `release` has; one older than every definition gets the first."""
    try:
        version = Version(release) if release else None
    except InvalidVersion:
        version = None
    if version is None:
        return history[-1]
    return next((p for p in reversed(history) if Version(p.since) <= version), history[0])


def _cuda_version(text: str) -> tuple[int, int] | None:
    match = re.match(r"(\d+)\.(\d+)", text)
    return (int(match[1]), int(match[2])) if match else None


@cache
def _probes() -> dict[str, list[Probe]]:
    text = resources.files(__package__).joinpath("probes.toml").read_text("utf-8")
    histories: dict[str, list[Probe]] = {}
    for probe in msgspec.convert(tomllib.loads(text)["probe"], list[Probe]):
        histories.setdefault(probe.name, []).append(probe)
    return histories
