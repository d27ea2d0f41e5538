"""Prefixes that a tool puts in front of every line it prints: compose, kubectl, a stamp."""

from responder.sources.wrappers.layer import END, RFC3339, Prefixed

COMPOSE = Prefixed("compose", rb"(?P<container>[A-Za-z0-9][\w.@-]*) {2,}\|" + END)
"""`sglang-1  | text`, of `docker compose logs` and `docker service logs`, which pad the longest name too."""

KUBECTL = Prefixed("kubectl", rb"\[pod/(?P<pod>[\w.-]+)/(?P<container>[\w.-]+)\]" + END)
"""`[pod/name/container] text`, of `kubectl logs --prefix`."""

STAMP = Prefixed("stamp", rb"(?P<time>" + RFC3339 + rb")" + END)
"""`2026-09-14T07:02:10.123456789Z text`, of `kubectl logs --timestamps` and `docker logs --timestamps`."""
