"""journald's JSON, as `journalctl -o json` exports it: one object per entry, every value a string.

MESSAGE is an array of byte values where it holds anything but printable UTF-8 (a colour is enough), an array of values
where the field was given twice, and null where it is too large.  The journal cuts a line of a service at 48 KiB and
says so in _LINE_BREAK.
"""

import msgspec

from responder.sources.wrappers.layer import Layer, Piece, Said

_Bytes = list[int]
_Value = str | list[int | str | _Bytes] | None

_LABELS = {
    "_PID": "pid",
    "_SYSTEMD_UNIT": "unit",
    "_CMDLINE": "cmdline",
    "_TRANSPORT": "transport",
    "_HOSTNAME": "host",
    "CONTAINER_NAME": "container",
    "SYSLOG_IDENTIFIER": "program",
}


class _Entry(msgspec.Struct):
    MESSAGE: _Value
    realtime: str | None = msgspec.field(name="__REALTIME_TIMESTAMP", default=None)
    line_break: str | None = msgspec.field(name="_LINE_BREAK", default=None)
    pid: _Value = msgspec.field(name="_PID", default=None)
    stream_id: str | None = msgspec.field(name="_STREAM_ID", default=None)
    program: _Value = msgspec.field(name="SYSLOG_IDENTIFIER", default=None)


_ENTRY: msgspec.json.Decoder[_Entry] = msgspec.json.Decoder(_Entry)
_FIELDS: msgspec.json.Decoder[dict[str, msgspec.Raw]] = msgspec.json.Decoder(dict[str, msgspec.Raw])


class JournalJson(Layer):
    """`journalctl -o json`."""

    name = "journal"

    def wraps(self, line: bytes) -> bool:
        return line.startswith(b"{") and b'"__REALTIME_TIMESTAMP"' in line and _entry(line) is not None

    def strip(self, line: bytes) -> bytes:
        return self.piece(line).text

    def piece(self, line: bytes) -> Piece:
        entry = _entry(line)
        if entry is None:
            return Piece(line)
        stream = f"{entry.stream_id} {entry.pid}".encode()
        text = _text(entry.MESSAGE)
        if entry.program == "systemd" and entry.pid == "1":
            text = b"systemd[1]: " + text  # as in every other export: what it says of a unit is known by its name
        return Piece(text, complete=entry.line_break != "line-max", stream=stream)

    def whole(self, data: bytes) -> bytes | None:
        pieces = [self.piece(line) for line in data[:-1].split(b"\n")]
        if not all(piece.complete and b"\n" not in piece.text for piece in pieces):
            return None
        return b"".join([piece.text + b"\n" for piece in pieces])

    def say(self, line: bytes) -> Said:
        try:
            fields = _FIELDS.decode(line)
        except msgspec.DecodeError:
            return Said()
        labels = {label: text for key, label in _LABELS.items() if (text := _string(fields.get(key)))}
        stamp = _string(fields.get("__REALTIME_TIMESTAMP")) or ""
        return Said(int(stamp) / 1e6 if stamp.isdecimal() else None, labels)


def _entry(line: bytes) -> _Entry | None:
    try:
        return _ENTRY.decode(line)
    except (msgspec.DecodeError, UnicodeError):
        return None


def _text(value: _Value) -> bytes:
    if value is None:
        return b""
    if isinstance(value, str):
        return value.encode()
    if all(isinstance(item, int) for item in value):
        return bytes(item & 0xFF for item in value if isinstance(item, int))
    return b"\n".join(_text(item) for item in value if not isinstance(item, int))  # type: ignore[arg-type]


def _string(raw: msgspec.Raw | None) -> str | None:
    if raw is None:
        return None
    try:
        return msgspec.json.decode(raw, type=str)
    except msgspec.DecodeError:
        return None
