"""`responder`: which command there is, and how each one ends."""

import importlib
import os
import sys
from typing import Any, NoReturn

import click

from responder import __version__
from responder.cli.errors import INTERNAL, UNAVAILABLE, Failure
from responder.cli.say import say

COMMANDS = {
    "run": "Follow the logs and alert: the daemon.",
    "replay": "Diagnose finished logs: the same pipeline, for a post-mortem.",
    "tail": "Print each line as the sources read it.",
    "explain": "Diagnose one pasted message or piece of a log.",
    "preflight": "Say whether a launch command would be refused, and what to run instead.",
    "gpu": "This host's GPU facts.",
    "rules": "The catalogue of failures: list, show, test, new, import.",
    "incidents": "What the daemon knows: list, show, acknowledge, silence.",
    "hub": "The buttons under alerts in Slack; one per fleet.",
    "check": "What works, what does not, and how to mend it.",
    "config": "Each setting and where it came from.",
    "demo": "See a real failure followed, diagnosed and alerted.  Needs no set-up.",
}
"""Commands by name, with their help: `--help` must not import what a command needs."""


class _Lazy(click.Group):
    """Imports the module of a command when it is called, not before."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        try:
            module = importlib.import_module(f"responder.cli.{cmd_name}")
        except ModuleNotFoundError as error:
            if error.name and not error.name.startswith("responder"):
                raise Failure(f"the package `{error.name}` is missing; reinstall responder", 69) from None
            raise
        command: click.Command = getattr(module, cmd_name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            import difflib

            near = difflib.get_close_matches(args[0], COMMANDS, 1)
            hint = f" Did you mean `{near[0]}`?" if near else ""
            raise click.UsageError(f"{error.format_message()}{hint}", ctx) from None


@click.command(cls=_Lazy, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="responder", message="%(prog)s %(version)s")
def cli() -> None:
    """Follows the logs of sglang servers, finds the cause of a failure and says which command will start."""


def main(argv: list[str] | None = None) -> Any:
    """Run a command.  Ends the process with the contract's exit status, never with a traceback for bad input."""
    try:
        sys.exit(cli.main(args=argv, prog_name="responder", standalone_mode=False) or 0)
    except click.exceptions.Exit as error:
        sys.exit(error.exit_code)
    except click.Abort:
        sys.exit(130)
    except Failure as error:
        say(str(error))
        sys.exit(error.status)
    except click.ClickException as error:
        error.show()
        sys.exit(2)
    except BrokenPipeError:
        # The reader of our output has gone (`| head`): nothing is wrong.
        sys.stderr.close()
        sys.exit(0)
    except KeyboardInterrupt:
        sys.exit(130)
    except OSError as error:
        if error.filename is None or "RESPONDER_DEBUG" in os.environ:
            _internal(error)
        say(f"{os.fsdecode(error.filename)}: {(error.strerror or type(error).__name__).lower()}")
        sys.exit(UNAVAILABLE)
    except Exception as error:  # noqa: BLE001 - told as what it is: our own mistake
        _internal(error)


def _internal(error: Exception) -> NoReturn:
    # Our own mistake, whatever it is: a user gets one line, a developer asks for the rest.
    if "RESPONDER_DEBUG" in os.environ:
        raise error
    told = f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"
    say(f"internal error: {told} (RESPONDER_DEBUG=1 shows where)")
    sys.exit(INTERNAL)
