"""Let sglang's start-up code find GPUs on a machine that has none.  Import it before torch and sglang.

sglang itself stays as it was installed.  The wheels that hold kernels become hollow packages, and the questions that
torch answers about the card are answered from the environment:

    PRETEND_SM    compute capability as a number (80, 90, 103, 121, …); 0 is a machine without a GPU
    PRETEND_CUDA  the CUDA version that torch was built with, 13.0 where unset
"""

import os
import sys
from importlib.machinery import ModuleSpec
from types import ModuleType, SimpleNamespace
from unittest.mock import MagicMock

SM = int(os.environ.get("PRETEND_SM", "90"))
CUDA = os.environ.get("PRETEND_CUDA", "13.0")
COUNT, FREE, TOTAL = 8, 140 << 30, 141 << 30
HOLLOW = frozenset({"sgl_kernel", "flashinfer", "deep_gemm", "flash_attn", "torchvision"})


class Hollow(ModuleType):
    """A package in which every name exists and does nothing."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.__path__: list[str] = []
        self.__version__ = "99.0"  # newer than any that sglang asks for

    def __getattr__(self, name: str) -> object:
        if name.startswith("__"):
            raise AttributeError(name)
        thing = MagicMock(name=name)
        setattr(self, name, thing)
        return thing


class HollowFinder:
    """Finds the hollow packages before the import system looks for real ones."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        return ModuleSpec(name, self, is_package=True) if name.partition(".")[0] in HOLLOW else None

    def create_module(self, spec: ModuleSpec) -> Hollow:
        return Hollow(spec.name)

    def exec_module(self, module: ModuleType) -> None: ...


sys.meta_path.insert(0, HollowFinder())

import torch  # noqa: E402 - after the finder

if SM:
    CARD = SimpleNamespace(
        name=f"pretended SM{SM}",
        major=SM // 10,
        minor=SM % 10,
        total_memory=TOTAL,
        multi_processor_count=132,
        warp_size=32,
        L2_cache_size=50 << 20,
        shared_memory_per_block_optin=227 << 10,
        gcnArchName="",
    )
    torch.version.cuda = CUDA
    answers = {
        "is_available": True,
        "is_initialized": True,  # else sglang would ask NVML
        "device_count": COUNT,
        "current_device": 0,
        "get_device_capability": (CARD.major, CARD.minor),
        "get_device_name": CARD.name,
        "get_device_properties": CARD,
        "mem_get_info": (FREE, TOTAL),
        # torch keys a table by these functions, so each has to be one of its own.
        "set_device": None,
        "synchronize": None,
        "empty_cache": None,
    }
    for question, answer in answers.items():
        setattr(torch.cuda, question, lambda *_, _answer=answer, **__: _answer)
