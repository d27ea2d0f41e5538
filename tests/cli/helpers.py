"""Run the real command in a process of its own."""

import os
import subprocess
import sys
from pathlib import Path


def responder(*args: str, stdin: str = "", cwd: Path | None = None, **env: str) -> subprocess.CompletedProcess[str]:
    """`responder ARGS`, to its end."""
    return subprocess.run(
        [sys.executable, "-m", "responder", *args],
        input=stdin,
        capture_output=True,
        text=True,
        timeout=60,
        cwd=cwd,
        env={**os.environ, **env},
        check=False,
    )
