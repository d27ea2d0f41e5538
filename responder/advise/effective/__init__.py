"""Effective arguments: what a server runs with, as far as its command, its release, GPU and model decide it."""

from responder.advise.effective.model import facts_of, model_facts
from responder.advise.effective.resolve import effective, typed_facts

__all__ = ["effective", "facts_of", "model_facts", "typed_facts"]
