"""Who may press a button."""

from collections.abc import Callable, Iterable, Mapping

import structlog
from slack_sdk import WebClient

from responder.publish.slack.errors import CALL_ERRORS, read

log = structlog.get_logger(__name__)

EVERYBODY = "*"
FRESH = 300.0
"""Seconds that the members of a user group are believed to stay the same."""


class AllowList:
    """People by id, and the members of user groups, asked for when somebody presses."""

    def __init__(
        self, client: WebClient, users: Iterable[str], usergroups: Iterable[str], now: Callable[[], float]
    ) -> None:
        self._client, self._now = client, now
        self._users, self._groups = frozenset(users), tuple(usergroups)
        self._members: Mapping[str, tuple[float, frozenset[str]]] = {}

    def allows(self, user: str) -> bool:
        """Whether this person may.  Where a group cannot be asked for, its members may not."""
        if EVERYBODY in self._users or user in self._users:
            return True
        return any(user in self._members_of(group) for group in self._groups)

    def _members_of(self, group: str) -> frozenset[str]:
        asked, members = self._members.get(group, (float("-inf"), frozenset()))
        if 0.0 <= self._now() - asked < FRESH:
            return members
        try:
            answer = self._client.usergroups_users_list(usergroup=group)
        except CALL_ERRORS as error:
            # A list that is too old says nothing of who left the group since.
            log.warning("the members of a user group are not known", usergroup=group, error=read(error).error)
            return frozenset()
        members = frozenset(str(member) for member in answer.get("users") or ())
        self._members = {**self._members, group: (self._now(), members)}
        return members
