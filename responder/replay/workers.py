"""Scans the parts of logs, here or in several processes, and gives back what was seen in the order of the logs.

Only the scan is split.  One diagnosis reads what it saw.
"""

import pickle
import signal
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec.structs import replace

from responder.catalogue import Rule
from responder.replay.ahead import ahead
from responder.replay.ranges import Part
from responder.replay.reading import Count, Read, Segment, blocks_of, reads_of
from responder.replay.sift import Sift
from responder.scan import Match, Program, Scanner
from responder.scan.framing import StreamScan
from responder.scan.seen import Seen
from responder.sources.events import SourceEvent
from responder.sources.finished import UnreadableError, read_finished
from responder.sources.wrappers import Unwrapper

if TYPE_CHECKING:
    from multiprocessing.connection import Connection


class Scanned(NamedTuple):
    """What one block held."""

    seen: list[Seen]
    size: int = 0
    """Bytes of the file that are done with since the last one."""
    counted: Mapping[str, int] = {}
    """Hits by rule that were only counted, because the rule is hot."""
    set_aside: Sequence[str] = ()
    """Patterns that were given up since the last one, with the reason."""
    events: Sequence[SourceEvent] = ()
    newlines: Sequence[Count] = ()
    """Of what was read, counted while it was at hand: the lines of the evidence will be numbered."""


MOST_KEPT = 16 << 20
"""Bytes that are taken in of a worker's parts before their turn has come."""

_Bare = list[list[tuple[str, dict[str, str], int]]]
"""By line, its matches with their rules' ids: a whole rule would travel with each."""


def scan_parts(
    parts: Sequence[Part], program: Program, rules: Mapping[str, Rule], jobs: int
) -> Iterator[tuple[Part, Scanned]]:
    """What the parts held, block by block, in their order.  Raises UnreadableError where a file gives nothing."""
    if jobs == 1 or len(parts) == 1:
        scanner = Scanner(program)
        for part in parts:
            for scanned in scan_part(part, scanner, alone=True):
                yield part, scanned
        return
    number, base, last = -1, 0, 0
    for now, scanned, matches in _in_processes(parts, program, jobs):
        if now != number:
            # A part numbers its lines from the last one that was seen above it.
            base = last = last if number >= 0 and parts[now].log == parts[number].log else 0
            number = now
        seen = [
            replace(
                one,
                ordinal=one.ordinal + base,
                matches=tuple(Match(rule=rules[rule], captures=found, start=at) for rule, found, at in its),
            )
            for one, its in zip(scanned.seen, matches, strict=True)
        ]
        last = seen[-1].ordinal if seen else last
        yield parts[now], scanned._replace(seen=seen)


def scan_part(part: Part, scanner: Scanner, *, alone: bool = False) -> Iterator[Scanned]:
    """What one part held, read by read.  Raises UnreadableError.

    `alone`: no other process scans, so that a second core may read.
    """
    scanner.forget()
    stream = StreamScan(scanner, begins=part.above is None)
    unwrappers = {segment.file_id: Unwrapper() for segment in part.segments}
    if part.above is not None:
        for block in blocks_of(part.above, unwrappers.get(part.above.file_id)):
            stream.feed(block)
        stream.count_from_here()
        scanner.counted.clear()
    aside = len(scanner.set_aside)
    for segment in part.segments:
        if segment.end is None:
            scans = _scan_archive(segment, stream)
        else:
            reads = reads_of(segment)
            scans = _scan_file(segment, ahead(reads) if alone else reads, unwrappers[segment.file_id], stream)
        for scanned in scans:
            yield scanned._replace(counted=dict(scanner.counted), set_aside=list(scanner.set_aside.values())[aside:])
            aside = len(scanner.set_aside)
            scanner.counted.clear()
    if part.ends:
        yield Scanned(stream.finish())


