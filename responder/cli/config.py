"""`responder config show`: each setting and where it came from."""

from pathlib import Path

import click
import msgspec

from responder.advise.command.secret import mask
from responder.cli.errors import BAD_CONFIG, Failure
from responder.publish.redact import redact_text
from responder.run.config import DEFAULT_PATH, Config, ConfigError, Loaded, load_config


@click.group()
def config() -> None:
    """The configuration."""


@config.command()
@click.option(
    "--config",
    "path",
    type=click.Path(path_type=Path, readable=False),
    help=f"The file; else {DEFAULT_PATH} where it is.",
)
def show(path: Path | None) -> None:
    """Every setting as TOML, with a comment that says where it came from.  The output is a valid configuration."""
    for line in lines(read(path)):
        click.echo(line)


def read(path: Path | None) -> Loaded:
    """The configuration a command works with.  Raises Failure."""
    if path is None and DEFAULT_PATH.exists():
        path = DEFAULT_PATH
    try:
        return load_config(path)
    except ConfigError as error:
        raise Failure(str(error), BAD_CONFIG) from None


def lines(loaded: Loaded) -> list[str]:
    """The configuration as TOML, each value with its origin."""
    told: list[str] = [f"# from {loaded.path}" if loaded.path else "# no configuration file: these are the defaults"]
    for section in Config.__struct_fields__:
        value = getattr(loaded.config, section)
        if section == "server":
            told += [line for server in value for line in ("", "[[server]]", *_table(server, None, loaded.path))]
            if not value:
                told += ["", "# [[server]]", '# name = "llama-70b"', '# logs = ["/var/log/sglang/*.log"]']
        else:
            told += ["", f"[{section}]", *_table(value, section, loaded)]
        if section == "slack":
            told += [
                line for route in value.route for line in ("", "[[slack.route]]", *_table(route, None, loaded.path))
            ]
    return told


def _table(table: msgspec.Struct, section: str | None, source: Loaded | Path | None) -> list[str]:
    found = []
    for field in table.__struct_fields__:
        value = getattr(table, field)
        if field == "route":
            continue  # tables of their own, below
        origin = source.origins.get(f"{section}.{field}", "default") if isinstance(source, Loaded) else str(source)
        if value is None:
            found.append(f"# {field} is not set")
        else:
            found.append(f"{field} = {_toml(_shown(field, value))}  # {origin}")
    return found


def _shown(field: str, value: object) -> object:
    """A value as it may be printed: a launch command and an address may hold secrets."""
    if field == "command" and isinstance(value, str):
        return redact_text(mask(value))
    if isinstance(value, tuple):
        return tuple(_shown(field, one) for one in value)
    return redact_text(value) if isinstance(value, str) else value


def _toml(value: object) -> str:
    # JSON's strings, numbers, booleans and arrays of them are TOML's.
    return msgspec.json.encode(value).decode()
