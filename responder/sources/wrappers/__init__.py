"""How a log's lines are wrapped (Docker, Kubernetes, journald, Ray, …), found per source, and the lines inside."""

from responder.sources.wrappers.detect import PARTS
from responder.sources.wrappers.unwrapper import Unwrapper

__all__ = ["PARTS", "Unwrapper"]
