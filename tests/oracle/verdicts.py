"""The record: what the real sglang said, as JSON lines under `verdicts/`.

One row holds every card on which one command got one answer.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

FOLDER = Path(__file__).parent / "verdicts"
CARDS = "cards"


class Cell(NamedTuple):
    """One command on one card under one release, and what sglang said to it."""

    release: str
    card: str
    command: str
    answer: Mapping[str, Any]

    @property
    def refused(self) -> bool:
        """Whether the argument checks refused it."""
        return self.answer["verdict"] == "refused"

    @property
    def printed(self) -> str:
        """The line that a log would hold of the refusal."""
        text, exception = self.answer["text"], self.answer["exception"]
        if exception == "SystemExit":
            return str(text)
        if not text:
            return f"    {self.answer['line']}"
        return f"{exception}: {text}"


def file_of(kind: str, release: str) -> Path:
    """Where the record of one kind (`matrix`, `proposals`, `construction`, `checks`) and release lies."""
    return FOLDER / f"{kind}-{release}.jsonl"


def releases(kind: str) -> list[str]:
    """The releases of which there is a record."""
    return sorted(path.stem.removeprefix(f"{kind}-") for path in FOLDER.glob(f"{kind}-*.jsonl"))


def cells(kind: str, release: str) -> Iterator[Cell]:
    """Every recorded cell."""
    for line in file_of(kind, release).read_text().splitlines():
        row = json.loads(line)
        command, cards = row.pop("command"), row.pop(CARDS)
        for card in cards:
            yield Cell(release, card, command, row)


def write(kind: str, release: str, found: Iterable[Cell]) -> None:
    """Writes a record, cards with one answer to one command on one row."""
    rows: dict[tuple[str, str], list[str]] = {}
    for cell in found:
        rows.setdefault((cell.command, json.dumps(cell.answer)), []).append(cell.card)
    lines = [
        json.dumps({"command": command, CARDS: cards, **json.loads(answer)})
        for (command, answer), cards in rows.items()
    ]
    FOLDER.mkdir(exist_ok=True)
    file_of(kind, release).write_text("".join(f"{line}\n" for line in lines))
