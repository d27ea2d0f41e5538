"""The daemon's own log: JSON lines under systemd, readable lines on a terminal, always on stderr."""

import logging
import os
import sys

import structlog

from responder.publish.inert import inert_strings


def configure_logging(*, as_json: bool | None = None) -> None:
    """Set up structlog.  `as_json` None decides by whether systemd reads our stderr."""
    json = "JOURNAL_STREAM" in os.environ or "INVOCATION_ID" in os.environ if as_json is None else as_json
    renderer: structlog.typing.Processor = (
        structlog.processors.JSONRenderer()
        if json
        else structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty() and "NO_COLOR" not in os.environ)
    )
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            # Here, and not by the renderer: it would show local variables, and the SDK holds the token in one.
            structlog.processors.format_exc_info,
            _inert,
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
        logger_factory=structlog.WriteLoggerFactory(file=sys.stderr),
        cache_logger_on_first_use=False,
    )


def _inert(_logger: object, _method: str, event: structlog.typing.EventDict) -> structlog.typing.EventDict:
    """A file's name is anybody's text too, and these lines are read on a terminal."""
    return {name: inert_strings(value) for name, value in event.items()}
