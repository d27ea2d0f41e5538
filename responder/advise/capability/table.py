"""The table of `backends.toml` and its answer: can this attention backend serve this phase in this situation?"""

import tomllib
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Literal

import msgspec
from msgspec.structs import replace

from responder.advise.capability.situation import Situation
from responder.advise.within import before, within

TABLE = Path(__file__).with_name("backends.toml")

Gate = Literal["arguments", "construction", "kernels"]
AttentionPhase = Literal["prefill", "decode"]
About = Literal["build", "context-parallelism", "kv-cache-dtype"]
PHASES: tuple[AttentionPhase, ...] = ("prefill", "decode")

_GATES: tuple[Gate, ...] = ("arguments", "construction", "kernels")


class _Row(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One row: a column that it leaves out fits everything."""

    backends: tuple[str, ...] = ()
    phases: tuple[AttentionPhase, ...] = ()
    platforms: tuple[str, ...] = ()
    sm: tuple[int, ...] = ()
    torch_cuda: str | None = None
    models: tuple[str, ...] = ()
    strategy: tuple[str, ...] = ()
    dtypes: tuple[str, ...] = ()
    since: str | None = None
    until: str | None = None
    source: str

    def fits(self, backend: str, phase: AttentionPhase, at: Situation) -> bool | None:
        """Whether it speaks of this; None where that rests on something unknown."""
        answers = (
            not self.backends or backend in self.backends,
            not self.phases or phase in self.phases,
            _in(at.platform, self.platforms),
            _in(at.sm, self.sm),
            self.torch_cuda is None or at.torch_cuda is None or not before(at.torch_cuda, self.torch_cuda),
            _in(at.model, self.models),
            _in(at.strategy, self.strategy),
            _in(at.kv_dtype, self.dtypes),
            self._in_release(at.release),
        )
        return False if False in answers else None if None in answers else True

    def _in_release(self, release: str | None) -> bool | None:
        if self.since is None and self.until is None:
            return True
        return None if release is None else within(release, self.since, self.until)


class Row(_Row, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A row that answers."""

    allowed: Literal["yes", "no", "unproven"]
    gate: Gate | None = None
    rule: str | None = None
    why: str = ""


class Preference(_Row, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The backends that sglang itself would pick."""

    best: tuple[str, ...]


class Table(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """All of it."""

    build: tuple[Row, ...]
    context_parallel: tuple[Row, ...]
    kv_cache: tuple[Row, ...]
    prefer: tuple[Preference, ...]
    architectures: dict[str, frozenset[str]]

    @staticmethod
    @cache
    def load() -> "Table":
        """That of the package."""
        return msgspec.convert(tomllib.loads(TABLE.read_text(encoding="utf-8")), Table)


class Cell(msgspec.Struct, frozen=True, kw_only=True):
    """What the table says of one backend in one phase."""

    about: About = "build"
    """Which of its questions this answers."""
    allowed: bool | None
    """None where the table does not know: no row, a fact that is missing, or code that nobody has shown to run."""
    why: str = ""
    source: str = ""
    """File and line in sglang."""
    gate: Gate | None = None
    """What says no."""
    rule: str | None = None
    """The catalogue's rule for what is then printed, where something is printed."""
    unproven: bool = False
    """Whether sglang has code for it that is not shown to run."""
    doubtful: bool = False
    """Whether it may be a no: that rests on something unknown."""


def verdict(backend: str, phase: AttentionPhase, at: Situation) -> Cell:
    """Whether `backend` can serve `phase` there: a no of the first gate that says no, else the least sure answer."""
    table = Table.load()
    cells = [_answer(table.build, backend, phase, at) or Cell(allowed=None)]
    if phase == "prefill" and at.strategy != "off":
        sharded = _answer(table.context_parallel, backend, phase, at) or Cell(allowed=None)
        cells.append(replace(sharded, about="context-parallelism"))
    # A dtype that no row speaks of is served by every backend, as far as is known.
    if at.kv_dtype != "auto" and (kept := _answer(table.kv_cache, backend, phase, at)):
        cells.append(replace(kept, about="kv-cache-dtype"))
    refusing = [cell for cell in cells if cell.allowed is False]
    if refusing:
        return min(refusing, key=lambda cell: _GATES.index(cell.gate or "kernels"))
    unsure = [cell for cell in cells if cell.allowed is None]
    return next((cell for cell in unsure if cell.doubtful), unsure[0] if unsure else cells[0])


def preferred(phase: AttentionPhase, at: Situation) -> tuple[str, ...]:
    """The backends that serve `phase` there for certain, those first that sglang itself would pick."""
    row = next((row for row in Table.load().prefer if row.fits("", phase, at) is not False), None)
    if row is None:
        return ()
    return tuple(backend for backend in row.best if verdict(backend, phase, at).allowed is True)


def _answer(rows: Iterable[Row], backend: str, phase: AttentionPhase, at: Situation) -> Cell | None:
    """The answer of the first row that fits; of all that may, where they agree; None where no row speaks of it."""
    possible: list[Row] = []
    for row in rows:
        fits = row.fits(backend, phase, at)
        if fits is not False:
            possible.append(row)
        if fits:
            break
    else:
        return _unsure(possible) if possible else None
    if any(row.allowed != possible[0].allowed for row in possible):
        return _unsure(possible)
    return _cell(possible[-1])


def _unsure(possible: list[Row]) -> Cell:
    return Cell(
        allowed=None,
        why="; ".join(row.why for row in possible if row.why),
        source=possible[0].source,
        doubtful=any(row.allowed == "no" for row in possible),
    )


def _cell(row: Row) -> Cell:
    allowed = {"yes": True, "no": False, "unproven": None}[row.allowed]
    return Cell(
        allowed=allowed,
        why=row.why,
        source=row.source,
        gate=row.gate,
        rule=row.rule,
        unproven=row.allowed == "unproven",
    )


def _in(value: str | int | None, column: tuple[str, ...] | tuple[int, ...]) -> bool | None:
    if not column:
        return True
    return None if value is None else value in column
