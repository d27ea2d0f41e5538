"""Docker's json-file: `{"log":"text\\n","stream":"stderr","time":"2026-09-14T07:02:10.123456789Z"}`.

Docker cuts a message at 16 KiB; every part but the last lacks the newline inside `log`.
"""

import json
import re
from operator import attrgetter

import msgspec

from responder.sources.wrappers.layer import Layer, Piece, Said, epoch

_HEAD = b'{"log":"'
_AFTER_LOG = b'","stream":"'
_LINE_TAIL = re.compile(_AFTER_LOG + rb'(\w+)"(?:,"attrs":\{[^\n]*\})?,"time":"([^"]+)"\}\r?\Z')
_CUT_ESCAPE = re.compile(rb"\\(?:u[0-9a-fA-F]{0,3})?\Z")
_STRING: msgspec.json.Decoder[str] = msgspec.json.Decoder(str)


class _Message(msgspec.Struct, gc=False):
    log: str


_MESSAGES: msgspec.json.Decoder[_Message] = msgspec.json.Decoder(_Message)
_TEXT = attrgetter("log")


class DockerJson(Layer):
    """Docker's json-file driver."""

    name = "docker"
    part = rb'(?:[^n]|[^\\]n|\\\\n)","stream":"'

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
        try:
            texts = list(map(_TEXT, _MESSAGES.decode_lines(data)))
            text = "".join(texts).encode()
        except (msgspec.DecodeError, UnicodeError):  # a line that was cut, or is none of Docker's
            return None
        framed = data.startswith(_HEAD) and 1 + data.count(b"\n" + _HEAD) == len(texts) == data.count(b"\n")
        ended = text.count(b"\n") == len(texts) and all(message.endswith("\n") for message in texts)
        return text if framed and ended else None

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
