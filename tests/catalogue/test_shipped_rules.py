"""The shipped catalogue is clean: form, conditions, samples."""

from responder.advise.rule_flags import unknown_flags
from responder.catalogue.lint import lint
from responder.nouns import KINDS
from responder.scan.samples import check_samples
from tests.diagnosing import findings, rules_of


def test_no_rule_has_a_problem(catalogue):
    assert [str(problem) for problem in lint(catalogue)] == []


def test_every_sample_fires_its_rule_and_no_other_cause(catalogue):
    assert [str(problem) for problem in check_samples(catalogue)] == []


def test_every_flag_and_argument_that_a_rule_speaks_of_exists(catalogue):
    assert [str(problem) for problem in unknown_flags(catalogue)] == []


def test_there_are_rules_for_every_kind(catalogue):
    kinds = {rule.kind for rule in catalogue.rules if rule.role == "cause"}
    assert kinds >= set(KINDS) - {"unrecognised"}


def test_no_noise_line_alerts(catalogue, program):
    for rule in catalogue.rules:
        if rule.role != "noise":
            continue
        for sample in rule.sample:
            if sample.matches:
                assert rules_of(findings(program, sample.text + "\n")) == [], rule.id
