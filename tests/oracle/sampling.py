"""Which recorded cells a test looks at."""

from collections import defaultdict
from collections.abc import Iterator

from tests.oracle import verdicts
from tests.oracle.verdicts import Cell

ACCEPTED = 40
"""Accepted cells per release in the quick tests."""


def every(release: str) -> list[Cell]:
    """Every cell of the matrix."""
    return list(verdicts.cells("matrix", release))


def rows(release: str) -> list[Cell]:
    """Of each command and answer one card: another one for each row."""
    groups: dict[tuple[str, str], list[Cell]] = defaultdict(list)
    for cell in every(release):
        groups[cell.command, str(cell.answer)].append(cell)
    return [cells[number % len(cells)] for number, cells in enumerate(groups.values())]


def some(release: str) -> Iterator[Cell]:
    """A few accepted cells, and one of each message: another one for each release."""
    groups: dict[str, list[Cell]] = defaultdict(list)
    for cell in rows(release):
        groups[cell.printed if cell.refused else ""].append(cell)
    turn = verdicts.releases("matrix").index(release)
    for text, cells in groups.items():
        if text:
            yield cells[(turn * 7) % len(cells)]
        else:
            yield from cells[turn :: max(1, len(cells) // ACCEPTED)][:ACCEPTED]
