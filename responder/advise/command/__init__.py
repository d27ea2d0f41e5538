"""The launch command: read as sglang reads it, changed only where it is at fault, shown without its secrets."""

from responder.advise.command.arguments import Arguments, Occurrence, Problem, read, typed
from responder.advise.command.edit import Edited, edit
from responder.advise.command.launch import Command, Variable, parse, parse_all
from responder.advise.command.secret import mask, mask_argv
from responder.advise.command.shell import CommandError

__all__ = [
    "Arguments",
    "Command",
    "CommandError",
    "Edited",
    "Occurrence",
    "Problem",
    "Variable",
    "edit",
    "mask",
    "mask_argv",
    "parse",
    "parse_all",
    "read",
    "typed",
]
