"""Launch commands beside the loop: processes, units and containers are looked at in a thread of their own.

The loop asks for a server's launch and gets what the thread saw last; nothing of it ever waits.
"""

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import structlog

from responder.advise.launch import (
    Container,
    Launch,
    Place,
    Process,
    ProcessWatch,
    Unit,
    config_launch,
    find_launch,
    journald_launch,
    named_by,
    printed_pids,
    process_launch,
    read_container,
    read_unit,
)
from responder.advise.launch.process_watch import SECONDS
from responder.advise.launch.unit_files import unit_name
from responder.diagnose import Finding
from responder.run.config import ServerConfig

log = structlog.get_logger(__name__)

PATIENCE = 5.0
"""Seconds that the thread gets to end."""


class LaunchWatch:
    """Knows how each server was launched, as far as this host tells."""

    def __init__(
        self,
        servers: Iterable[ServerConfig],
        on_change: Callable[[], None] = lambda: None,
        *,
        root: Path = Path("/"),
        systemctl: str = "systemctl",
        wall: Callable[[], float] = time.time,
    ) -> None:
        self._servers = {server.name: server for server in servers}
        self._on_change, self._root, self._systemctl, self._wall = on_change, root, systemctl, wall
        self._watch = ProcessWatch(wall)
        self._typed = {name: config_launch(s.command, s.python, _unit(s)) for name, s in self._servers.items()}
        self._units: dict[str, Unit] = {}
        self._containers: dict[str, Container] = {}
        self._processes: tuple[Process, ...] = ()
        self._logs: dict[str, tuple[str, ...]] = dict.fromkeys(self._servers, ())
        self.version = 0
        """Grows whenever something that a launch rests on has changed."""
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    # The loop's side

    def start(self) -> None:
        """Begin to look, at once and then every two seconds."""
        self._thread = threading.Thread(target=self._run, name="launch-watch", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Look no more."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join(PATIENCE)

    def follow(self, name: str, logs: Sequence[str]) -> None:
        """Say which files a server's log lies in now: a container's log names its container."""
        if self._logs.get(name) != tuple(logs):
            self._logs[name] = tuple(logs)

    def launch_of(self, name: str, finding: Finding | None = None, *, from_journal: bool = False) -> Launch:
        """How a server was launched; `finding` adds what its evidence tells of the process that wrote it."""
        config = self._servers[name]
        unit = self._units.get(name)
        containers = self._containers_of(name, finding)
        processes = process_launch(self._processes, self._place(config, unit, containers, finding), self._wall())
        from_line = None
        if finding is not None and from_journal:
            from_line = journald_launch(finding.evidence.labels, _unit(config))
        distinct = {one.id: one.launch for one in containers}
        return find_launch(
            self._typed[name], unit.launch if unit else None, from_line, processes, _only(list(distinct.values()))
        )

    def _containers_of(self, name: str, finding: Finding | None) -> list[Container]:
        """The container that wrote the evidence; where that is not known, all that write this server's logs."""
        wrote = self._containers.get(finding.evidence.path) if finding else None
        return [wrote] if wrote else [c for path in self._logs[name] if (c := self._containers.get(path)) is not None]

    def _place(
        self, config: ServerConfig, unit: Unit | None, containers: list[Container], finding: Finding | None
    ) -> Place:
        logs = self._logs[config.name]
        named = [named_by(path) for path in logs]
        pids = printed_pids(finding.stated, (finding.evidence.text, *finding.evidence.excerpt)) if finding else ()
        return Place(
            unit=_unit(config),
            user=unit.user if unit else None,
            containers={one.id for one in containers} | {one.container for one in named if one and one.container},
            pods={one.pod_uid for one in named if one and one.pod_uid},
            logs={str(Path(path)) for path in logs},
            pids=pids,
            owner=_owner(finding.evidence.path) if finding and pids else None,
            router=config.role == "router",
        )

    # The thread's side

    def _run(self) -> None:
        failed = False
        while True:
            try:
                self.look()
                failed = False
            except Exception:  # the daemon lives on without this knowledge, and says so once
                if not failed:
                    log.exception("looking for launch commands failed")
                failed = True
            if self._stop.wait(SECONDS):
                return

    def look(self) -> None:
        """Look once.  Units and containers are read again whenever a launch came or went."""
        changed = self._watch.look()
        if changed or self.version == 0:
            self._units = {
                name: read_unit(unit, self._root, self._systemctl)
                for name, server in self._servers.items()
                if (unit := _unit(server)) is not None
            }
        changed = self._look_at_containers(again=changed) or changed
        if changed or self.version == 0:
            self._processes = self._watch.processes
            self.version += 1
            self._on_change()

    def _look_at_containers(self, *, again: bool) -> bool:
        """Read the files of the containers whose logs are followed; one that is gone is remembered."""
        changed = False
        for path in {path for logs in self._logs.values() for path in logs}:
            if path in self._containers and not again:
                continue
            named = named_by(path) or named_by(str(Path(path).resolve()))
            found = read_container(named, self._root) if named else None
            if found is not None and self._containers.get(path) != found:
                self._containers[path] = found
                changed = True
        return changed


def _unit(server: ServerConfig) -> str | None:
    name = server.unit or server.journal
    return unit_name(name) if name else None


def _only(launches: list[Launch]) -> Launch | None:
    """The launch of the one container that a server's logs belong to; the newest where a pod was restarted."""
    launching = [one for one in launches if one.command]
    if len({one.command for one in launching}) > 1:
        places = ", ".join(sorted(one.where for one in launching))
        return Launch(source="container", note=f"several containers wrote these logs: {places}")
    return next(reversed(launching or launches), None)


def _owner(path: str) -> int | None:
    try:
        return Path(path).stat().st_uid
    except OSError:
        return None
