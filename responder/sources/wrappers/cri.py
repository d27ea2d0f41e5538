"""CRI, the format of containerd and CRI-O: `2026-09-14T07:02:10.123456789Z stderr F text`.

`P` instead of `F` marks a part of a line that goes on in the next entry of the same stream.
"""

import re

from responder.sources.wrappers.layer import END, RFC3339, Layer, Piece, Said, epoch

_LINE = re.compile(rb"(" + RFC3339 + rb") (stdout|stderr) ([FP])(?::\S+)?" + END)
_WHOLE_LINE = re.compile(rb"\n" + RFC3339 + rb" std(?:out|err) F(?::\S+)?" + END)


class Cri(Layer):
    """What the kubelet keeps under /var/log/pods."""

    name = "cri"
    part = rb"^\S+ std(?:out|err) P"

    def wraps(self, line: bytes) -> bool:
        return _LINE.match(line) is not None

    def strip(self, line: bytes) -> bytes:
        return self.piece(line).text

    def piece(self, line: bytes) -> Piece:
        match = _LINE.match(line)
        if match is None:
            return Piece(line)
        return Piece(line[match.end() :], complete=match[3] == b"F", stream=match[2])

    def whole(self, data: bytes) -> bytes | None:
        text, lines = _WHOLE_LINE.subn(b"\n", b"\n" + data)
        return text[1:] if lines == data.count(b"\n") else None

    def say(self, line: bytes) -> Said:
        match = _LINE.match(line)
        return Said(epoch(match[1].decode()), {"stream": match[2].decode()}) if match else Said()
