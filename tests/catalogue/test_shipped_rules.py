"""The shipped catalogue is clean: form, conditions, samples."""

from responder.catalogue.lint import lint
from responder.scan.samples import check_samples


def test_no_rule_has_a_problem(catalogue):
    assert [str(problem) for problem in lint(catalogue)] == []


def test_every_sample_fires_its_rule_and_no_other_cause(catalogue):
    assert [str(problem) for problem in check_samples(catalogue)] == []
