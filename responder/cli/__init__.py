"""The command line: one file per command, each loaded only when it is called."""

from responder.cli.main import main

__all__ = ["main"]
