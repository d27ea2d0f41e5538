"""The demonstration: a real captured failure, followed by the real daemon in a temporary folder.

`server.log` was written by sglang 0.5.23 itself; it is what a launch on an H100 leaves behind.
"""

import sys
import tempfile
import time
from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from typing import IO

from responder.advise.gpu.spec import parse_gpu_spec
from responder.catalogue import load_catalogue
from responder.nouns import Incident
from responder.publish.decision import Decision, Policy
from responder.publish.publisher import Publisher
from responder.publish.slack.message import root
from responder.publish.slack.preview import preview
from responder.run.config import ServerConfig
from responder.run.daemon import Daemon
from responder.run.gpu_watch import GpuWatch
from responder.run.watched import Watched
from responder.scan import build_program
from responder.sources.clock import SystemClock, SystemWaker
from responder.sources.follower import POLL_SECONDS, Follower
from responder.store import checkpoints
from responder.store.database import open_database

COMMAND = (
    "python3 -m sglang.launch_server --model-path /models/qwen3 --tp-size 2 --attn-cp-size 2 --enable-prefill-cp "
    "--cp-strategy zigzag --prefill-attention-backend trtllm_mha --api-key sk-demo-1234567890abcdef"
)
RELEASE, GPUS = "0.5.23", "8xH100"
LONGEST = 8.0
"""Seconds after which the demonstration gives up."""

_PAUSE = 0.05


def run_demo(out: IO[str] = sys.stdout) -> bool:
    """Grow the log, follow it, show the alert.  Whether the alert came."""
    alerts: list[Incident] = []
    with tempfile.TemporaryDirectory(prefix="responder-demo-") as folder:
        log = Path(folder) / "llama-70b.log"
        log.touch()
        daemon = _daemon(Path(folder), log, alerts)
        _say(out, f"An operator launches this on a host with {GPUS.replace('x', ' x ')}:", "", f"  {COMMAND}", "")
        _say(out, f"sglang writes {log}, and responder follows it:", "")
        daemon.wake_up()
        lines = _captured()
        deadline = time.monotonic() + LONGEST
        while not alerts and time.monotonic() < deadline:
            line = next(lines, None)
            if line is not None:
                with log.open("ab") as file:
                    file.write(line)
                _say(out, f"  {line.decode().rstrip()[:110]}")
            daemon.wake_up()
            time.sleep(_PAUSE if line is not None else POLL_SECONDS)
        for server in daemon.watched:
            server.follower.close()
    if not alerts:
        _say(out, "", "No alert came; something is wrong with this installation.")
        return False
    _say(out, "", "Slack gets one message:", "", *preview(root(alerts[0])))
    _say(out, "", "The same for a log of yours:  responder replay server.log --gpu H100 --command '...'")
    return True


def _daemon(folder: Path, log: Path, alerts: list[Incident]) -> Daemon:
    """The real daemon, with the GPUs of the story instead of this host's, and a shorter hold before the alert."""

    def on_alert(incident: Incident, _decision: Decision) -> None:
        alerts.append(incident)

    clock, waker = SystemClock(), SystemWaker()
    catalogue = load_catalogue()
    program, _ = build_program(catalogue)
    database = open_database(folder / "responder.db", clock)
    saved = checkpoints.load(database.connection)
    config = ServerConfig(name="llama-70b", logs=(str(log),), command=COMMAND, sglang=RELEASE)
    watched = Watched(config, program, Follower(config.logs, saved, clock, waker, from_start=True))
    publisher = Publisher(posting=Policy(hold=0.5), on_loud=on_alert)
    gpu = GpuWatch(lambda: parse_gpu_spec(GPUS), waker.wake)
    gpu.refresh()
    return Daemon([watched], database, publisher, catalogue.by_id, gpu, clock, waker)


def _captured() -> Iterator[bytes]:
    """The captured log, line by line."""
    yield from (resources.files(__name__) / "server.log").read_bytes().splitlines(keepends=True)


def _say(out: IO[str], *lines: str) -> None:
    for line in lines:
        out.write(f"{line}\n")
    out.flush()
