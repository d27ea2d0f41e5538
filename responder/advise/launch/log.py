"""What a log says of its own launch: a `set -x` echo, or `launch_command`.

Good to know what ran; never enough for a command to paste, for anyone can write into a log.
"""

import re
from collections.abc import Iterable, Mapping

from responder.advise.command import CommandError, parse
from responder.advise.launch.found import Launch

_PID = re.compile(r"\bkill_process_tree called: parent_pid=(\d+)|\bStarted server process \[(\d+)\]")


def log_launch(stated: Mapping[str, str]) -> Launch | None:
    """The launch that the marker lines of a log captured; None where they hold none that can be read."""
    text = stated.get("launch_command")
    if not text:
        return None
    try:
        parse(text)
    except CommandError:
        return None
    return Launch(command=text, source="log", where="the log")


def printed_pids(stated: Mapping[str, str], lines: Iterable[str]) -> frozenset[int]:
    """The pids that sglang prints as its main process's own."""
    found = {int(one or other) for line in lines for one, other in _PID.findall(line[:4096])}
    said = stated.get("pid", "")
    return frozenset(found | ({int(said)} if said.isdecimal() else set()))
