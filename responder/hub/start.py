"""Put the hub together from its configuration."""

from pathlib import Path
from typing import NamedTuple

import structlog
from slack_sdk.socket_mode import SocketModeClient

from responder.hub.allow_list import AllowList
from responder.hub.hub import Hub
from responder.hub.socket import listen
from responder.publish.redact import Policy as RedactionPolicy
from responder.publish.slack.errors import CALL_ERRORS, read
from responder.publish.slack.sender import Delivery, Sender
from responder.publish.slack.token import TokenError, find_app_token, find_token
from responder.publish.slack.transport import BotTransport, client
from responder.run.config import Config, ConfigError, state_dir
from responder.run.start import StartError
from responder.sources.clock import SystemClock, SystemWaker
from responder.store.database import Database, StoreError, open_database

log = structlog.get_logger(__name__)

_NO_APP_TOKEN = (
    "there is no app-level token: give the systemd credential `slack-app-token`, [hub] app_token_file or "
    "RESPONDER_SLACK_APP_TOKEN"
)
_NO_TOKEN = (
    "there is no bot token: give the systemd credential `slack-token`, [slack] token_file or RESPONDER_SLACK_TOKEN"
)
_NOBODY = 'nobody may press a button: name people in [hub] users or groups in [hub] usergroups, or users = ["*"]'


class Service(NamedTuple):
    """A hub that listens, and how to end it."""

    hub: Hub
    connection: SocketModeClient
    database: Database

    def close(self) -> None:
        """Give everything back."""
        self.connection.close()
        self.database.close()


def build(config: Config, state: Path | None = None) -> Service:
    """The hub, connected.  Raises ConfigError for what is not set up and StartError for what does not work."""
    try:
        token = find_token(_path(config.slack.token_file))
        app_token = find_app_token(_path(config.hub.app_token_file))
    except TokenError as error:
        raise ConfigError(str(error)) from None
    if token is None:
        raise ConfigError(_NO_TOKEN)
    if app_token is None:
        raise ConfigError(_NO_APP_TOKEN)
    if not (config.hub.users or config.hub.usergroups):
        raise ConfigError(_NOBODY)
    for secret in (token, app_token):
        if secret.warning:
            log.warning("slack token", advice=secret.warning)
    folder = state or state_dir(config)
    clock, waker = SystemClock(), SystemWaker()
    try:
        database = open_database(folder / "hub.db", clock)
    except StoreError as error:
        raise StartError(f"the state in {folder} cannot be opened: {error}") from None
    web = client(token, config.slack.base_url)
    sender = Sender(BotTransport(client(token, config.slack.base_url)), clock, waker.wake)
    delivery = Delivery(database, sender, clock)
    delivery.recover()
    hub = Hub(
        web,
        AllowList(web, config.hub.users, config.hub.usergroups, clock.monotonic),
        database,
        delivery,
        folder / "responder.db",
        clock,
        waker,
        RedactionPolicy(excerpt=config.publish.excerpt, hide_hosts=config.publish.hide_hosts),
    )
    try:
        connection = listen(web, app_token, hub.hear)
    except CALL_ERRORS as error:
        database.close()
        raise StartError(f"Slack's Socket Mode cannot be reached: {read(error).error}") from None
    sender.start()
    return Service(hub, connection, database)


def _path(text: str | None) -> Path | None:
    return Path(text) if text else None
