"""The daemon beside a writer: how long a failure takes from the write to the alert, and what the daemon costs."""

import os
import random
import signal
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from responder.catalogue import Catalogue
from tests.perf.logs import small_lines
from tests.perf.peers import RESPONDER

FILES = 64
LINES_PER_SECOND = 200
_TICK = 0.05
_BANNER = (
    "/x/sglang/launch_server.py:71: UserWarning: 'python -m sglang.launch_server' is still supported, but use serve.\n"
)
_HERTZ = os.sysconf("SC_CLK_TCK")


class Live(NamedTuple):
    """What was seen of a daemon."""

    latencies: list[float]
    """Seconds from the write of a failure to the alert on standard output, ascending."""
    told: int
    asked: int
    cpu: float
    """Share of one core."""
    resident: int


def measure(catalogue: Catalogue, folder: Path, seconds: float, env: Mapping[str, str], *, rate: int) -> Live:
    """Follow FILES files, one server each, `rate` lines a second in every one; a failure twice a second."""
    logs = [folder / f"server-{number:02}.log" for number in range(FILES)]
    for log in logs:
        log.write_bytes(b"")
    config = folder / "responder.toml"
    config.write_text("".join(f'[[server]]\nname = "{log.stem}"\nlogs = ["{log}"]\n\n' for log in logs))
    with _daemon(config, env) as (process, heard):
        time.sleep(3)
        before, began = _cpu(process), time.monotonic()
        written = _write(logs, _failures(catalogue), seconds, rate)
        time.sleep(1)
        cpu = (_cpu(process) - before) / (time.monotonic() - began)
        resident = _resident(process)
    latencies = sorted(heard[rule] - at for rule, at in written.items() if rule in heard)
    return Live(latencies, len(latencies), len(written), cpu, resident)


def _failures(catalogue: Catalogue) -> dict[str, str]:
    """One-line failures that need nothing around them, by rule."""
    found = {}
    for rule in catalogue.rules:
        alone = rule.role == "cause" and rule.severity == "critical" and not rule.frames and not rule.near
        lines = [s.text.strip() for s in rule.sample if s.matches and "\n" not in s.text.strip()]
        if alone and rule.precedence == 0 and lines:
            found[rule.id] = lines[0]
    return found


def _write(logs: list[Path], failures: dict[str, str], seconds: float, rate: int) -> dict[str, float]:
    """Write for a while; when each failure was written, by rule."""
    chance, lines = random.Random(7), small_lines(7)
    waiting, written = list(failures.items()), {}
    chance.shuffle(waiting)
    files = [log.open("ab", buffering=0) for log in logs]
    order = list(range(len(files)))
    chance.shuffle(order)
    began = time.monotonic()
    ticks = int(seconds / _TICK)
    for tick in range(ticks):
        if rate:
            for file in files:
                file.write(b"".join(next(lines) for _ in range(int(rate * _TICK))))
            if tick % 10 == 5 and waiting:
                rule, text = waiting.pop()
                written[rule] = time.monotonic()
                files[order[tick // 10 % len(order)]].write(f"{_BANNER}{text}\n".encode())
        time.sleep(max(0.0, began + (tick + 1) * _TICK - time.monotonic()))
    for file in files:
        file.close()
    return written


@contextmanager
def _daemon(config: Path, env: Mapping[str, str]) -> Iterator[tuple[subprocess.Popen[str], dict[str, float]]]:
    """The daemon, and when each rule was first named on its standard output."""
    heard: dict[str, float] = {}
    with (config.parent / "stderr.txt").open("w") as errors:
        process = subprocess.Popen(
            [*RESPONDER, "run", "--config", str(config)],
            stdout=subprocess.PIPE, stderr=errors, text=True, env=dict(os.environ) | dict(env) | {"COLUMNS": "200"},
        )  # fmt: skip

    def listen() -> None:
        assert process.stdout is not None
        for line in process.stdout:
            now = time.monotonic()
            for word in line.split():
                heard.setdefault(word, now)

    listener = threading.Thread(target=listen, daemon=True)
    listener.start()
    try:
        yield process, heard
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(30)
        listener.join(5)


def _cpu(process: subprocess.Popen[str]) -> float:
    fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _HERTZ


def _resident(process: subprocess.Popen[str]) -> int:
    status = Path(f"/proc/{process.pid}/status").read_text()
    return int(next(line for line in status.splitlines() if line.startswith("VmRSS")).split()[1]) * 1024
