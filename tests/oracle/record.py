"""Ask the real sglang again and write its verdicts: `python -m tests.oracle.record PYTHON [--sglang FOLDER]`.

PYTHON is an interpreter that can import sglang (README.md tells how one is made); FOLDER an unpacked wheel of another
release to put before its own.  The matrix comes first, then the constructors of the attention backends, then every
relaunch that this program proposes for a refused cell.
"""

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.oracle import verdicts
from tests.oracle.matrix import BACKENDS, CARDS, commands, located, unlocated
from tests.oracle.verdicts import Cell

INSIDE = Path(__file__).parent / "inside" / "answer.py"


class Sglang:
    """An installed sglang that answers."""

    def __init__(self, python: str, folder: str | None = None) -> None:
        self.python, self.folder = python, folder
        code = "import importlib.metadata as m; print(m.version('sglang'))"
        done = subprocess.run([python, "-c", code], check=True, capture_output=True, text=True)
        self.release = Path(folder).name if folder else done.stdout.strip()

    def ask(self, card: str, questions: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        """Its answers, in the order of the questions, on a machine with eight of this card."""
        sm, _, cuda = card.replace("cpu", "0").partition("/")
        env = self._environment() | {"PRETEND_SM": sm} | ({"PRETEND_CUDA": cuda} if cuda else {})
        lines = "".join(json.dumps(question) + "\n" for question in questions)
        done = subprocess.run([self.python, str(INSIDE)], input=lines, env=env, stdout=subprocess.PIPE, text=True)
        answers = [json.loads(unlocated(line)) for line in done.stdout.splitlines() if line.startswith("{")]
        if len(answers) != len(questions):
            raise RuntimeError(f"{self.release} on {card}: {len(answers)} answers to {len(questions)} questions")
        return answers

    def check(self, card: str, asked: Sequence[str]) -> list[Cell]:
        """What the argument checks say to these commands."""
        questions = [dict(zip(("env", "argv"), located(command), strict=True)) for command in asked]
        return [
            Cell(self.release, card, command, self._brief(answer))
            for command, answer in zip(asked, self.ask(card, questions), strict=True)
        ]

    def _environment(self) -> dict[str, str]:
        return {**os.environ, "PYTHONPATH": self.folder} if self.folder else dict(os.environ)

    @staticmethod
    def _brief(answer: dict[str, Any]) -> dict[str, Any]:
        """Without the places of this machine's own files."""
        return {key: value for key, value in answer.items() if key != "at" or value.startswith("srt/")}


def matrix(sglang: Sglang, cards: Sequence[str]) -> None:
    """Records the matrix, card by card; other cards stay as they were."""
    order = {command: index for card in CARDS for index, command in enumerate(commands(card))}
    found = list(verdicts.cells("matrix", sglang.release)) if sglang.release in verdicts.releases("matrix") else []
    for card in cards:
        fresh = sglang.check(card, commands(card))
        found = [*(cell for cell in found if cell.card != card), *fresh]
        verdicts.write("matrix", sglang.release, sorted(found, key=lambda cell: order[cell.command]))
        refused = sum(cell.refused for cell in fresh)
        print(f"{sglang.release} {card}: {refused} of {len(fresh)} refused", file=sys.stderr)


def construction(sglang: Sglang, cards: Sequence[str]) -> None:
    """Records which backends the scheduler would construct; `command` is the backend and the kind of attention."""
    asked = [(backend, kind) for backend in BACKENDS for kind in ("mha", "mla")]
    questions = [{"backend": backend, "mla": kind == "mla"} for backend, kind in asked]
    found = [
        Cell(sglang.release, card, f"{backend} {kind}", answer)
        for card in cards
        for (backend, kind), answer in zip(asked, sglang.ask(card, questions), strict=True)
        if answer.get("exception") != "KeyError"  # a backend that this release does not have
    ]
    verdicts.write("construction", sglang.release, sorted(found, key=lambda cell: cell.command))


def proposals(sglang: Sglang) -> None:
    """Records what sglang says to each relaunch that is proposed for a refused cell."""
    from tests.oracle.proposing import arguments, examined, relaunch_of

    wanted: dict[str, dict[str, None]] = {}
    for kind in ("matrix", "checks"):
        if not verdicts.file_of(kind, sglang.release).exists():
            continue
        for cell in verdicts.cells(kind, sglang.release):
            if cell.refused:
                nearest = examined(cell.release, cell.card, cell.command).relaunch
                asked = [relaunch_of(cell), arguments(nearest.command) if nearest else None]
                wanted.setdefault(cell.card, {}).update(dict.fromkeys(one for one in asked if one))
    found = [cell for card, asked in wanted.items() for cell in sglang.check(card, list(asked))]
    verdicts.write("proposals", sglang.release, found)


def checks(sglang: Sglang) -> None:
    """Records what sglang says to the refused and to the accepted command of each argument check."""
    from tests.oracle.checks import load

    wanted: dict[str, dict[str, None]] = {}
    for check in load():
        for command in (check.refused, check.accepted):
            wanted.setdefault(check.card, {})[command] = None
    found = [cell for card, asked in wanted.items() for cell in sglang.check(card, list(asked))]
    verdicts.write("checks", sglang.release, found)


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("python")
    parser.add_argument("--sglang", metavar="FOLDER")
    parser.add_argument("--cards", nargs="+", default=CARDS)
    parser.add_argument("--only", choices=["matrix", "construction", "checks", "proposals"], nargs="+")
    given = parser.parse_args()
    sglang = Sglang(given.python, given.sglang)
    wanted = given.only or ["matrix", "construction", "checks", "proposals"]
    if "matrix" in wanted:
        matrix(sglang, given.cards)
    if "construction" in wanted:
        construction(sglang, given.cards)
    if "checks" in wanted:
        checks(sglang)
    if "proposals" in wanted:
        proposals(sglang)


if __name__ == "__main__":
    main()
