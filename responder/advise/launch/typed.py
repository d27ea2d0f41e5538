"""The launch command that the operator wrote into the configuration."""

from responder.advise.command import CommandError, parse
from responder.advise.environment import Versions, versions_of
from responder.advise.launch.found import Launch
from responder.advise.launch.interpreter import versions_in


def config_launch(command: str | None, python: str | None, unit: str | None) -> Launch:
    """What a server's configuration says of its launch.

    An unreadable command is kept: what is wrong with it is said where it is used.
    """
    versions = versions_of(python) if python else Versions()
    if command is None:
        return Launch(source="config", versions=versions, complete=True)
    if versions.sglang is None:
        try:
            versions = versions_in(parse(command))
        except CommandError:
            versions = Versions()
    return Launch(
        command=command,
        source="config",
        complete=True,
        where="the configuration",
        keeper="systemd" if unit else "shell",
        keeper_name=unit,
        versions=versions,
    )
