"""The words every room shares: incident, server, GPU facts, remedy.

Nothing here does anything: these are the shapes that cross from one room to the next and, as JSON, to the user.
"""

from responder.nouns.gpu import Device, GpuFacts, GpuStatus
from responder.nouns.incident import (
    SCHEMA_VERSION,
    Clock,
    Evidence,
    Incident,
    Status,
    Symptom,
)
from responder.nouns.kinds import KINDS, Confidence, Phase, Severity
from responder.nouns.remedy import Apply, Relaunch, Remedy
from responder.nouns.server import Role, Server

__all__ = [
    "KINDS",
    "SCHEMA_VERSION",
    "Apply",
    "Clock",
    "Confidence",
    "Device",
    "Evidence",
    "GpuFacts",
    "GpuStatus",
    "Incident",
    "Phase",
    "Relaunch",
    "Remedy",
    "Role",
    "Server",
    "Severity",
    "Status",
    "Symptom",
]
