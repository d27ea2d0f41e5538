"""Tell systemd how the daemon is: ready, alive, reloading, stopping (sd_notify(3))."""

import os
import socket


class Notifier:
    """Speaks to $NOTIFY_SOCKET; silent where there is none."""

    def __init__(self, address: str | None = None) -> None:
        self._address = os.environ.get("NOTIFY_SOCKET", "") if address is None else address

    def say(self, *lines: str) -> None:
        """Send states such as `READY=1` or `STATUS=following 3 logs`.  Never raises: systemd may be gone."""
        if not self._address:
            return
        # A name that starts with @ lies in the abstract namespace, whose first byte is NUL.
        address = f"\0{self._address[1:]}" if self._address.startswith("@") else self._address
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as channel:
                channel.connect(address)
                channel.sendall("\n".join(lines).encode())
        except OSError:
            return


def watchdog_seconds() -> float | None:
    """How often `WATCHDOG=1` has to be said: half of what systemd grants; None where it does not watch us."""
    if os.environ.get("WATCHDOG_PID", str(os.getpid())) != str(os.getpid()):
        return None
    try:
        return int(os.environ["WATCHDOG_USEC"]) / 2_000_000
    except (KeyError, ValueError):
        return None
