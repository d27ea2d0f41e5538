"""Tags that single lines carry, among bare ones: Ray's and SkyPilot's workers, torch's ranks.

`(SGLangEngine pid=123, ip=10.0.0.2) text [repeated 3x across cluster]`, `(head, rank=0, pid=8292) text`, `[rank4]:text`
"""

import re

import stringzilla

from responder.sources.wrappers.layer import Layer, Said

_TAG = (
    rb"(?:\((?:(?P<actor>[\w.:<>+/ -]{1,200}?) )?pid=(?P<pid>\d+)(?:, ip=(?P<ip>[\w.:-]+))?\) ?"
    rb"|\((?P<node>[\w.-]{1,200}), (?:rank=(?P<node_rank>\d+), )?pid=(?P<sky_pid>\d+)(?:, ip=(?P<sky_ip>[\w.:-]+))?\) ?"
    rb"|\((?P<daemon>raylet|autoscaler)(?:, ip=(?P<daemon_ip>[\w.:-]+)| \+[\dhms]+)?\) ?"
    rb"|\[rank(?P<rank>\d+)\]: ?)"
)
_LABELS = {"sky_pid": "pid", "sky_ip": "ip", "daemon_ip": "ip", "daemon": "actor"}
"""The label that a group means, where it is not named like it."""

_MOST = 3
_UNNAMED = re.sub(rb"\(\?P<\w+>", b"(?:", _TAG) + b"{1,%d}" % _MOST
_ONE = re.compile(_TAG)
_AT_LINE_START = re.compile(b"\n" + _UNNAMED)
_AT_SEGMENT_START = re.compile(b"([\n\r])" + _UNNAMED)

_COUNT = b"x across cluster]"
_REPEATED = re.compile(rb" \[repeated (\d+)x across cluster\](?: \(Ray deduplicates logs [^\n\r]*\))? *(?=[\n\r]|\Z)")

_PID = re.compile(rb"pid=\d")
_RANK = re.compile(rb"\[rank\d")


class Tags(Layer):
    """Tags in front of a line, and Ray's count behind it.  Each part of a progress bar's line may have its own."""

    name = "tags"

    def wraps(self, line: bytes) -> bool:
        return self.strip(line) != line

    def strip(self, line: bytes) -> bytes:
        return self.whole(line)

    def whole(self, data: bytes) -> bytes:
        if b"\r" in data:
            text = _AT_SEGMENT_START.sub(rb"\1", b"\n" + data)[1:]
        else:
            text = _AT_LINE_START.sub(b"\n", b"\n" + data)[1:]
        return _REPEATED.sub(b"", text) if _COUNT in text else text

    def present(self, data: bytes) -> bool:
        """Whether any line of `data` may carry a tag."""
        # Each block is asked.  `bytes.find` searches two gigabytes a second where the first bytes are common.
        if stringzilla.find(data, b"[rank") >= 0 and _RANK.search(data):
            return True
        if stringzilla.find(data, b"pid=") < 0:
            return False
        for found in _PID.finditer(data):
            start = max(
                data.rfind(b"\n", 0, found.start()), data.rfind(b"\r", max(0, found.start() - 256), found.start())
            )
            if data[start + 1 : start + 2] == b"(":
                return True
        return False

    def say(self, line: bytes) -> Said:
        labels: dict[str, str] = {}
        for segment in line.split(b"\r"):
            start = 0
            for _ in range(_MOST):
                match = _ONE.match(segment, start)
                if match is None:
                    break
                start = match.end()
                groups = match.groupdict()
                labels |= {_LABELS.get(key, key): value.decode() for key, value in groups.items() if value is not None}
            if match := _REPEATED.search(segment):
                labels["repeated"] = match[1].decode()
        return Said(None, labels)
