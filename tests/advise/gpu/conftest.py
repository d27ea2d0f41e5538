"""A fake `libnvidia-ml.so.1`, built once, that the real pynvml loads in the child."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from responder.advise.gpu.nvml import query_gpus
from responder.nouns import GpuFacts

_SOURCE = Path(__file__).with_name("fake_nvml.c")

Ask = Callable[..., GpuFacts]


def _build(folder: Path, *flags: str) -> Path:
    folder.mkdir()
    library = folder / "libnvidia-ml.so.1"
    command = ["cc", "-shared", "-fPIC", "-Wall", "-Wextra", "-Werror", *flags, "-Wl,-soname,libnvidia-ml.so.1"]
    subprocess.run([*command, "-o", str(library), str(_SOURCE)], check=True)
    return folder


@pytest.fixture(scope="session")
def nvml_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _build(tmp_path_factory.mktemp("nvml") / "new")


@pytest.fixture(scope="session")
def old_nvml_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _build(tmp_path_factory.mktemp("nvml") / "old", "-DOLD_DRIVER")


def _environment(folder: Path, **fake: str | int) -> dict[str, str]:
    settings = {f"FAKE_NVML_{key.upper()}": str(value) for key, value in fake.items()}
    return {**os.environ, "LD_LIBRARY_PATH": str(folder), **settings}


@pytest.fixture
def ask_old(old_nvml_folder: Path) -> Ask:
    """As `ask`, with the NVML of an old driver."""
    return lambda **fake: query_gpus(limit_s=20, env=_environment(old_nvml_folder, **fake))


@pytest.fixture
def use_nvml(nvml_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Put the fake NVML into this process's own environment, set up by keywords."""

    def use(**fake: str | int) -> None:
        for key, value in _environment(nvml_folder, **fake).items():
            monkeypatch.setenv(key, value)

    return use


@pytest.fixture
def ask(nvml_folder: Path) -> Ask:
    """Query the fake NVML, set up by keywords: `ask(gpus=8, lost=3)`.  `limit_s` limits the query."""

    def query(limit_s: float = 20.0, **fake: str | int) -> GpuFacts:
        return query_gpus(limit_s=limit_s, env=_environment(nvml_folder, **fake))

    return query
