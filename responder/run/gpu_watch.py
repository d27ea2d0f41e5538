"""GPU facts beside the loop: asked in a thread of their own, since a broken driver may take seconds to say nothing."""

import threading
from collections.abc import Callable

from responder.nouns import GpuFacts


class GpuWatch:
    """Holds the newest facts; `refresh` asks for newer ones without waiting."""

    def __init__(self, query: Callable[[], GpuFacts], on_change: Callable[[], None] = lambda: None) -> None:
        self._query, self._on_change = query, on_change
        self._lock = threading.Lock()
        self._facts = GpuFacts()
        self._running = False

    @property
    def facts(self) -> GpuFacts:
        """What the last query that ended said; `unknown` before the first has."""
        return self._facts

    @property
    def pending(self) -> bool:
        """Whether a query is under way."""
        return self._running

    def refresh(self) -> None:
        """Ask, unless a query is under way."""
        with self._lock:
            if self._running:
                return
            self._running = True
        threading.Thread(target=self._ask, name="gpu-facts", daemon=True).start()

    def _ask(self) -> None:
        try:
            facts = self._query()
        finally:
            self._running = False
        changed, self._facts = facts != self._facts, facts
        if changed:
            self._on_change()
