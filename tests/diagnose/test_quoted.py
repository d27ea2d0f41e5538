"""What a request quotes is no incident, whatever form the request is logged in."""

import pytest

from tests.diagnosing import findings, rules_of

READY = "[2026-09-14 07:00:04] The server is fired up and ready to roll!\n"
OOM = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB."


@pytest.mark.parametrize(
    "line",
    [
        f'{{"model":"x","messages":[{{"role":"user","content":"help: {OOM}"}}]}}',
        f'{{"content":"line one\\n{OOM}\\nKilled"}}',
        f'{{"messages":[{{"role":"user","content":"…{OOM}',
        f'data: {{"choices":[{{"delta":{{"content":"{OOM}"}}}}]}}',
        f'request body={{"prompt":"{OOM}"}}',
        f"prompt: {OOM}",
        f"Input: {OOM}",
        f"reasoning_content='so the {OOM} means'",
        '{"query":"CUDA error: uncorrectable ECC error encountered"}',
        'question="NVRM: Xid (PCI:0000:05:00): 79, GPU has fallen off the bus."',
        f"pydantic: input_value='{OOM}', input_type=str",
        f"Receive OpenAI: body={{'messages':[{{'content': '{OOM}'}}]}}",
        'prompt="Traceback (most recent call last): what does it mean?"',
    ],
)
def test_what_a_request_quotes_is_no_incident(program, line):
    log = READY + f"{line}\n[2026-09-14 07:00:05] {line}\n"
    assert rules_of(findings(program, log)) == []


@pytest.mark.parametrize(
    "line",
    [
        OOM,
        f"[2026-09-14 07:00:05 TP0] Scheduler hit an exception: {OOM}",
        '{"error": {"message": "Failed to get kvcache from prefill instance, it might be dead"}}',
        f'{{"level": "error", "msg": "{OOM}"}}',
        f"RuntimeError: prompt processing failed: {OOM}",
    ],
)
def test_what_the_server_says_is_one(program, line):
    assert len(rules_of(findings(program, READY + line + "\n"))) == 1
