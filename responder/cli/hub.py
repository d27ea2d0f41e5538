"""`responder hub`: the buttons under alerts."""

import signal
import sys
from pathlib import Path

import click

from responder.cli.config import read
from responder.cli.errors import BAD_CONFIG, UNAVAILABLE, Failure


@click.command()
@click.option(
    "--config", "path", type=click.Path(path_type=Path, readable=False), help="The configuration, a TOML file."
)
@click.option("--state", type=click.Path(path_type=Path, readable=False), help="The folder for the state.")
def hub(path: Path | None, state: Path | None) -> None:
    """Listen for the buttons under alerts: acknowledge, silence, show the relaunch.  One per fleet.

    Set `[slack] buttons = true` for the daemons, and say in `[hub]` who may press.
    """
    from responder.hub.start import build
    from responder.run.config import ConfigError
    from responder.run.logs import configure_logging
    from responder.run.notify import Notifier
    from responder.run.start import StartError

    configure_logging()
    loaded = read(path)
    try:
        service = build(loaded.config, state)
    except ConfigError as error:
        raise Failure(str(error), BAD_CONFIG) from None
    except StartError as error:
        raise Failure(str(error), UNAVAILABLE) from None
    ended_by: list[int] = []

    def end(number: int, _frame: object) -> None:
        ended_by.append(number)
        service.hub.stop()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, end)
    Notifier().say("READY=1", "STATUS=listening for buttons")
    service.hub.run()
    service.close()
    sys.exit(128 + ended_by[0] if ended_by else 0)
