"""A line has the number that an editor shows, whoever counted."""

import pytest

from responder.replay.line_numbers import LineNumbers
from responder.replay.ranges import LEAST, parts_of
from responder.replay.reading import Count
from responder.replay.workers import scan_parts

LINES = [f"line {number} of the log {'x' * (number % 90)}\n" for number in range(200_000)]


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    path = tmp_path_factory.mktemp("lines") / "server.log"
    path.write_text("".join(LINES))
    return path


def offset_of(number):
    """Of the first byte of a line, counted from 1."""
    return sum(map(len, LINES[: number - 1]))


@pytest.mark.parametrize("jobs", [1, 3])
def test_what_the_scan_counted_gives_the_numbers(program, catalogue, log, jobs):
    numbers = LineNumbers()
    for _, scanned in scan_parts(parts_of(0, [log], jobs, LEAST // 8), program, catalogue.by_id, jobs):
        numbers.learn(scanned.newlines)
    for number in (1, 2, 77_777, 199_999, 200_000):
        assert numbers.of(log, offset_of(number)) == number
        assert numbers.of(log, offset_of(number) + 3) == number


def test_without_a_count_the_file_is_read_once_for_all_lines(log):
    numbers = LineNumbers()
    assert [numbers.of(log, offset_of(number)) for number in (150_000, 3, 150_001)] == [150_000, 3, 150_001]


def test_a_count_is_believed(log):
    """Nothing in front of it is read again."""
    numbers = LineNumbers()
    numbers.learn([Count(str(log), offset_of(100), 5000)])
    assert numbers.of(log, offset_of(101)) == 5002


def test_an_archive_and_a_shorter_file_have_no_numbers(tmp_path):
    packed = tmp_path / "server.log.gz"
    packed.write_bytes(b"x\n" * 10)
    short = tmp_path / "server.log"
    short.write_bytes(b"x\n")
    assert LineNumbers().of(packed, 4) is None
    assert LineNumbers().of(short, 400) is None
    assert LineNumbers().of(tmp_path / "missing.log", 0) is None
