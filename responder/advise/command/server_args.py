"""The `server_args=` line: what a server resolved its arguments to.

Two forms: `server_args=ServerArgs(model_path='…', …)` up to 0.5.18 and `server_args={'model_path': '…', …}` from 0.5.19
on.  The values are resolved ones: good to know, wrong to type back.  The line is part of a log, so nothing in it is
trusted beyond literals, and it may be cut anywhere.
"""

import ast
import re
from collections.abc import Iterator
from typing import Any

from responder.advise.command.secret import mask_shapes, names_a_secret

LIMIT = 1 << 18
"""Characters of a line that are read; the longest seen has 40,000."""

_BEGINS = re.compile(r"server_args=(ServerArgs\(|\{)")
_CALL = re.compile(r"[A-Za-z_][\w.]*\((.*)\)", re.DOTALL)
_OPEN, _CLOSE = "([{", ")]}"


def parse_server_args(line: str) -> dict[str, Any] | None:
    """dest -> resolved value, secrets as `$NAME`; None where the line is none of the two forms.

    A value that is no literal is left out, as is one that the line's end cuts off.
    """
    begins = _BEGINS.search(line[:LIMIT])
    if begins is None:
        return None
    mapping = begins[1] == "{"
    values = dict(_entries(line[begins.end() : LIMIT], ":" if mapping else "="))
    return {name: _masked(name, value) for name, value in values.items()}


def _entries(text: str, separator: str) -> Iterator[tuple[str, Any]]:
    for entry in _split(text):
        name, found, value = entry.partition(separator)
        name = name.strip().strip("'\"")
        if found and name.isidentifier():
            known, literal = _literal(value.strip())
            if known:
                yield name, literal


def _split(text: str) -> Iterator[str]:
    """The entries up to the closing bracket; the last one only where it is complete."""
    depth, start, quote, at = 0, 0, "", 0
    while at < len(text):
        char = text[at]
        if quote:
            at += char == "\\"
            quote = "" if char == quote else quote
        elif char in "'\"":
            quote = char
        elif char in _OPEN:
            depth += 1
        elif char in _CLOSE and depth == 0:
            yield text[start:at]
            return
        elif char in _CLOSE:
            depth -= 1
        elif char == "," and depth == 0:
            yield text[start:at]
            start = at + 1
        at += 1


def _literal(text: str) -> tuple[bool, Any]:
    """Whether `text` is a literal (or a call of keywords, read as a mapping), and its value."""
    try:
        return True, ast.literal_eval(text)
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        call = _CALL.fullmatch(text)
        return (True, dict(_entries(call[1] + ")", "="))) if call else (False, None)


def _masked(name: str, value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _masked(str(key), inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_masked(name, inner) for inner in value]
    if not isinstance(value, str) or not value:
        return value
    return f"$SGLANG_{name.upper()}" if names_a_secret(name.replace("_", "-"), value) else mask_shapes(value)
