"""A server: one launched sglang process tree as its operator names it."""

from typing import Literal

import msgspec

Role = Literal["unified", "prefill", "decode", "router", "unknown"]


class Server(msgspec.Struct, frozen=True, kw_only=True):
    """Who failed, and what is known of how it was launched.  Every fact says where it came from."""

    name: str
    host: str | None = None
    unit: str | None = None
    namespace: str | None = None
    pod: str | None = None
    container: str | None = None
    role: Role = "unknown"
    node_rank: int | None = None
    nnodes: int | None = None
    pid: int | None = None
    version: str | None = None
    version_from: Literal["environment", "option", "log", "rule", "unknown"] = "unknown"
    command: tuple[str, ...] = ()
    """The launch command as an argv, secrets masked; empty where it is not known."""
    command_from: Literal["config", "unit", "process", "container", "log", "option", "unknown"] = "unknown"
