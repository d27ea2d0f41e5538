"""What keeps a process, read off its control group: a systemd unit, a container, a pod."""

import re
from pathlib import Path

import msgspec

_CONTAINER = re.compile(r"(?:^|[/:-])([0-9a-f]{64})(?:\.scope)?(?:/|$)")
_POD = re.compile(r"pod([0-9a-f]{8}(?:[-_][0-9a-f]{4}){3}[-_][0-9a-f]{12})")
_UNIT = re.compile(r"/([^/]+\.service)(?=/|$)")


class Group(msgspec.Struct, frozen=True, kw_only=True):
    """Who keeps a process; all None for one that a person started in a session."""

    unit: str | None = None
    container: str | None = None
    """The container's full id."""
    pod: str | None = None
    """The pod's uid, with dashes."""


def group_of(pid: int, proc: Path = Path("/proc")) -> Group:
    """The group of a process; empty where it is gone."""
    try:
        return parse(proc.joinpath(str(pid), "cgroup").read_text(encoding="utf-8", errors="replace"))
    except OSError:
        return Group()


def parse(text: str) -> Group:
    """The group that `/proc/PID/cgroup` tells, in its first or second version."""
    paths = [line.split(":", 2)[2] for line in text.splitlines() if _tells(line)]
    for path in paths:
        container, pod, units = _CONTAINER.search(path), _POD.search(path), _UNIT.findall(path)
        if container:
            return Group(container=container[1], pod=pod[1].replace("_", "-") if pod else None)
        if units:
            return Group(unit=units[-1])
    return Group()


def _tells(line: str) -> bool:
    """The unified hierarchy, or version 1's own of systemd; a controller's may be elsewhere."""
    parts = line.split(":", 2)
    return len(parts) == 3 and (parts[0] == "0" or parts[1] in ("name=systemd", "pids", "memory"))
