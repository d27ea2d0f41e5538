"""Text from a log shows what it says and does nothing."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from responder.publish.inert import code, inert, inert_line, mrkdwn, plain
from tests.publish.hostile import ACTIVE, HOSTILE
from tests.slack_blocks import dangers


def test_there_are_at_least_a_hundred_hostile_texts() -> None:
    assert len(set(HOSTILE)) >= 100


@given(st.text(st.characters(), max_size=300))
def test_no_active_character_survives(text: str) -> None:
    assert not set(inert(text)) & set(ACTIVE)
    assert "\n" not in inert_line(text)
    inert(text).encode()  # no lone surrogate


def test_each_active_character_goes_by_itself() -> None:
    assert [f"U+{ord(character):04X}" for character in ACTIVE if character in inert(f"a{character}b")] == []


@given(st.text(st.sampled_from("ab <>&!@#*_~`:|^\n\x1b[]\\;017m\u202e\u200b"), max_size=60))
def test_any_mix_of_slacks_own_characters_is_inert(text: str) -> None:
    message = {
        "text": mrkdwn(text, 200),
        "blocks": [{"type": "header", "text": {"type": "plain_text", "text": plain(text)}}],
    }
    assert dangers(message) == []


@pytest.mark.parametrize(
    "text", ["token usage: 0.98", "a\tb", "naïve 日本語 🔥", "[2026-11-30 12:35:27 TP0] x", "a_b_c x*y"]
)
def test_ordinary_text_stays(text: str) -> None:
    assert inert(text) == text


def test_an_escape_sequence_goes_whole_and_the_text_around_it_stays() -> None:
    assert inert("a\x1b[31mred\x1b[0m b \x1b]0;title\x07c\x1b]52;c;xyz\x1b\\d") == "ared b cd"
    assert inert("\x1b[38;5;196mx") == "x"


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_a_hostile_text_formats_nothing(text: str) -> None:
    assert not re.search(r"`|(?<!\w)([*_~])\S(?:.*\S)?\1(?!\w)", mrkdwn(text, 3000))
    assert code(text, 3000).count("`") in (0, 2)


@pytest.mark.parametrize(("text", "mark"), [("*bold*", "*"), ("_italics_", "_"), ("~struck~", "~"), ("`code`", "`")])
def test_a_mark_of_slacks_is_shown_by_one_that_looks_like_it(text: str, mark: str) -> None:
    assert mark not in mrkdwn(text, 99)
    assert text.strip(mark) in mrkdwn(text, 99)


def test_a_time_of_day_is_no_emoji_code() -> None:
    assert mrkdwn("at 12:35:27", 99) == "at 12:35:27"
    assert ":fire:" not in mrkdwn("a:fire:b", 99)


def test_names_with_underscores_keep_them() -> None:
    assert mrkdwn("set mem_fraction_static lower", 99) == "set mem_fraction_static lower"
