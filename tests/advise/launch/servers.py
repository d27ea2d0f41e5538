"""Processes that look like sglang servers: real ones, running a module of that name that only waits."""

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

WAITS = """
import os, sys
if "--fork" in sys.argv and os.fork() == 0:
    sys.stdin.read()
    sys.exit()
print("up", flush=True)
sys.stdin.read()
"""


def package(folder: Path) -> Path:
    """A folder for PYTHONPATH with a `sglang.launch_server` that waits until its standard input ends."""
    module = folder / "sglang"
    module.mkdir(parents=True, exist_ok=True)
    module.joinpath("__init__.py").touch()
    module.joinpath("launch_server.py").write_text(WAITS)
    return folder


@contextmanager
def running(argv: Sequence[str], python_path: Path, env: Mapping[str, str] | None = None) -> Iterator[int]:
    """A process from when it says that it is up; its pid."""
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(python_path), **(env or {})}
    process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment)
    assert process.stdin
    assert process.stdout
    try:
        assert process.stdout.readline() == b"up\n"
        yield process.pid
    finally:
        process.stdin.close()
        process.wait(20)
        process.stdout.close()


def server(*arguments: str) -> list[str]:
    """The argv of a server."""
    return [sys.executable, "-m", "sglang.launch_server", *arguments]
