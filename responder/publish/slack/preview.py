"""A Slack message as plain lines, for the demo and for a look at what would be sent."""

import html
import re
import textwrap
from collections.abc import Iterator
from typing import Any

WIDTH = 86

_BOLD = re.compile(r"(?<!\w)[*`]([^*`\n]+)[*`](?!\w)")
_DATE = re.compile(r"<!date\^\d+\^[^|>]*\|([^>]*)>")


def preview(payload: dict[str, Any]) -> Iterator[str]:
    """The lines of a message, in a frame.  Commands stand outside of it, flush left, so that they can be copied."""
    yield f"╭{'─' * (WIDTH + 2)}"
    for number, block in enumerate(payload.get("blocks", [])):
        if number:
            yield "│"
        yield from _block(block)
    yield f"╰{'─' * (WIDTH + 2)}"


def _block(block: dict[str, Any]) -> Iterator[str]:
    kind = block["type"]
    if kind == "header":
        yield from _framed(block["text"]["text"])
    elif kind == "section":
        for field in block.get("fields", []):
            name, _, value = field["text"].partition("\n")
            yield from _framed(f"{_plain(name):<16}{' · '.join(_plain(value).splitlines())}")
    elif kind == "context":
        yield from _framed(" ".join(_plain(element["text"]) for element in block["elements"]))
    elif kind == "rich_text":
        for element in block["elements"]:
            yield from _rich(element)


def _rich(element: dict[str, Any]) -> Iterator[str]:
    kind = element["type"]
    if kind == "rich_text_preformatted":
        yield "│"
        yield from _text(element).splitlines()
        yield "│"
    elif kind == "rich_text_list":
        for number, item in enumerate(element["elements"], 1):
            mark = f"{number}." if element.get("style") == "ordered" else "•"
            yield from _framed(f"{mark} {_text(item)}")
    else:
        for line in _text(element).splitlines():
            yield from _framed(line)


def _text(element: dict[str, Any]) -> str:
    return "".join(part.get("text") or part.get("url", "") for part in element["elements"])


def _plain(text: str) -> str:
    return html.unescape(_BOLD.sub(r"\1", _DATE.sub(r"\1", text)))


def _framed(text: str) -> Iterator[str]:
    for line in textwrap.wrap(text, WIDTH, break_long_words=False, break_on_hyphens=False) or [""]:
        yield f"│ {line}".rstrip()
