"""64 busy logs that are rotated all the time: descriptors and memory stay flat."""

import random
import threading
import time
from pathlib import Path

import pytest

from tests.soak.guest import guest

WARM_UP = 5.0
LINES = [
    "[2026-11-30 12:00:00 TP0] Decode batch. #running-req: 3, #token: 812, token usage: 0.02, gen throughput: 214.1\n",
    '[2026-11-30 12:00:00] INFO:     127.0.0.1:5120 - "POST /generate HTTP/1.1" 200 OK\n',
]
FAULT = """\
[2026-11-30 12:00:00] server_args=ServerArgs(model_path='/models/llama')
Traceback (most recent call last):
  File "/opt/sglang/srt/server_args.py", line 277, in resolve_once
    self.resolve()
Fault{number}Error: something new
"""


class Servers(threading.Thread):
    """Writes into all the logs, some thousand lines a second, and rotates one of them every half second."""

    def __init__(self, logs: list[Path]) -> None:
        super().__init__(name="servers", daemon=True)
        self._logs, self._chance = logs, random.Random(1)
        self.stopping = threading.Event()
        self.rotated: list[float] = []
        self.lines = 0

    def run(self) -> None:
        turn = 0
        while not self.stopping.wait(0.05):
            turn += 1
            for log in self._chance.sample(self._logs, 16):
                with log.open("a") as file:
                    file.writelines(self._chance.choices(LINES, k=20))
                self.lines += 20
            if turn % 10 == 0:
                log = self._chance.choice(self._logs)
                with log.open("a") as file:
                    file.write(FAULT.replace("{number}", str(turn % 50)))
                log.replace(log.with_name(f"{log.name}.1"))
                self.rotated.append(time.monotonic())


@pytest.mark.parametrize(
    "seconds", [pytest.param(20.0, marks=pytest.mark.slow), pytest.param(600.0, marks=pytest.mark.soak)]
)
def test_busy_and_rotated_it_stays_as_small_as_it_began(tmp_path, program, seconds):
    with guest(tmp_path) as busy:
        idle = busy.cost()
        servers = Servers(busy.logs)
        servers.start()
        threading.Event().wait(WARM_UP + seconds / 10)
        costs = []
        for _ in range(20):
            before = busy.cost()
            threading.Event().wait(seconds / 20)
            costs.append((busy.cost(), busy.cost().cpu - before.cpu))
            # A rotated file is kept for a minute after its last line.
            recent = sum(1 for at in servers.rotated if time.monotonic() - at < 75)
            assert costs[-1][0].descriptors <= idle.descriptors + recent + 4
        servers.stopping.set()
        servers.join()
    # Whatever is kept of a rotated log is there after some minutes, and no more of it from then on.
    early = max(cost.rss for cost, _ in costs[5:10])
    late = max(cost.rss for cost, _ in costs[15:])
    share = sum(cpu for _, cpu in costs) / seconds
    print(
        f"{seconds:.0f} s, {servers.lines:,} lines, {len(servers.rotated)} rotations: {early:.0f}, then {late:.0f} MiB,"
    )
    print("MiB:", *(f"{cost.rss:.0f}" for cost, _ in costs))
    print(f"{share:.1%} of a core, {max(cost.descriptors for cost, _ in costs)} descriptors")
    assert late < early + 4
    assert late < 100
