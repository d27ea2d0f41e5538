"""One server under watch: its logs, its diagnosis and what is known of it."""

import socket

from msgspec.structs import replace

from responder.advise.environment import versions_of
from responder.advise.learn import Host
from responder.diagnose import Pipeline
from responder.nouns import GpuFacts, Server
from responder.run.config import ServerConfig
from responder.scan import Program
from responder.sources.block import Block
from responder.sources.follower import Follower
from responder.sources.wrappers import Unwrapper

MOST_HELD = 16 * 1024 * 1024
"""Bytes of a log that an open crash may keep from being checkpointed; past that it is stored as it stands."""

IDLE_SECONDS = 1800.0
"""After this long without a line of its own a crash is over."""

READY_SECONDS = 600.0
"""A server that has been ready this long has got over its faults."""


class Watched:
    """Feeds blocks to the diagnosis and says how far the log may be checkpointed."""

    def __init__(self, config: ServerConfig, program: Program, follower: Follower) -> None:
        self.config = config
        self.follower = follower
        self.pipeline = Pipeline(config.name, program)
        self.lines_seen = 0
        self._unwrappers: dict[str, Unwrapper] = {}
        self._read_to: dict[str, int] = {}
        self._host = _host_of(config)
        self._active_at = 0.0
        self._ready = 0
        self._ready_since: float | None = None

    def read(self, now: float) -> bool:
        """Take what the logs have got since the last time; whether there was anything.  `now` is monotonic."""
        blocks = self.follower.poll()
        for block in blocks:
            self._feed(block)
        diagnosis = self.pipeline.diagnosis
        if diagnosis.ready != self._ready:
            self._ready, self._ready_since = diagnosis.ready, now
        if blocks:
            self._active_at = now
        elif diagnosis.holds() and now - self._active_at > IDLE_SECONDS:
            diagnosis.close()
        self._hold()
        return bool(blocks)

    def recovered(self, now: float) -> bool:
        """Whether the server has been ready for so long that its earlier faults are over.  True once per launch."""
        if self._ready_since is None or now - self._ready_since < READY_SECONDS or self.pipeline.diagnosis.holds():
            return False
        self._ready_since = None
        return True

    def host(self, gpu: GpuFacts) -> Host:
        """What is known of the server now."""
        return replace(self._host, gpu=gpu)

    def _feed(self, block: Block) -> None:
        unwrapper = self._unwrappers.get(block.file_id)
        if unwrapper is None:
            unwrapper = self._unwrappers[block.file_id] = Unwrapper()
        self._read_to[block.file_id] = block.offset + len(block.data)
        self.lines_seen += block.data.count(b"\n")
        for unwrapped in unwrapper.feed(block):
            self.pipeline.feed(unwrapped)

    def _hold(self) -> None:
        held = self.pipeline.holds()
        if any(self._read_to.get(stream, 0) - offset > MOST_HELD for stream, offset in held.items()):
            self.pipeline.diagnosis.close()
            held = {}
        for stream, unwrapper in self._unwrappers.items():
            needed = [offset for offset in (held.get(stream), unwrapper.held_from) if offset is not None]
            self.follower.hold(stream, min(needed, default=None))


def _host_of(config: ServerConfig) -> Host:
    found = versions_of(config.python).sglang if config.python else None
    version = found or config.sglang
    server = Server(
        name=config.name,
        host=socket.gethostname(),
        unit=config.unit or config.journal,
        role=config.role,
        version=version,
        version_from="environment" if found else "option" if version else "unknown",
        command_from="config" if config.command else "unknown",
    )
    return Host(server=server, command=config.command)
