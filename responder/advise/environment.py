"""Which sglang and which torch a server's own Python environment holds, read from its files.

Nothing is run: the version of an installed package stands in the name of its `dist-info` folder (PEP 376 and the
wheel's specification), torch's CUDA version in `torch/version.py`.
"""

import re
import shutil
from pathlib import Path

import msgspec

_CUDA = re.compile(r"^cuda(?:\s*:[^=]+)?\s*=\s*'([\d.]+)'", re.MULTILINE)


class Versions(msgspec.Struct, frozen=True):
    """What was found; None where it was not."""

    sglang: str | None = None
    torch_cuda: str | None = None


def versions_of(python: str) -> Versions:
    """The versions in the environment of an interpreter, given by path or by a name on PATH."""
    found = shutil.which(python) if "/" not in python else python
    if found is None:
        return Versions()
    # Not resolved: a virtual environment's interpreter is a link out of it.
    prefix = Path(found).parent.parent
    # Debian's and Ubuntu's own interpreter, /usr/bin/python3, has what pip installed under /usr/local.
    for folder in (*prefix.glob("lib/python3*/*-packages"), *prefix.glob("local/lib/python3*/*-packages")):
        sglang = _version(folder, "sglang")
        if sglang is not None:
            return Versions(sglang=sglang, torch_cuda=_torch_cuda(folder))
    return Versions()


def _version(folder: Path, package: str) -> str | None:
    found = next(iter(folder.glob(f"{package}-*.dist-info")), None)
    return found.name.removeprefix(f"{package}-").removesuffix(".dist-info") if found else None


def _torch_cuda(folder: Path) -> str | None:
    try:
        found = _CUDA.search((folder / "torch" / "version.py").read_text(encoding="utf-8"))
    except OSError:
        return None
    return found[1] if found else None
