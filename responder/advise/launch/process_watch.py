"""A light watch of this host's processes: who launches sglang, with which arguments, remembered past death.

Every look takes the list of pids and reads the command line of new ones only.  A process that replaces itself (a
script that ends in `exec python3 …`) keeps its pid, so a pid is read again at growing ages: 1, 2, 4, 8, … looks.
"""

import shlex
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

import msgspec
import psutil

from responder.advise.command import Command, CommandError, parse_all
from responder.advise.environment import Versions
from responder.advise.launch.control_group import Group, group_of
from responder.advise.launch.environment import safe_part
from responder.advise.launch.interpreter import versions_in

SECONDS = 2.0
"""Between two looks; sglang needs longer than that to refuse its arguments."""

MOST_REMEMBERED = 64
"""Processes that ended and are still known."""

LONGEST = 1 << 17
"""Characters of a command line that is looked at; Linux allows 128 KiB for one argument."""

LAST_AGE = 1 << 12
"""Looks after which a pid is not read any more: over two hours."""

_LAUNCHERS = frozenset({
    "bash", "sh", "dash", "zsh", "ksh", "busybox",
    "env", "sudo", "su", "nohup", "numactl", "taskset", "nice", "ionice", "chrt", "timeout", "setsid", "stdbuf",
    "tini", "dumb-init", "docker-init", "catatonit",
    "docker", "podman", "nerdctl", "srun", "systemd-run",
    "torchrun", "accelerate", "conda", "micromamba", "uv", "pixi", "poetry",
    "sglang", "sglang-router", "smg", "sgl-model-gateway",
})  # fmt: skip
"""Programs that launch, or run something that does; `pgrep -f 'sglang serve'` does not."""

_SAME_START = 2.0
"""Seconds by which two readings of one process's start may differ: it is reckoned from the clock."""


class Process(msgspec.Struct, frozen=True, kw_only=True):
    """A process that launches sglang, or did."""

    pid: int
    parents: tuple[int, ...] = ()
    """The nearest first, up to init."""
    started: float
    """Wall clock, seconds."""
    ended: float | None = None
    """When it was first seen gone."""
    argv: tuple[str, ...]
    uid: int | None = None
    user: str | None = None
    group: Group = Group()
    env: dict[str, str] = {}
    """The harmless part; empty where the environment may not be read."""
    outputs: tuple[str, ...] = ()
    """The files that its standard output and error go to."""
    router: bool = False
    versions: Versions = Versions()


class ProcessWatch:
    """Looks when it is told to; keeps what it saw.  One thread at a time."""

    def __init__(self, wall: Callable[[], float] = time.time) -> None:
        self._wall = wall
        self._look = 0
        self._ages: dict[int, tuple[int, int]] = {}
        """By pid: how many looks after the last reading the next one comes, and which look that is."""
        self._known: dict[int, Process] = {}
        self._gone: list[Process] = []

    @property
    def processes(self) -> tuple[Process, ...]:
        """Every launch that is known, in the order of its start."""
        return tuple(sorted((*self._gone, *self._known.values()), key=lambda one: one.started))

    def look(self) -> bool:
        """Look once; whether anything about the known launches changed."""
        before = self.processes
        self._look += 1
        pids = psutil.pids()
        self._bury(set(pids))
        self._ages = {pid: self._ages.get(pid, (1, self._look)) for pid in pids}
        for pid in [pid for pid, (_, look) in self._ages.items() if look == self._look]:
            age = self._ages[pid][0]
            self._ages[pid] = (age * 2, self._look + age if age <= LAST_AGE else 0)
            self._read(pid)
        return self.processes != before

    def _bury(self, alive: set[int]) -> None:
        """Note which of the known ones are gone, and forget the oldest of those."""
        for process in list(self._known.values()):
            if process.pid not in alive or not _is_still(process):
                del self._known[process.pid]
                self._gone.append(msgspec.structs.replace(process, ended=self._wall()))
                self._ages.pop(process.pid, None)
        del self._gone[: -MOST_REMEMBERED or None]

    def _read(self, pid: int) -> None:
        try:
            found = read_process(pid)
        except (psutil.Error, OSError):
            return
        if found is not None and not self._is_worker(found):
            self._known[pid] = found

    def _is_worker(self, found: Process) -> bool:
        """Whether a known launch forked it and it still bears its parent's command line."""
        return any(one.pid in found.parents and one.argv == found.argv for one in self._known.values())


def read_process(pid: int) -> Process | None:
    """What a process says of itself, if it launches sglang.  Raises psutil.Error where it is gone or hidden."""
    process = psutil.Process(pid)
    argv = tuple(process.cmdline())
    command = launched(argv)
    if command is None:
        return None
    group = group_of(pid)
    return Process(
        pid=pid,
        parents=tuple(parent.pid for parent in process.parents()),
        started=process.create_time(),
        argv=argv,
        uid=process.uids().effective,
        user=_quietly(process.username, None),
        group=group,
        env=safe_part(_quietly(process.environ, {})),
        outputs=tuple(dict.fromkeys(_outputs(pid))),
        router=command.entry == "router",
        # What stands in an image is not what stands here under the same path.
        versions=versions_in(command, f"/proc/{pid}/root" if group.container else ""),
    )


def launched(argv: tuple[str, ...]) -> Command | None:
    """The one launch of sglang in a process's arguments; None where it is something else or not clear."""
    if not argv or not any(name in word for word in argv for name in ("sglang", "launch_server")):
        return None
    if sum(map(len, argv)) > LONGEST:
        return None
    program = argv[0].rpartition("/")[2].lstrip("-")
    if program not in _LAUNCHERS and not program.startswith(("python", "pypy")):
        return None
    try:
        found = parse_all(shlex.join(argv))
    except CommandError:
        return None
    return found[0] if len(found) == 1 and not is_our_own(found[0]) else None


def is_our_own(command: Command) -> bool:
    """`responder preflight -- COMMAND` in a unit's ExecStartPre asks about a launch and is none."""
    before = command.layers[0].words[: command.program if len(command.layers) == 1 else None]
    return any(word.text.rpartition("/")[2] == "responder" for word in before)


def _outputs(pid: int) -> Iterator[str]:
    for descriptor in ("1", "2"):
        try:
            target = str(Path(f"/proc/{pid}/fd/{descriptor}").readlink())
        except OSError:
            continue
        if target.startswith("/") and not target.startswith("/dev/"):
            yield target


def _is_still(process: Process) -> bool:
    """Whether the pid has not been given to another process since."""
    try:
        return bool(abs(psutil.Process(process.pid).create_time() - process.started) < _SAME_START)
    except psutil.Error:
        return False


_T = TypeVar("_T")


def _quietly(ask: Callable[[], _T], otherwise: _T) -> _T:
    try:
        return ask()
    except (psutil.Error, OSError, KeyError):
        return otherwise
