"""Random nights under a clock of our own: lines, rotations of both kinds, kills and restarts in any order.

What the crash test with real processes shows a few times a minute, this shows some hundred times.
"""

import os
import random
import shutil
from collections import Counter
from pathlib import Path

import pytest

from tests.fleet.faults import known_faults, unknown_faults
from tests.run.daemon_at_hand import AtHand, HandClock

NOW = "2026-11-30 12:00:00"
BATCH = 10


class Night:
    """One log, whoever writes and rotates it, and a daemon that is killed and started."""

    def __init__(self, folder: Path, program, catalogue, seed: int) -> None:
        self.folder, self.program, self.catalogue = folder, program, catalogue
        self.chance, self.clock = random.Random(seed), HandClock()
        self.log = folder / "server.log"
        self.steps: list[str] = []
        self.told: list[tuple[str, str]] = []
        self.daemon = self.start()

    def start(self) -> AtHand:
        return AtHand(self.folder, self.program, self.catalogue, clock=self.clock)

    def stop(self, *, kill: bool) -> None:
        self.told += [(reason, incident.rule or incident.title.split()[2]) for reason, incident in self.daemon.told]
        self.daemon.die() if kill else self.daemon.close()

    def restart(self) -> None:
        """Die or stop; what happens meanwhile happens to nobody's knowledge."""
        kill = self.chance.random() < 0.8
        self.steps.append("kill" if kill else "stop")
        self.stop(kill=kill)
        for _ in range(self.chance.randrange(3)):
            self.rotate()
        self.daemon = self.start()
        self.steps.append("start")

    def rotate(self) -> None:
        for number in range(60, 0, -1):
            older = self.log.with_name(f"server.log.{number}")
            if older.exists():
                older.rename(self.log.with_name(f"server.log.{number + 1}"))
        if self.chance.random() < 0.5:
            shutil.copyfile(self.log, self.log.with_name("server.log.1"))
            os.truncate(self.log, 0)
            self.steps.append("copy and truncate")
        else:
            self.log.rename(self.log.with_name("server.log.1"))
            self.log.touch()
            self.steps.append("rename")

    def write(self, line: str) -> None:
        self.steps.append(f"write {line[:40]!r}")
        cut = self.chance.randrange(len(line)) if self.chance.random() < 0.3 else 0
        with self.log.open("a") as file:
            file.write(line[:cut])
            file.flush()
            if cut:
                self.daemon.daemon.wake_up()
            file.write(line[cut:])

    def live_through(self, text: str) -> None:
        for line in text.splitlines(keepends=True):
            self.write(line)
            if self.chance.random() < 0.6:
                self.clock.now += 0.1
                self.daemon.daemon.wake_up()
            if self.chance.random() < 0.08:
                self.rotate()
            if self.chance.random() < 0.08:
                self.restart()

    def end(self) -> None:
        for seconds in (0.1, 30, 60):
            self.daemon.pass_time(seconds)
        incidents = self.daemon.database.connection.execute(
            "SELECT json ->> 'attempts', json ->> 'lines' FROM incident"
        ).fetchall()
        self.stop(kill=False)
        assert set(incidents) == {(1, 1)}


def batches(count: int) -> list[range]:
    return [range(begin, begin + BATCH) for begin in range(0, count, BATCH)]


MANY = [pytest.param(batch, marks=pytest.mark.fleet, id=f"{batch[0]}-{batch[-1]}") for batch in batches(2000)[2:]]


@pytest.mark.parametrize("seeds", [*(pytest.param(b, id=f"{b[0]}-{b[-1]}") for b in batches(2000)[:2]), *MANY])
def test_every_fault_of_a_random_night_is_told_once(tmp_path, program, catalogue, seeds):
    for seed in seeds:
        folder = tmp_path / str(seed)
        folder.mkdir()
        faults = [*known_faults(catalogue, program, seed, 4), *unknown_faults(seed, 2)]
        night = Night(folder, program, catalogue, seed)
        for fault in faults:
            night.live_through(fault.text.replace("{now}", NOW))
        night.end()
        expected = Counter(("first", fault.name) for fault in faults)
        assert Counter(night.told) == expected, f"seed {seed}: " + "\n".join(night.steps)
