"""Conditions have three answers."""

import pytest

from responder.catalogue.conditions import ConditionError, check, evaluate, holds

FACTS = {"gpu": {"sm": 90}, "args": {"tp_size": 8, "attn_cp_size": 3, "page_size": None}, "env": {"HOME": "/root"}}


@pytest.mark.parametrize(
    ("condition", "answer"),
    [
        (None, True),
        ("gpu.sm == 90", True),
        ("gpu.sm == 120", False),
        ("gpu.count == 8", None),
        ("model.is_mla", None),
        ("gpu.count == 8 && gpu.sm == 120", False),
        ("gpu.count == 8 && gpu.sm == 90", None),
        ("gpu.count == 8 || gpu.sm == 90", True),
        ("args.page_size != null && args.page_size > 1", False),
        ('"HOME" in env', True),
        ('"HF_TOKEN" in env', False),
        ("args.tp_size % args.attn_cp_size != 0", True),
    ],
)
def test_an_unknown_fact_makes_the_answer_unknown_unless_another_term_decides(condition, answer):
    assert holds(condition, FACTS) is answer


def test_a_value_is_computed_from_facts():
    assert evaluate("largest_divisor(args.tp_size, args.attn_cp_size)", FACTS) == 2
    assert evaluate("round2(0.88 - 0.05)", FACTS) == 0.83
    assert evaluate("minimum(args.tp_size, args.dp_size)", FACTS) is None


@pytest.mark.parametrize("broken", ["gpu.sm ==", "host.name == 'x'", "gpu.sm = 90"])
def test_a_condition_that_does_not_compile_is_refused_in_one_line(broken):
    with pytest.raises(ConditionError) as refused:
        check(broken)
    assert "\n" not in str(refused.value)
