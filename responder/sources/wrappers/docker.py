"""Docker's json-file: `{"log":"text\\n","stream":"stderr","time":"2026-09-14T07:02:10.123456789Z"}`.

Docker cuts a message at 16 KiB; every part but the last lacks the newline inside `log`.
"""

import json
import re

import msgspec

from responder.sources.wrappers.layer import Layer, Piece, Said, epoch

_HEAD = b'{"log":"'
_AFTER_LOG = b'","stream":"'
_REST = rb'(\w+)"(?:,"attrs":\{[^\n]*\})?,"time":"([^"]+)"\}\r?'
_LINE_TAIL = re.compile(_AFTER_LOG + _REST + rb"\Z")
_JOINT = re.compile(rb'\\n","stream":"(?<!\\\\n","stream":")[^\n]+\n(?:\{"log":"|\Z)')
"""From the end of one message to the start of the next, where the message is a whole line.

It begins with fixed bytes, for which `re` searches fast; hence the look behind after them.
"""

_CUT_ESCAPE = re.compile(rb"\\(?:u[0-9a-fA-F]{0,3})?\Z")
_STRING: msgspec.json.Decoder[str] = msgspec.json.Decoder(str)


class DockerJson(Layer):
    """Docker's json-file driver."""

    name = "docker"

    def wraps(self, line: bytes) -> bool:
        return line.startswith(_HEAD) and _LINE_TAIL.search(line) is not None

    def strip(self, line: bytes) -> bytes:
        return self.piece(line).text

    def piece(self, line: bytes) -> Piece:
        if not line.startswith(_HEAD):
            return Piece(line)
        end = line.rfind(_AFTER_LOG)
        if end < 0:  # cut by a length limit
            return Piece(_unescape(_CUT_ESCAPE.sub(b"", line[len(_HEAD) :])))
        body = line[len(_HEAD) : end]
        stream = line[end + len(_AFTER_LOG) :].partition(b'"')[0]
        if _ends_line(body):
            return Piece(_unescape(body[:-2]), stream=stream)
        return Piece(_unescape(body), complete=False, stream=stream)

    def whole(self, data: bytes) -> bytes | None:
        # The messages laid end to end are one JSON string whose \n escapes are the line ends: one call decodes it.
        if not data.startswith(_HEAD):
            return None
        messages, lines = _JOINT.subn(rb"\\n", data[len(_HEAD) :])
        if b"\n" in messages:  # a joint takes one newline; this one belongs to none
            return None
        text = _unescape(messages)
        return text if text.count(b"\n") == lines else None

    def say(self, line: bytes) -> Said:
        match = _LINE_TAIL.search(line)
        return Said(epoch(match[2].decode()), {"stream": match[1].decode()}) if match else Said()


def _ends_line(body: bytes) -> bool:
    """Whether the JSON text `body` ends with an escaped newline, not with an escaped backslash and an n."""
    if not body.endswith(b"\\n"):
        return False
    backslashes = len(body) - 1 - len(body[:-1].rstrip(b"\\"))
    return backslashes % 2 == 1


def _unescape(body: bytes) -> bytes:
    if b"\\" not in body:
        return body
    try:
        return _STRING.decode(b'"%b"' % body).encode()
    except (msgspec.DecodeError, UnicodeError):
        return _unescape_leniently(body)


def _unescape_leniently(body: bytes) -> bytes:
    """As `_unescape`, for text with bytes that are no UTF-8, which other runtimes write."""
    try:
        text: str = json.loads('"' + body.decode("utf-8", "surrogateescape") + '"', strict=False)
        return text.encode("utf-8", "surrogateescape")
    except ValueError:
        return body
