"""From an incident that changed to the messages about it, all in the caller's transaction.

Redaction first, then the decision, then the outbox; whatever is not said is logged with its reason.
"""

import hashlib
import sqlite3
from collections.abc import Callable, Sequence
from typing import Any, Literal, cast, get_args

import msgspec
import structlog

from responder.nouns import Incident
from responder.publish.decision import Decision, Policy, Reason, Told, decide, tell
from responder.publish.redact import Policy as RedactionPolicy
from responder.publish.redact import redact_incident
from responder.publish.route import Route
from responder.publish.slack import message
from responder.store import incidents, outbox

log = structlog.get_logger(__name__)

Mode = Literal["bot", "webhook", "none"]
"""A bot posts, edits and replies; a webhook only posts; `none` sends nothing and only tells `on_loud`."""

_KEPT_BACK: tuple[Reason, ...] = ("info", "silenced", "cap")
"""Reasons for which somebody may look for a message in vain; `hold` and `unchanged` pass by themselves."""
_REMEMBERED = 1000
_HOUR = 3600.0
_HELD_WINDOW = {"bot": 3600.0, "webhook": 300.0}
_HELD_DELAY = 30.0


class Publisher:
    """Decides what to say of each incident, and queues it."""

    def __init__(
        self,
        channel: str = "",
        *,
        mode: Mode = "none",
        routes: Sequence[Route] = (),
        posting: Policy | None = None,
        redaction: RedactionPolicy | None = None,
        buttons: bool = False,
        on_loud: Callable[[Incident, Decision], None] | None = None,
    ) -> None:
        self.channel = channel
        self.mode = mode
        self.routes = tuple(routes)
        self.posting = posting or Policy()
        self.redaction = redaction or RedactionPolicy()
        self.buttons = buttons and mode == "bot"
        """Whether a hub listens for buttons: without one they would be dead."""
        self.on_loud = on_loud
        """Called, within the transaction, with each redacted incident that is posted or broadcast."""
        self._heard: set[str] = set()
        """What `on_loud` was told of in transactions that failed: it is not told again when they are tried again."""
        self._quiet: dict[str, Reason] = {}
        """Why nothing is said of an incident just now, so that its next thousand lines do not log it again."""

    def keep(self, connection: sqlite3.Connection, incident: Incident, now: float) -> None:
        """Store an incident and say nothing of it yet."""
        # Secrets do not lie in the state either; the excerpt does, for the operator of this host.
        incidents.save(connection, redact_incident(incident), now)

    def offer(self, connection: sqlite3.Connection, incident: Incident, now: float) -> Decision:
        """Store an incident that is new or has changed, and queue what is to be said of it."""
        self.keep(connection, incident, now)
        if incident.status == "resolved":
            incidents.forget_acknowledgement(connection, incident.id)
        return self._consider(connection, incident, now)

    def stored(self) -> None:
        """The transaction of the calls so far has succeeded."""
        self._heard.clear()

    def look_again(self, connection: sqlite3.Connection, now: float) -> float | None:
        """Decide anew about the incidents whose time has come.  Returns when to call this again, None: no time set."""
        for incident in incidents.to_look_at(connection, now):
            self._consider(connection, incident, now)
        return incidents.next_look(connection)

    def summarise(self, connection: sqlite3.Connection, found: Sequence[Incident], sentence: str, now: float) -> None:
        """One message for all that was found in the logs of a time without responder; none gets its own post.

        `sentence` says which time that was.
        """
        alerting = [incident for incident in found if incident.severity != "info"]
        for incident in found:
            self.keep(connection, incident, now)
        if not alerting:
            return
        shown = [self._redacted(connection, incident, now) for incident in alerting]
        key = "summary:" + hashlib.sha256(" ".join(sorted(i.id for i in alerting)).encode()).hexdigest()[:16]
        self._post(connection, key, "", self.channel, message.summary(shown, sentence), now)
        for incident in shown:
            self._note(connection, incident, tell(incident, None, key, now, loud=True), None, own=False)

    def channel_of(self, incident: Incident) -> str:
        """The channel of the first route that takes it, else the one for everything."""
        return next((route.channel for route in self.routes if route.takes(incident)), self.channel)

    # --- One incident ------------------------------------------------------------------------------------------------

    def _consider(self, connection: sqlite3.Connection, incident: Incident, now: float) -> Decision:
        shown = self._redacted(connection, incident, now)
        told = _told(connection, incident.id)
        known = incidents.known_since(connection, incident.id) or now
        loud = outbox.loud_since(connection, now - _HOUR)
        decision = decide(shown, told, now, self.posting, known=known, loud_last_hour=loud)
        log.debug("decided", incident=incident.id, action=decision.action, reason=decision.reason)
        if decision.action != "nothing":
            self._quiet.pop(incident.id, None)
        if decision.action == "post" or (decision.action == "broadcast" and told is not None and not told.own):
            self._say_first(connection, shown, told, decision, now)
        elif decision.action == "broadcast" and told is not None:
            self._say_again(connection, shown, told, decision, now)
        elif decision.action == "update" and told is not None:
            self._edit(connection, shown, told, decision, now)
        elif decision.reason == "cap" and told is None:
            self._hold_back(connection, shown, now)
        else:
            self._log_quiet(shown, decision.reason)
            incidents.look_at(connection, incident.id, decision.again_at)
        return decision

    def _log_quiet(self, incident: Incident, reason: Reason) -> None:
        """Why nothing is said, once for all that comes of it."""
        if reason not in _KEPT_BACK or self._quiet.get(incident.id) == reason:
            return
        if len(self._quiet) >= _REMEMBERED:
            self._quiet.clear()
        self._quiet[incident.id] = reason
        log.info("said nothing", incident=incident.id, rule=incident.rule, reason=reason)

    def _say_first(
        self, connection: sqlite3.Connection, incident: Incident, told: Told | None, decision: Decision, now: float
    ) -> None:
        key = f"{incident.id}:post:{told.posts + 1 if told else 1}"
        again = decision.reason == "reopened"
        payload = message.root(incident, again=again, buttons=self.buttons)
        self._post(connection, key, incident.id, self.channel_of(incident), payload, now)
        self._reply(connection, key, incident, now)
        self._note(connection, incident, tell(incident, told, key, now, loud=True), decision.again_at, again=again)
        self._tell_listener(key, incident, decision)

    def _say_again(
        self, connection: sqlite3.Connection, incident: Incident, told: Told, decision: Decision, now: float
    ) -> None:
        again = told.again or decision.reason == "reopened"
        news = cast("message.News", decision.reason)
        assert news in get_args(message.News)
        self._edit_post(connection, incident, told.post, again, now)
        payload, key = message.broadcast(incident, news), f"{told.post}:broadcast:{told.posts + 1}"
        if self.mode == "bot":
            channel = self.channel_of(incident)
            outbox.put(
                connection,
                key=key,
                incident=incident.id,
                kind="broadcast",
                channel=channel,
                payload=payload,
                now=now,
                parent=told.post,
            )
        else:
            self._post(connection, key, incident.id, self.channel_of(incident), payload, now)
        if news == "cause-found":
            self._reply(connection, told.post, incident, now, part=told.posts + 1)
        self._note(
            connection, incident, tell(incident, told, told.post, now, loud=True), decision.again_at, again=again
        )
        self._tell_listener(key, incident, decision)

    def _edit(
        self, connection: sqlite3.Connection, incident: Incident, told: Told, decision: Decision, now: float
    ) -> None:
        again = told.again and incident.status != "resolved"
        if told.own:
            self._edit_post(connection, incident, told.post, again, now)
        after = tell(incident, told, told.post, now, loud=False)
        self._note(connection, incident, after, decision.again_at, own=told.own, again=again)

    def _hold_back(self, connection: sqlite3.Connection, incident: Incident, now: float) -> None:
        """Past the cap: name it, with the others of this hour, in one message that is edited as they become more."""
        window = _HELD_WINDOW.get(self.mode, _HOUR)
        key = f"held:{self.mode}:{int(now // window)}"
        log.warning("held back by the hourly cap", incident=incident.id, rule=incident.rule, named_in=key)
        self._note(connection, incident, tell(incident, None, key, now, loud=True), None, own=False)
        first, count = incidents.told_in(connection, key, message.LISTED)
        payload = message.held_back([self._redacted(connection, member, now) for member in first], count)
        waits = outbox.get(connection, key)
        if waits is None or waits.state == "queued":
            self._post(connection, key, "", self.channel, payload, now, due=now + _HELD_DELAY)
            outbox.replace_queued(connection, key, payload)
        elif self.mode == "bot":
            outbox.put_update(connection, incident="", parent=key, channel=self.channel, payload=payload, now=now)

    # --- Queueing ----------------------------------------------------------------------------------------------------

    def _post(
        self,
        connection: sqlite3.Connection,
        key: str,
        incident: str,
        channel: str,
        payload: dict[str, Any],
        now: float,
        due: float | None = None,
    ) -> None:
        if self.mode != "none":
            outbox.put(
                connection, key=key, incident=incident, kind="post", channel=channel, payload=payload, now=now, due=due
            )

    def _reply(self, connection: sqlite3.Connection, post: str, incident: Incident, now: float, part: int = 1) -> None:
        if self.mode != "bot":
            return
        for number, payload in enumerate(message.thread(incident), 1):
            outbox.put(
                connection,
                key=f"{post}:reply:{part}.{number}",
                incident=incident.id,
                kind="reply",
                channel=self.channel_of(incident),
                payload=payload,
                now=now,
                parent=post,
            )

    def _edit_post(
        self, connection: sqlite3.Connection, incident: Incident, post: str, again: bool, now: float
    ) -> None:
        if self.mode == "bot":
            payload = message.root(incident, again=again, buttons=self.buttons)
            channel = self.channel_of(incident)
            outbox.put_update(connection, incident=incident.id, parent=post, channel=channel, payload=payload, now=now)

    def _note(
        self,
        connection: sqlite3.Connection,
        incident: Incident,
        told: Told,
        again_at: float | None,
        *,
        own: bool = True,
        again: bool = False,
    ) -> None:
        told = msgspec.structs.replace(told, own=own, again=again)
        incidents.note_told(connection, incident.id, msgspec.json.encode(told).decode(), again_at, told.post)

    def _redacted(self, connection: sqlite3.Connection, incident: Incident, now: float) -> Incident:
        return redact_incident(incidents.as_people_left_it(connection, incident, now), self.redaction)

    def _tell_listener(self, key: str, incident: Incident, decision: Decision) -> None:
        if self.on_loud is not None and key not in self._heard:
            self._heard.add(key)
            self.on_loud(incident, decision)


def _told(connection: sqlite3.Connection, incident_id: str) -> Told | None:
    text = incidents.told(connection, incident_id)
    return msgspec.json.decode(text, type=Told) if text else None
