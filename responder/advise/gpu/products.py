"""GPU products by name: compute capability, memory and platform, from `products.toml`."""

import difflib
import re
import tomllib
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Any, Literal

import msgspec

Platform = Literal["cuda", "rocm", "cpu"]

_VENDOR_WORDS = frozenset({"nvidia", "tesla", "geforce", "grid", "amd", "instinct", "radeon"})
"""Words that the drivers print in front of a product's name and that tell no two products apart."""

_FORM_WORDS = frozenset(
    {"pcie", "sxm", "sxm2", "sxm3", "sxm4", "sxm5", "sxm6", "oam", "ac", "nvl", "hbm2", "hbm2e", "hbm3", "hbm3e", "gpu"}
    | {"nvgpu", "laptop", "max", "q", "blackwell", "generation", "workstation", "server", "edition", "sff", "active"}
)
"""Words that may follow a name: form factor, memory type, edition.  None of them changes the compute capability."""

_SIZE = re.compile(r"(\d+)(?:gb|gib|g|[abcq])")
"""A memory size in a name: `80GB`, or `48Q` where a vGPU profile says how much of the card it was given."""

_SIZE_TOLERANCE = 0.12
"""The size on the box is up to 7 % above what the driver reports: ECC and firmware take their part."""


class Product(msgspec.Struct, frozen=True, kw_only=True):
    """What a product's name says about a GPU."""

    name: str
    sm: int | None
    """Compute capability, 9.0 as 90; None outside CUDA."""
    platform: Platform
    gfx: str | None
    """AMD's architecture name; None outside ROCm."""
    memory_mib: tuple[int, ...]
    """The sizes sold under this name; empty where unknown."""
    source: str

    def memory_for(self, name: str) -> int | None:
        """The memory in MiB of the variant that `name` (`A100-SXM4-80GB`) means, or None where it leaves that open."""
        words = _words(name)
        if "laptop" in words:
            return None  # laptop GPUs share a desktop card's name and have less memory
        sizes = [int(m[1]) * 1024 for w in words if w not in _words(self.name) and (m := _SIZE.fullmatch(w))]
        if not sizes:
            return self.memory_mib[0] if len(self.memory_mib) == 1 else None
        return next((v for v in self.memory_mib if abs(v - sizes[0]) <= _SIZE_TOLERANCE * sizes[0]), None)


def find_product(name: str) -> Product | None:
    """The product that `name` means, or None where it is unknown or could mean several.

    Takes names as drivers print them (`NVIDIA H100 80GB HBM3`, `NVIDIA_A100-SXM4-80GB`) and as people write them
    (`H100`, `RTX 5090`, `5090`, `A6000`).
    """
    words = tuple(w for w in _words(name) if w not in _VENDOR_WORDS)
    return _match(words) or _match(("rtx", *words))


def known_sms() -> frozenset[int]:
    """Every compute capability that some product has."""
    return frozenset(p.sm for p in _products().values() if p.sm is not None)


def similar_names(name: str, limit: int = 3) -> list[str]:
    """Known product names that look like `name`, best first."""
    wanted = " ".join(w for w in _words(name) if w not in _VENDOR_WORDS)
    names = {p.name.lower(): p.name for p in _products().values()}
    holding = [n for n in names if wanted and wanted in n]
    close = difflib.get_close_matches(wanted, names, n=limit, cutoff=0.55)
    return [names[n] for n in dict.fromkeys(holding + close)][:limit]


def _match(words: tuple[str, ...]) -> Product | None:
    """The product with the longest name that `words` begins with and that nothing else but form words follows."""
    products = _products()
    for end in range(len(words), 0, -1):
        product = products.get(words[:end])
        if product and all(w in _FORM_WORDS or _SIZE.fullmatch(w) for w in words[end:]):
            return product
    return None


def _words(name: str) -> tuple[str, ...]:
    spaced = re.sub(r"\b([rg]tx)(?=\d)", r"\1 ", name.lower())
    return tuple(re.findall(r"[a-z0-9]+", spaced))


@cache
def known_as(sm: int) -> str:
    """What people call the cards of a compute capability, or nothing."""
    text = resources.files(__package__).joinpath("products.toml").read_text("utf-8")
    tables = tomllib.loads(text)["architecture"]
    return next((str(a["known_as"]) for a in tables if a.get("sm") == sm and "known_as" in a), "")


@cache
def _products() -> Mapping[tuple[str, ...], Product]:
    text = resources.files(__package__).joinpath("products.toml").read_text("utf-8")
    return {_words(p.name): p for a in tomllib.loads(text)["architecture"] for p in _of_architecture(a)}


def _of_architecture(table: dict[str, Any]) -> list[Product]:
    return [
        Product(
            name=name,
            sm=table.get("sm"),
            platform=table["platform"],
            gfx=table.get("gfx"),
            memory_mib=tuple(memory) if isinstance(memory, list) else (memory,),
            source=table["source"],
        )
        for name, memory in table["products"].items()
    ]
