"""Every mistake in a rule is found at once, with file and line."""

import pytest

from responder.catalogue.lint import lint, longest_literal
from responder.catalogue.load import read_rules
from responder.scan.samples import check_samples, how_far

RULE = """\
id = "some-failure"
title = "Some failure"
kind = "hang"
role = "cause"
cause = "It hangs."
patterns = ['''some failure text (?P<number>\\d+)''']
[[remedy]]
title = "Do it"
when = "gpu.sm == 90"
set = { "--some-flag" = "1" }
[[sample]]
text = "some failure text 17"
captures = { number = "17" }
[[sample]]
matches = false
text = "some failure test 17"
"""


def problems(tmp_path, text, name="some-failure.toml"):
    folder = tmp_path / "rules" / "hang"
    folder.mkdir(parents=True)
    (folder / name).write_text(text)
    read = read_rules([folder / name])
    return [str(p) for p in (*lint(read), *check_samples(read))]


def test_a_good_rule_has_no_problem(tmp_path):
    assert problems(tmp_path, RULE) == []


@pytest.mark.parametrize(
    ("right", "wrong", "line", "says"),
    [
        ('id = "some-failure"', 'id = "other-failure"', 1, "must agree"),
        ("gpu.sm == 90", "gpu.sm ==", 9, "not a valid condition"),
        ("gpu.sm == 90", "1 == 2", 9, "can never hold"),
        ('"--some-flag"', '"some_flag"', 10, "not spelled like a flag"),
        ("text (?P<number>", "(?=text)(?P<number>", 6, "lookaround"),
        ("text (?P<number>\\d+)", "text (?P<number>(a+)+)", 6, "quantifier inside"),
        ("text (?P<number>", "[^x]text (?P<number>", 6, "crosses lines"),
        ("some failure text (?P<number>\\d+)", "so.*me (?P<number>\\d+)", 6, "no literal text"),
        ('number = "17"', 'number = "18"', 13, "the capture `number` is '17', not '18'"),
        ("failure text 17", "failure next 17", 12, "does not match"),
        ("some failure test 17", "some failure text 18", 16, "the near miss"),
        ('role = "cause"', 'role = "marker"', 4, "which phase it `enters`"),
    ],
)
def test_each_mistake_is_found_where_it_stands(tmp_path, right, wrong, line, says):
    assert right in RULE
    found = problems(tmp_path, RULE.replace(right, wrong, 1))
    assert any(f":{line}:" in problem and says in problem for problem in found), found


def test_all_mistakes_are_told_at_once(tmp_path):
    text = RULE.replace("gpu.sm == 90", "gpu.sm ==").replace('"--some-flag"', '"flag"').replace("test 17", "text 1")
    assert len(problems(tmp_path, text)) == 3


def test_a_sample_that_fails_is_told_how_far_the_pattern_got(tmp_path):
    rule = read_rules([_write(tmp_path, RULE)]).rules[0]
    assert "'some failure ' matches" in how_far(rule, "some failure next 17")


def _write(tmp_path, text):
    path = tmp_path / "some-failure.toml"
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    ("pattern", "length"),
    [("abc", 3), ("abc.*defgh", 5), (r"a\.b\(c", 5), ("abcd?efg", 3), ("(?P<x>abc)", 3), (r"[abc]{3}xy", 2)],
)
def test_the_longest_literal_of_a_pattern(pattern, length):
    assert longest_literal(pattern) == length
