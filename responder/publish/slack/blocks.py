"""Slack's blocks, built within Slack's limits.

Limits as Slack documents them, except the one on a whole message: about 13,200 characters of text are refused with
`msg_blocks_too_long`, which no page says; `MESSAGE_LIMIT` keeps away from it.
"""

from collections.abc import Iterable
from typing import Any

from responder.publish.inert import clip, inert, literal, plain
from responder.publish.wording import spans

Block = dict[str, Any]

MESSAGE_LIMIT = 10_000
"""Characters of all text in one message."""
HEADER_LIMIT = 150
SECTION_LIMIT = 3000
FIELD_LIMIT = 2000
FIELDS_LIMIT = 10
CONTEXT_LIMIT = 10
BLOCKS_LIMIT = 50


def header(text: str) -> Block:
    """The large line at the top."""
    return {
        "type": "header",
        "text": {"type": "plain_text", "text": clip(plain(text), HEADER_LIMIT - 8), "emoji": False},
    }


def fields(pairs: Iterable[tuple[str, str]]) -> Block:
    """Name and value in two columns.  Values are mrkdwn, already escaped."""
    texts = [f"*{name}*\n{value}" for name, value in pairs if value]
    return {
        "type": "section",
        "fields": [{"type": "mrkdwn", "text": text, "verbatim": True} for text in texts[:FIELDS_LIMIT]],
    }


def context(texts: Iterable[str]) -> Block:
    """The small grey line.  Texts are mrkdwn, already escaped."""
    line = " · ".join(text for text in texts if text)
    return {"type": "context", "elements": [{"type": "mrkdwn", "text": line, "verbatim": True}]}


def divider() -> Block:
    """A thin line."""
    return {"type": "divider"}


def rich(*parts: Block) -> Block:
    """A block of rich text: sections, lists and preformatted parts."""
    return {"type": "rich_text", "elements": list(parts)}


def prose(*parts: Block | str) -> Block:
    """One paragraph: texts, in which backticks and flags show as code, and elements made by `bold` and its like."""
    elements: list[Block] = []
    for part in parts:
        if isinstance(part, str):
            elements += [
                code(text) if is_code else {"type": "text", "text": literal(text)} for text, is_code in spans(part)
            ]
        else:
            elements.append(part)
    shown = [element for element in elements if element["text"]]  # Slack refuses an empty one
    return {"type": "rich_text_section", "elements": shown or [{"type": "text", "text": " "}]}


def bold(text: str) -> Block:
    """Bold words."""
    return {"type": "text", "text": literal(text), "style": {"bold": True}}


def italic(text: str) -> Block:
    """Words in italics."""
    return {"type": "text", "text": literal(text), "style": {"italic": True}}


def code(text: str) -> Block:
    """Inline code; nothing in it is read as anything else."""
    return {"type": "text", "text": inert(text), "style": {"code": True}}


def links(urls: Iterable[str]) -> Block:
    """A list of links, each showing its own address."""
    items = [{"type": "rich_text_section", "elements": [{"type": "link", "url": url}]} for url in urls]
    return {"type": "rich_text_list", "style": "bullet", "elements": items}


def steps(texts: Iterable[str], *, ordered: bool = True) -> Block:
    """A list, numbered or with bullets."""
    return {
        "type": "rich_text_list",
        "style": "ordered" if ordered else "bullet",
        "elements": [prose(text) for text in texts],
    }


def preformatted(text: str, language: str | None = None) -> Block:
    """Text exactly as it is, in a box with a copy button."""
    block: Block = {"type": "rich_text_preformatted", "elements": [{"type": "text", "text": inert(text) or " "}]}
    return block | {"language": language} if language else block


def length(blocks: Iterable[Block]) -> int:
    """The characters of all text in the blocks: what Slack's limit on a message counts."""
    return sum(len(text) for block in blocks for text in _texts(block))


def _texts(value: Any) -> Iterable[str]:
    if isinstance(value, dict):
        for key, item in value.items():
            if isinstance(item, str) and key in ("text", "url"):
                yield item
            else:
                yield from _texts(item)
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)
