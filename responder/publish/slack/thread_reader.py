"""Reads the threads of open alerts for what a hub on another host noted there.

A daemon asks for its own threads only, soon after an alert often and later seldom: Slack allows an app about fifty such
calls a minute, whole fleet together.  Where there are more, Slack says how long to wait, and a press takes longer to
arrive.
"""

import queue
import threading
from collections.abc import Callable, Sequence
from typing import Protocol

import structlog
from slack_sdk import WebClient

from responder.publish.slack.errors import CALL_ERRORS, read
from responder.publish.slack.presses import carry_out, press_in
from responder.store import outbox
from responder.store.database import Database, StoreUnavailableError
from responder.store.outbox import Post
from responder.store.presses import Press

log = structlog.get_logger(__name__)

PACE = 2.0
"""Seconds between two calls of one daemon."""
SOONEST, LATEST = 10.0, 120.0
"""Seconds between two looks at one thread: the first for a fresh alert, the second for one of an hour and older."""
LONGEST_WAIT = 300.0
_PAGES = 10


class WallClock(Protocol):
    """Whatever tells the time of day."""

    def wall(self) -> float:
        """Seconds since the epoch."""
        ...


class ThreadReader:
    """The thread that asks Slack.  `watch` these posts, `take` what was pressed."""

    def __init__(
        self,
        client: WebClient,
        clock: WallClock,
        wake: Callable[[], None],
        pause: Callable[[float], bool] | None = None,
    ) -> None:
        self._client, self._clock, self._wake = client, clock, wake
        self._stopping = threading.Event()
        self._pause = pause or self._stopping.wait
        """Waits that many seconds; true: the reader is to stop."""
        self._posts: Sequence[Post] = ()
        self._looked: dict[Post, float] = {}
        self._newest: dict[Post, str] = {}
        self._presses: queue.SimpleQueue[Press] = queue.SimpleQueue()
        self._bot_id = ""
        self._failures = 0
        self._thread = threading.Thread(target=self._run, name="slack-reader", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self, patience: float) -> None:
        """Ask nothing more; wait for the call under way at most `patience` seconds."""
        self._stopping.set()
        self._thread.join(patience)

    def watch(self, posts: Sequence[Post]) -> None:
        """The posts whose threads are read from now on."""
        self._posts = tuple(posts)

    def take(self) -> Press | None:
        """A press, once; None: there is none."""
        try:
            return self._presses.get_nowait()
        except queue.Empty:
            return None

    def look(self) -> float:
        """Read the thread that has waited longest, if its time has come.  Returns the seconds to pause after it."""
        posts, now = self._posts, self._clock.wall()
        self._looked = {post: at for post, at in self._looked.items() if post in posts}
        self._newest = {post: ts for post, ts in self._newest.items() if post in posts}
        due = [post for post in posts if now - self._looked.get(post, 0.0) >= _interval(post, now)]
        if not due:
            return PACE
        post = min(due, key=lambda post: self._looked.get(post, 0.0))
        self._looked[post] = now
        try:
            self._bot_id = self._bot_id or str(self._client.auth_test().get("bot_id") or "")
            self._read(post)
        except CALL_ERRORS as error:
            failure = read(error)
            self._failures += 1
            if self._failures == 1:
                log.warning("buttons pressed at a hub elsewhere cannot be read", error=failure.error)
            wait = min(LONGEST_WAIT, PACE * 2.0 ** min(self._failures, 10))
            return max(wait, failure.retry_after or 0.0)
        if self._failures:
            log.info("buttons pressed at a hub elsewhere can be read again")
        self._failures = 0
        return PACE

    def _read(self, post: Post) -> None:
        cursor: str | None = None
        for _ in range(_PAGES):
            page = self._client.conversations_replies(
                channel=post.channel_id,
                ts=post.ts,
                oldest=self._newest.get(post, post.ts),
                include_all_metadata=True,
                limit=200,
                cursor=cursor,
            )
            for posted in page.get("messages") or []:
                self._newest[post] = max(self._newest.get(post, ""), str(posted.get("ts", "")))
                press = press_in(posted, self._bot_id)
                if press is not None and press.incident == post.incident:
                    self._presses.put(press)
                    self._wake()
            cursor = (page.get("response_metadata") or {}).get("next_cursor")
            if not cursor:
                return

    def _run(self) -> None:
        wait = PACE
        while not self._pause(wait):
            wait = self.look()


class ReadPresses:
    """The loop's side: which threads to read, and what was pressed there carried out."""

    def __init__(self, database: Database, reader: ThreadReader, clock: WallClock) -> None:
        self._database, self._reader, self._clock = database, reader, clock
        self._listed = 0.0
        self._unsettled: Press | None = None

    def pump(self) -> None:
        """Carry out what was read, and say which threads are of interest now.  Never waits."""
        now = self._clock.wall()
        if not 0.0 <= now - self._listed < PACE:
            self._listed = now
            self._reader.watch(outbox.open_posts(self._database.connection))
        while (press := self._unsettled or self._reader.take()) is not None:
            self._unsettled = press
            try:
                with self._database.transaction() as connection:
                    done = carry_out(connection, press)
            except StoreUnavailableError as error:
                log.warning("a button that was pressed waits for the disk", incident=press.incident, error=str(error))
                return
            self._unsettled = None
            if done:
                log.info("a button was pressed", incident=press.incident, action=press.action, by=press.by)

    def close(self, patience: float) -> None:
        """End the reader."""
        self._reader.stop(patience)


def _interval(post: Post, now: float) -> float:
    return min(LATEST, max(SOONEST, (now - float(post.ts)) / 30))
