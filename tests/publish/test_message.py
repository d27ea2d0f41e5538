"""Slack takes every message, and nothing in it is live."""

import json
import re
import unicodedata
from collections.abc import Callable

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from responder.nouns import Apply, Incident, Relaunch, Server, Symptom
from responder.publish.redact import redact_incident
from responder.publish.slack import message
from responder.publish.slack.blocks import MESSAGE_LIMIT, length
from tests.publish import incidents as samples
from tests.publish.hostile import ACTIVE, HOSTILE
from tests.publish.incidents import change, seed_incident
from tests.slack_blocks import dangers, refusals, texts_of

SAMPLES: tuple[Callable[[], Incident], ...] = (
    samples.seed_incident, samples.unknown_gpu_incident, samples.flags_only_incident, samples.hardware_incident,
    samples.unrecognised_incident, samples.symptom_incident, samples.crash_loop_incident, samples.refused_incident,
)  # fmt: skip


def every_message(incident: Incident) -> list[message.Payload]:
    states = [change(incident, status=status) for status in ("open", "acknowledged", "resolved")]
    return [
        *(message.root(state) for state in states),
        message.root(incident, again=True),
        *message.thread(incident),
        *(
            message.broadcast(incident, news)
            for news in ("reopened", "severity-raised", "cause-found", "crash-loop", "repeat")
        ),
        message.summary([incident] * 20, "These stand in the logs."),
        message.held_back([incident], 300),
        message.plain_version(message.root(incident), incident.id),
    ]


def check(payload: message.Payload) -> None:
    assert refusals(payload) == ("", []), json.dumps(payload)[:2000]
    assert dangers(payload) == []
    assert length(payload.get("blocks", [])) <= MESSAGE_LIMIT
    assert 0 < len(payload["text"]) <= 3200
    assert payload["unfurl_links"] is False


@pytest.mark.parametrize("sample", SAMPLES)
def test_slack_takes_every_kind_of_message(sample: Callable[[], Incident]) -> None:
    for payload in every_message(sample()):
        check(payload)


def undecided(incident: Incident) -> Incident:
    """The same where nobody knows which remedy applies."""
    return change(incident, remedies=tuple(msgspec.structs.replace(r, applies="unknown") for r in incident.remedies))


def stuffed(text: str) -> Incident:
    """An incident with the text wherever a log, a command or a configuration could put it."""
    incident = seed_incident()
    relaunch = Relaunch(
        command=text, diff=(text, f"+ {text}"), complete=True, apply=Apply(kind="systemd", where=text, text=text)
    )
    remedy = msgspec.structs.replace(
        incident.remedies[0],
        title=text, why=text, steps=(text,) * 12, next=text, set={"--flag": text}, env={"X": text}, refused=text,
        relaunch=relaunch,
    )  # fmt: skip
    evidence = msgspec.structs.replace(incident.evidence, path=text, text=text, excerpt=(text,) * 60)
    server = Server(
        name=text, host=text, unit=text, pod=text, namespace=text, container=text, version=text, command=(text,)
    )
    device = msgspec.structs.replace(samples.H100, name=text, driver=text)
    return change(
        incident,
        title=text, cause=text, evidence=evidence, captures={"x": text}, ranks=(text, "TP0", "TP1"),
        symptoms=(Symptom(rule="r", title=text, lines=3),) * 20, server=server, remedies=(remedy,) * 9,
        relaunch=relaunch, references=(text, f"https://x.example/{text}"),
        acknowledged_by=text, first_seen=text, last_seen="2026-11-30T12:35:27",
        gpu=msgspec.structs.replace(incident.gpu, devices=(device,) * 8, detail=text, status="error"),
    )  # fmt: skip


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_a_hostile_text_is_inert_and_within_slacks_limits(text: str) -> None:
    for payload in [*every_message(stuffed(text)), *every_message(undecided(stuffed(text)))]:
        check(payload)
        assert not set(texts_of(payload) + payload["text"]) & set(ACTIVE)


