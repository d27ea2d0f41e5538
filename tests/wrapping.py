"""Wraps lines the way Docker, the kubelet, journald and others do, for tests that want a log in another coat.

Every function takes lines without their newline and gives the file's bytes.  Lines hold no newline.
"""

import base64
import json
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime, timedelta

START = datetime(2026, 9, 14, 7, 2, 10, 123456, tzinfo=UTC)
"""The stamp of the first line; each further line is a second later."""

DOCKER_CUT = 16 * 1024
JOURNAL_CUT = 48 * 1024


def stamp(number: int, digits: int = 9) -> str:
    """The RFC 3339 stamp of line `number`, counted from 0."""
    moment = START + timedelta(seconds=number)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{moment.microsecond:06d}{'0' * (digits - 6)}Z"


def wrap_docker(lines: Iterable[bytes], stream: str = "stderr", cut: int = DOCKER_CUT) -> bytes:
    """Docker's json-file; a line longer than `cut` bytes is written in several entries."""
    entries = []
    for number, line in enumerate(lines):
        text = line.decode("utf-8", "replace") + "\n"
        for part in _cut(text, cut):
            entry = {"log": part, "stream": stream, "time": stamp(number)}
            body = json.dumps(entry, ensure_ascii=False, separators=(",", ":"))
            entries.append(body.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"))
    return _joined(entry.encode() for entry in entries)


def wrap_cri(lines: Iterable[bytes], stream: str = "stderr", cut: int = DOCKER_CUT) -> bytes:
    """containerd's and CRI-O's format, long lines as P entries and a closing F."""
    entries = []
    for number, line in enumerate(lines):
        head = f"{stamp(number)} {stream} ".encode()
        parts = [line[at : at + cut] for at in range(0, len(line), cut)] or [b""]
        entries += [head + b"P " + part for part in parts[:-1]] + [head + b"F " + parts[-1]]
    return _joined(entries)


def wrap_compose(lines: Iterable[bytes], service: str = "sglang-1") -> bytes:
    """`docker compose logs`."""
    return _joined(f"{service}  | ".encode() + line for line in lines)


def wrap_compose_coloured(lines: Iterable[bytes], service: str = "sglang-1") -> bytes:
    """`docker compose logs` on a terminal."""
    return _joined(f"\x1b[36m{service}  | \x1b[0m".encode() + line for line in lines)


def wrap_kubectl(lines: Iterable[bytes], pod: str = "sglang-0", container: str = "server") -> bytes:
    """`kubectl logs --prefix`."""
    return _joined(f"[pod/{pod}/{container}] ".encode() + line for line in lines)


def wrap_stamps(lines: Iterable[bytes]) -> bytes:
    """`kubectl logs --timestamps`."""
    return _joined(f"{stamp(number)} ".encode() + line for number, line in enumerate(lines))


def wrap_journal_json(lines: Iterable[bytes], unit: str = "sglang.service", pid: int = 123) -> bytes:
    """`journalctl -o json`: as journald, an array of bytes where the text is not printable UTF-8."""
    entries = []
    for number, line in enumerate(lines):
        parts = [line[at : at + JOURNAL_CUT] for at in range(0, len(line), JOURNAL_CUT)] or [b""]
        for last, part in zip([False] * (len(parts) - 1) + [True], parts, strict=True):
            moment = START + timedelta(seconds=number)
            entry: dict[str, object] = {
                "__REALTIME_TIMESTAMP": str(int(moment.timestamp() * 1e6)),
                "_TRANSPORT": "stdout",
                "_STREAM_ID": base64.b16encode(unit.encode()).decode(),
                "_SYSTEMD_UNIT": unit,
                "_PID": str(pid),
                "MESSAGE": _journal_text(part),
            }
            if not last:
                entry["_LINE_BREAK"] = "line-max"
            entries.append(json.dumps(entry).encode())
    return _joined(entries)


def wrap_journal_short(lines: Iterable[bytes], host: str = "gpu-7", pid: int = 123) -> bytes:
    """`journalctl`'s default output."""
    heads = (f"{START + timedelta(seconds=number):%b %d %H:%M:%S} {host} python3[{pid}]: " for number in _count())
    return _joined(head.encode() + line for head, line in zip(heads, lines, strict=False))


def wrap_journal_iso(lines: Iterable[bytes], host: str = "gpu-7", pid: int = 123) -> bytes:
    """`journalctl -o short-iso`."""
    heads = (
        f"{START + timedelta(seconds=number):%Y-%m-%dT%H:%M:%S}+0000 {host} python3[{pid}]: " for number in _count()
    )
    return _joined(head.encode() + line for head, line in zip(heads, lines, strict=False))


def wrap_filebeat(lines: Iterable[bytes], pod: str = "sglang-0") -> bytes:
    """JSON lines of a log shipper."""
    return _joined(
        json.dumps(
            {
                "@timestamp": stamp(number),
                "message": line.decode("utf-8", "replace"),
                "kubernetes": {"pod_name": pod, "container_name": "server"},
            }
        ).encode()
        for number, line in enumerate(lines)
    )


def wrap_ray(
    lines: Iterable[bytes], actor: str = "SGLangEngine", pid: int = 12589, ip: str | None = "10.0.0.2"
) -> bytes:
    """Ray's driver, in colour."""
    where = f", ip={ip}" if ip else ""
    return _joined(f"\x1b[36m({actor} pid={pid}{where})\x1b[0m ".encode() + line for line in lines)


def wrap_skypilot(lines: Iterable[bytes], node: str = "head", rank: int = 0, pid: int = 8292) -> bytes:
    """SkyPilot's job log."""
    return _joined(f"({node}, rank={rank}, pid={pid}) ".encode() + line for line in lines)


def wrap_torch_rank(lines: Iterable[bytes], rank: int = 4) -> bytes:
    """torchrun's and torch's own prefix."""
    return _joined(f"[rank{rank}]: ".encode() + line for line in lines)


def wrap_crlf(lines: Iterable[bytes]) -> bytes:
    """Lines that went through Windows."""
    return b"".join(line + b"\r\n" for line in lines)


WRAPPERS: dict[str, Callable[[Sequence[bytes]], bytes]] = {
    "docker": wrap_docker,
    "cri": wrap_cri,
    "compose": wrap_compose,
    "compose-coloured": wrap_compose_coloured,
    "kubectl": wrap_kubectl,
    "stamps": wrap_stamps,
    "journal-json": wrap_journal_json,
    "journal-short": wrap_journal_short,
    "journal-iso": wrap_journal_iso,
    "filebeat": wrap_filebeat,
    "ray": wrap_ray,
    "skypilot": wrap_skypilot,
    "torch-rank": wrap_torch_rank,
}
"""Every wrapper by name, for tests that try them all."""


def _cut(text: str, size: int) -> list[str]:
    """`text` in parts of at most `size` bytes, never within a character."""
    parts: list[str] = []
    part: list[str] = []
    used = 0
    for character in text:
        width = len(character.encode())
        if part and used + width > size:
            parts.append("".join(part))
            part, used = [], 0
        part.append(character)
        used += width
    return [*parts, "".join(part)]


def _journal_text(part: bytes) -> str | list[int]:
    try:
        text = part.decode()
    except UnicodeDecodeError:
        return list(part)
    return text if all(c.isprintable() or c == "\t" for c in text) else list(part)


def _count() -> Iterable[int]:
    number = 0
    while True:
        yield number
        number += 1


def _joined(lines: Iterable[bytes]) -> bytes:
    return b"".join(line + b"\n" for line in lines)
