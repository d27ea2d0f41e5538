"""Whether any of some fixed texts stands in a block, found at the speed of memory.

`bytes.find` and `re` search two or three gigabytes a second where the first bytes are common; Hyperscan, for a few
literals in one pass, twenty.
"""

import re
from typing import Any

import hyperscan

_SMALL = 32 * 1024
"""A shorter text is searched faster without the call."""


class Literals:
    """Texts that are looked for in every block.  Safe in any thread."""

    def __init__(self, *texts: bytes) -> None:
        self._texts = texts
        self._database: Any = None

    def stand_in(self, data: bytes) -> bool:
        """Whether `data` holds any of them."""
        if len(data) < _SMALL:
            return self._found(data)
        if self._database is None:
            self._database = hyperscan.Database(mode=hyperscan.HS_MODE_BLOCK)
            count = len(self._texts)
            self._database.compile(
                expressions=list(map(re.escape, self._texts)), ids=list(range(count)), elements=count, flags=[0] * count
            )
        try:
            self._database.scan(data, _stop)
        except hyperscan.error:
            # It was stopped because one was found, or another thread has the scratch space.
            return self._found(data)
        return False

    def _found(self, data: bytes) -> bool:
        for text in self._texts:  # noqa: SIM110 (a generator costs more than the search, and blocks are many)
            if text in data:
                return True
        return False


def _stop(*_: object) -> bool:
    return True
