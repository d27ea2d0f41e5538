"""Argument checks of sglang 0.5.23, one by one: a command that a check refuses, and the nearest one that it accepts."""

from pathlib import Path

import msgspec

FILE = Path(__file__).with_name("argument_checks.jsonl")
RELEASE = "0.5.23"


class Check(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One check; the commands are argument lists as a shell reads them."""

    card: str
    refused: str
    accepted: str


def load() -> list[Check]:
    """All of them."""
    return [msgspec.json.decode(line, type=Check) for line in FILE.read_bytes().splitlines()]
