"""`responder preflight`: would this launch command be refused, and what to run instead."""

import sys
from collections.abc import Iterator
from pathlib import Path

import click
import msgspec
from msgspec.structs import replace

from responder.advise.command.launch import parse
from responder.advise.command.shell import CommandError
from responder.advise.environment import versions_of
from responder.advise.gpu.nvml import query_gpus
from responder.advise.learn import Host
from responder.advise.preflight import Preflight
from responder.advise.remedies import filled
from responder.advise.verify import Refusal
from responder.catalogue import load_catalogue
from responder.cli.errors import Failure
from responder.cli.options import checked_version, gpu_facts
from responder.nouns import Server

ACCEPTED, REFUSED, UNKNOWN = 0, 1, 3

MOST_STEPS = 6
"""Steps that are told where no change of flags helps."""


@click.command(context_settings={"ignore_unknown_options": False})
@click.option("--gpu", "gpu_spec", metavar="SPEC", help="The GPUs it will run on; else this host's.")
@click.option("--sglang", "version", metavar="VERSION", help="The sglang release; else the command's interpreter's.")
@click.option("--json", "as_json", is_flag=True, help="The verdict as JSON.")
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
def preflight(gpu_spec: str | None, version: str | None, as_json: bool, command: tuple[str, ...]) -> None:
    """Say whether COMMAND would be refused or die at start, by which gate and why, and what to run instead.

    Exit status: 0 no gate refuses it, 1 a gate refuses, 3 not enough is known to say.
    """
    from responder.advise.preflight import preflight as examine

    try:
        launch = parse(command[0] if len(command) == 1 else list(command))
    except CommandError as error:
        raise Failure(f"the command could not be read: {error}") from None
    found = versions_of(launch.words[0].text) if version is None and launch.words else None
    release = checked_version(version) or (found.sglang if found else None)
    gpu = gpu_facts(gpu_spec) if gpu_spec else query_gpus()
    if found is not None and found.torch_cuda:
        gpu = replace(gpu, torch_cuda=found.torch_cuda)
    server = Server(
        name="preflight",
        version=release,
        version_from="option" if version else "environment" if release else "unknown",
        command_from="option",
    )
    host = Host(server=server, command=launch.text, gpu=gpu, folder=Path.cwd())
    result = examine(load_catalogue().rules, launch, host)
    if as_json:
        click.echo(msgspec.json.encode(_as_json(result)))
    else:
        for line in _told(result, release):
            click.echo(line)
    sys.exit({"accepted": ACCEPTED, "refused": REFUSED, "unknown": UNKNOWN}[result.verdict])


def _as_json(result: Preflight) -> dict[str, object]:
    return {
        "verdict": result.verdict,
        "refused_by": [_refusal(refusal) for refusal in result.refused_by],
        "doubts": [_refusal(refusal) for refusal in result.doubts],
        "missing": list(result.missing),
        "notes": list(result.notes),
        "remedies": [remedy.title for remedy in result.remedies],
        "relaunch": result.relaunch,
        "unmended": [_refusal(refusal) for refusal in result.unmended],
        "steps": list(result.steps),
    }


def _refusal(refusal: Refusal) -> dict[str, object]:
    rule, captures = refusal.rule, refusal.captures
    return {
        "gate": refusal.gate,
        "rule": rule.id,
        "title": filled(rule.title, captures),
        "text": refusal.text,
        "cause": filled(rule.cause, captures),
    }


def _told(result: Preflight, release: str | None) -> Iterator[str]:
    of = f"sglang {release}" if release else "sglang (release unknown)"
    if result.verdict == "accepted":
        yield f"No known check of {of} refuses this command."
    elif result.verdict == "unknown":
        yield from ("Not enough is known to say:", *(f"  {text}" for text in result.missing))
    else:
        yield f"{of} would refuse this command."
    # Of what cannot be said for certain only that is told which the release alone leaves open.
    guessed = [refusal for refusal in result.doubts if refusal.text] if result.verdict == "unknown" else []
    for refusal in (*result.refused_by, *guessed):
        yield from _told_refusal(refusal)
    if result.relaunch is not None:
        yield from ("", "Run instead:", "", result.relaunch.command, "")
        yield from (f"  {line}" for line in result.relaunch.diff)
    for refusal in result.unmended:
        how = "Mend this by hand" if result.steps else "No change of flags mends this"
        yield from ("", f"{how}: {filled(refusal.rule.title, refusal.captures)}.")
    yield from (f"  {step}" for step in result.steps[:MOST_STEPS])
    if result.notes:
        yield from ("", *result.notes)
    if result.doubts and result.verdict != "unknown":
        yield from ("", f"{len(result.doubts)} checks rest on what is not known here; --json names them.")


def _told_refusal(refusal: Refusal) -> Iterator[str]:
    yield from ("", f"  {filled(refusal.rule.title, refusal.captures)}", f"  {refusal.gate} · {refusal.rule.id}")
    if refusal.text:
        yield f"  {refusal.text}"
    yield f"  {filled(refusal.rule.cause, refusal.captures)}"
