"""Blocks of one server's logs in, findings out: the scan and the diagnosis in one piece, live and in replay."""

from collections import Counter

from responder.diagnose.diagnosis import Diagnosis, Memory
from responder.scan.engine import Scanner
from responder.scan.framing import StreamScan
from responder.scan.program import Program
from responder.scan.seen import Seen
from responder.sources.block import Block


class Pipeline:
    """One server.  Its logs may be several files; the lines of each must come in their order."""

    def __init__(self, server: str, program: Program, memory: Memory | None = None) -> None:
        self.scanner = Scanner(program)
        self.diagnosis = Diagnosis(server, memory)
        self.matched: Counter[str] = Counter()
        """Lines on which a rule fired, by its id."""
        self._streams: dict[str, StreamScan] = {}
        """By path: what rotation leaves there later goes on where the file before it ended."""

    def feed(self, block: Block) -> None:
        """Scan a block and diagnose what it holds."""
        stream = self._streams.get(block.path)
        if stream is None:
            stream = self._streams[block.path] = StreamScan(self.scanner)
        for seen in stream.feed(block):
            self.matched.update(match.rule.id for match in seen.matches)
            self.diagnosis.feed(seen)
        self._take_counts()

    def take(self, seen: Seen) -> None:
        """Diagnose a line that was scanned elsewhere."""
        self.diagnosis.feed(seen)

    def _take_counts(self) -> None:
        for rule, lines in self.scanner.counted.items():
            self.matched[rule] += lines
            self.diagnosis.count(rule, lines)
        self.scanner.counted.clear()

    def holds(self) -> dict[str, int]:
        """By stream, the offset of the oldest line that would have to be read again after a restart."""
        needed = self.diagnosis.holds()
        for stream in self._streams.values():
            for name, offset in stream.needs().items():
                needed[name] = min(offset, needed.get(name, offset))
        return needed

    def finish(self, path: str | None = None) -> None:
        """The log at a path, or all of them, are at their end: what is open is as complete as it will ever be."""
        for name, stream in self._streams.items():
            if path is None or name == path:
                for seen in stream.finish():
                    self.diagnosis.feed(seen)

    def unfinished(self) -> list[str]:
        """The paths at which a traceback is open."""
        return [path for path, stream in self._streams.items() if stream.needs()]

    def forget(self, path: str) -> None:
        """Nothing more will come from there."""
        self.finish(path)
        self._streams.pop(path, None)
