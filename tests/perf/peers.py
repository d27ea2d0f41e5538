"""What is measured against, and how one command is measured."""

import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

RESPONDER = [sys.executable, "-c", "from responder.cli import main; main()"]


class Cost(NamedTuple):
    """What one run of a command took."""

    wall: float
    cpu: float
    """User and system time, of all its processes."""
    peak: int
    """Resident bytes of the largest process."""
    status: int


def run(argv: Sequence[str], env: Mapping[str, str] | None = None) -> Cost:
    """Run a command to its end, its output thrown away."""
    program = shutil.which(argv[0]) or argv[0]
    null = os.open(os.devnull, os.O_RDWR)
    redirect = [(os.POSIX_SPAWN_DUP2, null, 1), (os.POSIX_SPAWN_DUP2, null, 2)]
    began = time.perf_counter()
    process = os.posix_spawn(program, list(argv), dict(os.environ) | dict(env or {}), file_actions=redirect)
    _, status, used = os.wait4(process, 0)
    wall = time.perf_counter() - began
    os.close(null)
    return Cost(wall, used.ru_utime + used.ru_stime, used.ru_maxrss * 1024, os.waitstatus_to_exitcode(status))


def median(costs: Sequence[Cost]) -> Cost:
    """The median of each figure."""
    return Cost(
        statistics.median(cost.wall for cost in costs),
        statistics.median(cost.cpu for cost in costs),
        max(cost.peak for cost in costs),
        max(abs(cost.status) for cost in costs),
    )


def interleaved(commands: Mapping[str, Sequence[str]], rounds: int, env: Mapping[str, str]) -> dict[str, Cost]:
    """The median cost of each command, all of them in turn, so that what disturbs one disturbs the others, too."""
    costs: dict[str, list[Cost]] = {name: [] for name in commands}
    for number in range(rounds):
        for name, argv in commands.items():
            if sys.stderr.isatty():
                print(f"\r\x1b[K{number + 1}/{rounds} {name}", end="", file=sys.stderr, flush=True)
            costs[name].append(run(argv, env))
    if sys.stderr.isatty():
        print("\r\x1b[K", end="", file=sys.stderr)
    return {name: median(found) for name, found in costs.items()}


def own_patterns(path: Path) -> int:
    """Write what the rules look for, one expression a line, in the form that ripgrep takes; how many there are.

    ripgrep refuses two groups of one name, so that the groups lose theirs.
    """
    listed = subprocess.run([*RESPONDER, "rules", "list", "--json"], capture_output=True, check=True, text=True)
    rules = [json.loads(line) for line in listed.stdout.splitlines()]
    patterns = [re.sub(r"\(\?P<\w+>", "(?:", pattern) for rule in rules for pattern in rule["patterns"]]
    path.write_text("".join(f"{pattern}\n" for pattern in patterns))
    return len(patterns)


def fail2ban_filter(path: Path, patterns: Path) -> None:
    """A filter of the same patterns for fail2ban-regex, which wants the place of a host in each."""
    lines = [line.replace("%", "%%") for line in patterns.read_text().splitlines()]
    path.write_text("[Definition]\nfailregex = " + "\n            ".join(f"{line}.*<HOST>" for line in lines) + "\n")