@settings(max_examples=60, deadline=None)
@given(st.text(st.characters(), min_size=0, max_size=400))
def test_any_text_is_inert_and_within_slacks_limits(text: str) -> None:
    for payload in every_message(redact_incident(stuffed(text.encode(errors="replace").decode()))):
        check(payload)


@pytest.mark.parametrize("size", [4_900, 5_100, 9_500, 25_000])
def test_a_command_is_whole_or_is_no_command(size: int) -> None:
    command = "python3 -m sglang.launch_server --json-model-override-args " + "x" * size
    relaunch = msgspec.structs.replace(samples.FA3.relaunch, command=command)
    remedy = msgspec.structs.replace(samples.FA3, relaunch=relaunch)
    incident = seed_incident(remedies=(remedy,), relaunch=relaunch)
    payloads = [message.root(incident), *message.thread(incident)]
    for payload in payloads:
        check(payload)
    boxes = [
        element["elements"][0]["text"]
        for payload in payloads
        for block in payload["blocks"]
        if block["type"] == "rich_text"
        for element in block["elements"]
        if element.get("language") == "bash"
    ]
    assert "".join(boxes) == command


def test_five_seconds_tell_what_broke_where_and_what_to_do() -> None:
    payload = message.root(seed_incident())
    header = payload["blocks"][0]["text"]["text"]
    assert header.startswith("🔴 llama-70b did not start: Prefill context parallelism")
    assert "Do this" in texts_of(payload)
    assert "gpu-17" in texts_of(payload)
    assert payload["text"].startswith("🔴 llama-70b (gpu-17) did not start")
    assert "Use FlashAttention 3" in payload["text"]


def test_a_guess_is_called_a_guess() -> None:
    assert "What happened" in texts_of(message.root(seed_incident()))
    assert "What probably happened" in texts_of(message.root(seed_incident(confidence="likely")))
    assert "a guess" in texts_of(message.root(seed_incident(confidence="possible")))


def test_what_no_rule_knows_is_called_unknown_and_no_guess() -> None:
    shown = texts_of(message.root(samples.unrecognised_incident()))
    assert "What the log shows" in shown
    assert "unknown: no rule knows this failure" in shown
    assert "a guess" not in shown


def test_the_line_itself_stands_beside_what_the_reader_has_to_judge() -> None:
    unknown = samples.unrecognised_incident()
    for doubtful in (unknown, seed_incident(confidence="likely"), seed_incident(remedies=(), relaunch=None)):
        assert doubtful.evidence.text in texts_of(message.root(doubtful))
    assert samples.SEED_LINE not in texts_of(message.root(seed_incident()))


def test_a_crash_loop_says_in_its_headline_how_often() -> None:
    assert "llama-70b failed to start 6 times: " in message.root(samples.crash_loop_incident())["text"].replace(
        " (gpu-17)", ""
    )
    assert "failed to start 6 times" in message.root(samples.crash_loop_incident())["blocks"][0]["text"]["text"]
    serving = change(samples.hardware_incident(), attempts=2)
    assert "llama-70b failed 2 times while serving" in message.root(serving)["blocks"][0]["text"]["text"]


REFUSED = "Use FlashAttention 3 for prefill; context parallelism stays on: sglang itself refuses this relaunch"


def test_where_every_relaunch_is_refused_the_alert_says_by_whom_and_why() -> None:
    incident = samples.refused_incident()
    root = texts_of(message.root(incident))
    assert "python3 -m sglang.launch_server" not in root
    assert "each that is known was tried, and refused" in root
    assert REFUSED in root
    assert not any(REFUSED in texts_of(reply) for reply in message.thread(incident))


def test_a_relaunch_that_is_refused_beside_one_that_is_not_is_told_in_the_thread() -> None:
    refused = samples.refused_incident().remedies[0]
    incident = seed_incident(remedies=(samples.CP_OFF, refused))
    assert REFUSED not in texts_of(message.root(incident))
    shown = texts_of(message.thread(incident)[-1])
    assert "What was tried and refused" in shown
    assert REFUSED in shown


