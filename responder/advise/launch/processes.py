"""Which of the processes that launch sglang is this server's, and what it was launched with."""

import shlex
from collections.abc import Callable, Collection, Sequence

import msgspec

from responder.advise.command import CommandError, parse
from responder.advise.launch.found import Launch
from responder.advise.launch.process_watch import Process

RECENT = 600.0
"""Seconds for which a process that ended is still taken for the one whose last lines are being read."""

_HANDOVER = 5.0
"""Seconds by which the end of one process may be noticed after the next one's start."""


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """What ties a process to a server."""

    unit: str | None = None
    user: str | None = None
    """Whose processes count: the unit's or the container's user; None where it is not known."""
    containers: Collection[str] = ()
    pods: Collection[str] = ()
    logs: Collection[str] = ()
    """The files that are followed."""
    pids: Collection[int] = ()
    """What the log prints as its pid: believed only of a process of `owner`."""
    owner: int | None = None
    """The uid that the log's file belongs to."""
    router: bool = False


def process_launch(processes: Sequence[Process], place: Place, now: float) -> Launch:
    """The launch of the process that is this server's; a note where there are several.

    Bound by the unit it runs in, its container, the file it writes to or the pid that the log prints.  One that is
    bound by nothing is told too where it is the only one, as a command that nobody vouches for.
    """
    candidates = [one for one in processes if one.router == place.router and _recent(one, now)]
    bound = [one for one in candidates if any(ties(one, place) for ties in _TIES)]
    chosen = _newest(_outermost(bound))
    if len(chosen) == 1:
        return _launch(chosen[0], complete=True)
    if chosen:
        return _several(chosen, "run as this server")
    if place.unit is not None or place.containers or place.pods:
        return Launch(source="process")  # it is known where the server runs, and none of these runs there
    alive = _newest(_outermost([one for one in candidates if one.ended is None]))
    if len(alive) == 1:
        return msgspec.structs.replace(
            _launch(alive[0], complete=False), note=f"process {alive[0].pid} may belong to another server"
        )
    if alive:
        return _several(alive, "run on this host, and none is known to be this server")
    return Launch(source="process")


def _in_unit(one: Process, place: Place) -> bool:
    return place.unit is not None and one.group.unit == place.unit and _of_user(one, place)


def _in_container(one: Process, place: Place) -> bool:
    return one.group.container in place.containers or (one.group.pod in place.pods and not place.containers)


def _writes_the_log(one: Process, place: Place) -> bool:
    return any(output in place.logs for output in one.outputs)


def _named_by_the_log(one: Process, place: Place) -> bool:
    return one.pid in place.pids and place.owner is not None and one.uid == place.owner


_TIES: tuple[Callable[[Process, Place], bool], ...] = (_in_unit, _in_container, _writes_the_log, _named_by_the_log)


def _of_user(one: Process, place: Place) -> bool:
    return place.user is None or place.user in (one.user, str(one.uid))


def _recent(one: Process, now: float) -> bool:
    return one.ended is None or now - one.ended < RECENT


def _outermost(candidates: list[Process]) -> list[Process]:
    """Of a script and the server it started one: what was typed, unless only the inner one says every argument."""
    kept = []
    for one in candidates:
        inner = [other for other in candidates if one.pid in other.parents]
        outer = [other for other in candidates if other.pid in one.parents]
        if inner and _is_open(one):
            continue
        if outer and not all(_is_open(other) for other in outer):
            continue
        kept.append(one)
    return kept


def _is_open(one: Process) -> bool:
    try:
        return any(word.open for word in parse(one.argv).words)
    except CommandError:
        return True


def _newest(candidates: list[Process]) -> list[Process]:
    """The last one started and those that ran beside it with another command: restarts leave earlier ones behind."""
    if not candidates:
        return []
    newest = max(candidates, key=lambda one: one.started)
    until = newest.started + _HANDOVER
    beside = (one for one in candidates if one.argv != newest.argv)
    return [newest, *(one for one in beside if one.ended is None or one.ended > until)]


def _launch(one: Process, *, complete: bool) -> Launch:
    return Launch(
        command=shlex.join(one.argv),
        env=one.env,
        source="process",
        complete=complete,
        where=f"process {one.pid}",
        versions=one.versions,
        unit=one.group.unit,
        container=one.group.container,
        pid=one.pid,
    )


def _several(candidates: list[Process], what: str) -> Launch:
    pids = ", ".join(str(one.pid) for one in sorted(candidates, key=lambda one: one.pid))
    return Launch(source="process", note=f"several sglang processes {what}: {pids}")
