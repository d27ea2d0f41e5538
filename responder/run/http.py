"""`/metrics` and `/healthz`, on a thread of their own.

`/healthz` is 200 as long as the loop answers and can write its state.  A Slack that is down is told in its text and
changes nothing else: a restart of this daemon would not mend it.
"""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import msgspec
from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.registry import Collector

from responder import __version__
from responder.run.health import Health, Inquiry

PATIENCE = 3.0
"""Seconds that the loop has to answer before it counts as stuck."""


def address_of(listen: str) -> tuple[str, int]:
    """Host and port of `[http] listen`: `9400`, `:9400`, `host:9400`, `[::1]:9400`.  Without a host, loopback alone.

    Raises ValueError.
    """
    host, _, port = listen.rpartition(":")
    if not port.isdecimal() or int(port) > 65535:
        raise ValueError(f"{listen!r} has no port; write it as 127.0.0.1:9400")
    return host.strip("[]") or "127.0.0.1", int(port)


class HealthServer:
    """The endpoint.  OSError where the address cannot be had."""

    def __init__(self, listen: str, inquiry: Inquiry) -> None:
        host, port = address_of(listen)

        class Server(ThreadingHTTPServer):
            daemon_threads = True
            address_family = _family(host)

        self._server = Server((host, port), _handler(inquiry))
        self._thread = threading.Thread(target=self._server.serve_forever, name="http", daemon=True)
        self._thread.start()

    @property
    def port(self) -> int:
        """The port, where 0 was asked for."""
        return int(self._server.server_address[1])

    def close(self) -> None:
        """Stop listening."""
        self._server.shutdown()
        self._server.server_close()


def _family(host: str) -> Any:
    import socket

    return socket.AF_INET6 if ":" in host else socket.AF_INET


def _handler(inquiry: Inquiry) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        timeout = 10.0
        server_version = f"responder/{__version__}"

        def do_GET(self) -> None:
            page = {"/metrics": _metrics, "/healthz": _healthz}.get(self.path.partition("?")[0])
            if page is None:
                self._send(404, "text/plain", b"there is /metrics and /healthz\n")
                return
            self._send(*page(inquiry.ask(PATIENCE)))

        def _send(self, status: int, kind: str, body: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            """Nothing: a scrape is no news."""

    return Handler


def _healthz(health: Health | None) -> tuple[int, str, bytes]:
    if health is None:
        told: dict[str, Any] = {"status": "stuck", "detail": f"the loop did not answer for {PATIENCE:.0f} s"}
    else:
        told = {
            "status": "state cannot be written" if health.storing_fails else "ok",
            "lag_seconds": {name: round(server.lag, 3) for name, server in health.servers.items()},
            "outbox": health.outbox,
            "sink_error": health.sink_error,
        }
    return 200 if told["status"] == "ok" else 503, "application/json", msgspec.json.encode(told) + b"\n"


def _metrics(health: Health | None) -> tuple[int, str, bytes]:
    registry = CollectorRegistry()
    registry.register(_Answer(health))
    return 200, CONTENT_TYPE_LATEST, generate_latest(registry)


class _Answer(Collector):
    """One answer of the loop as metrics; without one, only that it is stuck."""

    def __init__(self, health: Health | None) -> None:
        self._health = health

    def collect(self) -> Iterator[Metric]:
        yield _gauge("responder_up", "1 while the loop answers.", float(self._health is not None))
        if self._health is None:
            return
        health = self._health
        lines = CounterMetricFamily("responder_lines_read", "Lines read since the start.", labels=["server"])
        cut = CounterMetricFamily("responder_lines_cut", "Lines too long to be kept whole.", labels=["server"])
        unreadable = GaugeMetricFamily("responder_logs_unreadable", "Logs that cannot be read.", labels=["server"])
        matches = CounterMetricFamily("responder_matches", "Lines on which a rule fired.", labels=["server", "rule"])
        lag = GaugeMetricFamily("responder_lag_seconds", "Since all that was there was read.", labels=["server"])
        for name, server in health.servers.items():
            lines.add_metric([name], server.lines)
            cut.add_metric([name], server.cut)
            unreadable.add_metric([name], server.unreadable)
            lag.add_metric([name], server.lag)
            for rule, count in server.matches.items():
                matches.add_metric([name, rule], count)
        yield from (lines, cut, unreadable, matches, lag)
        yield _by("responder_incidents", "Incidents known, by status.", "status", health.incidents)
        yield _by("responder_outbox", "Messages, by how far they have come.", "state", health.outbox)
        yield _gauge("responder_dead_letters", "Messages that were never taken.", health.outbox["dead"])
        left_out = "Rules that could not be loaded or compiled."
        yield _gauge("responder_rules_left_out", left_out, health.rules_left_out)
        slow = "Patterns set aside because they took too long on some line."
        yield _gauge("responder_patterns_set_aside", slow, health.patterns_set_aside)
        yield _gauge("responder_sink_failing", "1 while messages do not get through.", float(bool(health.sink_error)))
        yield _gauge("responder_state_failing", "1 while the state cannot be written.", float(health.storing_fails))


def _gauge(name: str, meaning: str, value: float) -> Metric:
    return GaugeMetricFamily(name, meaning, value=value)


def _by(name: str, meaning: str, label: str, values: Any) -> Metric:
    family = GaugeMetricFamily(name, meaning, labels=[label])
    for key, value in values.items():
        family.add_metric([key], value)
    return family
