"""Options that several commands share: what the user says of the server and its GPUs."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from responder.cli.errors import Failure
from responder.nouns import GpuFacts, Server

if TYPE_CHECKING:
    from responder.advise.learn import Host


def host_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """`--gpu`, `--sglang` and `--command`."""
    for option in (
        click.option("--command", "launch", metavar="CMD", help="The server's launch command."),
        click.option("--sglang", "version", metavar="VERSION", help="The server's sglang release."),
        click.option("--gpu", "gpu_spec", metavar="SPEC", help="sm90, 8xB200, 'RTX 5090' or a `gpu --json` file."),
    ):
        command = option(command)
    return command


def host_of(name: str, gpu_spec: str | None, version: str | None, launch: str | None) -> "Host":
    """What the options say.  Raises Failure for one that cannot be understood."""
    from responder.advise.learn import Host, parsed

    _, problem = parsed(launch)
    if problem is not None:
        raise Failure(f"--command: {problem.removeprefix('the launch command could not be read: ')}")
    return Host(
        server=Server(
            name=name,
            version=checked_version(version),
            version_from="option" if version else "unknown",
            command_from="option" if launch else "unknown",
        ),
        command=launch,
        gpu=gpu_facts(gpu_spec),
    )


def gpu_facts(spec: str | None) -> GpuFacts:
    """The facts that `--gpu` names; unknown where it is not given."""
    if spec is None:
        return GpuFacts()
    from responder.advise.gpu.spec import parse_gpu_spec

    try:
        return parse_gpu_spec(spec)
    except ValueError as error:
        raise Failure(f"--gpu: {error}") from None


def checked_version(version: str | None) -> str | None:
    """A release as PEP 440 writes it, or a Failure."""
    if version is None:
        return None
    from packaging.version import InvalidVersion, Version

    try:
        return str(Version(version.removeprefix("v")))
    except InvalidVersion:
        raise Failure(f"--sglang: `{version}` is no release number; write it like 0.5.23") from None
