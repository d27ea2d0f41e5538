"""An incident as one line of JSON: what scripts read."""

import re

import msgspec

from responder.nouns import Incident

_ENCODER = msgspec.json.Encoder(order="deterministic")
# JSON escapes the C0 controls by itself; these would still act on a terminal that the line is printed on.
_ACTIVE = re.compile("[\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]")


def encode(incident: Incident) -> str:
    """The redacted incident as JSON on one line, without the line's end."""
    text = _ENCODER.encode(incident).decode()
    return _ACTIVE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
