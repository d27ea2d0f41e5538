"""The fixed text in which a pattern is first looked for stands in everything that it matches."""

import pytest
import regex

from responder.scan.needle import cut_needle, is_plain, needle_of, pairs_of


@pytest.mark.parametrize(
    ("pattern", "needle"),
    [
        ("fixed text", "fixed text"),
        (r"fixed \(text\)\.", "fixed (text)."),
        ("before (?:one|other) and after", " and after"),
        ("one text|another text", ""),
        ("colou?r of it", "r of it"),
        ("ab{0,3}cdef", "cdef"),
        ("abc+def", "abc"),
        ("[abc]def", "def"),
        (r"[^]\]]def", "def"),
        (r"a\d+bcd", "bcd"),
        ("(?i)any case", ""),
        ("(?i:any) case", ""),
        (r"\x41bcdef", ""),
        (r"(?P<name>\w+) is (?P=name)", " is "),
        ("^anchored$", "anchored"),
        ("a.b.cde", "cde"),
        ("((nested) group) text", " text"),
        ("", ""),
    ],
)
def test_the_longest_text_outside_groups(pattern, needle):
    assert needle_of(pattern) == needle


@pytest.mark.parametrize(
    ("pattern", "plain"),
    [
        ("fixed text", True),
        (r"fixed \(text\)\.", True),
        ("dot.", False),
        ("a|b", False),
        (r"tab\t", False),
        (r"back\\slash", True),
        ("a{2}", False),
        ("^start", False),
    ],
)
def test_what_is_nothing_but_its_text(pattern, plain):
    assert is_plain(pattern) is plain


def test_every_match_on_every_sample_holds_its_needle(catalogue):
    matched = 0
    for rule in catalogue.rules:
        lines = [line for sample in rule.sample for line in sample.text.splitlines()]
        for pattern in (*rule.patterns, *rule.frames, *(near.pattern for near in rule.near)):
            needle = needle_of(pattern)
            assert not is_plain(pattern) or regex.fullmatch(pattern, needle)
            for line in lines:
                for match in regex.finditer(pattern, line):
                    matched += 1
                    assert needle in match[0], pattern
    assert matched > 1000


def test_a_needle_ends_where_healthy_logs_seldom_do():
    common = pairs_of(["the tokens of the batch", "the tokens"])
    assert cut_needle("begin the tok_x the tokens", common, 8) == "begin the tok_x "
    assert cut_needle("nothing is known", pairs_of([]), 8) == "nothing is known"
    assert cut_needle("too short", common, 9) == "too short"


def test_every_match_on_every_sample_holds_its_cut_needle(program, catalogue):
    matched = 0
    for pattern in program.patterns:
        if not pattern.needle or pattern.rule is None:
            continue
        assert pattern.needle in needle_of(pattern.text.decode()).encode()
        for sample in pattern.rule.sample:
            for line in sample.text.encode().splitlines():
                if regex.search(pattern.text, line):
                    matched += 1
                    assert pattern.needle in line
    assert matched > 1000
