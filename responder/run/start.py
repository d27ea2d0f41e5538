"""Put the daemon together from its configuration."""

import contextlib
import ctypes
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, NamedTuple, Protocol

import structlog

from responder.advise.gpu.nvml import query_gpus
from responder.catalogue import Catalogue, load_catalogue
from responder.nouns import Incident
from responder.publish.decision import Decision, Policy
from responder.publish.publisher import Mode, Publisher
from responder.publish.redact import Policy as RedactionPolicy
from responder.publish.slack.token import Secret, TokenError, find_token, find_webhook
from responder.run.config import Config, ConfigError, Loaded, ServerConfig, state_dir
from responder.run.daemon import Daemon, Delivery
from responder.run.gpu_watch import GpuWatch
from responder.run.health import Inquiry
from responder.run.launch_watch import LaunchWatch
from responder.run.notify import Notifier, watchdog_seconds
from responder.run.real_checks import RealChecks
from responder.run.source_log import SourceLog
from responder.run.watched import Watched
from responder.scan import build_program
from responder.sources.clock import SystemClock, SystemWaker
from responder.sources.discovery import Discovery
from responder.sources.events import SourceEvents
from responder.sources.follower import Follower
from responder.sources.journal import KERNEL, KERNEL_MATCHES, Journal, unit_matches, unit_source
from responder.sources.sources import Source, Sources
from responder.sources.watcher import FolderWatcher
from responder.store import checkpoints, cursors, launches
from responder.store.checkpoints import Saved
from responder.store.cursors import Cursor
from responder.store.database import Database, StoreError, open_database

log = structlog.get_logger(__name__)


class StartError(Exception):
    """Something the daemon needs is not there: what, and what to do."""


class Endpoint(Protocol):
    """Where the daemon's health is asked for."""

    def close(self) -> None:
        """Stop listening."""
        ...


class Service(NamedTuple):
    """A daemon that is ready to run, and how to end it."""

    daemon: Daemon
    database: Database
    followers: Sequence[Source]
    launches: LaunchWatch
    checks: RealChecks | None
    endpoint: Endpoint | None

    def close(self) -> None:
        """Give everything back."""
        if self.endpoint is not None:
            self.endpoint.close()
        self.launches.close()
        if self.checks is not None:
            self.checks.close()
        for follower in self.followers:
            follower.close()
        self.database.close()


def build(
    loaded: Loaded,
    *,
    from_start: bool = False,
    state: Path | None = None,
    out: IO[str],
    posting: Policy | None = None,
) -> Service:
    """The daemon of a configuration.  Alerts go to `out` where no Slack is configured.

    Raises ConfigError for what the configuration has wrong and StartError for what is missing on this host.
    """
    config = loaded.config
    clock, waker = SystemClock(), SystemWaker()
    catalogue = _catalogue(config)
    program, problems = build_program(catalogue)
    for problem in (*catalogue.problems, *problems):
        log.error("a rule is left out", problem=str(problem))
    database = _database(state or state_dir(config), clock)
    saved = checkpoints.load(database.connection)
    events = SourceLog()
    watcher = FolderWatcher(waker, events)
    launch_watch = LaunchWatch(config.server, waker.wake)
    watched = []
    for server in config.server:
        targets = _targets(server)
        follower = Follower(
            targets, _own(saved, targets), clock, waker, from_start=from_start, events=events, watcher=watcher.part()
        )
        memory = launches.load(database.connection, server.name)
        journals = _journals(server, cursors.load(database.connection), clock, waker, events, from_start=from_start)
        source = Sources(follower, journals) if journals else follower
        watched.append(Watched(server, program, source, launch_watch, memory))
    gpu = GpuWatch(query_gpus, waker.wake)
    gpu.refresh()
    launch_watch.start()
    checks = RealChecks(config.verify.python, waker.wake) if config.verify.python else None
    if checks is not None:
        checks.start()
    publisher, delivery = _sinks(config, database, clock, waker, out, posting)
    inquiry = Inquiry(waker)
    endpoint = _endpoint(config, inquiry)
    daemon = Daemon(
        watched,
        database,
        publisher,
        catalogue.by_id,
        gpu,
        clock,
        waker,
        delivery=delivery,
        checks=checks,
        notifier=Notifier(),
        watchdog=watchdog_seconds(),
        inquiry=inquiry,
        rules_left_out=len(catalogue.problems) + len(problems),
    )
    _give_back_memory()
    return Service(daemon, database, [server.follower for server in watched], launch_watch, checks, endpoint)


def _catalogue(config: Config) -> Catalogue:
    """The rules that can run; one whose own sample does not match is left out."""
    extra = [Path(path) for path in config.rules.paths]
    for path in extra:
        if not path.exists():
            raise ConfigError(f"[rules] paths: {path}: no such file or folder")
    catalogue = load_catalogue(extra)
    if not extra:
        return catalogue
    from responder.scan.samples import broken_rules

    broken, problems = broken_rules(catalogue)
    return catalogue.without(broken, problems)


