"""`responder preflight`: exit status, words and JSON, as a unit or an init container meets them."""

import json
from pathlib import Path

import pytest

from tests.cli.helpers import responder

MODELS = Path(__file__).parent.parent / "oracle" / "models"
LAUNCH = ("python3", "-m", "sglang.launch_server", "--model-path", str(MODELS / "qwen3"))
KNOWN = ("preflight", "--gpu", "8xsm90", "--sglang", "0.5.23")


def test_an_accepted_command() -> None:
    ran = responder(*KNOWN, "--", *LAUNCH)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert "refuses this command" in ran.stdout


def test_a_refused_command_and_what_to_run_instead() -> None:
    ran = responder(*KNOWN, "--", *LAUNCH, "--attention-backend", "trtllm_mla")
    assert ran.returncode == 1
    assert "trtllm-mla-needs-blackwell" in ran.stdout
    assert "+ --attention-backend fa3" in ran.stdout


def test_the_command_may_come_as_one_word_and_the_model_path_be_relative() -> None:
    command = "python3 -m sglang.launch_server --model-path models/dsv3 --attention-backend trtllm_mha"
    ran = responder(*KNOWN, "--", command, cwd=MODELS.parent)
    assert ran.returncode == 1
    assert "trtllm-mha-with-mla-model" in ran.stdout


def test_json_holds_the_gate_the_rule_and_the_relaunch() -> None:
    ran = responder(*KNOWN, "--json", "--", *LAUNCH, "--attention-backend", "ascend")
    found = json.loads(ran.stdout)
    assert found["verdict"] == "refused"
    assert [(one["gate"], one["rule"]) for one in found["refused_by"]] == [("construction", "ascend-unsupported")]
    assert found["relaunch"]["diff"] == ["- --attention-backend ascend", "+ --attention-backend fa3"]


@pytest.mark.parametrize(
    ("options", "command", "says"),
    [
        (("--gpu", "sm90"), LAUNCH, "give --sglang VERSION"),
        (("--sglang", "0.5.23", "--gpu", "1xsm86,1xsm120"), LAUNCH, "GPUs differ"),
        (
            ("--gpu", "sm90", "--sglang", "0.9.0"),
            LAUNCH,
            "sglang 0.9.0 is not known here: flags and checks are those of 0.5.23",
        ),
        (KNOWN[1:], (f"{' '.join(LAUNCH)} --tp-size $TP",), "arguments that only the shell knows"),
        (KNOWN[1:], ("python3", "-m", "sglang_router.launch_router"), "only servers are checked"),
    ],
)
def test_too_little_is_known(options: tuple[str, ...], command: tuple[str, ...], says: str) -> None:
    ran = responder("preflight", *options, "--", *command)
    assert ran.returncode == 3, ran.stdout
    assert says in ran.stdout


def test_a_release_between_known_ones_is_judged_by_the_nearest_and_says_so() -> None:
    ran = responder("preflight", "--gpu", "sm90", "--sglang", "0.5.4", "--", *LAUNCH)
    assert ran.returncode == 0
    assert "The flags of sglang 0.5.4 are not known; those of 0.5.3 are used." in ran.stdout


def test_an_unknown_flag_is_certain_only_for_a_known_release() -> None:
    assert responder(*KNOWN, "--", *LAUNCH, "--frobnicate").returncode == 1
    assert responder("preflight", "--gpu", "sm90", "--sglang", "0.5.4", "--", *LAUNCH, "--frobnicate").returncode == 3


def test_a_model_that_cannot_be_read_is_named() -> None:
    ran = responder(*KNOWN, "--", "sglang", "serve", "some/model")
    assert ran.returncode == 0
    assert "The config.json of some/model cannot be read here" in ran.stdout


@pytest.mark.parametrize(
    ("command", "says"),
    [
        ("ls -la", "no launch of sglang"),
        ("python3 -m sglang.launch_server --model-path 'x", "is not closed"),
    ],
)
def test_a_command_that_is_none(command: str, says: str) -> None:
    ran = responder(*KNOWN, "--", command)
    assert ran.returncode == 2
    assert says in ran.stderr
    assert ran.stdout == ""


def test_a_secret_in_the_command_is_shown_nowhere() -> None:
    ran = responder(*KNOWN, "--json", "--", *LAUNCH, "--attention-backend", "ascend", "--api-key", "s3cr3t-value")
    assert "s3cr3t" not in ran.stdout + ran.stderr
