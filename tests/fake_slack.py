"""A strict Slack on loopback: it refuses what Slack refuses, and fails in the ways that Slack and the way to it fail.

In a test, `with FakeSlack() as slack:` and `slack.base_url`.  As a process, `python tests/fake_slack.py --port 0
--record FILE` prints its address on its first line and writes each message it accepted to FILE as a line of JSON.

A fault is a word: `429:2` (Retry-After 2 s), `500`, `drop-before` and `drop-after` (the connection breaks before or
after the message was accepted), `slow:3` (the answer takes 3 s), `html` (a proxy's page instead of Slack),
`error:token_revoked` (any error code), `half` (the answer is cut off).  Faults are used up in order, one per call that
changes something; `history/…` in front of a word makes it wait for a look into the history instead, and `after/…` lets
Slack take the message first, so that only its answer is lost: `after/500`.
"""

import argparse
import base64
import contextlib
import hashlib
import json
import random
import re
import socket
import struct
import sys
import threading
import time
import urllib.parse
from collections import deque
from collections.abc import Callable, Iterable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar, Self

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.slack_blocks import dangers, refusals

TOKEN = "xoxb-1-fake"
APP_TOKEN = "xapp-1-fake"
CHANNELS = {"C0000ALERT": "alerts", "C0000OTHER": "other"}
SCOPES = frozenset({"chat:write", "channels:history", "groups:history", "channels:read", "groups:read", "files:write"})
BOT_ID = "B000BOT"
WEBHOOK = "/services/T000/B000/fake"

Args = dict[str, Any]


class RefusedError(Exception):
    """Slack answers `ok: false`."""

    def __init__(self, error: str, **more: Any) -> None:
        super().__init__(error)
        self.body = {"ok": False, "error": error, **more}


