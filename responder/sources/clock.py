"""Time and waiting, injected everywhere so that tests own both."""

import contextlib
import os
import select
import time
from typing import Protocol


class Clock(Protocol):
    """Two clocks: one for durations, one for what a person reads."""

    def monotonic(self) -> float:
        """Seconds that only ever go forward; for every wait and window."""
        ...

    def wall(self) -> float:
        """Seconds since the epoch; may jump, so never used for a duration."""
        ...


class SystemClock:
    """The machine's clocks."""

    def monotonic(self) -> float:
        """Seconds since some fixed moment."""
        return time.monotonic()

    def wall(self) -> float:
        """Seconds since the epoch."""
        return time.time()


class Waker(Protocol):
    """The one place where the loop waits."""

    def wait(self, timeout: float) -> bool:
        """Wait up to `timeout` seconds; True when somebody called `wake` before or meanwhile."""
        ...

    def wake(self) -> None:
        """End the wait that is under way, or else the next one.  Safe from any thread and from a signal handler."""
        ...


class SystemWaker:
    """A waker on an eventfd.

    `threading.Event` will not do: its lock is not re-entrant, so a signal handler that sets it can stand still for
    ever when the signal arrives inside `wait`.
    """

    def __init__(self) -> None:
        self._fd = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self._poll = select.poll()
        self._poll.register(self._fd, select.POLLIN)

    def wait(self, timeout: float) -> bool:
        """Wait up to `timeout` seconds; True when woken."""
        if not self._poll.poll(timeout * 1000):
            return False
        with contextlib.suppress(BlockingIOError):
            os.eventfd_read(self._fd)
        return True

    def wake(self) -> None:
        """End the wait that is under way, or else the next one."""
        with contextlib.suppress(BlockingIOError):
            os.eventfd_write(self._fd, 1)

    def close(self) -> None:
        """Give the descriptor back."""
        os.close(self._fd)
