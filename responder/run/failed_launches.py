"""Which launch each failure of a server is advised by.

The command of a failure is the one that failed, not the one that the operator has typed since: once something vouches
for a launch it stays that failure's.
"""

from collections.abc import Iterable

from responder.advise.launch import Launch, config_launch, find_launch
from responder.diagnose import Finding
from responder.run.config import ServerConfig
from responder.run.launch_watch import LaunchWatch

MOST_REMEMBERED = 256
"""Failures whose launch is kept."""


class FailedLaunches:
    """The launches of one server's failures."""

    def __init__(self, config: ServerConfig, watch: LaunchWatch | None = None) -> None:
        self._name, self._watch = config.name, watch
        self._typed = find_launch(config_launch(config.command, config.python, config.unit))
        self._kept: dict[str, Launch] = {}
        self._version = 0

    def of(self, finding: Finding | None = None, *, from_journal: bool = False) -> Launch:
        """The launch that failed; without a finding, how the server is launched now."""
        if self._watch is None:
            return self._typed
        if finding is None:
            return self._watch.launch_of(self._name)
        kept = self._kept.get(_key(finding))
        if kept is not None:
            return kept
        launch = self._watch.launch_of(self._name, finding, from_journal=from_journal)
        if launch.command is not None and launch.complete:
            self._kept[_key(finding)] = launch
            while len(self._kept) > MOST_REMEMBERED:
                del self._kept[next(iter(self._kept))]
        return launch

    def open_again(self, findings: Iterable[Finding]) -> list[Finding]:
        """The failures whose launch is not known yet, where something was learned since the last call."""
        if self._watch is None or self._watch.version == self._version:
            return []
        self._version = self._watch.version
        return [finding for finding in findings if _key(finding) not in self._kept]


def _key(finding: Finding) -> str:
    """The last crash of a finding: the next attempt may have been launched otherwise."""
    return next(reversed(finding.crashes), finding.id)
