"""What a request quotes is not what the server says: a prompt about an error is no error."""

import regex

from responder.scan.engine import LONGEST_CONFIRMED, LineHit, Match, text
from responder.scan.program import TRACEBACK
from responder.scan.prompts import drop_prompts


def without_quoted(data: bytes, hit: LineHit) -> LineHit:
    """The hit without the faults and the traceback's header that stand only in what a user typed."""
    faults = any(match.rule.role in ("cause", "symptom") for match in hit.matches)
    if not faults and not any(pattern.use == "traceback" for pattern in hit.aside):
        return hit
    line = text(data[hit.start : min(hit.end, hit.start + LONGEST_CONFIRMED)])
    said = drop_prompts(line)
    if said != line:
        raw = said.encode()
        hit.matches = [match for match in hit.matches if _still_fires(match, raw)]
        header = regex.search(TRACEBACK, raw) is not None
        hit.aside = [pattern for pattern in hit.aside if pattern.use != "traceback" or header]
    return hit


def _still_fires(match: Match, said: bytes) -> bool:
    if match.rule.role not in ("cause", "symptom"):
        return True
    return any(regex.search(pattern.encode(), said, timeout=1) for pattern in match.rule.patterns)
