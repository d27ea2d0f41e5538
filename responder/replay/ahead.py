"""Fetches what comes next while what came last is worked on."""

from collections import deque
from collections.abc import Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")

DEPTH = 2
"""Items that are fetched before they are asked for."""

_END = object()


def ahead(items: Iterable[T]) -> Iterator[T]:
    """The items in their order, fetched in a thread.  Raises what fetching them raises.

    It pays where both sides leave the interpreter alone for most of the time: one waits for a disk, one scans.
    """
    from concurrent.futures import ThreadPoolExecutor

    source = iter(items)
    with ThreadPoolExecutor(1) as thread:
        coming = deque(thread.submit(next, source, _END) for _ in range(DEPTH))
        while (item := coming.popleft().result()) is not _END:
            coming.append(thread.submit(next, source, _END))
            yield item  # type: ignore[misc]
