"""Hyperscan finds the lines, regex confirms them on the line."""

from collections import Counter
from itertools import accumulate

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from responder.catalogue import Catalogue, Rule
from responder.catalogue.rule import LoadedRule
from responder.scan import Scanner, build_program
from responder.scan.engine import HOT_SHARE
from responder.scan.hot import LEAST_BLOCK, HotRules
from responder.scan.program import Pattern, Program, compile_patterns


def scanner(tmp_path, **patterns: str) -> Scanner:
    """A scanner of rules called like the keywords."""
    loaded = [
        LoadedRule(
            rule=Rule(id=name.replace("_", "-"), title=name, kind="hang", role="cause", patterns=(pattern,)),
            path=tmp_path / f"{name}.toml",
        )
        for name, pattern in patterns.items()
    ]
    program, problems = build_program(Catalogue(loaded=tuple(loaded)), cache=tmp_path / "cache")
    assert problems == []
    return Scanner(program)


def fired(hits):
    return [(hit.start, [match.rule.id for match in hit.matches]) for hit in hits]


def test_a_hit_names_its_line_and_captures(tmp_path):
    hits = scanner(tmp_path, oom=r"out of memory: (?P<size>\d+)").scan(b"one\nout of memory: 17 bytes\nthree\n")
    assert [(hit.start, hit.end) for hit in hits] == [(4, 27)]
    assert hits[0].matches[0].captures == {"size": "17"}


def test_two_rules_on_one_line_are_one_hit(tmp_path):
    hits = scanner(tmp_path, first="first text", second="second text").scan(b"first text and second text\n")
    assert fired(hits) == [(0, ["first", "second"])]


def test_a_rule_fires_once_per_line_however_often_its_text_stands_there(tmp_path):
    hits = scanner(tmp_path, again="again .*again").scan(b"again and again and again and again\n")
    assert fired(hits) == [(0, ["again"])]


def test_every_pattern_of_a_rule_adds_its_captures(tmp_path):
    rule = Rule(
        id="port", title="port", kind="hang", role="cause",
        patterns=("address already in use", r"port (?P<port>\d+) is taken", r"by (?P<owner>\w+) already"),
    )  # fmt: skip
    loaded = (LoadedRule(rule=rule, path=tmp_path / "port.toml"),)
    program, _ = build_program(Catalogue(loaded=loaded), cache=tmp_path / "cache")
    (hit,) = Scanner(program).scan(b"address already in use: port 80 is taken by nginx already\n")
    assert [match.captures for match in hit.matches] == [{"port": "80", "owner": "nginx"}]


def test_a_pattern_never_reaches_over_a_newline(tmp_path):
    assert scanner(tmp_path, both=r"begin\s+end of it").scan(b"begin\nend of it\n") == []


def test_the_last_line_needs_no_newline(tmp_path):
    assert fired(scanner(tmp_path, last="last words").scan(b"x\nlast words")) == [(2, ["last"])]


def test_an_undecodable_byte_is_shown_and_loses_nothing(tmp_path):
    hits = scanner(tmp_path, bad="path (?P<path>.+) missing").scan(b"path /a\xff/b missing\n")
    assert hits[0].matches[0].captures == {"path": "/a\\xff/b"}


def test_a_hot_rule_is_counted_instead_of_looked_at(tmp_path):
    scan = scanner(tmp_path, hot="hot hot hot")
    lines = 20_000
    hits = scan.scan(b"hot hot hot\n" * lines)
    assert len(hits) + scan.counted["hot"] == lines
    assert len(hits) <= max(256, lines * HOT_SHARE)


def test_a_line_counts_once_for_a_hot_rule_however_many_of_its_patterns_fire_on_it(tmp_path):
    rule = Rule(
        id="hot", title="hot", kind="hang", role="cause", patterns=("out of memory", "memory is short", "no memory")
    )
    program, _ = build_program(
        Catalogue(loaded=(LoadedRule(rule=rule, path=tmp_path / "hot.toml"),)), cache=tmp_path / "cache"
    )
    scan = Scanner(program)
    both, one, rare = b"out of memory: memory is short\n", b"out of memory\n", b"out of memory, no memory\n"
    hits = scan.scan((both * 9 + one * 9 + rare) * 500)
    assert len(hits) + scan.counted["hot"] == 500 * 19


def test_a_hot_rule_is_counted_right_block_after_block(tmp_path):
    scan = scanner(tmp_path, hot=r"out of memory on rank (?P<rank>\d+)", also=r"out of memory on host (?P<host>\w+)")
    block = b"out of memory on rank 3\n" * 20_000 + b"out of memory on host seven\n"
    assert len(block) > LEAST_BLOCK
    found: Counter[str] = Counter()
    for number in range(1, 4):
        found.update(match.rule.id for hit in scan.scan(block) for match in hit.matches)
        assert found["hot"] + scan.counted["hot"] == 20_000 * number
        assert found["also"] == number
    assert found["hot"] < 1000


