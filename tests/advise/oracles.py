"""The interpreters with a real sglang in them that `oracle` tests ask.

SGLANG_ORACLE_PYTHON lists them, separated by `:`.  Each needs sglang and what it imports at start (torch, transformers,
…), neither a GPU nor kernel packages.
"""

import json
import os
import subprocess
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

RECORDER = Path(__file__).parent / "flags" / "record_argparse.py"


def pythons() -> list[str]:
    """The interpreters, as the environment lists them."""
    return [path for path in os.environ.get("SGLANG_ORACLE_PYTHON", "").split(":") if path]


@cache
def release_of(python: str) -> str:
    """The sglang release of an interpreter."""
    code = "import importlib.metadata as m; print(m.version('sglang'))"
    return subprocess.run([python, "-c", code], check=True, capture_output=True, text=True).stdout.strip()


def ask(python: str, argvs: Iterable[list[str]]) -> list[dict[str, Any]]:
    """What that sglang's argparse says of itself (the first answer) and of each argument list."""
    lines = "".join(json.dumps(argv) + "\n" for argv in argvs)
    done = subprocess.run([python, str(RECORDER)], input=lines, capture_output=True, text=True, check=True, timeout=600)
    return [json.loads(line) for line in done.stdout.splitlines()]


def resolve(python: str, sm: int, cuda: str, argvs: Iterable[list[str]]) -> list[dict[str, Any]]:
    """What that sglang resolves argument lists to on a pretended GPU."""
    folder = Path(__file__).parent / "effective"
    lines = "".join(json.dumps(argv) + "\n" for argv in argvs)
    env = os.environ | {"FAKE_SM": str(sm), "FAKE_CUDA": cuda}
    done = subprocess.run(
        [python, "record_resolved.py"], input=lines, capture_output=True, text=True, check=True, cwd=folder, env=env
    )
    return [json.loads(line) for line in done.stdout.splitlines()]
