"""What `replay` says on standard error while it reads: how far it is, on a terminal, and what it had to give up."""

import sys
import time
from collections import Counter
from collections.abc import Sequence
from types import TracebackType
from typing import TYPE_CHECKING

import click

from responder.cli.say import say

if TYPE_CHECKING:
    from responder.replay.ranges import Part
    from responder.replay.workers import Scanned

_EVERY = 0.2
"""Seconds between two updates of the line."""


class Watch:
    """Looks at what the scan gives."""

    def __init__(self, parts: "Sequence[Part]") -> None:
        segments = [segment for part in parts for segment in part.segments]
        known = all(segment.size for segment in segments)
        self._total = sum((s.end or s.size) - s.start for s in segments) if known else 0
        self._shown = sys.stderr.isatty()
        self._done, self._began, self._last = 0, time.monotonic(), 0.0
        self._counted: Counter[str] = Counter()

    def __enter__(self) -> "Watch":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._clear()
        for rule, lines in self._counted.items():
            say(f"rule {rule} fires on so many lines that {lines} were only counted")

    def saw(self, scanned: "Scanned") -> None:
        """Take note of one block."""
        self._done += scanned.size
        self._counted.update(scanned.counted)
        for event in scanned.events:
            if event.kind in ("unreadable", "line-cut"):
                self._clear()
                detail = f": {event.detail}" if event.detail else ""
                say(f"{event.path}: {event.kind}{detail}")
        for reason in scanned.set_aside:
            self._clear()
            say(f"{reason}; it is left out from here on")
        now = time.monotonic()
        if self._shown and now - self._last >= _EVERY:
            self._last = now
            click.echo(f"\r\x1b[K{progress(self._done, self._total, now - self._began)}", nl=False, err=True)

    def _clear(self) -> None:
        if self._shown and self._last:
            click.echo("\r\x1b[K", nl=False, err=True)


def progress(done: int, total: int, seconds: float) -> str:
    """How far it is: bytes, rate and, where the total is known, the time that is left."""
    rate = done / seconds if seconds > 0 else 0.0
    said = f"{done / 2**20:,.0f} MiB"
    if total:
        said += f" of {total / 2**20:,.0f}"
    said += f", {rate / 2**20:,.0f} MiB/s"
    if total and rate:
        said += f", {max(0, total - done) / rate:.0f} s left"
    return said
