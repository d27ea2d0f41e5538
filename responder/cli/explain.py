"""`responder explain`: diagnose one pasted message."""

import sys

import click

from responder.catalogue import load_catalogue
from responder.cli.options import host_of, host_options
from responder.cli.show import show


@click.command()
@click.argument("text", required=False)
@host_options
@click.option("--format", "form", type=click.Choice(["text", "jsonl"]), default="text", show_default=True)
def explain(text: str | None, gpu_spec: str | None, version: str | None, launch: str | None, form: str) -> None:
    """Diagnose one pasted message or piece of a log: TEXT, or standard input."""
    from responder.replay.postmortem import postmortem
    from responder.scan import build_program
    from responder.sources.block import Block

    message = sys.stdin.read() if text in (None, "-") else str(text)
    host = host_of("pasted", gpu_spec, version, launch)
    catalogue = load_catalogue()
    program, _ = build_program(catalogue)
    data = message.encode("utf-8", "surrogateescape") + b"\n"
    block = Block(path="-", file_id="pasted", offset=0, data=data)
    incidents = list(postmortem([block], program, host.server.name, lambda: host, catalogue.by_id))
    show(incidents, form, sys.stdout)
    if not incidents:
        click.echo("No rule knows this text, and it holds no traceback.  Paste the lines around it as well.", err=True)
