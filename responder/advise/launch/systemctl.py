"""What a running systemd says of a unit.

Its words are joined by blanks, quotes lost, so the files it names are better read; they say where to look.
"""

import re
import subprocess

TIMEOUT = 5.0
"""Seconds; it answers within milliseconds, or hangs with the bus."""

PROPERTIES = "LoadState,FragmentPath,DropInPaths,ExecStart,Environment,User,NeedDaemonReload"

_EXEC_START = re.compile(r"\{ path=(?P<path>.*?) ; argv\[\]=(?P<argv>.*?) ; ignore_errors=")


def show(unit: str, executable: str = "systemctl") -> dict[str, str] | None:
    """The unit's properties; None where systemd is not there or does not know the unit."""
    command = [executable, "show", "--no-pager", "-p", PROPERTIES, "--", unit]
    try:
        done = subprocess.run(command, capture_output=True, timeout=TIMEOUT, check=False, stdin=subprocess.DEVNULL)
    except (OSError, subprocess.TimeoutExpired):
        return None
    if done.returncode != 0:
        return None
    found: dict[str, str] = {}
    for line in done.stdout.decode("utf-8", "replace").splitlines():
        key, _, value = line.partition("=")
        found[key] = f"{found[key]}\n{value}" if key in found else value
    return found if found.get("LoadState") not in (None, "not-found", "masked") else None


def argvs(exec_start: str) -> list[str]:
    """The command lines in an `ExecStart` property, words joined by blanks."""
    return [found["argv"] for found in _EXEC_START.finditer(exec_start)]
