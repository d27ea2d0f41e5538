"""Host names and addresses, for operators who must not let them leave: each becomes a short hash."""

import hashlib
import re
from collections.abc import Iterable, Sequence

from responder.nouns import Server

# Loopback and the wildcard name no host.
_ADDRESS = re.compile(
    r"(?<![\w.:])(?!127\.|0\.0\.0\.0)(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)\.){3}(?:25[0-5]|2[0-4]\d|1?\d?\d)(?![\w.])"
    r"|(?<![\w:])(?:[0-9a-f]{1,4}:){2,7}(?::?[0-9a-f]{1,4}){1,6}(?![\w:])",
    re.IGNORECASE,
)
_HOST_FLAGS = ("--dist-init-addr", "--nccl-init-addr", "--host", "--disaggregation-bootstrap-host")


def host_names(server: Server) -> list[str]:
    """The host names a server's facts hold, longest first, so that a full name goes before its short form."""
    names = {server.host} if server.host else set()
    names |= {name.partition(".")[0] for name in names}
    names |= set(_hosts_in(server.command))
    names -= {"localhost", "127.0.0.1", "0.0.0.0"}
    return sorted((name for name in names if len(name) > 2), key=len, reverse=True)


def _hosts_in(argv: Sequence[str]) -> Iterable[str]:
    for flag, value in zip(argv, [*argv[1:], ""], strict=True):
        name, _, joined = flag.partition("=")
        if name in _HOST_FLAGS:
            yield (joined or value).rsplit(":", 1)[0].removeprefix("tcp://")


def hide_hosts(text: str, names: Sequence[str]) -> str:
    """The text with these names, and every IP address that is not loopback, replaced by their hash."""
    for name in names:
        text = re.sub(rf"(?<![\w.-]){re.escape(name)}(?![\w-])", _alias(name), text)
    return _ADDRESS.sub(lambda found: _alias(found[0]), text)


def _alias(name: str) -> str:
    return "host-" + hashlib.sha256(name.lower().encode()).hexdigest()[:8]
