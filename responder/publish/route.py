"""A channel for some of the incidents."""

import msgspec

from responder.nouns import Incident, Severity


class Route(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A channel, and which incidents it gets.  What is not given matches anything."""

    channel: str
    severities: tuple[Severity, ...] = ()
    kinds: tuple[str, ...] = ()
    servers: tuple[str, ...] = ()

    def takes(self, incident: Incident) -> bool:
        """Whether the incident goes here."""
        return (
            (not self.severities or incident.severity in self.severities)
            and (not self.kinds or incident.kind in self.kinds)
            and (not self.servers or incident.server.name in self.servers)
        )
