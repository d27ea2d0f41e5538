"""A rule that cannot be read is left out and reported; the rest works."""

from pathlib import Path

import pytest

from responder.catalogue import load_catalogue, rules_root
from responder.catalogue.load import read_rule, read_rules

GOOD = """\
id = "some-failure"
title = "Some failure"
kind = "hang"
role = "cause"
cause = "It hangs."
patterns = ['''some failure text''']
[[sample]]
text = "some failure text"
"""


def written(folder: Path, text: str, name: str = "some-failure.toml") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def test_a_good_rule_is_read(tmp_path):
    rule, problems = read_rule(written(tmp_path, GOOD))
    assert problems == []
    assert rule is not None
    assert rule.patterns == ("some failure text",)


@pytest.mark.parametrize(
    ("mistake", "line", "says"),
    [
        (GOOD.replace("title =", "titel ="), 2, "did you mean `title`"),
        (GOOD.replace('kind = "hang"', 'kind = "hangs"'), 3, "did you mean `hang`"),
        (GOOD.replace('role = "cause"', 'role = "reason"'), 4, "reason"),
        (GOOD.replace("cause = ", "cause == "), 5, "not TOML"),
        (GOOD.replace('text = "some', 'txt = "some'), 8, "unknown key `txt` in [[sample]]"),
        (GOOD.replace('title = "Some failure"\n', ""), 1, "title"),
    ],
)
def test_a_mistake_is_told_with_file_and_line(tmp_path, mistake, line, says):
    rule, problems = read_rule(written(tmp_path, mistake))
    assert rule is None
    assert len(problems) == 1
    assert problems[0].line == line
    assert says in str(problems[0])
    assert "some-failure.toml:" in str(problems[0])


def test_a_broken_rule_does_not_take_the_others_with_it(tmp_path):
    written(tmp_path, GOOD)
    written(tmp_path, "id = ", "broken.toml")
    read = read_rules(sorted(tmp_path.glob("*.toml")))
    assert [rule.id for rule in read.rules] == ["some-failure"]
    assert len(read.problems) == 1


def test_a_rule_of_the_user_replaces_the_shipped_one_of_its_id(tmp_path, cache_folder):
    path = next(iter(sorted(rules_root().rglob("*.toml"))))
    own = tmp_path / path.name
    own.write_text(path.read_text().replace("title =", "title = 'Mine' #", 1))
    rules = load_catalogue([tmp_path], cache=cache_folder).by_id
    assert rules[path.stem].title == "Mine"


def test_the_cached_catalogue_is_the_one_that_was_read(tmp_path):
    first = load_catalogue(cache=tmp_path)
    assert list(tmp_path.glob("rules-*.msgpack"))
    again = load_catalogue(cache=tmp_path)
    assert again.digest == first.digest
    assert again.loaded == first.loaded


def test_a_damaged_cache_is_read_anew(tmp_path):
    digest = load_catalogue(cache=tmp_path).digest
    for cached in tmp_path.glob("rules-*.msgpack"):
        cached.write_bytes(b"\x00garbage")
    assert load_catalogue(cache=tmp_path).digest == digest
