"""Minutes of steady load: descriptors and memory stay flat, and no line is missing."""

import os
import time
from pathlib import Path

import pytest

from tests.sources.following import Process, append

SECONDS = float(os.environ.get("SOAK_SECONDS", "600"))


def _descriptors(process: Process) -> int:
    assert process.process
    return len(list(Path(f"/proc/{process.process.pid}/fd").iterdir()))


def _resident(process: Process) -> int:
    assert process.process
    status = Path(f"/proc/{process.process.pid}/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0]) * 1024


@pytest.mark.soak
def test_64_files_for_ten_minutes(process: Process) -> None:
    """Each grows all the time and is rotated every quarter of a minute, half of them by copy and truncate."""
    logs = [process.folder / f"{n:02}.log" for n in range(64)]
    for log in logs:
        append(log, "")
    process.start(process.folder / "*.log", from_start=True)
    written = 0
    resident: list[int] = []
    descriptors: list[int] = []
    end = time.monotonic() + SECONDS
    turn = 0
    while time.monotonic() < end:
        turn += 1
        for n, log in enumerate(logs):
            append(log, f"{n} {written} [2026-08-28 05:10:05 TP0] Decode batch. #running-req: 1, #token: 100\n")
            written += 1
            if (turn + n) % 30 == 0:
                rotated = log.with_name(log.name + ".1")
                if n % 2:
                    log.rename(rotated)
                else:
                    rotated.unlink(missing_ok=True)
                    rotated.write_bytes(log.read_bytes())
                    os.truncate(log, 0)
        process.pause(0.5)
        if turn % 20 == 0:
            resident.append(_resident(process))
            descriptors.append(_descriptors(process))
    process.settle()
    assert len({line.text for line in process.lines}) == written
    assert len(process.lines) == written
    # Rotated files are kept for a minute: flat from then on.
    settled = len(resident) // 4
    print(f"{written} lines; resident {resident[settled] >> 10} to {resident[-1] >> 10} KiB; descriptors {descriptors}")
    assert resident[-1] - resident[settled] < 2 << 20
    assert max(descriptors[settled:]) <= 64 + 128 + 64
    process.stop()