def _scan_archive(segment: Segment, stream: StreamScan) -> Iterator[Scanned]:
    """What an archive held, a stream, or a small file."""
    events: list[SourceEvent] = []
    at = segment.start
    for block in read_finished(segment.path, events.append):
        yield Scanned(stream.feed(block), max(0, block.offset - at), events=tuple(events))
        at = max(at, block.offset)
        events.clear()
    yield Scanned([], max(0, segment.size - at), events=tuple(events))


def _scan_file(segment: Segment, reads: Iterable[Read], unwrapper: Unwrapper, stream: StreamScan) -> Iterator[Scanned]:
    """What a file held.  Of a wrapped one only what matters is unwrapped, and each piece is scanned before the next is
    asked for."""
    sift, at = Sift(unwrapper, stream), segment.start
    for read in reads:
        pieces = (piece for block in read.blocks for piece in sift.feed(block))
        seen = [one for piece in pieces for text in unwrapper.feed(piece) for one in stream.feed(text)]
        yield Scanned(seen, read.newlines.offset - at, events=read.events, newlines=(read.newlines,))
        at = read.newlines.offset
    texts = [text for piece in sift.finish() for text in unwrapper.feed(piece)]
    texts += unwrapper.flush() if segment.end == segment.size else ()
    yield Scanned([one for text in texts for one in stream.feed(text)])


def _in_processes(parts: Sequence[Part], program: Program, jobs: int) -> Iterator[tuple[int, Scanned, _Bare]]:
    """The number of each part and what it held.  A process waits while too much of it is not yet wanted."""
    import multiprocessing

    # Forked, the workers share the compiled patterns with us instead of loading them anew.
    context = multiprocessing.get_context("fork")
    inboxes, workers = [], []
    try:
        for number in range(min(jobs, len(parts))):
            reader, writer = context.Pipe(duplex=False)
            worker = context.Process(target=_work, args=(parts[number::jobs], program, writer), daemon=True)
            worker.start()
            writer.close()
            inboxes.append(_Inbox(reader))
            workers.append(worker)
        for number, part in enumerate(parts):
            inbox = inboxes[number % jobs]
            while (message := inbox.next(inboxes)) is not None:
                if isinstance(message, str):
                    path, _, reason = message.partition(": ")
                    raise UnreadableError(path or part.segments[0].path, reason)
                yield number, *message
    finally:
        for worker in workers:
            worker.terminate()
            worker.join()


class _Inbox:
    """What a worker has sent, kept as it came until it is wanted."""

    def __init__(self, reader: "Connection[Any, Any]") -> None:
        self.reader = reader
        self._kept: deque[bytes] = deque()
        self._size = 0
        self._ended = False

    def next(self, all_of_them: "Sequence[_Inbox]") -> Any:
        """The next message, while those of the others are taken in as well."""
        from multiprocessing.connection import wait

        while not self._kept:
            if self._ended:
                return ": the process that scanned it died"
            takers = {inbox.reader: inbox for inbox in all_of_them if inbox is self or inbox._has_room()}
            for reader in wait(list(takers)):
                takers[reader]._take()  # type: ignore[index]
        data = self._kept.popleft()
        self._size -= len(data)
        return pickle.loads(data)

    def _has_room(self) -> bool:
        return not self._ended and self._size < MOST_KEPT

    def _take(self) -> None:
        try:
            self._kept.append(self.reader.recv_bytes())
        except EOFError:
            self._ended = True
        else:
            self._size += len(self._kept[-1])


def _work(parts: Sequence[Part], program: Program, writer: "Connection[Any, Any]") -> None:
    """What a process does: scan its parts, one after the other."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    scanner = Scanner(program)
    try:
        for part in parts:
            try:
                for scanned in scan_part(part, scanner):
                    matches = [[(m.rule.id, m.captures, m.start) for m in seen.matches] for seen in scanned.seen]
                    writer.send((scanned._replace(seen=[replace(one, matches=()) for one in scanned.seen]), matches))
            except UnreadableError as error:
                writer.send(f"{error.path}: {error.reason}")
                return
            writer.send(None)
    except BrokenPipeError:
        # Whoever asked has gone.
        return
