"""A journal for tests: a file of entries and a `journalctl` that reads it as the real one does.

Names and forms of options, fields, cursors and complaints are those of systemd 252.
"""

import json
import stat
import sys
import time
from pathlib import Path

BOOT, FILE = "6c4399a729dd42979929f9724e5d8e7c", "fef246d8109e4e67b22d4268df8d9766"
EPOCH = 1_796_051_720_000_000
"""Microseconds; of the first entry."""

PROGRAM = r"""
import json, os, sys, time

folder = os.path.dirname(os.path.abspath(__file__))
arguments = sys.argv[1:]
with open(folder + "/asked", "a") as asked:
    asked.write(json.dumps(arguments) + "\n")
given = dict(word.split("=", 1) if "=" in word else (word, "") for word in arguments if word.startswith("--"))
unit = arguments[arguments.index("--unit") + 1] if "--unit" in arguments else None
unit = unit if unit is None or "." in unit else unit + ".service"
kernel = "_TRANSPORT=kernel" in arguments


def complain(text, status=1):
    sys.stderr.write(text + "\n")
    sys.stderr.flush()
    if status is not None:
        sys.exit(status)


if os.path.exists(folder + "/complaint"):
    complain(open(folder + "/complaint").read().strip(), None)
if os.path.exists(folder + "/broken"):
    complain(open(folder + "/broken").read().strip())
cursor = given.get("--after-cursor")
if cursor is not None and not cursor.startswith("s="):
    complain("Failed to seek to cursor: Invalid argument")
since = float(given["--since"].lstrip("@")) * 1e6 if "--since" in given else 0
fields = given["--output-fields"].split(",")
at, passed = 0, cursor is None
number = int(dict(part.split("=") for part in cursor.split(";"))["i"], 16) if cursor else 0
while True:
    with open(folder + "/journal", "rb") as journal:
        journal.seek(at)
        lines = journal.read().split(b"\n")
        at += sum(len(line) + 1 for line in lines[:-1])
    for line in lines[:-1]:
        entry = json.loads(line)
        mine = entry.get("_SYSTEMD_UNIT") == unit or entry.get("UNIT") == unit
        if (unit and not mine) or (kernel and entry.get("_TRANSPORT") != "kernel"):
            continue
        if int(entry["__REALTIME_TIMESTAMP"]) < since or int(entry["__SEQNUM"], 16) <= number:
            continue
        shown = {key: value for key, value in entry.items() if key in fields or key.startswith("__")}
        shown.pop("__SEQNUM")
        sys.stdout.write(json.dumps(shown, separators=(",", ":"), ensure_ascii=False) + "\n")
    sys.stdout.flush()
    if os.getppid() == 1:
        sys.exit(0)
    time.sleep(0.01)
"""


class FakeJournal:
    """The entries, and the program that shows them."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self.journalctl = folder / "journalctl"
        self.journalctl.write_text(f"#!{sys.executable}\n{PROGRAM}")
        self.journalctl.chmod(self.journalctl.stat().st_mode | stat.S_IXUSR)
        self.file = folder / "journal"
        self.file.touch()
        self.count = 0

    def write(self, message: str | list[int], unit: str | None = "sglang.service", **fields: object) -> str:
        """Add an entry; its cursor."""
        self.count += 1
        time = EPOCH + self.count * 1000
        cursor = f"s={FILE};i={self.count:x};b={BOOT};m={self.count:x};t={time:x};x={self.count:x}"
        entry = {
            "__CURSOR": cursor,
            "__REALTIME_TIMESTAMP": str(time),
            "__MONOTONIC_TIMESTAMP": str(self.count),
            "__SEQNUM": f"{self.count:x}",
            "_BOOT_ID": BOOT,
            "MESSAGE": message,
            "_PID": "40",
            "_TRANSPORT": "stdout",
            "_HOSTNAME": "gpu-1",
            "_STREAM_ID": "8cda86ee1f6c4a0da736ce0c76d092e0",
            "SYSLOG_IDENTIFIER": "python3",
            "PRIORITY": "6",
            **({"_SYSTEMD_UNIT": unit} if unit else {}),
            **fields,
        }
        with self.file.open("a") as file:
            file.write(json.dumps(entry) + "\n")
        return cursor

    def kernel(self, message: str, **fields: object) -> str:
        """Add a line of the kernel's."""
        return self.write(message, None, _TRANSPORT="kernel", SYSLOG_IDENTIFIER="kernel", _PID="", **fields)

    def kernel_now(self, message: str) -> str:
        """Add a line of the kernel's that bears the time of day."""
        return self.kernel(message, __REALTIME_TIMESTAMP=str(int(time.time() * 1e6)))

    @property
    def asked(self) -> list[list[str]]:
        """The arguments of every start."""
        asked = self.folder / "asked"
        return [json.loads(line) for line in asked.read_text().splitlines()] if asked.exists() else []
