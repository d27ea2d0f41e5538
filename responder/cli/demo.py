"""`responder demo`: see it work, without any set-up."""

import sys

import click


@click.command()
def demo() -> None:
    """Grow a log with a real captured failure, follow it with the real pipeline, and show the alert.

    Needs no configuration, no GPU and no network; ends by itself in a few seconds.
    """
    from responder.run.demo import run_demo
    from responder.run.logs import configure_logging

    configure_logging()
    sys.exit(0 if run_demo() else 1)