def test_a_rule_that_was_hot_is_looked_at_again(tmp_path):
    scan = scanner(tmp_path, hot="hot hot hot", cold="cold cold cold")
    scan.scan(b"hot hot hot\n" * 50_000)
    scan.scan(b"cold cold cold\n" * 50_000)
    scan.scan(b"nothing\n")
    before = scan.counted.total()
    assert len(scan.scan(b"hot hot hot\ncold cold cold\n" * 100)) == 200
    assert scan.counted.total() == before


def test_an_expression_that_hyperscan_refuses_is_counted_line_by_line():
    rule = Rule(id="hot", title="hot", kind="hang", role="cause", patterns=("a long enough text(?= here)",))
    patterns = (Pattern(text=rule.patterns[0].encode(), use="rule", rule=rule, needle=b"a long enough text"),)
    scan = Scanner(Program(patterns, compile_patterns(patterns)))
    hits = scan.scan(b"a long enough text here\na long enough text there\n" * 20_000)
    assert len(hits) + scan.counted["hot"] == 20_000


def test_the_lines_of_every_rule_are_counted_as_regex_finds_them(catalogue, program):
    """Anchors at the line's end, look-aheads, classes that hold a newline: all that the shipped expressions have."""
    lines = [line for rule in catalogue.rules for sample in rule.sample for line in sample.text.encode().split(b"\n")]
    data, ends = b"\n".join(lines) + b"\n", list(accumulate(len(line) + 1 for line in lines))
    hot, wrong = HotRules(program, Scanner(program).stands), []
    for rule, indexes in program.by_rule.items():
        expressions = [regex.compile(program.patterns[index].text) for index in indexes]
        expected = [
            end - 1 for line, end in zip(lines, ends, strict=True) if any(one.search(line) for one in expressions)
        ]
        if hot.lines(rule, data) != expected:
            wrong.append(rule)
    assert wrong == []


def test_a_pattern_that_takes_forever_is_set_aside_and_reported(tmp_path):
    scan = scanner(tmp_path, slow=r"needle (?P<what>a|aa|aaa)+(?:b|c)?(?:a|aa|aaa)+!", good="good line")
    evil = b"needle " + b"a" * 3000 + b"? needle aa! good line\n"
    assert fired(scan.scan(evil)) == [(0, ["good"])]
    assert list(scan.set_aside.values()) == ["slow: a pattern took longer than 0.25 s on one line"]
    assert fired(scan.scan(b"needle aa! good line\n")) == [(0, ["good"])]


def test_a_fixed_text_that_is_hot_without_its_expression_is_not_counted(tmp_path):
    scan = scanner(tmp_path, hot=r"the memory pool of rank (?P<rank>\d+) leaks", plain="the memory pool of rank")
    lines = 10_000
    hits = scan.scan(b"the memory pool of rank x\n" * lines + b"the memory pool of rank 7 leaks\n" * lines)
    found = Counter(match.rule.id for hit in hits for match in hit.matches)
    assert found["hot"] + scan.counted["hot"] == lines
    assert found["plain"] + scan.counted["plain"] == 2 * lines
    assert {match.captures["rank"] for hit in hits for match in hit.matches if match.rule.id == "hot"} == {"7"}


def test_a_plain_text_tells_where_it_stands(tmp_path):
    hits = scanner(tmp_path, plain=r"no memory is left \(at all\)").scan(
        b"line\nrank 3: no memory is left (at all) again\n"
    )
    assert [(match.start, match.captures) for match in hits[0].matches] == [(8, {})]


def test_a_damaged_cache_of_compiled_patterns_is_compiled_anew(tmp_path):
    scanner(tmp_path, one="some text here")
    for cached in (tmp_path / "cache").glob("patterns-*"):
        cached.write_bytes(b"not a database")
    assert fired(scanner(tmp_path, one="some text here").scan(b"some text here\n")) == [(0, ["one"])]


def test_a_cache_that_others_may_write_is_not_trusted(tmp_path):
    folder = tmp_path / "cache"
    folder.mkdir(mode=0o777)
    folder.chmod(0o777)
    scanner(tmp_path, one="some text here")
    assert folder.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("size", [1, 7, 4096])
def test_every_sample_is_found_by_both_engines(catalogue, program, size):
    """Hyperscan finds at least what regex finds, on every line of every sample."""
    scan = Scanner(program)
    for rule in catalogue.rules:
        for sample in rule.sample:
            for line in sample.text.encode().splitlines():
                expected = {
                    other.id for other in (rule,) for pattern in other.patterns if regex.search(pattern.encode(), line)
                }
                got = {m.rule.id for hit in scan.scan(b"x" * size + b"\n" + line + b"\n") for m in hit.matches}
                assert expected <= got, (rule.id, line)


@given(st.lists(st.sampled_from([b"alpha failed", b"noise", b"beta failed: 3", b"", b"\xff\xfe", b"alpha beta"])))
def test_blocks_find_what_single_lines_find(tmp_path_factory, lines):
    scan = scanner(tmp_path_factory.mktemp("scan"), alpha="alpha failed", beta=r"beta failed: \d")
    whole = [m.rule.id for hit in scan.scan(b"".join(line + b"\n" for line in lines)) for m in hit.matches]
    single = [m.rule.id for line in lines for hit in scan.scan(line + b"\n") for m in hit.matches]
    assert whole == single
