"""The daemon beside a writer: how long a failure takes from the write to the incident, and what the daemon costs."""

import json
import os
import random
import signal
import sqlite3
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import NamedTuple

from responder.catalogue import Catalogue
from tests.perf.logs import small_lines
from tests.perf.peers import RESPONDER

FILES, SERVERS = 64, 8
LINES_PER_SECOND = 200
_TICK = 0.05
_BANNER = (
    "/x/sglang/launch_server.py:71: UserWarning: 'python -m sglang.launch_server' is still supported, but use serve.\n"
)
_HERTZ = os.sysconf("SC_CLK_TCK")


class Live(NamedTuple):
    """What was seen of a daemon."""

    latencies: list[float]
    """Seconds from the write of a failure to its incident, ascending."""
    found: int
    asked: int
    cpu: float
    """Share of one core."""
    resident: int


def measure(catalogue: Catalogue | None, folder: Path, seconds: float, env: Mapping[str, str], *, rate: int) -> Live:
    """Follow the files of SERVERS servers, `rate` lines a second in every one; with a catalogue, a server fails with
    one of its failures twice a second."""
    logs = [folder / f"server-{number:02}.log" for number in range(FILES)]
    for log in logs:
        log.write_bytes(b"")
    config = folder / "responder.toml"
    config.write_text("".join(_server(number, logs[number::SERVERS]) for number in range(SERVERS)))
    with _daemon(config, env) as process:
        time.sleep(5)
        before, began = _cpu(process), time.monotonic()
        written = _write(logs, _failures(catalogue) if catalogue else {}, seconds, rate)
        time.sleep(1)
        cpu = (_cpu(process) - before) / (time.monotonic() - began)
        resident = _resident(process)
    known = _incidents(Path(env["XDG_STATE_HOME"]))
    latencies = sorted(known[rule] - at for rule, at in written.items() if rule in known)
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
                written[rule] = time.time()
                files[order[tick // 10 % len(order)]].write(f"{_BANNER}{text}\n".encode())
        time.sleep(max(0.0, began + (tick + 1) * _TICK - time.monotonic()))
    for file in files:
        file.close()
    return written


def _server(number: int, logs: list[Path]) -> str:
    return f'[[server]]\nname = "server-{number}"\nlogs = {json.dumps([str(log) for log in logs])}\n\n'


@contextmanager
def _daemon(config: Path, env: Mapping[str, str]) -> Iterator[subprocess.Popen[bytes]]:
    with (config.parent / "output.txt").open("w") as output:
        process = subprocess.Popen(
            [*RESPONDER, "run", "--config", str(config)], stdout=output, stderr=output, env=dict(os.environ) | dict(env)
        )
    try:
        yield process
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(30)


def _incidents(state: Path) -> dict[str, float]:
    """When the daemon first knew each rule's incident."""
    path = next(state.rglob("responder.db"))
    with closing(sqlite3.connect(path)) as database:
        return dict(database.execute("SELECT rule, min(known) FROM incident GROUP BY rule"))


def _cpu(process: subprocess.Popen[bytes]) -> float:
    fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _HERTZ


def _resident(process: subprocess.Popen[bytes]) -> int:
    status = Path(f"/proc/{process.pid}/status").read_text()
    return int(next(line for line in status.splitlines() if line.startswith("VmRSS")).split()[1]) * 1024
