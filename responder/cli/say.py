"""What a command says to the person who runs it, on standard error."""

import click


def say(text: str) -> None:
    """One line, and nothing in it is live: a file may be called anything, and a secret may stand in what was typed."""
    from responder.publish.inert import inert_line
    from responder.publish.redact import redact_text

    click.echo(f"responder: {inert_line(redact_text(text))}", err=True)