class FakeSlack:
    """The workspace: its channels, what was posted, and the faults to come."""

    def __init__(
        self,
        *,
        port: int = 0,
        scopes: Iterable[str] = SCOPES,
        channels: dict[str, str] = CHANNELS,
        per_second: float | None = None,
        record: Path | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.scopes = set(scopes)
        self.channels = dict(channels)
        self.tokens = {TOKEN}
        self.messages: list[Args] = []
        """All that was accepted, roots and replies, in order; an edit changes its message."""
        self.calls: list[tuple[str, Args]] = []
        """Every call that reached it, accepted or not."""
        self.dangers: list[str] = []
        """What a message held that Slack would have acted on."""
        self.files: list[Args] = []
        self.whispers: list[Args] = []
        """What one person saw and nobody else."""
        self.usergroups: dict[str, list[str]] = {}
        self.acks: list[Args] = []
        """What came back over the socket, and how many seconds after the envelope went out."""
        self._sent_at: dict[str, float] = {}
        self.sockets: list[Socket] = []
        self.per_second = per_second
        """Messages per second and channel before 429; None: any number."""
        self._faults: deque[str] = deque()
        self._history_faults: deque[str] = deque()
        self._chance: tuple[float, list[str], random.Random] | None = None
        self._record = record
        self._clock = clock
        self._last_ts = self._last_press = 0
        self._last_post: dict[str, float] = {}
        self.lock = threading.RLock()
        self._news = threading.Condition(self.lock)
        self._server = _Server(("127.0.0.1", port), _Handler)
        self._server.slack = self
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        for open_socket in self.sockets:
            open_socket.close()
        self._server.shutdown()
        self._server.server_close()

    @property
    def address(self) -> str:
        """Scheme, host and port."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    @property
    def base_url(self) -> str:
        """For `[slack] base_url`."""
        return f"{self.address}/api/"

    @property
    def webhook(self) -> str:
        """The address of an incoming webhook to the first channel."""
        return self.address + WEBHOOK

    def fail(self, *faults: str) -> None:
        """Let the next calls fail like this, one each."""
        with self.lock:
            for fault in faults:
                queue = self._history_faults if fault.startswith("history/") else self._faults
                queue.append(fault.removeprefix("history/"))

    def fail_at_random(self, rate: float, faults: list[str], seed: int) -> None:
        """Let that share of all calls fail, each in one of these ways."""
        self._chance = (rate, faults, random.Random(seed))

    def roots(self) -> list[Args]:
        """The messages that start a thread or stand alone."""
        return [message for message in self.messages if not message.get("thread_ts")]

    def replies(self, ts: str) -> list[Args]:
        """What stands in the thread of a message."""
        return [message for message in self.messages if message.get("thread_ts") == ts]

    def wait_for(self, condition: Callable[[], object], patience: float = 10.0) -> None:
        """Wait until it holds, looking at each message, edit, file, socket or answer that comes in."""
        with self._news:
            assert self._news.wait_for(condition, patience), "Slack waited for it in vain"

    def tell(self) -> None:
        """Something came in."""
        with self._news:
            self._news.notify_all()

    def press(self, value: str, action: str, user: str = "U0000000ON", *, name: str = "ada", times: int = 1) -> None:
        """Somebody presses a button.  One of the open sockets hears of it, as with Slack.

        The message is the newest one that has such a button; `times`: Slack tells of the one press so often.
        """
        with self.lock:
            self._last_press += 1
            under = next((m for m in reversed(self.messages) if (action, value) in _buttons(m)), None)
            shown = {k: v for k, v in (under or {"ts": "0.0", "text": ""}).items() if k not in ("channel", "metadata")}
            payload = {
                "type": "block_actions",
                "user": {"id": user, "username": name, "name": name},
                "actions": [
                    {"action_id": action, "value": value, "type": "button", "action_ts": f"{self._last_press}.1"}
                ],
                "channel": {"id": under["channel"] if under else next(iter(self.channels))},
                "message": shown,
            }
        for n in range(times):
            ident = f"{self._last_press}-{n}-{action}"
            self._sent_at[ident] = time.monotonic()
            envelope = {"envelope_id": ident, "type": "interactive", "payload": payload}
            random.choice(self.sockets).send(json.dumps(envelope))

    def refresh_sockets(self) -> None:
        """Ask each open socket to connect anew, as Slack does every few hours, and hang up."""
        for open_socket in list(self.sockets):
            open_socket.send(json.dumps({"type": "disconnect", "reason": "refresh_requested"}))
            open_socket.close()

    def acknowledged(self, envelope: Args) -> None:
        """An answer came back over a socket."""
        after = time.monotonic() - self._sent_at.get(str(envelope.get("envelope_id")), 0.0)
        self.acks.append({**envelope, "after": after})
        self.tell()

    # --- What the handler asks for -----------------------------------------------------------------------------------

    def next_fault(self, method: str) -> str:
        """The fault for this call, or an empty word."""
        history = method in ("conversations.history", "conversations.replies", "conversations.list")
        with self.lock:
            if history:
                return self._history_faults.popleft() if self._history_faults else ""
            if self._faults:
                return self._faults.popleft()
            if self._chance and self._chance[2].random() < self._chance[0]:
                return self._chance[2].choice(self._chance[1])
        return ""

    def answer(self, method: str, token: str, args: Args) -> Args:
        """The body of a Web API call.  Raises RefusedError."""
        with self.lock:
            self.calls.append((method, args))
            needed, function = _METHODS.get(method, ("", None))
            if function is None:
                raise RefusedError("unknown_method", req_method=method)
            if method == "apps.connections.open":
                if token != APP_TOKEN:
                    raise RefusedError("not_allowed_token_type")
            elif token not in self.tokens:
                raise RefusedError("invalid_auth" if token else "not_authed")
            provided = ",".join(sorted(self.scopes))
            if needed and not any(scope in self.scopes for scope in needed.split("|")):
                raise RefusedError("missing_scope", needed=needed.split("|")[0], provided=provided)
            return {"ok": True, **function(self, args)}

    def accept(self, channel: str, args: Args) -> Args:
        """Check a message and keep it.  Raises RefusedError."""
        now = self._clock()
        if self.per_second is not None and now - self._last_post.get(channel, -1e9) < 1 / self.per_second:
            raise RefusedError("ratelimited", retry_after=1)
        error, details = refusals(args)
        if error:
            more = [f"{d['message']} [json-pointer:{d['pointer']}]" for d in details]
            raise RefusedError(error, errors=more, response_metadata={"messages": [f"[ERROR] {m}" for m in more]})
        metadata = args.get("metadata")
        if metadata is not None and not (
            isinstance(metadata, dict)
            and isinstance(metadata.get("event_type"), str)
            and isinstance(metadata.get("event_payload"), dict)
        ):
            raise RefusedError("invalid_metadata_format")
        self.dangers += dangers(args)
        self._last_post[channel] = now
        self._last_ts = max(self._last_ts + 1, int(now * 1_000_000))
        ts = f"{self._last_ts // 1_000_000}.{self._last_ts % 1_000_000:06d}"
        message = {"type": "message", "ts": ts, "channel": channel, "edits": 0, **args}
        self.messages.append(message)
        self.note("post", message)
        return message

    def note(self, what: str, message: Args) -> None:
        """Write an accepted message to the record, and tell who waits for it."""
        self.tell()
        if self._record is not None:
            with self._record.open("a", encoding="utf-8") as file:
                file.write(json.dumps({"what": what, "at": self._clock(), **message}) + "\n")

    def channel(self, args: Args) -> str:
        """The id of a channel given by id or name.  Raises RefusedError."""
        given = str(args.get("channel", ""))
        for ident, name in self.channels.items():
            if given in (ident, name, f"#{name}"):
                return ident
        raise RefusedError("channel_not_found")


# --- Methods ---------------------------------------------------------------------------------------------------------


def _auth_test(slack: FakeSlack, args: Args) -> Args:
    return {
        "url": slack.address,
        "team": "Fake",
        "user": "responder",
        "team_id": "T000",
        "user_id": "U000BOT",
        "bot_id": BOT_ID,
    }


def _post_message(slack: FakeSlack, args: Args) -> Args:
    channel = slack.channel(args)
    if args.get("thread_ts") and not any(_at(m, channel, args["thread_ts"]) for m in slack.messages):
        raise RefusedError("thread_not_found")
    if args.get("reply_broadcast") and not args.get("thread_ts"):
        raise RefusedError("invalid_arguments")
    kept = {name: value for name, value in args.items() if name not in ("channel", "token")}
    message = slack.accept(channel, {**kept, "bot_id": BOT_ID})
    return {"channel": channel, "ts": message["ts"], "message": {"text": message.get("text", "")}}


def _post_ephemeral(slack: FakeSlack, args: Args) -> Args:
    channel = slack.channel(args)
    if not str(args.get("user", "")).startswith("U"):
        raise RefusedError("user_not_in_channel")
    error, details = refusals(args)
    if error:
        raise RefusedError(error, errors=[f"{d['message']} [json-pointer:{d['pointer']}]" for d in details])
    slack.dangers += dangers(args)
    slack.whispers.append({**args, "channel": channel})
    slack.tell()
    return {"message_ts": "1.1"}


def _usergroup_users(slack: FakeSlack, args: Args) -> Args:
    if args.get("usergroup") not in slack.usergroups:
        raise RefusedError("no_such_subteam")
    return {"users": slack.usergroups[args["usergroup"]]}


def _buttons(message: Args) -> list[tuple[str, str]]:
    rows = [block for block in message.get("blocks") or [] if block.get("type") == "actions"]
    return [(button.get("action_id", ""), button.get("value", "")) for row in rows for button in row["elements"]]


def _update(slack: FakeSlack, args: Args) -> Args:
    channel = str(args.get("channel", ""))
    if channel not in slack.channels:
        raise RefusedError("channel_not_found")  # chat.update takes no names
    message = next((m for m in slack.messages if _at(m, channel, args.get("ts"))), None)
    if message is None:
        raise RefusedError("message_not_found")
    error, details = refusals(args)
    if error:
        raise RefusedError(error, errors=[f"{d['message']} [json-pointer:{d['pointer']}]" for d in details])
    slack.dangers += dangers(args)
    message.update({name: args[name] for name in ("text", "blocks", "metadata") if name in args})
    message["edits"] += 1
    slack.note("update", message)
    return {"channel": channel, "ts": message["ts"], "text": message.get("text", "")}


def _history(slack: FakeSlack, args: Args) -> Args:
    channel = str(args.get("channel", ""))
    if channel not in slack.channels:
        raise RefusedError("channel_not_found")  # conversations.* take no names
    shown = [m for m in slack.messages if m["channel"] == channel]
    shown = [m for m in shown if not m.get("thread_ts") or m.get("reply_broadcast")]
    return _page(shown[::-1], args)


def _replies(slack: FakeSlack, args: Args) -> Args:
    channel, root = str(args.get("channel", "")), args.get("ts")
    if not any(_at(m, channel, root) for m in slack.messages):
        raise RefusedError("thread_not_found")
    shown = [m for m in slack.messages if m["channel"] == channel and root in (m["ts"], m.get("thread_ts"))]
    return _page(shown, args)


def _page(messages: list[Args], args: Args) -> Args:
    oldest, start = float(args.get("oldest") or 0), int(args.get("cursor") or 0)
    limit = min(int(args.get("limit") or 100), 999)
    found = [m for m in messages if float(m["ts"]) > oldest]
    with_metadata = str(args.get("include_all_metadata", "")).lower() in ("1", "true")
    page = [{k: v for k, v in m.items() if k != "metadata" or with_metadata} for m in found[start : start + limit]]
    more = start + limit < len(found)
    return {
        "messages": page,
        "has_more": more,
        "response_metadata": {"next_cursor": str(start + limit) if more else ""},
    }


def _list(slack: FakeSlack, args: Args) -> Args:
    channels = [{"id": ident, "name": name} for ident, name in slack.channels.items()]
    return {"channels": channels, "response_metadata": {"next_cursor": ""}}


def _upload_url(slack: FakeSlack, args: Args) -> Args:
    if int(args.get("length") or 0) <= 0:
        raise RefusedError("invalid_arguments")
    ident = f"F{len(slack.files):09d}"
    slack.files.append({"id": ident, "name": args.get("filename"), "length": int(args["length"]), "bytes": None})
    return {"upload_url": f"{slack.address}/upload/{ident}", "file_id": ident}


def _complete_upload(slack: FakeSlack, args: Args) -> Args:
    given = args.get("files") or "[]"
    wanted = {file["id"] for file in (json.loads(given) if isinstance(given, str) else given)}
    files = [file for file in slack.files if file["id"] in wanted]
    if len(files) != len(wanted) or any(file["bytes"] is None for file in files):
        raise RefusedError("file_not_found")
    if args.get("channel_id") and args["channel_id"] not in slack.channels:
        raise RefusedError("channel_not_found")
    for file in files:
        file |= {"channel": args.get("channel_id"), "thread_ts": args.get("thread_ts")}
    return {"files": [{"id": file["id"], "title": file["name"]} for file in files]}


def _open_connection(slack: FakeSlack, args: Args) -> Args:
    return {"url": slack.address.replace("http", "ws", 1) + f"/link/?ticket={len(slack.sockets)}"}


def _at(message: Args, channel: str, ts: Any) -> bool:
    return bool(message["channel"] == channel and message["ts"] == ts)


_METHODS: dict[str, tuple[str, Callable[[FakeSlack, Args], Args] | None]] = {
    "auth.test": ("", _auth_test),
    "chat.postMessage": ("chat:write", _post_message),
    "chat.update": ("chat:write", _update),
    "chat.postEphemeral": ("chat:write", _post_ephemeral),
    "usergroups.users.list": ("usergroups:read", _usergroup_users),
    "conversations.history": ("channels:history|groups:history", _history),
    "conversations.replies": ("channels:history|groups:history", _replies),
    "conversations.list": ("channels:read|groups:read", _list),
    "files.getUploadURLExternal": ("files:write", _upload_url),
    "files.completeUploadExternal": ("files:write", _complete_upload),
    "apps.connections.open": ("", _open_connection),
}


# --- HTTP ------------------------------------------------------------------------------------------------------------


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    slack: FakeSlack

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that gave up waiting is no news; anything else is a mistake in here."""
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server
    timeout = 30
    _READ_AS_JSON: ClassVar[tuple[str, ...]] = ("blocks", "metadata", "attachments")

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        if self.path.startswith("/link/"):
            Socket.serve(self, self.server.slack)
        else:
            self.do_POST()

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        url = urllib.parse.urlsplit(self.path)
        if url.path.startswith("/upload/"):
            self._upload(url.path.rpartition("/")[2], body)
        elif url.path == "/control/fail":  # for those who run it as a process
            self.server.slack.fail(*json.loads(body))
            self._text(200, "ok")
        elif url.path == WEBHOOK:
            self._with_fault("webhook", lambda: self._webhook(body))
        elif url.path.startswith("/api/"):
            method = url.path.removeprefix("/api/")
            self._with_fault(method, lambda: self._api(method, url.query, body))
        else:
            self._text(404, "no_service")

    def _with_fault(self, method: str, answer: Callable[[], tuple[int, bytes, dict[str, str]]]) -> None:
        slack = self.server.slack
        word = slack.next_fault(method)
        if word.startswith("after/"):
            answer()
        fault, _, detail = word.removeprefix("after/").partition(":")
        if fault == "drop-before":
            self._drop()
        elif fault == "429":
            self._json(429, {"ok": False, "error": "ratelimited"}, {"Retry-After": detail or "1"})
        elif fault in ("500", "502", "503", "504"):
            self._text(int(fault), "upstream connect error")
        elif fault == "html":
            self._text(200, "<html><body>Sign in to the proxy</body></html>", "text/html")
        elif fault == "error":
            provided = ",".join(sorted(slack.scopes))
            more = {"needed": "chat:write", "provided": provided} if detail == "missing_scope" else {}
            if method == "webhook":
                self._text(403, detail)
            else:
                self._json(200, {"ok": False, "error": detail, **more})
        else:
            status, content, headers = answer()
            if fault == "drop-after":
                self._drop()
                return
            if fault == "slow":
                time.sleep(float(detail or 1))
            self._send(status, content, headers, cut=fault == "half")

    def _api(self, method: str, query: str, body: bytes) -> tuple[int, bytes, dict[str, str]]:
        slack = self.server.slack
        headers = {"x-oauth-scopes": ",".join(sorted(slack.scopes))}
        try:
            args = self._args(query, body)
            token = self.headers.get("Authorization", "").removeprefix("Bearer ").strip()
            answer = slack.answer(method, token, args)
        except RefusedError as refused:
            answer = refused.body
            if answer["error"] == "ratelimited":
                return 429, json.dumps(answer).encode(), headers | {"Retry-After": str(answer["retry_after"])}
        return 200, json.dumps(answer).encode(), headers

    def _args(self, query: str, body: bytes) -> Args:
        given: Args = dict(urllib.parse.parse_qsl(query))
        kind = self.headers.get("Content-Type", "").partition(";")[0]
        try:
            if kind == "application/json":
                return given | (json.loads(body) if body else {})
            given |= dict(urllib.parse.parse_qsl(body.decode()))
            return {k: json.loads(v) if k in self._READ_AS_JSON else v for k, v in given.items()}
        except ValueError:
            raise RefusedError("invalid_json") from None

    def _webhook(self, body: bytes) -> tuple[int, bytes, dict[str, str]]:
        slack = self.server.slack
        with slack.lock:
            try:
                args = json.loads(body)
                slack.calls.append(("webhook", args))
                slack.accept(next(iter(slack.channels)), args)
            except ValueError:
                return 400, b"invalid_payload", {}
            except RefusedError as refused:
                return 400, refused.body["error"].encode(), {}
        return 200, b"ok", {}

    def _upload(self, ident: str, body: bytes) -> None:
        for file in self.server.slack.files:
            if file["id"] == ident and len(body) >= file["length"]:
                file["bytes"] = body
                self._text(200, f"OK - {len(body)}")
                return
        self._text(400, "bad upload")

    def _json(self, status: int, body: Args, headers: dict[str, str] | None = None) -> None:
        self._send(status, json.dumps(body).encode(), headers or {})

    def _text(self, status: int, body: str, kind: str = "text/plain") -> None:
        self._send(status, body.encode(), {"Content-Type": kind})

    def _send(self, status: int, content: bytes, headers: dict[str, str], *, cut: bool = False) -> None:
        self.send_response(status)
        for name, value in ({"Content-Type": "application/json; charset=utf-8"} | headers).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content) + (50 if cut else 0)))
        self.end_headers()
        self.wfile.write(content)
        if cut:
            self._drop()

    def _drop(self) -> None:
        # With a reset, so that the other side does not take it for an orderly end.
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close_connection = True
        self.wfile.flush()
        self.connection.close()


