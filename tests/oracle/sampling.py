"""Which recorded cells the quick tests look at: of every row one card, of the rows of one answer a few."""

from collections import defaultdict
from collections.abc import Iterator

from tests.oracle import verdicts
from tests.oracle.verdicts import Cell

ACCEPTED, REFUSED = 40, 3
"""Cells per release of those accepted, and per message of those refused."""


def every(release: str) -> list[Cell]:
    """Every cell of the matrix."""
    return list(verdicts.cells("matrix", release))


def some(release: str) -> Iterator[Cell]:
    """A fixed part of the matrix that holds every message on several cards."""
    groups: dict[str, list[Cell]] = defaultdict(list)
    for cell in every(release):
        groups[cell.printed if cell.refused else ""].append(cell)
    for text, cells in groups.items():
        wanted = REFUSED if text else ACCEPTED
        yield from cells[:: max(1, len(cells) // wanted)][:wanted]
