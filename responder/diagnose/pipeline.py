"""Blocks of one server's logs in, findings out: the scan and the diagnosis in one piece, live and in replay."""

from responder.diagnose.diagnosis import Diagnosis
from responder.scan.engine import Scanner
from responder.scan.framing import StreamScan
from responder.scan.program import Program
from responder.scan.seen import Seen
from responder.sources.block import Block


class Pipeline:
    """One server.  Its logs may be several files; the lines of each must come in their order."""

    def __init__(self, server: str, program: Program) -> None:
        self.scanner = Scanner(program)
        self.diagnosis = Diagnosis(server)
        self._streams: dict[str, StreamScan] = {}

    def feed(self, block: Block) -> None:
        """Scan a block and diagnose what it holds."""
        stream = self._streams.get(block.file_id)
        if stream is None:
            stream = self._streams[block.file_id] = StreamScan(self.scanner)
        for seen in stream.feed(block):
            self.diagnosis.feed(seen)
        self._take_counts()

    def take(self, seen: Seen) -> None:
        """Diagnose a line that was scanned elsewhere."""
        self.diagnosis.feed(seen)

    def _take_counts(self) -> None:
        for rule, lines in self.scanner.counted.items():
            self.diagnosis.count(rule, lines)
        self.scanner.counted.clear()

    def holds(self) -> dict[str, int]:
        """By stream, the offset of the oldest line that would have to be read again after a restart."""
        needed = self.diagnosis.holds()
        for name, stream in self._streams.items():
            if stream.needs is not None:
                needed[name] = min(stream.needs, needed.get(name, stream.needs))
        return needed

    def finish(self) -> None:
        """The logs are at their end: what is still open is as complete as it will ever be."""
        for stream in self._streams.values():
            for seen in stream.finish():
                self.diagnosis.feed(seen)
