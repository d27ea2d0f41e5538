"""Killed at any line and begun again from what was held: the same faults under the same ids."""

import msgspec
import pytest

from responder.diagnose import Finding, Memory, Pipeline
from responder.sources.block import Block
from tests.fleet.faults import known_faults, unknown_faults

NOW = "2026-11-30 12:00:00"


@pytest.fixture(scope="module")
def night(catalogue, program):
    """Launches that fail, each of something else, one after the other in one log."""
    faults = [*known_faults(catalogue, program, 7, 8), *unknown_faults(7, 4)]
    return "".join(fault.text for fault in faults).replace("{now}", NOW).splitlines(keepends=True)


class Log:
    """A log in files as rotation left it, and the findings as a database would keep them."""

    def __init__(self, program, lines: list[str], rotated_at: set[int] = frozenset()) -> None:
        self.program, self.lines, self.places = program, lines, []
        file, offset = 0, 0
        for number, line in enumerate(lines):
            if number in rotated_at:
                file, offset = file + 1, 0
            self.places.append((f"file-{file}", offset))
            offset += len(line.encode())
        self.kept: dict[str, Finding] = {}

    def start(self, memory: Memory | None = None) -> None:
        self.pipeline = Pipeline(
            "llama", self.program, msgspec.convert(msgspec.to_builtins(memory or Memory()), Memory)
        )

    def read(self, begin: int, end: int, wanted=lambda _stream, _offset: True) -> None:
        for line, (stream, offset) in zip(self.lines[begin:end], self.places[begin:end], strict=True):
            if wanted(stream, offset):
                self.pipeline.feed(Block(path="log", file_id=stream, offset=offset, data=line.encode()))
                changed, gone = self.pipeline.diagnosis.changes()
                self.kept.update({finding.id: finding for finding in changed})
                for key in gone:
                    del self.kept[key]

    def die_and_go_on(self, at: int) -> None:
        held, memory = self.pipeline.holds(), self.pipeline.diagnosis.memory()
        self.start(memory)
        self.read(0, at, lambda stream, offset: stream in held and offset >= held[stream])

    def found(self) -> set[tuple[object, ...]]:
        return {(f.id, f.fingerprint, f.title, f.lines, f.attempts, f.phase, *f.symptoms) for f in self.kept.values()}


def undisturbed(program, lines, rotated_at=frozenset()):
    log = Log(program, lines, rotated_at)
    log.start()
    log.read(0, len(lines))
    return log.found()


@pytest.mark.parametrize("survived", [1, 3, 7, 29])
@pytest.mark.parametrize("per_file", [10_000, 4, 1])
def test_wherever_it_is_killed_the_same_is_found_as_if_it_had_not_been(program, night, survived, per_file):
    rotated_at = set(range(per_file, len(night), per_file))
    expected = undisturbed(program, night, rotated_at)
    log = Log(program, night, rotated_at)
    log.start()
    for begin in range(0, len(night), survived):
        log.read(begin, begin + survived)
        log.die_and_go_on(begin + survived)
    assert log.found() == expected


@pytest.mark.parametrize("per_file", [4, 1])
def test_a_rotation_changes_nothing_of_what_is_found(program, night, per_file):
    whole = undisturbed(program, night)
    rotated = undisturbed(program, night, set(range(per_file, len(night), per_file)))
    assert len(whole) == 12
    assert {found[1:] for found in rotated} == {found[1:] for found in whole}


def test_a_launch_ends_the_tracebacks_of_the_one_before_and_tells_of_them(program):
    launch = f"[{NOW}] server_args=ServerArgs(model_path='/models/llama')\n"
    cut = 'Traceback (most recent call last):\n  File "/opt/sglang/srt/scheduler.py", line 40, in step_0\n'
    whole = cut + "FancyError: nothing that anybody knows\n"
    log = Log(program, (launch + cut + launch + whole).splitlines(keepends=True))
    log.start()
    log.read(0, 3)
    assert log.pipeline.holds() != {}
    log.read(3, len(log.lines))
    titles = [finding.title for finding in log.kept.values()]
    assert titles == ["Unknown failure: traceback in step_0", "Unknown failure: FancyError in step_0"]
    assert [finding.attempts for finding in log.kept.values()] == [1, 1]