# --- Socket Mode -----------------------------------------------------------------------------------------------------


class Socket:
    """The server's end of one websocket (RFC 6455), as far as Socket Mode uses it."""

    def __init__(self, handler: _Handler, slack: FakeSlack) -> None:
        self._handler = handler
        self._slack = slack
        self._lock = threading.Lock()

    @classmethod
    def serve(cls, handler: _Handler, slack: FakeSlack) -> None:
        """Take the connection over until it ends."""
        key = handler.headers.get("Sec-WebSocket-Key", "")
        proof = base64.b64encode(hashlib.sha1((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").encode()).digest())
        handler.send_response(101)
        for name, value in {
            "Upgrade": "websocket",
            "Connection": "Upgrade",
            "Sec-WebSocket-Accept": proof.decode(),
        }.items():
            handler.send_header(name, value)
        handler.end_headers()
        handler.close_connection = True
        end = cls(handler, slack)
        end.send(json.dumps({"type": "hello", "num_connections": 1, "connection_info": {"app_id": "A000"}}))
        slack.sockets.append(end)
        slack.tell()
        try:
            end._listen()
        except (OSError, ValueError):
            pass
        finally:
            slack.sockets.remove(end)
            slack.tell()

    def send(self, text: str) -> None:
        """One text frame."""
        self._frame(0x1, text.encode())

    def close(self) -> None:
        """Say goodbye."""
        with contextlib.suppress(OSError, ValueError):
            self._frame(0x8, struct.pack(">H", 1000))  # "normal closure"; without a code the SDK waits for more

    def _frame(self, opcode: int, data: bytes) -> None:
        size = bytes([len(data)]) if len(data) < 126 else b"\x7e" + struct.pack(">H", len(data))
        with self._lock:
            self._handler.wfile.write(bytes([0x80 | opcode]) + size + data)
            self._handler.wfile.flush()

    def _listen(self) -> None:
        read = self._handler.rfile.read
        self._handler.connection.settimeout(None)
        while len(head := read(2)) == 2:
            size = head[1] & 0x7F
            if size == 126:
                (size,) = struct.unpack(">H", read(2))
            elif size == 127:
                (size,) = struct.unpack(">Q", read(8))
            mask = read(4) if head[1] & 0x80 else b"\0\0\0\0"
            data = bytes(byte ^ mask[n % 4] for n, byte in enumerate(read(size)))
            opcode = head[0] & 0x0F
            if opcode == 0x8:
                return
            if opcode == 0x9:
                self._frame(0xA, data)
            elif opcode == 0x1 and re.match(rb"\s*\{", data):
                self._slack.acknowledged(json.loads(data))


def main() -> None:
    """Run until the standard input or the process ends."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--record", type=Path, help="file for accepted messages, one JSON object per line")
    parser.add_argument("--fault", action="append", default=[], help="a fault for the next call; may be repeated")
    parser.add_argument("--rate", type=float, default=0.0, help="share of calls that fail at random")
    parser.add_argument("--kinds", default="429:0,500,503,drop-before,drop-after,html,half,slow:0.2")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    with FakeSlack(port=options.port, record=options.record) as slack:
        slack.fail(*options.fault)
        if options.rate:
            slack.fail_at_random(options.rate, options.kinds.split(","), options.seed)
        print(slack.base_url, flush=True)
        threading.Event().wait()


if __name__ == "__main__":
    main()
