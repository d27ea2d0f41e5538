"""A relaunch as it may be shown: in its keeper's form, or the change alone where nobody vouches for the command."""

from msgspec.structs import replace

from responder.advise.command import CommandError, Place, apply_form, parse
from responder.advise.facts import Known
from responder.advise.launch import Launch
from responder.nouns import Relaunch


def applied(relaunch: Relaunch, launch: Launch | None, known: Known) -> Relaunch:
    """With how to apply it: in the form of the unit, workload or service that the command came from, else as a shell's.

    A command that is no single launch cannot be put into any form; the relaunch then stays as it is.
    """
    place = Place(role=known.role, nnodes=known.nnodes, node_rank=known.node_rank)
    keeper, name = (launch.keeper, launch.keeper_name) if launch is not None else ("shell", None)
    try:
        form = apply_form(parse(relaunch.command), keeper, name=name, place=place)
    except CommandError:
        return relaunch
    if keeper == "shell" and launch is not None and launch.source == "container":
        form = replace(form, where=f"As the command of {launch.where}, which has to be made anew. {form.where}".strip())
    return replace(relaunch, apply=form)


def withheld(relaunch: Relaunch) -> Relaunch:
    """The change alone: what only the log, or a process that may be another server's, says is no command to paste."""
    added = [line[2:] for line in relaunch.diff if line.startswith("+ ")]
    return replace(relaunch, command=" ".join(added), complete=False, apply=None)
