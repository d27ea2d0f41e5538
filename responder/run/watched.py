"""One server under watch: its logs, its diagnosis and what is known of it."""

import socket

from msgspec.structs import replace

from responder.advise.learn import Host, launched
from responder.diagnose import Finding, Pipeline
from responder.nouns import GpuFacts, Server
from responder.run.config import ServerConfig
from responder.run.failed_launches import FailedLaunches
from responder.run.launch_watch import LaunchWatch
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

LOOK_SECONDS = 5.0
"""How often the launch watch is told which files the log lies in."""


class Watched:
    """Feeds blocks to the diagnosis and says how far the log may be checkpointed."""

    def __init__(
        self, config: ServerConfig, program: Program, follower: Follower, launches: LaunchWatch | None = None
    ) -> None:
        self.config = config
        self.follower = follower
        self.pipeline = Pipeline(config.name, program)
        self.lines_seen = 0
        self._unwrappers: dict[str, Unwrapper] = {}
        self._read_to: dict[str, int] = {}
        self._host = _host_of(config)
        self._launch_watch = launches
        self._launches = FailedLaunches(config, launches)
        self._told_at = float("-inf")
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
        if self._launch_watch is not None and now - self._told_at >= LOOK_SECONDS:
            self._told_at = now
            self._launch_watch.follow(self.config.name, [file.path for file in self.follower.status()])
        return bool(blocks)

    def recovered(self, now: float) -> bool:
        """Whether the server has been ready for so long that its earlier faults are over.  True once per launch."""
        if self._ready_since is None or now - self._ready_since < READY_SECONDS or self.pipeline.diagnosis.holds():
            return False
        self._ready_since = None
        return True

    def host(self, gpu: GpuFacts, finding: Finding | None = None) -> Host:
        """What is known of the server now; of the launch that failed, where a finding is given."""
        return launched(replace(self._host, gpu=gpu), self._launches.of(finding))

    def advised_anew(self) -> list[Finding]:
        """The findings whose launch command may have become known since the last call."""
        return self._launches.open_again(self.pipeline.diagnosis.findings())

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
    server = Server(
        name=config.name,
        host=socket.gethostname(),
        unit=config.unit or config.journal,
        role=config.role,
        version=config.sglang,
        version_from="option" if config.sglang else "unknown",
    )
    return Host(server=server)
