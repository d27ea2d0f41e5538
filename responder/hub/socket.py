"""Slack's Socket Mode: presses come in over a websocket that this host opened, so no port has to be open to Slack."""

import logging
from collections.abc import Callable

import structlog
from slack_sdk.errors import SlackClientNotConnectedError
from slack_sdk.socket_mode import SocketModeClient
from slack_sdk.socket_mode.client import BaseSocketModeClient
from slack_sdk.socket_mode.request import SocketModeRequest
from slack_sdk.socket_mode.response import SocketModeResponse
from slack_sdk.web import WebClient

from responder.publish.slack.buttons import Pressed, read_press
from responder.publish.slack.token import Secret

log = structlog.get_logger(__name__)

# Its session ids and reconnections every few hours are no news.
logging.getLogger("slack_sdk.socket_mode").setLevel(logging.WARNING)


def listen(client: WebClient, app_token: Secret, hear: Callable[[Pressed], None]) -> SocketModeClient:
    """Connect and hand every press to `hear`, after Slack got its acknowledgement (it waits three seconds for it).

    Connects anew by itself.  Raises what a call to Slack may raise where the first connection fails.
    """
    connection = SocketModeClient(app_token=app_token.value, web_client=client)

    def on_request(sender: BaseSocketModeClient, request: SocketModeRequest) -> None:
        pressed = read_press(request.payload) if request.type == "interactive" else None
        # Heard before it is acknowledged: a process that dies in between hears of it again, on another connection.
        if pressed is not None:
            hear(pressed)
        else:
            log.debug("not one of our buttons", type=request.type)
        try:
            sender.send_socket_mode_response(SocketModeResponse(envelope_id=request.envelope_id))
        except (SlackClientNotConnectedError, OSError):
            log.info("the connection ended before a press was acknowledged; Slack tells of it again")

    connection.socket_mode_request_listeners.append(on_request)
    try:
        connection.connect()
    except BaseException:
        connection.close()
        raise
    return connection
