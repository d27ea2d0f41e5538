"""Short ways to diagnose a text in a test."""

from pathlib import Path

from responder.diagnose import Finding, Pipeline
from responder.scan import Program
from responder.sources.block import Block
from responder.sources.finished import read_finished


def findings(program: Program, *texts: str, cut: int | None = None) -> list[Finding]:
    """What is found in texts read one after the other, as files of one server; `cut` bytes to a block."""
    pipeline = Pipeline("llama", program)
    for number, text in enumerate(texts):
        for offset, data in blocks(text.encode(), cut):
            pipeline.feed(Block(path=f"{number}.log", file_id=f"file-{number}", offset=offset, data=data))
    pipeline.finish()
    return pipeline.diagnosis.findings()


def replayed(program: Program, *files: Path) -> list[Finding]:
    """What is found in files read as a replay reads them: unwrapped, oldest first."""
    pipeline = Pipeline("llama", program)
    for file in files:
        for block in read_finished(str(file)):
            pipeline.feed(block)
    pipeline.finish()
    return pipeline.diagnosis.findings()


def blocks(data: bytes, size: int | None) -> list[tuple[int, bytes]]:
    """A text in pieces of at least `size` bytes, cut after newlines, with their offsets."""
    if size is None:
        return [(0, data)]
    pieces, start = [], 0
    while start < len(data):
        end = data.find(b"\n", start + size - 1)
        end = len(data) if end < 0 else end + 1
        pieces.append((start, data[start:end]))
        start = end
    return pieces


def rules_of(found: list[Finding]) -> list[str]:
    """The rules of findings that alert; an unknown traceback by its kind."""
    return [f.rule.id if f.rule else f.kind for f in found if f.severity != "info"]
