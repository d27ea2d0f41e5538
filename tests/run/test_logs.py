"""The daemon's own log shows what happened: no token, and nothing that a terminal would act on."""

import json
from collections.abc import Iterator

import pytest
import structlog

from responder.run.logs import configure_logging
from tests.publish.hostile import ACTIVE, HOSTILE


@pytest.fixture
def structlog_restored() -> Iterator[None]:
    yield
    structlog.reset_defaults()


@pytest.mark.parametrize("as_json", [True, False])
def test_a_file_with_a_hostile_name_is_inert_in_the_log(
    structlog_restored: None, capsys: pytest.CaptureFixture[str], as_json: bool
) -> None:
    configure_logging(as_json=as_json)
    for text in HOSTILE:
        structlog.get_logger().warning("cannot read", path=f"/logs/{text}", detail=[text, {text: text}])
    shown = capsys.readouterr().err
    if as_json:
        shown = "".join(str(json.loads(line)) for line in shown.splitlines())
    assert not set(shown) & set(ACTIVE)
    assert "rm -rf" in shown


@pytest.mark.parametrize("as_json", [True, False])
def test_a_traceback_in_the_log_shows_no_variable(
    structlog_restored: None, capsys: pytest.CaptureFixture[str], recwarn: pytest.WarningsRecorder, as_json: bool
) -> None:
    configure_logging(as_json=as_json)
    try:
        token = "-".join(["xoxb", "1", "planted"])
        raise KeyError(len(token))
    except KeyError:
        structlog.get_logger().exception("a mistake")
    shown = capsys.readouterr().err
    assert "KeyError" in shown
    assert "test_logs.py" in shown
    assert "xoxb-1-planted" not in shown
    assert not recwarn.list
