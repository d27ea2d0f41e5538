"""`responder incidents`: what the daemon knows, and what people decide about it."""

import re
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from getpass import getuser
from pathlib import Path
from typing import TypeVar

import click

from responder.catalogue import load_catalogue
from responder.cli.config import read
from responder.cli.errors import UNAVAILABLE, Failure
from responder.cli.show import show as show_incidents
from responder.nouns import Incident, Status
from responder.publish.inert import inert_line
from responder.run.config import state_dir
from responder.sources.clock import SystemClock
from responder.store import incidents as store
from responder.store.database import Database, StoreError, open_database

_UNITS = {"m": 60, "h": 3600, "d": 86400}


SYSTEMD_STATE = Path("/var/lib/responder")
"""Where the daemon keeps its state under its unit."""

_FILE = "responder.db"

T = TypeVar("T", bound=Callable[..., object])


def _by_state(ctx: click.Context, _: click.Parameter, state: Path | None) -> None:
    if state is not None:
        ctx.obj = state


def _by_config(ctx: click.Context, _: click.Parameter, path: Path | None) -> None:
    if path is not None:
        ctx.obj = state_dir(read(path).config)


def _which_daemon(command: T) -> T:
    """Options that say whose incidents are meant, before the sub-command's name or behind it."""
    file = click.Path(path_type=Path, readable=False)
    config = click.option(
        "--config",
        type=file,
        is_eager=True,  # so that --state has the last word
        expose_value=False,
        callback=_by_config,
        help="The daemon's configuration.",
    )
    state = click.option(
        "--state", type=file, expose_value=False, callback=_by_state, help="The folder of the daemon's state."
    )
    return state(config(command))


@click.group()
@_which_daemon
@click.pass_context
def incidents(ctx: click.Context) -> None:
    """What the daemon knows: list, show, acknowledge, silence."""
    if ctx.obj is None:
        own = state_dir(read(None).config)
        ctx.obj = own if (own / _FILE).exists() or not (SYSTEMD_STATE / _FILE).exists() else SYSTEMD_STATE


@incidents.command("list")
@click.option("--status", type=click.Choice(["open", "acknowledged", "resolved"]))
@click.option("--json", "as_json", is_flag=True, help="One JSON object per incident, a line each.")
@_which_daemon
@click.pass_obj
def list_incidents(state: Path, status: Status | None, as_json: bool) -> None:
    """The incidents that changed last, newest first."""
    with _opened(state) as database:
        found = store.newest(database.connection, status=status)
    if as_json:
        show_incidents(found, "jsonl", sys.stdout)
        return
    for incident in found:
        when = (incident.last_seen or "")[:19]
        server = inert_line(incident.server.name)[:20]
        click.echo(
            f"{incident.id}  {incident.status:12} {incident.severity:8} {when:19}  {server:20}"
            f"  {inert_line(incident.title)}"
        )
    if not found:
        click.echo("No incident is known.", err=True)


@incidents.command()
@click.argument("incident_id", metavar="ID")
@click.option("--json", "as_json", is_flag=True)
@_which_daemon
@click.pass_obj
def show(state: Path, incident_id: str, as_json: bool) -> None:
    """One incident, whole.  The first characters of its id are enough."""
    with _opened(state) as database:
        incident = _one(database, incident_id)
    show_incidents([incident], "jsonl" if as_json else "text", sys.stdout)


@incidents.command()
@click.argument("incident_id", metavar="ID")
@click.option("--by", default=getuser, help="Who has it in hand.")
@_which_daemon
@click.pass_obj
def ack(state: Path, incident_id: str, by: str) -> None:
    """Say that somebody has it in hand."""
    with _opened(state) as database:
        incident = _one(database, incident_id)
        with database.transaction() as connection:
            store.acknowledge(connection, incident.id, by, time.time())
    click.echo(f"{incident.id} acknowledged by {by}")


@incidents.command()
@click.argument("incident_id", metavar="[ID]", required=False)
@click.option("--rule", help="Every incident of this rule.")
@click.option("--server", help="Every incident of this server.")
@click.option("--for", "duration", default="1h", show_default=True, metavar="TIME", help="30m, 1h, 2d.")
@click.option("--by", default=getuser, help="Who decided it.")
@_which_daemon
@click.pass_obj
def silence(state: Path, incident_id: str | None, rule: str | None, server: str | None, duration: str, by: str) -> None:
    """Tell nothing aloud for a while: of one incident, a rule or a server.  It ends by itself."""
    seconds = _seconds(duration)
    if incident_id is None and rule is None and server is None:
        raise Failure("name what to silence: an incident's ID, --rule or --server")
    if rule is not None and rule not in load_catalogue().by_id:
        raise Failure(f"no rule is called `{rule}`; `responder rules list` shows them")
    with _opened(state) as database:
        known = _one(database, incident_id).id if incident_id else None
        now = time.time()
        with database.transaction() as connection:
            store.silence(connection, until=now + seconds, by=by, now=now, incident=known, rule=rule, server=server)
    click.echo(f"silent for {duration}")


@contextmanager
def _opened(folder: Path) -> Iterator[Database]:
    path = folder / _FILE
    try:
        there = path.exists()
    except OSError as error:
        raise Failure(f"{path}: {error.strerror}; ask as the daemon's user", UNAVAILABLE) from None
    if not there:
        raise Failure(f"{path}: there is no state here; name the daemon's with --state or --config", UNAVAILABLE)
    try:
        database = open_database(path, SystemClock())
    except StoreError as error:
        raise Failure(f"{path}: {error}", UNAVAILABLE) from None
    try:
        yield database
    except StoreError as error:
        raise Failure(f"{path}: {error}", UNAVAILABLE) from None
    finally:
        database.close()


def _one(database: Database, incident_id: str) -> Incident:
    found = store.find(database.connection, incident_id)
    if not found:
        raise Failure(f"no incident's id starts with `{incident_id}`; `responder incidents list` shows them")
    if len(found) > 1:
        raise Failure(f"{len(found)} incidents' ids start with `{incident_id}`; give more of it")
    return found[0]


def _seconds(text: str) -> float:
    match = re.fullmatch(r"(\d+)([mhd])", text.strip())
    if match is None:
        raise Failure(f"--for: `{text}` is no duration; write it like 30m, 1h or 2d")
    return int(match[1]) * _UNITS[match[2]]
