"""The launch command: read as sglang reads it, changed only where it is at fault, shown without its secrets."""

from responder.advise.command.apply import Keeper, apply_form
from responder.advise.command.arguments import Arguments, Occurrence, Problem, read, typed
from responder.advise.command.edit import Edited, edit
from responder.advise.command.launch import Command, Variable, parse, parse_all
from responder.advise.command.role import Place, place_of, role_of
from responder.advise.command.secret import mask, mask_argv
from responder.advise.command.server_args import parse_server_args
from responder.advise.command.shell import CommandError

__all__ = [
    "Arguments",
    "Command",
    "CommandError",
    "Edited",
    "Keeper",
    "Occurrence",
    "Place",
    "Problem",
    "Variable",
    "apply_form",
    "edit",
    "mask",
    "mask_argv",
    "parse",
    "parse_all",
    "parse_server_args",
    "place_of",
    "read",
    "role_of",
    "typed",
]
