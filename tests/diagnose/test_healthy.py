"""A healthy log stays silent, however long it is and however alarming some of its lines sound."""

import pytest

from responder.diagnose import Pipeline
from responder.sources.block import Block
from tests.diagnosing import findings, rules_of

LINES_PER_BLOCK = 20_000


def healthy_block(number: int, noise: list[str]) -> bytes:
    """Lines that a busy server writes in some minutes, with one noise record in their midst."""
    lines = []
    for line in range(LINES_PER_BLOCK):
        stamp = f"2026-09-{1 + number % 28:02} {line // 3600 % 24:02}:{line // 60 % 60:02}:{line % 60:02}"
        rank = line % 8
        if line % 4 == 0:
            lines.append('INFO:     10.4.0.9:51234 - "POST /v1/chat/completions HTTP/1.1" 200 OK')
        elif line % 4 == 1:
            lines.append(f"[{stamp} TP{rank}] Prefill batch, #new-seq: {line % 8}, #new-token: {line * 13 % 8192}, ")
        else:
            lines.append(
                f"[{stamp} TP{rank}] Decode batch, #running-req: {line % 30}, token usage: 0.{line % 100:02}, "
            )
        if line == LINES_PER_BLOCK // 2:
            lines += noise[number % len(noise)].splitlines()
    return "".join(f"{line}\n" for line in lines).encode()


def alerts(program, catalogue, blocks: int) -> list[str]:
    noise = [
        sample.text.strip()
        for rule in catalogue.rules
        if rule.role == "noise"
        for sample in rule.sample
        if sample.matches and rule.escalate_when is None
    ]
    assert len(noise) > 30
    pipeline, offset = Pipeline("llama", program), 0
    pipeline.feed(Block("a.log", "a", 0, b"[2026-09-01 00:00:00] The server is fired up and ready to roll!\n"))
    for number in range(blocks):
        data = healthy_block(number, noise)
        pipeline.feed(Block("a.log", "a", offset, data))
        offset += len(data)
    pipeline.finish()
    return rules_of(pipeline.diagnosis.findings())


def test_every_noise_line_in_a_healthy_log_tells_nothing(program, catalogue):
    assert alerts(program, catalogue, 100) == []


@pytest.mark.slow
def test_ten_million_healthy_lines_tell_nothing(program, catalogue):
    assert alerts(program, catalogue, 10_000_000 // LINES_PER_BLOCK) == []


def error_in_request(number: int) -> str:
    return (
        f"[2026-09-14 07:{number // 60 % 60:02}:{number % 60:02}] "
        "Error in request: 'NoneType' object has no attribute 'x'\n"
        "Traceback (most recent call last):\n"
        '  File "/x/sglang/srt/entrypoints/openai/serving_base.py", line 90, in handle_request\n'
        "AttributeError: 'NoneType' object has no attribute 'x'\n"
    )


def test_what_fails_every_request_is_told_after_all(program):
    log = "".join(error_in_request(number) for number in range(60))
    found = rules_of(findings(program, log))
    assert found == ["error-in-one-request"]


def test_what_fails_one_request_in_a_thousand_lines_is_not(program):
    quiet = 'INFO:     10.4.0.9:51234 - "POST /v1/chat/completions HTTP/1.1" 200 OK\n' * 1000
    log = "".join(error_in_request(number) + quiet for number in range(60))
    assert rules_of(findings(program, log)) == []
