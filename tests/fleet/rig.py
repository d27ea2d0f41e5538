"""The real `responder run`, a log that is written and rotated, and a Slack that drops, delays and refuses."""

import json
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from tests.fake_slack import TOKEN
from tests.fleet.faults import Fault

ROOT = Path(__file__).parents[2]
GENERATIONS = 200
"""Rotated logs that are kept."""


class Night:
    """One daemon's folder: its log, its state, its configuration and what Slack recorded."""

    def __init__(self, folder: Path, base_url: str) -> None:
        self.log = folder / "server.log"
        self.state = folder / "state"
        self.said = folder / "daemon.log"
        self.config = folder / "responder.toml"
        self.log.write_text("[2026-11-30 12:00:00] what was there before the daemon came\n")
        self.config.write_text(
            f'[[server]]\nname = "llama"\nlogs = ["{self.log}"]\n'
            f'[slack]\nchannel = "alerts"\nbase_url = "{base_url}"\n[state]\ndir = "{self.state}"\n'
        )

    def start(self, **environment: str) -> subprocess.Popen[bytes]:
        """Start the daemon."""
        command = [sys.executable, "-m", "responder", "run", "--config", str(self.config)]
        environ = {**os.environ, "RESPONDER_SLACK_TOKEN": TOKEN, "PYTHONPATH": str(ROOT), **environment}
        with self.said.open("ab") as said:
            return subprocess.Popen(command, stdout=said, stderr=said, cwd=ROOT, env=environ)

    def ask(self, query: str) -> list[tuple[Any, ...]]:
        """Look into the state; nothing while it is not there yet."""
        path = self.state / "responder.db"
        if not path.exists():
            return []
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=10)) as connection:
            try:
                return connection.execute(query).fetchall()
            except sqlite3.OperationalError:
                return []


class Server(threading.Thread):
    """Writes the launches into the log in random pieces, and rotates it now and then, inside a traceback too.

    A rename leaves it writing into the renamed file for a while, as a process does that keeps its descriptor; before
    copying and truncating it ends its line, for otherwise the rotation itself would cut it.
    """

    def __init__(self, log: Path, faults: list[Fault], seed: int, seconds: float) -> None:
        super().__init__(name="server", daemon=True)
        self._log, self._faults, self._chance = log, faults, random.Random(seed)
        pieces = sum(1 + len(line) / 80 for fault in faults for line in fault.text.splitlines())
        self._pause = seconds / pieces
        self._rotations = 1.2 * len(faults) / pieces
        self._file = log.open("ab", buffering=0)
        self._reopen_after: int | None = None
        self.rotated = {"renamed": 0, "copied": 0}
        self.done = threading.Event()
        self._never = threading.Event()

    def run(self) -> None:
        for fault in self._faults:
            for line in fault.text.replace("{now}", time.strftime("%Y-%m-%d %H:%M:%S")).splitlines(keepends=True):
                self._write(line.encode())
        self.done.set()

    def _write(self, line: bytes) -> None:
        while line:
            size = self._chance.randint(1, 120)
            self._file.write(line[:size])
            line = line[size:]
            self._never.wait(self._chance.expovariate(1 / self._pause))
            if self._chance.random() < self._rotations and self._reopen_after is None:
                self._rotate(whole_line=not line)
        if self._reopen_after is not None:
            self._reopen_after -= 1
            if self._reopen_after < 0:
                self._reopen()

    def _rotate(self, *, whole_line: bool) -> None:
        for number in range(GENERATIONS, 0, -1):
            older = self._numbered(number)
            if older.exists():
                older.rename(self._numbered(number + 1))
        if whole_line and self._chance.random() < 0.5:
            shutil.copyfile(self._log, self._numbered(1))
            os.truncate(self._log, 0)
            self.rotated["copied"] += 1
        else:
            self._log.rename(self._numbered(1))
            self._reopen_after = self._chance.randrange(3)
            self.rotated["renamed"] += 1

    def _reopen(self) -> None:
        self._file.close()
        self._file = self._log.open("ab", buffering=0)
        self._reopen_after = None

    def _numbered(self, number: int) -> Path:
        return self._log.with_name(f"{self._log.name}.{number}")


@contextmanager
def slack_process(record: Path, rate: float, seed: int) -> Iterator[str]:
    """A fake Slack of its own process; its base URL."""
    command = [sys.executable, str(ROOT / "tests" / "fake_slack.py"), "--record", str(record)]
    command += ["--rate", str(rate), "--seed", str(seed)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.kill()


def posted(record: Path) -> list[dict[str, Any]]:
    """The messages that Slack took, without the edits."""
    lines = record.read_text().splitlines() if record.exists() else []
    return [message for line in lines if (message := json.loads(line))["what"] == "post"]


def until(condition: Callable[[], object], patience: float) -> bool:
    """Whether it came to hold in that many seconds."""
    ends = time.monotonic() + patience
    while not condition():
        if time.monotonic() > ends:
            return False
        threading.Event().wait(0.2)
    return True


def killed_at_random(night: Night, kills: int, longest: float, seed: int) -> None:
    """Start the daemon and kill it, again and again, each time after up to `longest` seconds."""
    chance = random.Random(seed)
    for _ in range(kills):
        with night.start() as process:
            try:
                process.wait(chance.uniform(0.0, longest))
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGKILL)
            else:
                raise AssertionError(f"the daemon ended by itself, with {process.returncode}: see {night.said}")
