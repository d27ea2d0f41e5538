"""The versions that a launch command would run with, read beside the interpreter it names."""

import re

from responder.advise.command import Command
from responder.advise.command.launch import container_run
from responder.advise.environment import Versions, versions_of

_ELSEWHERE = re.compile(r"ssh|srun|kubectl|mpirun|apptainer|singularity|ray")


def versions_in(command: Command, root: str = "") -> Versions:
    """The versions beside the interpreter that `command` starts; none where it runs in an image or on another host.

    `root` stands before an absolute path: the root folder of a container, as this host sees it.
    """
    if any(container_run(layer) is not None for layer in command.layers) or _is_elsewhere(command):
        return Versions()
    words = command.words
    program = words[command.program].text if command.program < len(words) else ""
    if not program or program.startswith("-") or words[command.program].open or (root and "/" not in program):
        return Versions()
    return versions_of(f"{root}{program}")


def _is_elsewhere(command: Command) -> bool:
    return any(
        _ELSEWHERE.fullmatch(word.text.rpartition("/")[2]) is not None
        for layer in command.layers
        for word in layer.words[:6]
    )
