"""Matches into findings: crash boundaries, cause against symptoms, ranks, attempts.

Pure: lines and times in, findings out; no clock, no disk, no network.
"""

from responder.diagnose.diagnosis import Diagnosis, Memory
from responder.diagnose.finding import Finding
from responder.diagnose.pipeline import Pipeline

__all__ = ["Diagnosis", "Finding", "Memory", "Pipeline"]
