"""`responder run`: the daemon."""

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from responder.cli.errors import BAD_CONFIG, UNAVAILABLE, USAGE, Failure
from responder.run.config import (
    DEFAULT_PATH,
    Config,
    ConfigError,
    Loaded,
    ServerConfig,
    load_config,
    shared_log,
    told_twice,
)

if TYPE_CHECKING:
    from responder.run.daemon import Daemon


@click.command()
@click.option(
    "--config", "config_path", type=click.Path(path_type=Path, readable=False), help="The configuration, a TOML file."
)
@click.option("--from-start", is_flag=True, help="Read logs that were never followed from their start.")
@click.option("--state", type=click.Path(path_type=Path, readable=False), help="The folder for the state.")
@click.argument("paths", nargs=-1)
def run(config_path: Path | None, from_start: bool, state: Path | None, paths: tuple[str, ...]) -> None:
    """Follow the logs of the configured servers, or of PATHS, and alert.

    With PATHS and no Slack, alerts are printed to the terminal.
    """
    # The loop's packages are imported here: `responder --help` must not pay for them.
    from responder.run.logs import configure_logging
    from responder.run.start import StartError, build
    from responder.store.database import StoreError

    configure_logging()
    loaded = _loaded(config_path, paths)
    try:
        service = build(loaded, from_start=from_start, state=state, out=sys.stdout)
    except ConfigError as error:
        raise Failure(str(error), BAD_CONFIG) from None
    except (StartError, StoreError) as error:
        raise Failure(str(error), UNAVAILABLE) from None
    ended_by = _until_signalled(service.daemon, lambda: _is_sound(config_path, paths))
    service.close()
    if ended_by == signal.SIGHUP:
        # All state is on the disk, so that starting anew is all there is to a reload; standard input stays open.
        # Another SIGHUP must not end us before its handler is there again, and what is ignored stays so.
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])
    sys.exit(0 if ended_by is None else 128 + ended_by)


def _loaded(path: Path | None, paths: tuple[str, ...]) -> Loaded:
    """The configuration, with a server made of the paths on the command line."""
    if path is None and not paths and DEFAULT_PATH.exists():
        path = DEFAULT_PATH
    try:
        loaded = load_config(path)
    except ConfigError as error:
        raise Failure(str(error), BAD_CONFIG) from None
    if paths:
        for one in paths:
            _refuse_folder(one)
        server = ServerConfig(name=_name(paths), logs=paths)
        shared = shared_log((*loaded.config.server, server))
        if shared is not None:
            raise Failure(told_twice(*shared), BAD_CONFIG)
        config = Config(
            **{field: getattr(loaded.config, field) for field in Config.__struct_fields__ if field != "server"},
            server=(*loaded.config.server, server),
        )
        loaded = Loaded(config=config, origins=loaded.origins, path=loaded.path)
    if not loaded.config.server:
        hint = "give log files, as in `responder run /var/log/sglang/*.log`, or a [[server]]"
        raise Failure(f"nothing to follow: {hint} in {path or DEFAULT_PATH}", BAD_CONFIG if path else USAGE)
    return loaded


def _refuse_folder(path: str) -> None:
    if Path(path).is_dir():
        raise Failure(f"{path}: a folder, where a log file or a glob is expected; try `{path.rstrip('/')}/*.log`")


def _name(paths: tuple[str, ...]) -> str:
    from responder.replay.chains import server_name

    return server_name([Path(paths[0])])


def _is_sound(path: Path | None, paths: tuple[str, ...]) -> bool:
    """Whether a new start would find a configuration that it understands; says what is wrong where not."""
    import structlog

    log = structlog.get_logger(__name__)
    try:
        _loaded(path, paths)
    except Failure as error:
        log.error("not reloaded; the configuration is wrong", reason=str(error))
        return False
    log.info("reloading")
    return True


def _until_signalled(daemon: "Daemon", may_reload: Callable[[], bool]) -> int | None:
    """Run the daemon; SIGTERM and SIGINT stop it cleanly, and so does SIGHUP if there is something to reload.

    Returns the signal that ended it.
    """
    ended_by: list[int] = []

    def on_signal(number: int, _frame: object) -> None:
        ended_by.append(number)
        daemon.stop()

    signal.signal(signal.SIGTERM, on_signal)
    signal.signal(signal.SIGINT, on_signal)
    signal.signal(signal.SIGHUP, lambda _number, _frame: daemon.reload())
    reloads = daemon.run(may_reload)
    if ended_by:
        return ended_by[0]
    return signal.SIGHUP if reloads else None
