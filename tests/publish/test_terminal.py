"""The page on a terminal: calm, complete, inert, and its command can be pasted."""

import io
import re

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from responder.nouns import Incident
from responder.publish import jsonl
from responder.publish.terminal import console, render
from tests.publish import incidents as samples
from tests.publish.hostile import ACTIVE, HOSTILE
from tests.publish.incidents import seed_incident
from tests.publish.test_message import SAMPLES, stuffed, undecided


def page(incident: Incident) -> str:
    stream = io.StringIO()
    render(incident, console(stream))
    return stream.getvalue()


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("sample", SAMPLES)
def test_every_kind_of_incident_says_what_where_and_what_to_do(sample) -> None:  # type: ignore[no-untyped-def]
    incident = sample()
    shown = page(incident)
    assert incident.title in shown
    assert "Do " in shown
    assert incident.evidence.path in shown
    assert f"▶ {incident.evidence.text}" in shown
    assert not re.search(r" $", shown, re.MULTILINE)


def test_the_command_is_one_line_flush_left() -> None:
    assert samples.FA3.relaunch is not None
    assert samples.FA3.relaunch.command in page(seed_incident()).splitlines()


def test_a_command_longer_than_any_terminal_is_not_wrapped() -> None:
    assert samples.FA3.relaunch is not None
    command = samples.FA3.relaunch.command + " --json-model-override-args " + "y" * 5000
    relaunch = msgspec.structs.replace(samples.FA3.relaunch, command=command)
    remedy = msgspec.structs.replace(samples.FA3, relaunch=relaunch)
    assert command in page(seed_incident(remedies=(remedy,))).splitlines()


def test_styles_are_for_terminals_and_never_with_no_color(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert "\x1b[" not in page(seed_incident())
    stream = Terminal()
    render(seed_incident(), console(stream))
    assert "\x1b[" in stream.getvalue()
    monkeypatch.setenv("NO_COLOR", "1")
    plain = Terminal()
    render(seed_incident(), console(plain))
    assert "\x1b[" not in plain.getvalue()


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_a_hostile_text_is_inert_on_the_terminal(text: str) -> None:
    shown = page(stuffed(text)) + page(undecided(stuffed(text)))
    assert not set(shown) & set(ACTIVE)


@settings(max_examples=40, deadline=None)
@given(st.text(st.characters(), max_size=200))
def test_any_text_is_inert_on_the_terminal(text: str) -> None:
    assert not set(page(stuffed(text))) & set(ACTIVE)


def test_a_terminal_that_knows_only_ascii_still_shows_the_alert() -> None:
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding="ascii")
    render(seed_incident(), console(stream))
    stream.flush()
    assert b"Use FlashAttention 3" in raw.getvalue()


def test_markup_in_a_log_is_text() -> None:
    shown = page(seed_incident(title="[bold]x[/red] [link=https://e.example]y[/link] :skull:"))
    assert "[bold]x[/red] [link=https://e.example]y[/link] :skull:" in shown


@pytest.mark.parametrize("sample", SAMPLES)
def test_a_json_line_reads_back_as_the_same_incident(sample) -> None:  # type: ignore[no-untyped-def]
    line = jsonl.encode(sample())
    assert "\n" not in line
    assert msgspec.json.decode(line, type=Incident) == sample()


@pytest.mark.parametrize("text", [text for text in HOSTILE if "\ud800" not in text and "\udfff" not in text])
def test_a_json_line_is_inert_on_a_terminal_and_loses_nothing(text: str) -> None:
    line = jsonl.encode(seed_incident(cause=text))
    assert not re.search("[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\u200b]", line)
    assert msgspec.json.decode(line, type=Incident).cause == text


def test_a_json_line_has_every_field_of_the_contract() -> None:
    fields = msgspec.json.decode(jsonl.encode(seed_incident()))
    assert list(fields["gpu"]) == ["status", "from", "torch_cuda", "devices", "detail"]
    assert fields["silenced_until"] is None
    assert fields["symptoms"] == []
