"""The launch command in what journald itself notes of a line's process (systemd.journal-fields(7)).

Only journald sets these fields; a line of text that looks like its export proves nothing, so they count only where the
lines came from the journal.
"""

from collections.abc import Mapping

from responder.advise.command import CommandError, parse
from responder.advise.launch.found import Launch
from responder.advise.launch.interpreter import versions_in
from responder.advise.launch.process_watch import is_our_own


def journald_launch(labels: Mapping[str, str], unit: str | None) -> Launch | None:
    """The launch of the process that wrote a line with these labels; None where they tell of none.

    A worker of sglang's bears another title, and systemd's own lines about a unit come from systemd's process.
    """
    text = labels.get("cmdline")
    if not text or unit is None or labels.get("unit") != unit:
        return None
    try:
        command = parse(text)
    except CommandError:
        return None
    if is_our_own(command):
        return None
    pid = labels.get("pid", "")
    return Launch(
        command=text,
        source="process",
        complete=True,
        where=f"process {pid}, as journald noted it" if pid else "journald's note of its process",
        versions=versions_in(command),
        unit=unit,
        pid=int(pid) if pid.isdecimal() else None,
    )
