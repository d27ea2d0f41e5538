"""Of a wrapped log only what a rule may fire on is unwrapped, and it is seen as if all of it were."""

import random
import re

import pytest

from responder.replay import sift
from responder.replay.ranges import parts_of
from responder.replay.workers import scan_parts
from responder.scan import Scanner
from responder.scan.sieve import sieve_of, widened
from responder.sources.wrappers import PARTS, Unwrapper
from tests.diagnose.test_same_incident import HEALTHY, rank_log
from tests.wrapping import DOCKER_CUT, WRAPPERS

SEARCHABLE = ("docker", "cri")
HEALTHY_LINES = [line.format(minute=7).encode() for line in HEALTHY]


def seen_by(program, catalogue, path, jobs=1):
    """Every line that was seen, as it goes to the diagnosis."""
    parts = parts_of(0, [path], jobs, least=1 << 20)
    return [one for _, scanned in scan_parts(parts, program, catalogue.by_id, jobs) for one in scanned.seen]


def count_unwrapped(monkeypatch) -> list[int]:
    """Sizes of what is handed to the unwrapper from here on."""
    sizes, feed = [], Unwrapper.feed

    def counting(self, block):
        sizes.append(len(block.data))
        return feed(self, block)

    monkeypatch.setattr(Unwrapper, "feed", counting)
    return sizes


def log_with(failures: list[list[bytes]], between: int) -> list[bytes]:
    """Failures among many healthy lines."""
    lines = []
    for failure in failures:
        lines += [*HEALTHY_LINES * (between // len(HEALTHY_LINES)), *failure]
    return [*lines, *HEALTHY_LINES * (between // len(HEALTHY_LINES))]


FAILURES = [
    rank_log("ValueError: Not enough host memory available. Requesting 40.00 GB but only have 4.87 GB free.", 3),
    rank_log("FancyError: nothing that anybody knows", 0),
    'GPU error: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate "2.00 GiB" <here> & now',
]


@pytest.mark.parametrize("wrapper", SEARCHABLE)
def test_a_large_wrapped_log_is_seen_as_if_all_of_it_were_unwrapped(program, catalogue, tmp_path, monkeypatch, wrapper):
    chance = random.Random(1)
    failures = [chance.choice(FAILURES).encode().splitlines() for _ in range(8)]
    path = tmp_path / "server.log"
    path.write_bytes(WRAPPERS[wrapper](log_with(failures, 12_000)))
    sizes = count_unwrapped(monkeypatch)
    seen = seen_by(program, catalogue, path)
    assert sum(sizes) < path.stat().st_size / 2
    monkeypatch.setattr(sift.Sift, "_spots", lambda self, block: None)
    expected = seen_by(program, catalogue, path)
    assert len(expected) >= 8
    assert seen == expected
    monkeypatch.undo()
    for jobs in (2, 3):
        assert seen_by(program, catalogue, path, jobs) == expected


@pytest.mark.parametrize("wrapper", SEARCHABLE)
def test_what_fires_inside_is_found_in_the_wrapped_bytes(program, catalogue, wrapper):
    sieve, scanner = sieve_of(program, PARTS), Scanner(program)
    fired = {
        (rule.id, line[hit.start : hit.end])
        for rule in catalogue.rules
        for line in (sample.text.encode() + b"\n" for sample in rule.sample)
        for hit in scanner.scan(line, harmless=False)
    }
    assert len(fired) > 1000
    assert [one for one in fired if sieve.spots(WRAPPERS[wrapper]([one[1]])) == []] == []


def test_healthy_lines_are_no_spots(program):
    assert sieve_of(program, PARTS).spots(WRAPPERS["docker"](HEALTHY_LINES)) == []


def test_a_failure_in_a_line_that_docker_cut_is_found(program, catalogue, tmp_path):
    failure = b"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB."
    lines = log_with([[b"x" * (DOCKER_CUT - 30) + b" " + failure]], 12_000)
    path = tmp_path / "server.log"
    path.write_bytes(WRAPPERS["docker"](lines))
    fired = [match.rule.id for one in seen_by(program, catalogue, path) for match in one.matches]
    assert fired == ["cuda-out-of-memory"]


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        (r"^a \"quoted\" word$", 'a \\"quoted\\" word'),
        (r"limit < 3 && (?P<name>\w+)", "limit \\u003c 3 \\u0026\\u0026 that"),
        (r"one[\s]two", "one\\ttwo"),
        (r"one.two", 'one\\"two'),
        (r"path [^ ]+ is", "path C:\\\\x is"),
        (r"in (?:load|store)\b", 'in load","'),
    ],
)
def test_an_expression_made_wider_finds_what_json_writes_otherwise(expression, text):
    assert re.search(widened(expression), f'{{"log":"{text}\\n"}}')
