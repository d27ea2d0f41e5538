"""Which wrappers a source's lines carry, found from a sample of them."""

from collections.abc import Iterable

from responder.sources.wrappers.ansi import strip_ansi
from responder.sources.wrappers.cri import Cri
from responder.sources.wrappers.docker import DockerJson
from responder.sources.wrappers.journal import JournalJson
from responder.sources.wrappers.json_lines import JsonLines
from responder.sources.wrappers.layer import Layer
from responder.sources.wrappers.prefixes import COMPOSE, KUBECTL, STAMP
from responder.sources.wrappers.rich_handler import RichHandler
from responder.sources.wrappers.syslog import Syslog
from responder.sources.wrappers.tags import Tags

DEEPEST = 3
"""How many wrappers may be nested."""

_SHARE = 0.6
"""How many of the sampled lines must have a form: tools print a line of their own here and there."""

TAGS = Tags()
LAYERS: tuple[Layer, ...] = (
    DockerJson(),
    JournalJson(),
    Cri(),
    JsonLines(),
    KUBECTL,
    COMPOSE,
    Syslog(),
    STAMP,
    RichHandler(),
    TAGS,
)
"""In the order in which they are tried: a CRI line also begins with a stamp, Docker's JSON is also JSON."""

PARTS = tuple(layer.part for layer in LAYERS if layer.part)
"""What fires on a line that holds a part of a line, of all wrappers whose bytes may be searched as they are."""


def detect(sample: Iterable[bytes]) -> tuple[Layer, ...]:
    """The wrappers around the sampled lines, outermost first; none for bare lines.

    Tags need not be detected, since any line may carry them; here they are found only around another wrapper.
    """
    lines = _inner(sample)
    found: list[Layer] = []
    while lines and len(found) < DEEPEST:
        layer = next((layer for layer in LAYERS if _wraps_most(layer, lines)), None)
        if layer is None:
            break
        found.append(layer)
        lines = _inner(part for line in lines for part in layer.strip(line).split(b"\n"))
    while found and found[-1] is TAGS:
        found.pop()
    return tuple(found)


def _wraps_most(layer: Layer, lines: list[bytes]) -> bool:
    wrapped = sum(map(layer.wraps, lines))
    return wrapped >= layer.least and wrapped >= _SHARE * len(lines)


def _inner(lines: Iterable[bytes]) -> list[bytes]:
    return [bare for line in lines if (bare := strip_ansi(line)).strip()]
