"""JSON lines of log shippers and JSON formatters: an object per record with a `message`, `log` or `msg` field.

The record may hold several lines of text, and a traceback in a field of its own.
"""

from typing import Any

import msgspec

from responder.sources.wrappers.layer import Layer, Said, epoch

_TEXT = ("message", "msg", "log", "textPayload", "event")
_TRACEBACK = ("exc_info", "exc_text", "exception", "stack_trace", "traceback")
_TIME = ("@timestamp", "timestamp", "time", "ts", "asctime")
_LABELS = {"stream": "stream", "pod_name": "pod", "container_name": "container", "namespace_name": "namespace"}


class _Record(msgspec.Struct):
    message: Any = None
    msg: Any = None
    log: Any = None
    textPayload: Any = None  # noqa: N815 (the field's name in a Google Cloud export)
    event: Any = None
    exc_info: Any = None
    exc_text: Any = None
    exception: Any = None
    stack_trace: Any = None
    traceback: Any = None


_RECORD: msgspec.json.Decoder[_Record] = msgspec.json.Decoder(_Record)
_OBJECT: msgspec.json.Decoder[dict[str, Any]] = msgspec.json.Decoder(dict[str, Any])


class JsonLines(Layer):
    """Filebeat, Fluent Bit, Google Cloud, and Python's JSON formatters."""

    name = "json"

    def wraps(self, line: bytes) -> bool:
        return _text(line) is not None

    def strip(self, line: bytes) -> bytes:
        text = _text(line)
        return line if text is None else text

    def whole(self, data: bytes) -> bytes | None:
        texts = list(map(self.strip, data.split(b"\n")))
        text = b"\n".join(texts)
        return text if text.count(b"\n") == len(texts) - 1 else None

    def say(self, line: bytes) -> Said:
        try:
            record = _OBJECT.decode(line)
        except msgspec.DecodeError:
            return Said()
        stamps = (epoch(value) for key in _TIME if isinstance(value := record.get(key), str))
        places = [record, *(record[key] for key in ("kubernetes", "labels") if isinstance(record.get(key), dict))]
        if isinstance(resource := record.get("resource"), dict) and isinstance(resource.get("labels"), dict):
            places.append(resource["labels"])
        labels = {
            label: place[key] for place in places for key, label in _LABELS.items() if isinstance(place.get(key), str)
        }
        return Said(next((stamp for stamp in stamps if stamp is not None), None), labels)


def _text(line: bytes) -> bytes | None:
    if not line.startswith(b"{"):
        return None
    try:
        record = _RECORD.decode(line)
    except (msgspec.DecodeError, UnicodeError):
        return None
    text = next((value for name in _TEXT if isinstance(value := getattr(record, name), str)), None)
    if text is None:
        return None
    traceback = next((value for name in _TRACEBACK if isinstance(value := getattr(record, name), str)), None)
    whole = text if traceback is None else f"{text}\n{traceback}"
    return whole.rstrip("\n").encode("utf-8", "replace")
