"""The real `responder run` on 64 logs, and what it costs."""

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import psutil

ROOT = Path(__file__).parents[2]
FILES = 64
MIB = 1 << 20


class Cost(NamedTuple):
    """What the process holds at a moment."""

    rss: float
    """MiB."""
    descriptors: int
    cpu: float
    """Seconds so far."""


class Guest:
    """The daemon and its logs."""

    def __init__(self, process: psutil.Process, logs: list[Path], said: Path) -> None:
        self._process, self.logs, self.said = process, logs, said

    def cost(self) -> Cost:
        """What it costs now."""
        times = self._process.cpu_times()
        return Cost(self._process.memory_info().rss / MIB, self._process.num_fds(), times.user + times.system)


@contextmanager
def guest(folder: Path, servers: int = 1) -> Iterator[Guest]:
    """Start it on as many servers with the logs shared out among them, and wait until it follows them all."""
    logs = [folder / f"server-{number % servers}-{number}.log" for number in range(FILES)]
    for log in logs:
        log.write_text("[2026-11-30 12:00:00] what was there before\n")
    config, said = folder / "responder.toml", folder / "daemon.log"
    tables = [f'[[server]]\nname = "s{n}"\nlogs = ["{folder}/server-{n}-*.log"]\n' for n in range(servers)]
    config.write_text("".join(tables) + f'[state]\ndir = "{folder}/state"\n')
    command = [sys.executable, "-m", "responder", "run", "--config", str(config)]
    environ = {**os.environ, "PYTHONPATH": str(ROOT)}
    with said.open("ab") as out, subprocess.Popen(command, stdout=out, stderr=out, cwd=ROOT, env=environ) as process:
        try:
            for _ in range(600):
                if said.read_text().count("opened") >= FILES:
                    break
                threading.Event().wait(0.1)
            else:
                raise AssertionError(f"it did not start: {said.read_text()}")
            yield Guest(psutil.Process(process.pid), logs, said)
        finally:
            process.terminate()
            process.wait(20)
