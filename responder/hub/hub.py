"""What the hub does with a button that somebody pressed.

Where the alert came from this host, the daemon's state takes it: the daemon sees it at its next wake-up.  Every other
alert gets a reply in its thread, which the daemon of its host reads.  The replies wait in an outbox of the hub's own,
so that none is lost and none comes twice.
"""

import queue
import sqlite3
import threading
from pathlib import Path
from typing import Any

import structlog
from slack_sdk import WebClient

from responder.hub.allow_list import AllowList
from responder.nouns import Incident
from responder.publish.redact import Policy as RedactionPolicy
from responder.publish.redact import redact_incident
from responder.publish.slack import message, presses
from responder.publish.slack.buttons import Pressed
from responder.publish.slack.errors import CALL_ERRORS, read
from responder.publish.slack.sender import Delivery
from responder.sources.clock import Clock, Waker
from responder.store import incidents, outbox
from responder.store import presses as records
from responder.store.database import Database, StoreError, open_database
from responder.store.presses import Press

log = structlog.get_logger(__name__)

WAKE_SECONDS = 1.0
PATIENCE = 10.0
"""Seconds that a reply under way gets when the hub stops."""

REFUSED = "You may not press this button: whoever runs responder names those who may, in `[hub] users` or `usergroups`."
NOT_STORED = "This could not be noted just now, so nothing has changed. Press again in a minute."
OVER = "This incident is over already; nothing has changed."
NOT_HERE = "The command stands in the message or its thread; this hub does not watch the host that sent it."


class Hub:
    """Takes presses from any thread and acts on them in its own."""

    def __init__(
        self,
        client: WebClient,
        allowed: AllowList,
        database: Database,
        delivery: Delivery,
        state: Path,
        clock: Clock,
        waker: Waker,
        redaction: RedactionPolicy,
    ) -> None:
        self._client, self._allowed, self._clock, self._waker = client, allowed, clock, waker
        self._database, self._delivery = database, delivery
        """Of the hub itself: its record of presses, and the replies to send."""
        self._state = state
        """The database of this host's daemon, which may not exist."""
        self._redaction = redaction
        self._heard: queue.SimpleQueue[Pressed] = queue.SimpleQueue()
        self._stopping = threading.Event()

    def hear(self, pressed: Pressed) -> None:
        """Somebody pressed a button.  Returns at once; safe from any thread."""
        self._heard.put(pressed)
        self._waker.wake()

    def stop(self) -> None:
        """End after what is under way.  Safe in a signal handler."""
        self._stopping.set()
        self._waker.wake()

    def run(self) -> None:
        """Act until `stop`."""
        while not self._stopping.is_set():
            self.wake_up()
            self._waker.wait(WAKE_SECONDS)
        self.wake_up()
        self._delivery.close(PATIENCE)

    def wake_up(self) -> None:
        """Act on all that was pressed, and send what is to be sent."""
        while not self._heard.empty():
            pressed = self._heard.get()
            try:
                self._act(pressed)
            except StoreError as error:
                log.error("a press could not be noted", incident=pressed.incident, by=pressed.user, error=str(error))
                self._whisper(pressed, {"text": NOT_STORED})
        self._delivery.pump()

    def _act(self, pressed: Pressed) -> None:
        allowed = self._allowed.allows(pressed.user)
        say = log.info if allowed else log.warning
        say(
            "a button was pressed" if allowed else "a button was pressed by somebody who may not",
            action=pressed.action,
            incident=pressed.incident,
            by=pressed.user,
            name=pressed.name,
        )
        if not allowed:
            self._whisper(pressed, {"text": REFUSED})
        elif pressed.action == "show-relaunch":
            self._show_relaunch(pressed)
        else:
            self._decide(pressed)

    def _decide(self, pressed: Pressed) -> None:
        assert pressed.action != "show-relaunch"
        by = f"{pressed.name} (Slack {pressed.user})"
        press = Press(key=pressed.key, incident=pressed.incident, action=pressed.action, by=by, at=self._clock.wall())
        known = self._known_here(pressed.incident)
        if known is not None and known.status == "resolved":
            self._whisper(pressed, {"text": OVER})
            return
        if known is not None:
            self._carry_out_here(press)
        with self._database.transaction() as connection:
            if records.note(connection, press):
                reply = presses.answer(press, pressed.name, here=known is not None)
                _queue_reply(connection, pressed, reply, press.at)

    def _carry_out_here(self, press: Press) -> None:
        database = open_database(self._state, self._clock)
        try:
            with database.transaction() as connection:
                presses.carry_out(connection, press)
        finally:
            database.close()

    def _known_here(self, incident: str) -> Incident | None:
        """The incident, if this host's daemon knows it."""
        if not self._state.exists():
            return None
        database = open_database(self._state, self._clock)
        try:
            return incidents.load(database.connection, incident)
        finally:
            database.close()

    def _show_relaunch(self, pressed: Pressed) -> None:
        known = self._known_here(pressed.incident)
        if known is not None:
            payload = message.relaunches(redact_incident(known, self._redaction))
        else:
            payload = message.relaunches_in(pressed.blocks)
        self._whisper(pressed, payload or {"text": NOT_HERE})

    def _whisper(self, pressed: Pressed, payload: dict[str, Any]) -> None:
        """Tell the one who pressed and nobody else.  Tried once: they are there, and can press again."""
        try:
            self._client.chat_postEphemeral(channel=pressed.channel, user=pressed.user, **payload)
        except CALL_ERRORS as error:
            log.warning("an answer to a press did not get through", by=pressed.user, error=read(error).error)


def _queue_reply(connection: sqlite3.Connection, pressed: Pressed, payload: dict[str, Any], now: float) -> None:
    post = f"{pressed.channel}:{pressed.ts}"
    outbox.adopt(connection, key=post, channel_id=pressed.channel, ts=pressed.ts, now=now)
    outbox.put(
        connection,
        key=pressed.key,
        incident=pressed.incident,
        kind="reply",
        channel=pressed.channel,
        payload=payload,
        now=now,
        parent=post,
    )
