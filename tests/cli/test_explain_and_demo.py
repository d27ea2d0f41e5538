"""One pasted message, and the demonstration."""

import json

from tests.cli.helpers import responder

SEED = "ValueError: Prefill context parallelism with the TRTLLM MHA prefill backend requires SM100 (trtllm-gen"


def test_a_pasted_message_is_diagnosed():
    ran = responder("explain", SEED, "--format", "jsonl")
    assert json.loads(ran.stdout)["rule"] == "trtllm-mha-prefill-cp-needs-sm100"


def test_standard_input_is_read_too():
    ran = responder("explain", "-", "--format", "jsonl", stdin=f"some words\n{SEED}\n")
    assert json.loads(ran.stdout)["rule"] == "trtllm-mha-prefill-cp-needs-sm100"


def test_an_unknown_text_is_said_to_be_unknown():
    ran = responder("explain", "all is well")
    assert ran.returncode == 0
    assert ran.stdout == ""
    assert "No rule knows" in ran.stderr


def test_the_demo_ends_by_itself_with_the_alert_shown():
    ran = responder("demo")
    assert ran.returncode == 0
    assert "--prefill-attention-backend fa3" in ran.stdout
    assert "did not start" in ran.stdout
    assert "sk-demo" not in ran.stdout.split("Slack gets one message")[1]
