"""What Slack refuses in a message, and what it takes although nobody should send it."""

import re
from collections.abc import Iterator
from typing import Any

from slack_sdk.errors import SlackObjectFormationError
from slack_sdk.models.blocks import Block

TEXT_LIMIT = 40_000
TOTAL_LIMIT = 13_000
"""Not documented; above it Slack answers `msg_blocks_too_long`."""
MARKDOWN_LIMIT = 12_000
"""Of all markdown blocks of a message together."""
KNOWN = frozenset({"header", "section", "context", "divider", "actions", "image", "rich_text", "markdown"})
_ELEMENTS = {
    "rich_text": {"rich_text_section", "rich_text_list", "rich_text_preformatted", "rich_text_quote"},
    "rich_text_list": {"rich_text_section"},
    "rich_text_section": {"text", "link", "emoji", "user", "channel", "usergroup", "broadcast", "date", "color"},
    "rich_text_preformatted": {"text", "link"},
    "rich_text_quote": {"text", "link", "emoji"},
}
_DOCUMENTED_SINCE = {"rich_text_preformatted": {"language"}}  # newer than the SDK's models


def refusals(message: dict[str, Any]) -> tuple[str, list[dict[str, str]]]:
    """The error that Slack answers, and its details; empty where it takes the message."""
    blocks = message.get("blocks") or []
    text = message.get("text") or ""
    if not blocks and not text:
        return "no_text", []
    if len(text) > TEXT_LIMIT:
        return "msg_too_long", []
    errors = list(_errors(blocks)) if isinstance(blocks, list) else [_error("/blocks", "must be an array")]
    if errors:
        return "invalid_blocks", errors
    if sum(len(text) for text in _texts(blocks)) > TOTAL_LIMIT:
        return "msg_blocks_too_long", []
    return "", []


def dangers(message: dict[str, Any]) -> list[str]:
    """What Slack would act on, or misread, in a message that should only show text."""
    found = [f"text: {problem}" for problem in _live(message.get("text") or "")]
    for path, node in _nodes(message.get("blocks") or [], "/blocks"):
        kind, text = node.get("type"), node.get("text")
        if kind == "mrkdwn" and isinstance(text, str):
            found += [f"{path}: {problem}" for problem in _live(text)]
        elif kind == "plain_text" and isinstance(text, str) and re.search(r"[&<>]", text):
            found.append(f"{path}: &, < or > in plain text")
        elif kind in ("broadcast", "user", "usergroup", "channel"):
            found.append(f"{path}: a mention")
    return found


def texts_of(message: dict[str, Any]) -> str:
    """All that a reader sees, on lines."""
    return "\n".join(_texts(message.get("blocks") or []))


def _live(text: str) -> Iterator[str]:
    for inside in re.findall(r"<([^<>]*)>", text):
        if re.match(r"[@#]|!(?!date\^\d+\^)|https?:|mailto:", inside):
            yield f"<{inside}> is live"
        elif not inside.startswith("!date^"):
            yield f"<{inside}> is markup"
    rest = re.sub(r"<[^<>]*>", "", text)
    if re.search(r"[<>]|&(?!amp;|lt;|gt;)", rest):
        yield "&, < or > not escaped"
    if re.search(r"@(?:channel|here|everyone)\b", rest):
        yield "a shout"
    if re.search(r"(?<![\w:]):[a-z][\w+-]*:", re.sub(r"`[^`]*`", "", rest)):
        yield "an emoji code"


def _errors(blocks: list[Any]) -> Iterator[dict[str, str]]:
    if len(blocks) > 50:
        yield _error("/blocks", "no more than 50 items allowed")
    markdown = [block for block in blocks if isinstance(block, dict) and block.get("type") == "markdown"]
    if sum(len(str(block.get("text", ""))) for block in markdown) > MARKDOWN_LIMIT:
        yield _error("/blocks", f"no more than {MARKDOWN_LIMIT} characters of markdown")
    ids = [block.get("block_id") for block in blocks if isinstance(block, dict) and block.get("block_id")]
    if len(ids) != len(set(ids)):
        yield _error("/blocks", "block_id is not unique")
    for n, block in enumerate(blocks):
        pointer = f"/blocks/{n}"
        if not isinstance(block, dict) or block.get("type") not in KNOWN:
            yield _error(pointer, "unsupported block type")
            continue
        yield from _by_the_sdk(pointer, block)
        yield from _of_block(pointer, block)


def _by_the_sdk(pointer: str, block: dict[str, Any]) -> Iterator[dict[str, str]]:
    known = _without_new_keys(block)
    try:
        parsed = Block.parse(known)
        if parsed is None:
            yield _error(pointer, "cannot be parsed")
        elif not _same_keys(known, parsed.to_dict()):
            yield _error(pointer, "has a property that no such block has")
    except (SlackObjectFormationError, TypeError) as error:
        yield _error(pointer, str(error))


def _same_keys(given: Any, parsed: Any) -> bool:
    if isinstance(given, dict) and isinstance(parsed, dict):
        return all(key in parsed and _same_keys(value, parsed[key]) for key, value in given.items())
    if isinstance(given, list) and isinstance(parsed, list):
        return len(given) == len(parsed) and all(map(_same_keys, given, parsed))
    return True