def _database(folder: Path, clock: SystemClock) -> Database:
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        database = open_database(folder / "responder.db", clock)
    except OSError as error:
        raise StartError(f"the state folder {folder} cannot be made: {error.strerror}; set [state] dir") from None
    except StoreError as error:
        raise StartError(f"the state in {folder} cannot be opened: {error}") from None
    if database.set_aside is not None:
        log.error("the state was damaged; it was set aside and a new one begun", kept_as=str(database.set_aside))
    return database


def _give_back_memory() -> None:
    """Return to the system what compiling the rules took: glibc keeps what is freed (measured: 69 MiB, then 40)."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)


def _own(saved: Saved, targets: Sequence[str]) -> Saved:
    """What is known of one server's logs: each checkpoint has one who keeps it up to date."""
    discovery = Discovery(targets)
    mine = tuple(each for each in saved.checkpoints if discovery.target_of(each.path) is not None)
    return Saved(mine, saved.targets)


def _journals(
    server: ServerConfig,
    saved: Mapping[str, Cursor],
    clock: SystemClock,
    waker: SystemWaker,
    events: SourceEvents,
    *,
    from_start: bool,
) -> list[Journal]:
    """The journal of a server's unit and, since what kills a GPU shows there alone, the kernel's."""
    if server.journal is None:
        return []
    parts = ((unit_source(server.journal), unit_matches(server.journal)), (KERNEL, KERNEL_MATCHES))
    return [
        # Of the kernel's lines only what comes from now on: an old Xid is nothing to wake anybody for.
        Journal(
            source,
            matches,
            saved,
            clock,
            waker,
            owner=server.name,
            from_start=from_start and source != KERNEL,
            events=events,
        )
        for source, matches in parts
    ]


def _endpoint(config: Config, inquiry: Inquiry) -> Endpoint | None:
    """Metrics and health, where they are asked for.  Raises ConfigError and StartError."""
    listen = config.http.listen
    if listen is None:
        return None
    # Imported only where it is used: the metrics' client costs some MB.
    from responder.run.http import HealthServer

    try:
        return HealthServer(listen, inquiry)
    except ValueError as error:
        raise ConfigError(f"[http] listen: {error}") from None
    except OSError as error:
        raise StartError(f"[http] listen: {listen} cannot be had: {error.strerror or error}") from None


def _targets(server: ServerConfig) -> list[str]:
    return list(server.logs)


def _sinks(
    config: Config, database: Database, clock: SystemClock, waker: SystemWaker, out: IO[str], posting: Policy | None
) -> tuple[Publisher, Delivery | None]:
    """Slack as a bot, else through a webhook, else the terminal."""
    redaction = RedactionPolicy(excerpt=config.publish.excerpt, hide_hosts=config.publish.hide_hosts)
    mode, secret = _slack(config)
    if secret is None:
        return Publisher(posting=posting, redaction=redaction, on_loud=Printer(out)), None
    # Imported only where Slack is used: its client costs a quarter of a second and 14 MB.
    from responder.publish.slack import sender as slack
    from responder.publish.slack.thread_reader import ReadPresses, ThreadReader
    from responder.publish.slack.transport import BotTransport, WebhookTransport, client

    bot = mode == "bot"
    transport = BotTransport(client(secret, config.slack.base_url)) if bot else WebhookTransport(secret)
    sender = slack.Sender(transport, clock, waker.wake)
    presses = None
    if bot and config.slack.buttons:
        reader = ThreadReader(client(secret, config.slack.base_url), clock, waker.wake)
        presses = ReadPresses(database, reader, clock)
        reader.start()
    delivery = slack.Delivery(database, sender, clock, presses)
    doubtful = delivery.recover()
    if doubtful:
        log.warning("messages were on their way when the last run ended; Slack is asked about them", count=doubtful)
    sender.start()
    channel = config.slack.channel or "webhook"
    buttons = config.slack.buttons
    routes = config.slack.route if bot else ()
    if config.slack.route and not bot:
        log.warning("a webhook posts to one channel; the routes are not used", routes=len(config.slack.route))
    return Publisher(channel, mode=mode, routes=routes, posting=posting, redaction=redaction, buttons=buttons), delivery


def _slack(config: Config) -> tuple[Mode, Secret | None]:
    """How to reach Slack, and the secret for it; `none` where it is not set up.  Raises ConfigError."""
    slack = config.slack
    try:
        token = find_token(_path(slack.token_file)) if slack.channel else None
        webhook = find_webhook(_path(slack.webhook_file)) if token is None else None
    except TokenError as error:
        raise ConfigError(str(error)) from None
    if token is not None:
        if token.warning:
            log.warning("slack token", advice=token.warning)
        return "bot", token
    if webhook is not None:
        return "webhook", webhook
    if slack.channel:
        raise ConfigError(
            f"[slack] channel is {slack.channel} but there is no token: give the systemd credential `slack-token`, "
            "[slack] token_file or RESPONDER_SLACK_TOKEN"
        )
    return "none", None


def _path(text: str | None) -> Path | None:
    return Path(text) if text else None


class Printer:
    """Prints each alert as a page: the sink where nothing else is configured."""

    def __init__(self, out: IO[str]) -> None:
        self._out = out

    def __call__(self, incident: Incident, _decision: Decision) -> None:
        from responder.publish.terminal import console, render

        render(incident, console(self._out))
        self._out.flush()
