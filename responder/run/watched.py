"""One server under watch: its logs, its diagnosis and what is known of it."""

import contextlib
import socket

import msgspec
from msgspec.structs import replace

from responder.advise.learn import Host, launched
from responder.diagnose import Finding, Memory, Pipeline
from responder.nouns import GpuFacts, Server
from responder.publish.redact import redact_text
from responder.run.config import ServerConfig
from responder.run.failed_launches import FailedLaunches
from responder.run.launch_watch import LaunchWatch
from responder.scan import Program
from responder.scan.seen import Seen
from responder.sources.block import Block
from responder.sources.journal import unit_source
from responder.sources.sources import Source
from responder.sources.wrappers import Unwrapper

MOST_HELD = 16 * 1024 * 1024
"""Bytes of a log that an open crash may keep from being checkpointed; past that it is stored as it stands."""

IDLE_SECONDS = 1800.0
"""After this long without a line of its own a crash is over."""

CUT_SECONDS = 15.0
"""A traceback of which no more has come for so long was cut off: its process was killed while it wrote.  Less than
the patience with follow-on lines, so that they are not told before it."""

TIDY_SECONDS = 60.0
"""How often what is known of logs that are gone is looked through."""

KEPT_SECONDS = 120.0
"""So long what is known of a log is kept after its last line, where the log itself is gone."""

READY_SECONDS = 600.0
"""A server that has been ready this long has got over its faults."""

LOOK_SECONDS = 5.0
"""How often the launch watch is told which files the log lies in."""


class Watched:
    """Feeds blocks to the diagnosis and says how far the log may be checkpointed."""

    def __init__(
        self,
        config: ServerConfig,
        program: Program,
        follower: Source,
        launches: LaunchWatch | None = None,
        memory: str | None = None,
    ) -> None:
        """`memory` is what an earlier run's `memory` was when its positions were stored."""
        self.config = config
        self.follower = follower
        remembered = Memory()
        with contextlib.suppress(msgspec.DecodeError):
            remembered = msgspec.json.decode(memory, type=Memory) if memory else remembered
        self.pipeline = Pipeline(config.name, program, remembered)
        self.lines_seen = 0
        self.lines_cut = 0
        """Lines that were longer than is kept of one."""
        self._unwrappers: dict[str, Unwrapper] = {}
        self._read_to: dict[str, int] = {}
        self._held: dict[str, int] = {}
        self._fed_at: dict[str, float] = {}
        """By path and by the identity of a file: when its last line came."""
        self._last: Seen | None = None
        self._tidied_at = float("-inf")
        self._caught_up_at = 0.0
        self._memory = self._offered = remembered
        self._host = _host_of(config)
        self._journal = unit_source(config.journal) if config.journal else None
        self._launch_watch = launches
        self._launches = FailedLaunches(config, launches)
        self._told_at = float("-inf")
        self._active_at = 0.0
        self._ready = 0
        self._ready_since: float | None = 0.0 if remembered.phase == "serving" else None

    def read(self, now: float) -> bool:
        """Take what the logs have got since the last time; whether there was anything.  `now` is monotonic."""
        blocks = self.follower.poll()
        if not self.behind or not self._caught_up_at:
            self._caught_up_at = now
        for block in blocks:
            self._feed(block, now)
        for path in self.pipeline.unfinished():
            if now - self._fed_at.get(path, now) > CUT_SECONDS:
                # The exception may stand there already, without a newline behind it.
                for block in self.follower.last_words(path):
                    self._feed(block, now)
                self.pipeline.finish(path)
        diagnosis = self.pipeline.diagnosis
        if diagnosis.ready != self._ready or self._ready_since == 0.0:
            self._ready, self._ready_since = diagnosis.ready, now
        if diagnosis.last is not self._last:
            self._last, self._active_at = diagnosis.last, now
        elif self._last is not None and now - self._active_at > IDLE_SECONDS:
            diagnosis.close()
        self._hold()
        self._tidy(now)
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

    def to_store(self) -> str | None:
        """What is to be remembered of the launch, if that has changed since `stored`: with the positions."""
        self._offered = self.pipeline.diagnosis.memory()
        if self._offered == self._memory:
            return None
        # sglang prints its key among its arguments, and secrets do not lie in the state.
        stated = {name: redact_text(text) for name, text in self._offered.stated.items()}
        return msgspec.json.encode(replace(self._offered, stated=stated)).decode()

    def stored(self) -> None:
        """The positions, all that was found and what `to_store` returned last are in the database."""
        self.follower.stored()
        self.pipeline.diagnosis.stored()
        self._memory = self._offered

    @property
    def behind(self) -> bool:
        """Whether its logs hold more that could be read at once."""
        return self.follower.behind

    def lag(self, now: float) -> float:
        """Seconds since all that was there had been read."""
        return now - self._caught_up_at if self.behind else 0.0

    def host(self, gpu: GpuFacts, finding: Finding | None = None) -> Host:
        """What is known of the server now; of the launch that failed, where a finding is given."""
        from_journal = finding is not None and self._journal == finding.evidence.path
        return launched(replace(self._host, gpu=gpu), self._launches.of(finding, from_journal=from_journal))

    def advised_anew(self) -> list[Finding]:
        """The findings whose launch command may have become known since the last call."""
        return self._launches.open_again(self.pipeline.diagnosis.findings())

    def _feed(self, block: Block, now: float) -> None:
        unwrapper = self._unwrappers.get(block.file_id)
        if unwrapper is None:
            unwrapper = self._unwrappers[block.file_id] = Unwrapper()
        self._read_to[block.file_id] = block.offset + len(block.data)
        self._fed_at[block.file_id] = self._fed_at[block.path] = now
        self.lines_seen += block.data.count(b"\n")
        self.lines_cut += block.truncated
        for unwrapped in unwrapper.feed(block):
            self.pipeline.feed(unwrapped)

    def _hold(self) -> None:
        held = self.pipeline.holds()
        if any(self._read_to.get(stream, 0) - offset > MOST_HELD for stream, offset in held.items()):
            self.pipeline.diagnosis.close()
            held = {}
        for stream, unwrapper in self._unwrappers.items():
            if unwrapper.held_from is not None:
                held[stream] = min(unwrapper.held_from, held.get(stream, unwrapper.held_from))
        # Said again each time: where a log was copied and truncated, the copy is what is held from then on.
        for stream in {*self._held, *held}:
            self.follower.hold(stream, held.get(stream))
        self._held = held

    def _tidy(self, now: float) -> None:
        """Once in a while: forget the logs that rotation or a deletion took away."""
        if now - self._tidied_at < TIDY_SECONDS:
            return
        self._tidied_at = now
        followed = self.follower.status()
        kept = {file.file_id for file in followed} | {file.path for file in followed} | self._held.keys()
        for name in [name for name, at in self._fed_at.items() if name not in kept and now - at > KEPT_SECONDS]:
            del self._fed_at[name]
            self._unwrappers.pop(name, None)
            self._read_to.pop(name, None)
            self.pipeline.forget(name)


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
