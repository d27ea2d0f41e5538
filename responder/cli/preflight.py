"""`responder preflight`: would this launch command be refused, and what to run instead."""

import sys
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
from responder.catalogue import load_catalogue
from responder.cli.errors import Failure
from responder.cli.options import checked_version, gpu_facts
from responder.nouns import Server

ACCEPTED, REFUSED, UNKNOWN = 0, 1, 3


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
    def one(refusal: object) -> dict[str, object]:
        return {
            "gate": refusal.gate,  # type: ignore[attr-defined]
            "rule": refusal.rule.id,  # type: ignore[attr-defined]
            "title": refusal.rule.title,  # type: ignore[attr-defined]
            "text": refusal.text,  # type: ignore[attr-defined]
        }

    return {
        "verdict": result.verdict,
        "refused_by": [one(refusal) for refusal in result.refused_by],
        "doubts": [one(refusal) for refusal in result.doubts],
        "missing": list(result.missing),
        "remedies": [remedy.title for remedy in result.remedies],
        "relaunch": result.relaunch,
        "unmended": [one(refusal) for refusal in result.unmended],
    }


def _told(result: Preflight, release: str | None) -> list[str]:
    of = f"sglang {release}" if release else "sglang (release unknown)"
    if result.verdict == "accepted":
        lines = [f"No known check of {of} refuses this command."]
    elif result.verdict == "unknown":
        lines = ["Not enough is known to say:", *(f"  {text}" for text in result.missing)]
    else:
        lines = [f"{of} would refuse this command."]
    for refusal in result.refused_by:
        lines += ["", f"  {refusal.rule.title}", f"  {refusal.gate} · {refusal.rule.id}"]
        lines += [f"  {refusal.text}"] if refusal.text else []
        lines += [f"  {' '.join(refusal.rule.cause.split())}"]
    if result.relaunch is not None:
        lines += ["", "Run instead:", "", result.relaunch.command, ""]
        lines += [f"  {line}" for line in result.relaunch.diff]
    for refusal in result.unmended:
        lines += ["", f"No change of flags mends this: {refusal.rule.title}."]
        lines += [f"  {step}" for remedy in refusal.rule.remedy for step in remedy.steps][:6]
    if result.doubts and result.verdict != "unknown":
        lines += ["", f"{len(result.doubts)} checks rest on what is not known here (the model's config.json, mostly)."]
    return lines