def _without_new_keys(node: Any) -> Any:
    if isinstance(node, dict):
        new = _DOCUMENTED_SINCE.get(str(node.get("type")), set())
        return {key: _without_new_keys(value) for key, value in node.items() if key not in new}
    return [_without_new_keys(item) for item in node] if isinstance(node, list) else node


def _of_block(pointer: str, block: dict[str, Any]) -> Iterator[dict[str, str]]:
    kind = block["type"]
    if len(block.get("block_id", "")) > 255:
        yield _error(f"{pointer}/block_id", "must be less than 256 characters")
    if kind == "header":
        yield from _text(f"{pointer}/text", block.get("text"), 150, {"plain_text"})
    elif kind == "section":
        yield from _section(pointer, block)
    elif kind == "context":
        elements = block.get("elements") or []
        if not 1 <= len(elements) <= 10:
            yield _error(f"{pointer}/elements", "1 to 10 items")
        for n, element in enumerate(elements):
            if element.get("type") != "image":
                yield from _text(f"{pointer}/elements/{n}", element, 3000, {"plain_text", "mrkdwn"})
    elif kind == "actions":
        yield from _actions(pointer, block)
    elif kind == "rich_text":
        yield from _rich(pointer, block)


def _section(pointer: str, block: dict[str, Any]) -> Iterator[dict[str, str]]:
    if "text" not in block and "fields" not in block:
        yield _error(pointer, "text or fields is required")
    if "text" in block:
        yield from _text(f"{pointer}/text", block["text"], 3000, {"plain_text", "mrkdwn"})
    fields = block.get("fields")
    if fields is not None:
        if not 1 <= len(fields) <= 10:
            yield _error(f"{pointer}/fields", "1 to 10 items")
        for n, field in enumerate(fields):
            yield from _text(f"{pointer}/fields/{n}", field, 2000, {"plain_text", "mrkdwn"})


def _actions(pointer: str, block: dict[str, Any]) -> Iterator[dict[str, str]]:
    elements = block.get("elements") or []
    if not 1 <= len(elements) <= 25:
        yield _error(f"{pointer}/elements", "1 to 25 items")
    names = [element.get("action_id") for element in elements]
    if len(names) != len(set(names)) and None not in names:
        yield _error(f"{pointer}/elements", "action_id is not unique")
    for n, element in enumerate(elements):
        if len(element.get("action_id") or "") > 255:
            yield _error(f"{pointer}/elements/{n}/action_id", "must be less than 256 characters")
        if element.get("type") == "button":
            yield from _text(f"{pointer}/elements/{n}/text", element.get("text"), 75, {"plain_text"})
            if len(element.get("value", "")) > 2000:
                yield _error(f"{pointer}/elements/{n}/value", "must be less than 2001 characters")


def _rich(pointer: str, node: dict[str, Any]) -> Iterator[dict[str, str]]:
    allowed = _ELEMENTS[node["type"]]
    elements = node.get("elements")
    if not isinstance(elements, list) or not elements:
        yield _error(f"{pointer}/elements", "must not be empty")
        return
    for n, element in enumerate(elements):
        here = f"{pointer}/elements/{n}"
        kind = element.get("type")
        if kind not in allowed:
            yield _error(here, f"unexpected element {kind}")
        elif kind in _ELEMENTS:
            yield from _rich(here, element)
        elif kind == "text" and not element.get("text"):
            yield _error(f"{here}/text", "must be more than 0 characters")
        elif kind == "link" and not str(element.get("url", "")).startswith(("http://", "https://", "mailto:")):
            yield _error(f"{here}/url", "invalid url")


def _text(pointer: str, node: Any, limit: int, kinds: set[str]) -> Iterator[dict[str, str]]:
    if not isinstance(node, dict) or node.get("type") not in kinds or not isinstance(node.get("text"), str):
        yield _error(pointer, f"must be a text object of {sorted(kinds)}")
        return
    if not node["text"]:
        yield _error(f"{pointer}/text", "must be more than 0 characters")
    if len(node["text"]) > limit:
        yield _error(f"{pointer}/text", f"must be less than {limit + 1} characters")
    if node["type"] == "mrkdwn" and "emoji" in node:
        yield _error(f"{pointer}/emoji", "only for plain_text")


def _texts(node: Any) -> Iterator[str]:
    for _, found in _nodes(node, ""):
        if isinstance(found.get("text"), str):
            yield found["text"]
        if isinstance(found.get("url"), str):
            yield found["url"]


def _nodes(node: Any, path: str) -> Iterator[tuple[str, dict[str, Any]]]:
    if isinstance(node, dict):
        yield path, node
        for key, item in node.items():
            yield from _nodes(item, f"{path}/{key}")
    elif isinstance(node, list):
        for n, item in enumerate(node):
            yield from _nodes(item, f"{path}/{n}")


def _error(pointer: str, message: str) -> dict[str, str]:
    return {"pointer": pointer, "message": message}