def test_what_stands_alone_in_the_channel_says_on_which_host() -> None:
    incident = seed_incident()
    assert "llama-70b (gpu-17) did not start" in texts_of(message.broadcast(incident, "repeat"))
    assert "2 incidents on gpu-17 while" in texts_of(message.summary([incident] * 2, "These stand in the logs."))
    assert "40 incidents on gpu-17 held back" in texts_of(message.held_back([incident] * 2, 40))
    elsewhere = change(incident, server=msgspec.structs.replace(incident.server, host="gpu-18"))
    both = texts_of(message.summary([incident, elsewhere], "These stand in the logs."))
    assert "2 incidents while" in both
    assert "llama-70b (gpu-17)" in both
    assert "llama-70b (gpu-18)" in both


def test_each_relaunch_that_somebody_asks_for_has_its_title_on_a_line_of_its_own() -> None:
    payload = message.relaunches(seed_incident())
    assert payload is not None
    labels = payload["blocks"][0]["elements"][::2]
    for label in labels:
        shown = "".join(part["text"] for part in label["elements"])
        assert re.fullmatch(r"\n?(Use FlashAttention 3|Turn context).*\nRelaunch with this; .*:", shown)


def test_flags_without_a_command_are_no_command() -> None:
    payload = message.root(samples.flags_only_incident())
    assert "bash" not in json.dumps(payload)
    assert "Change this in the launch command (it is not known here):" in texts_of(payload)


def test_where_no_flag_helps_that_is_said() -> None:
    assert "no launch flag mends it" in texts_of(message.root(samples.hardware_incident()))


def test_on_unknown_gpus_no_remedy_is_asserted_and_each_has_its_condition() -> None:
    shown = texts_of(message.root(samples.unknown_gpu_incident()))
    assert "Do one of these" in shown
    assert re.search(r"On SM90 .*\n*.*FlashAttention 3", shown)
    assert re.search(r"On SM120 .*\n*.*Turn context parallelism off", shown)
    assert shown.count("python3 -m sglang.launch_server") == 2


def test_a_remedy_that_does_not_apply_is_not_shown() -> None:
    never = msgspec.structs.replace(samples.CP_OFF, title="Never do this", applies="no")
    incident = seed_incident(remedies=(never, samples.FA3))
    assert "Never do this" not in "".join(texts_of(p) for p in [message.root(incident), *message.thread(incident)])


def test_a_resolved_incident_asks_for_nothing() -> None:
    payload = message.root(seed_incident(status="resolved", resolved_at="2026-11-30T13:20:00Z"))
    assert "✅ Resolved:" in payload["blocks"][0]["text"]["text"]
    assert "Do this" not in texts_of(payload)


def test_times_without_a_zone_are_not_turned_into_the_readers() -> None:
    shown = texts_of(message.root(seed_incident(first_seen="2026-11-30T12:35:27", last_seen=None)))
    assert "`2026-11-30 12:35:27` (log time)" in shown
    span = message.root(seed_incident(first_seen="2026-11-30T12:35:27", last_seen="2026-11-30T12:36:00"))
    assert "`2026-11-30 12:35:27` to `12:36:00` (log time)" in texts_of(span)
    assert "<!date^1796042127^" in texts_of(message.root(seed_incident()))


def test_runs_of_ranks_are_folded() -> None:
    assert "8 ranks (TP0–TP7)" in texts_of(message.root(samples.crash_loop_incident()))


def test_the_line_that_proves_it_is_in_the_excerpt_however_long_the_rest() -> None:
    incident = seed_incident()
    lines = (*(f"line {n} " + "x" * 300 for n in range(200)), samples.SEED_LINE, *(f"after {n}" for n in range(200)))
    evidence = msgspec.structs.replace(incident.evidence, excerpt=lines)
    shown = texts_of(message.thread(change(incident, evidence=evidence))[0])
    assert f"▶ {samples.SEED_LINE}" in shown
    assert "line 199 " in shown
    assert "line 1 " not in shown


def test_symbols_in_a_header_are_ones_that_slack_does_not_read() -> None:
    payload = message.root(seed_incident(title="batch < 8 & tokens > 4"))
    assert "batch ‹ 8 ＆ tokens › 4" in payload["blocks"][0]["text"]["text"]
    assert unicodedata.normalize("NFC", payload["text"]).count("&lt;") == 1
