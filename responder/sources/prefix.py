"""sglang's own line prefix: `[2026-08-28 05:10:05 DP0 PP1 ATTN_CP2 MOE_DP0 TP3 EP4] message`.

The order of the ranks changed between releases (0.4.0 ` DP0 TP0`, 0.4.9 ` DP TP PP`, 0.5.3 ` DP TP EP PP`), so any
subset in any order is taken (srt/utils/common.py `configure_logger`, srt/managers/scheduler.py).
"""

import re
from datetime import datetime

import msgspec

_STAMP = r"(?P<time>\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:[.,]\d{1,6})?)"
_RANKS = r"(?P<ranks>(?: (?:[A-Z][A-Z_]*\d+|encode_server|encode_dp_worker\[\d+\]|DisaggregationMode\.\w+))*)"

PREFIX = re.compile(rf"\[{_STAMP}{_RANKS}\] ?")
"""The prefix wherever it stands in a line: a progress bar may be glued in front of it."""

_CUSTOM = re.compile(
    rf"^{_STAMP} +(?:ERROR|WARNING|INFO|DEBUG|CRITICAL) +(?:\d+ +)?"
    r"(?:\[(?P<ranks>(?: ?[A-Z][A-Z_]*\d+)*) ?[\w./]+:\d+\] ?)?"
)
"""A format set by SGLANG_LOGGING_CONFIG_PATH; the commonest stands on every line of a traceback too."""

_TORCH = re.compile(r"^\[(?:r|R)ank ?(?P<rank>\d+)\]:? ?(?:\[[EWIF]\d* [\d:.]+ [\w.]+:\d+\] ?)?")


_GLOG = re.compile(
    r"^\[?[EWIF](?P<date>\d{8}|\d{3,4})? ?(?P<clock>\d\d:\d\d:\d\d(?:\.\d{1,9})?)?(?: +\d+)? ?[\w./-]+\.\w+:\d+\] ?"
)
"""glog, and torch in its manner: `E0619 07:02:10.123456 812 tcp_transport.cpp:136] `, `[E ProcessGroupNCCL.cpp:474] `.
Only the form with a year gives a time."""


class Prefix(msgspec.Struct, frozen=True, kw_only=True):
    """What a line's prefix says."""

    time: datetime | None = None
    """Without a zone: it is the clock of the host that wrote it."""
    ranks: tuple[str, ...] = ()
    start: int = 0
    """Where the prefix starts in the line; above 0 where something is glued in front."""
    rest: int = 0
    """Where the message starts."""

    @property
    def present(self) -> bool:
        """Whether there was a prefix at all."""
        return self.rest > 0


NOTHING = Prefix()


def parse_prefix(line: str, before: int | None = None) -> Prefix:
    """The last prefix that starts in `line` before position `before` (the whole line by default)."""
    found = None
    for match in PREFIX.finditer(line, 0, min(len(line), 4096) if before is None else before + 1):
        found = match
        if before is None:
            break
    if found is not None:
        return Prefix(
            time=parse_time(found["time"]),
            ranks=tuple(found["ranks"].split()),
            start=found.start(),
            rest=found.end(),
        )
    custom = _CUSTOM.match(line)
    if custom is not None:
        ranks = tuple((custom["ranks"] or "").split())
        return Prefix(time=parse_time(custom["time"]), ranks=ranks, rest=custom.end())
    torch = _TORCH.match(line)
    if torch is not None:
        return Prefix(ranks=(f"RANK{torch['rank']}",), rest=torch.end())
    glog = _GLOG.match(line)
    if glog is not None:
        date = glog["date"] or ""
        time = parse_time(f"{date} {glog['clock']}") if len(date) == 8 and glog["clock"] else None
        return Prefix(time=time, rest=glog.end())
    return NOTHING


def parse_time(text: str) -> datetime | None:
    """A stamp of the prefix as a naive time, or None where it names no real moment."""
    try:
        return datetime.fromisoformat(text.replace(",", "."))
    except ValueError:
        return None
