"""What this program makes of a recorded cell: the verdict of preflight, the diagnosis of what was printed, its cure."""

import shlex
from functools import cache

from responder.advise.advise import advise
from responder.advise.command.launch import Command, parse
from responder.advise.learn import Host
from responder.advise.preflight import Preflight, preflight
from responder.catalogue import Catalogue, load_catalogue
from responder.diagnose import Finding
from responder.nouns import Device, GpuFacts, Incident, Server
from responder.scan import Program, build_program
from tests.diagnosing import findings
from tests.oracle.matrix import located, unlocated
from tests.oracle.verdicts import Cell

LAUNCH = ("python3", "-m", "sglang.launch_server")
MEMORY_MIB, COUNT = 141 * 1024, 8
"""Of the pretended cards."""


@cache
def catalogue() -> Catalogue:
    """The shipped rules."""
    return load_catalogue()


@cache
def program() -> Program:
    """The shipped rules, compiled."""
    return build_program(catalogue())[0]


@cache
def gpus(card: str) -> GpuFacts:
    """The facts of a pretended card."""
    sm, _, cuda = card.partition("/")
    devices = () if sm == "cpu" else (Device(sm=int(sm), memory_mib=MEMORY_MIB),) * COUNT
    return GpuFacts(status="ok", source="option", torch_cuda=cuda or "13.0", devices=devices)


def host_of(release: str, card: str, command: str) -> Host:
    """The host of a cell, its command typed in full."""
    return Host(server=Server(name="asked", version=release), gpu=gpus(card), command=typed(command))


def typed(command: str) -> str:
    """The launch command of a recorded argument list."""
    env, argv = located(command)
    return " ".join([*(f"{name}={shlex.quote(value)}" for name, value in env.items()), shlex.join([*LAUNCH, *argv])])


@cache
def examined(release: str, card: str, command: str) -> Preflight:
    """What preflight says."""
    return preflight(catalogue().rules, _parsed(command), host_of(release, card, command))


def diagnosed(cell: Cell) -> Incident | None:
    """The incident of what sglang printed, with the launch command known; None where no rule knows the text."""
    found = _findings(cell.printed)
    return advise(found[0], host_of(cell.release, cell.card, cell.command), catalogue().by_id) if found else None


def relaunch_of(cell: Cell) -> str | None:
    """The argument list of the relaunch that an alert about a refused cell proposes, as the record writes them."""
    incident = diagnosed(cell)
    return arguments(incident.relaunch.command) if incident is not None and incident.relaunch is not None else None


def arguments(command: str) -> str:
    """The argument list of a launch command, as the record writes them."""
    words = shlex.split(command)
    start = words.index(LAUNCH[0])
    return unlocated(shlex.join([*words[:start], *words[start + len(LAUNCH) :]]))


@cache
def _parsed(command: str) -> Command:
    return parse(typed(command))


@cache
def _findings(text: str) -> tuple[Finding, ...]:
    head = "" if ": error: " in text else "Traceback (most recent call last):\n"
    return tuple(findings(program(), f"{head}{text}\n"))
