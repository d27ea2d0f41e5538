"""The catalogue: what is known of sglang's failures, as rule files, and the conditions they are written in."""

from responder.catalogue.load import Catalogue, load_catalogue, rules_root
from responder.catalogue.problem import Problem
from responder.catalogue.rule import Near, Origin, RemedySpec, Rule, Sample

__all__ = [
    "Catalogue",
    "Near",
    "Origin",
    "Problem",
    "RemedySpec",
    "Rule",
    "Sample",
    "load_catalogue",
    "rules_root",
]
