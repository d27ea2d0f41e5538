"""The real process: it says when it is ready, reloads on SIGHUP and ends on SIGTERM, and loses no line over it."""

import os
import signal
import socket
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.fleet.rig import until

ROOT = Path(__file__).parents[2]
PATIENCE = 60.0


class Service:
    """`responder run` as systemd runs it."""

    def __init__(self, folder: Path) -> None:
        self.config = folder / "responder.toml"
        self.out = folder / "out"
        self.err = folder / "err"
        self._folder = folder
        self._channel = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._channel.bind(str(folder / "notify"))
        self._channel.settimeout(PATIENCE)

    def configure(self, *logs: str, more: str = "") -> None:
        """Follow these logs, each of a server of its own."""
        tables = [f'[[server]]\nname = "{name}"\nlogs = ["{self._folder / name}.log"]\n' for name in logs]
        self.config.write_text("".join(tables) + f'[state]\ndir = "{self._folder / "state"}"\n{more}')

    def start(self) -> None:
        """Start it; it is ready when this returns."""
        command = [sys.executable, "-m", "responder", "run", "--config", str(self.config)]
        environ = {**os.environ, "NOTIFY_SOCKET": str(self._folder / "notify"), "PYTHONPATH": str(ROOT)}
        with self.out.open("ab") as out, self.err.open("ab") as err:
            self.process = subprocess.Popen(command, stdout=out, stderr=err, cwd=ROOT, env=environ)
        self.hear("READY=1")

    def hear(self, word: str) -> None:
        """Wait until it says this to systemd."""
        while word not in self._channel.recv(4096).decode().splitlines():
            pass

    def ask(self, query: str) -> list[tuple[Any, ...]]:
        """Look into the state."""
        with closing(sqlite3.connect(f"file:{self._folder / 'state' / 'responder.db'}?mode=ro", uri=True)) as state:
            return state.execute(query).fetchall()

    def end(self) -> int:
        """Stop it, if it still runs; its exit status."""
        if self.process.poll() is None:
            self.process.terminate()
        status = self.process.wait(PATIENCE)
        self._channel.close()
        return status


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    made = Service(tmp_path)
    yield made
    made.end()


def write(folder: Path, name: str, text: str) -> None:
    with (folder / f"{name}.log").open("a") as file:
        file.write(text)


SEED_RULE = "trtllm-mha-prefill-cp-needs-sm100"


def test_what_is_written_once_it_is_ready_is_read_even_after_a_kill(service, tmp_path, logs):
    write(tmp_path, "llama", "[2026-11-30 12:00:00] old\n")
    service.configure("llama")
    service.start()
    service.process.send_signal(signal.SIGKILL)
    service.process.wait(PATIENCE)
    write(tmp_path, "llama", (logs / "real-seed-0523-sm90.log").read_text())
    service.start()
    assert service.ask("SELECT rule FROM incident") == [(SEED_RULE,)]
    assert service.end() == 128 + signal.SIGTERM


def test_a_reload_takes_up_a_new_server_and_goes_on_with_the_others(service, tmp_path, logs):
    lines = (logs / "real-seed-0523-sm90.log").read_text().splitlines(keepends=True)
    write(tmp_path, "llama", "")
    service.configure("llama")
    service.start()
    write(tmp_path, "llama", "".join(lines[:-3]))
    write(tmp_path, "qwen", "")
    service.configure("llama", "qwen")
    service.process.send_signal(signal.SIGHUP)
    service.hear("RELOADING=1")
    write(tmp_path, "llama", "".join(lines[-3:]))
    service.hear("READY=1")
    assert service.process.poll() is None
    assert until(lambda: service.ask("SELECT rule FROM incident") == [(SEED_RULE,)], PATIENCE)
    targets = [Path(target.decode()).name for (target,) in service.ask("SELECT target FROM followed_target")]
    assert sorted(targets) == ["llama.log", "qwen.log"]
    assert service.end() == 128 + signal.SIGTERM


def test_a_configuration_that_is_wrong_is_not_taken_up(service, tmp_path):
    write(tmp_path, "llama", "")
    service.configure("llama")
    service.start()
    service.configure("llama", more="[slak]\n")
    service.process.send_signal(signal.SIGHUP)
    assert until(lambda: "not reloaded" in service.err.read_text(), PATIENCE)
    assert "unknown key `slak`" in service.err.read_text()
    assert service.process.poll() is None
    assert service.end() == 128 + signal.SIGTERM
