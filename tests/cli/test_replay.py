"""The real failure, replayed by the real command."""

import json
from pathlib import Path

import pytest

from tests.cli.helpers import responder

LAUNCH = (
    "python3 -m sglang.launch_server --model-path M --tp-size 2 --prefill-attention-backend trtllm_mha "
    "--attn-cp-size 2 --enable-prefill-cp --cp-strategy zigzag"
)


@pytest.fixture
def seed(logs):
    return str(logs / "real-seed-0523-sm90.log")


def incidents(*arguments: str) -> list[dict]:
    ran = responder("replay", *arguments, "--format", "jsonl")
    assert ran.returncode == 0, ran.stderr
    return [json.loads(line) for line in ran.stdout.splitlines()]


def test_on_sm90_the_relaunch_is_the_command_with_fa3(seed):
    (incident,) = incidents(seed, "--gpu", "sm90", "--sglang", "0.5.23", "--command", LAUNCH)
    assert incident["relaunch"]["command"] == LAUNCH.replace("trtllm_mha", "fa3")
    assert incident["relaunch"]["complete"] is True
    assert incident["relaunch"]["diff"] == [
        "- --prefill-attention-backend trtllm_mha",
        "+ --prefill-attention-backend fa3",
    ]
    assert incident["remedies"][0]["applies"] == "yes"
    assert incident["remedies"][0]["verified"] == "catalogue"


def test_on_sm120_the_relaunch_has_no_context_parallelism(seed):
    (incident,) = incidents(seed, "--gpu", "sm120", "--sglang", "0.5.23", "--command", LAUNCH)
    assert incident["relaunch"]["command"] == (
        "python3 -m sglang.launch_server --model-path M --tp-size 2 --prefill-attention-backend trtllm_mha"
    )


@pytest.mark.parametrize("gpu", [(), ("--gpu", "1xsm90,1xsm120")])
def test_without_one_known_gpu_each_remedy_is_told_and_none_is_asserted(seed, gpu):
    (incident,) = incidents(seed, *gpu, "--sglang", "0.5.23", "--command", LAUNCH)
    assert incident["relaunch"] is None
    unknown = [remedy for remedy in incident["remedies"] if remedy["applies"] == "unknown"]
    commands = [remedy["relaunch"]["command"] for remedy in unknown if remedy["relaunch"]]
    assert LAUNCH.replace("trtllm_mha", "fa3") in commands
    assert any("--attn-cp-size" not in command for command in commands)
    assert all(remedy["applies"] != "yes" for remedy in incident["remedies"])


def test_on_sm100_the_gpu_facts_are_said_to_be_another_servers(seed):
    (incident,) = incidents(seed, "--gpu", "sm100", "--sglang", "0.5.23", "--command", LAUNCH)
    assert incident["relaunch"] is None
    assert "Look up which GPUs" in incident["remedies"][0]["title"]


def test_a_decode_server_turns_context_parallelism_off(seed):
    command = f"{LAUNCH} --disaggregation-mode decode"
    (incident,) = incidents(seed, "--gpu", "sm90", "--sglang", "0.5.23", "--command", command)
    assert "--attn-cp-size" not in incident["relaunch"]["command"]
    assert "fa3" not in incident["relaunch"]["command"]


def test_a_prefill_server_keeps_its_page_size(seed):
    command = f"{LAUNCH} --disaggregation-mode prefill"
    (incident,) = incidents(seed, "--gpu", "sm90", "--sglang", "0.5.23", "--command", command)
    assert incident["relaunch"]["command"].endswith("--disaggregation-mode prefill --page-size 64")


def test_without_a_launch_command_only_the_change_is_told(seed):
    (incident,) = incidents(seed, "--gpu", "sm90", "--sglang", "0.5.23")
    assert incident["relaunch"] == {
        "command": "--prefill-attention-backend fa3",
        "diff": ["+ --prefill-attention-backend fa3"],
        "complete": False,
        "apply": None,
    }


def test_the_umbrella_flag_is_refused_as_surely_as_the_prefill_flag(seed):
    command = "sglang serve M --tp-size 2 --attention-backend trtllm_mha --attn-cp-size 2"
    (incident,) = incidents(seed, "--gpu", "sm90", "--sglang", "0.5.23", "--command", command)
    assert incident["relaunch"]["command"] == f"{command} --prefill-attention-backend fa3"


def test_a_secret_of_the_command_is_masked_and_the_command_stays_valid(seed):
    command = f"HF_TOKEN=hf_abcdefghijklmnop {LAUNCH} --api-key sk-secret-1234567890"
    ran = responder("replay", seed, "--gpu", "sm90", "--sglang", "0.5.23", "--command", command, "--format", "jsonl")
    assert "sk-secret" not in ran.stdout
    assert "hf_abcdef" not in ran.stdout
    assert '--api-key "$SGLANG_API_KEY"' in json.loads(ran.stdout)["relaunch"]["command"]


def test_a_relaunch_never_holds_a_flag_that_its_release_would_refuse(logs):
    log = str(logs / "real-seed-0519-sm90.log")
    command = (
        "python3 -m sglang.launch_server --model-path M --tp 2 --enable-prefill-context-parallel "
        "--prefill-attention-backend=trtllm_mha"
    )
    (incident,) = incidents(log, "--gpu", "sm90", "--sglang", "0.5.19", "--command", command)
    assert incident["relaunch"]["command"] == command.replace("=trtllm_mha", "=fa3")


def test_the_evidence_names_file_and_line(seed):
    (incident,) = incidents(seed)
    assert incident["evidence"]["path"] == seed
    lines = Path(seed).read_text().splitlines()
    assert lines[incident["evidence"]["line"] - 1] == incident["evidence"]["text"]


def test_the_exit_code_tells_of_incidents_only_when_asked(seed, logs):
    assert responder("replay", seed).returncode == 0
    assert responder("replay", seed, "--exit-code").returncode == 1
    assert responder("replay", str(logs / "real-accepted-0523.log"), "--exit-code").returncode == 0


def test_standard_input_and_archives_read_like_files(seed, tmp_path):
    import bz2
    import gzip
    import lzma

    import zstandard

    data = Path(seed).read_bytes()
    (tmp_path / "a.log.gz").write_bytes(gzip.compress(data))
    (tmp_path / "b.log.zst").write_bytes(zstandard.compress(data))
    (tmp_path / "c.log.xz").write_bytes(lzma.compress(data))
    (tmp_path / "d.log.bz2").write_bytes(bz2.compress(data))
    for path in sorted(tmp_path.iterdir()):
        assert [i["rule"] for i in incidents(str(path))] == ["trtllm-mha-prefill-cp-needs-sm100"], path
    ran = responder("replay", "-", "--format", "jsonl", stdin=data.decode())
    assert json.loads(ran.stdout)["server"]["name"] == "stdin"


def test_a_page_for_a_person_shows_the_command_on_one_line(seed):
    ran = responder("replay", seed, "--gpu", "sm90", "--sglang", "0.5.23", "--command", LAUNCH)
    assert f"\n{LAUNCH.replace('trtllm_mha', 'fa3')}\n" in ran.stdout
    assert "\x1b" not in ran.stdout
