"""The real argument check: what it asks, what it takes for an answer, and what it keeps from whoever answers."""

import json
import os
import shlex
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from responder.advise import real_check as module
from responder.advise.command import CommandError, parse
from responder.advise.real_check import RealCheck, checkable, memory_allowed, real_check
from tests.advise.oracles import pythons, release_of

SERVER_ARGS = """
import argparse, json, os, signal, socket, sys, time


class Args:
    def __init__(self, argv):
        self.argv = argv

    def check_server_args(self):
        kind = self.argv[1]
        {act}


def prepare_server_args(argv):
    parser = argparse.ArgumentParser(prog="sglang serve")
    parser.add_argument("--model-path")
    parser.add_argument("--tp-size", type=int)
    parser.add_argument("--api-key")
    parser.parse_args(argv)
    return Args(argv)
"""
COMMAND = "python3 -m sglang.launch_server --model-path m"

Interpreter = Callable[[str], str]


@pytest.fixture
def interpreter(tmp_path: Path) -> Interpreter:
    """An interpreter with a sglang beside it whose check does what the text says."""

    def made(act: str) -> str:
        site = tmp_path / "site"
        package = site / "sglang" / "srt"
        package.mkdir(parents=True, exist_ok=True)
        for folder in (package.parent, package):
            (folder / "__init__.py").touch()
        (package.parent / "launch_server.py").touch()
        (package / "server_args.py").write_text(SERVER_ARGS.replace("{act}", act.replace("\n", "\n        ")))
        info = site / "sglang-0.5.23.dist-info"
        info.mkdir(exist_ok=True)
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: sglang\nVersion: 0.5.23\n")
        # Isolated from the environment as it is asked to be, and yet with this package.
        code = f"import runpy, sys; sys.path.insert(0, {str(site)!r}); sys.argv = sys.argv[1:]"
        code += "; runpy.run_path(sys.argv[0], run_name='__main__')"
        program = tmp_path / "python"
        program.write_text(f'#!/bin/sh\nexec {sys.executable} "$1" "$2" -c {shlex.quote(code)} "$3" "$4"\n')
        program.chmod(0o755)
        return str(program)

    return made


def script(folder: Path, text: str) -> str:
    """A program that is no interpreter at all."""
    program = folder / "program"
    program.write_text(f"#!/bin/sh\n{text}\n")
    program.chmod(0o755)
    return str(program)


def test_a_command_that_sglang_takes_is_accepted(interpreter: Interpreter) -> None:
    assert real_check(interpreter("pass"), COMMAND) == RealCheck(outcome="accepted", release="0.5.23")


def test_a_refusal_is_told_in_sglangs_words(interpreter: Interpreter) -> None:
    found = real_check(interpreter("raise ValueError('tp_size must be even')"), COMMAND)
    assert (found.outcome, found.text) == ("refused", "ValueError: tp_size must be even")
    found = real_check(interpreter("assert self.argv is None, 'no arguments, please'"), COMMAND)
    assert (found.outcome, found.text) == ("refused", "AssertionError: no arguments, please")


def test_what_argparse_refuses_is_told_in_its_words(interpreter: Interpreter) -> None:
    found = real_check(interpreter("pass"), f"{COMMAND} --nonsense 1")
    assert found.outcome == "refused"
    assert found.text == "sglang serve: error: unrecognized arguments: --nonsense 1"


@pytest.mark.parametrize(
    "act",
    [
        "import not_there_at_all",
        "raise OSError('cannot reach the hub')",
        "raise RuntimeError('nvidia-smi not found')",
        "json.loads('not json')",
        "raise ValueError('to load it, set --trust-remote-code')",
        "raise MemoryError",
        "sys.exit(3)",
        "raise KeyboardInterrupt",
    ],
)
def test_trouble_of_another_kind_says_nothing_of_the_command(interpreter: Interpreter, act: str) -> None:
    assert real_check(interpreter(act), COMMAND).outcome == "failed"


def test_a_check_that_hangs_is_ended_with_all_it_started(interpreter: Interpreter, tmp_path: Path) -> None:
    act = f"pid = os.fork()\nopen({str(tmp_path / 'pids')!r}, 'a').write(f'{{os.getpid()}} ')\ntime.sleep(1000)"
    found = real_check(interpreter(act), COMMAND, seconds=3)
    assert (found.outcome, found.text) == ("failed", "no answer within 3 s")
    pids = (tmp_path / "pids").read_text().split()
    assert len(pids) == 2
    assert not [pid for pid in pids if _runs(pid)]


def _runs(pid: str) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().split(") ")[1][0] != "Z"
    except OSError:
        return False


@pytest.mark.parametrize(
    ("act", "text"),
    [
        ("os.kill(os.getpid(), signal.SIGSEGV)", "the interpreter ended with signal SIGSEGV; it said nothing"),
        ("print('half a word', flush=True); os._exit(7)", "the interpreter ended with status 7; half a word"),
    ],
)
def test_a_crash_is_told_as_one(interpreter: Interpreter, act: str, text: str) -> None:
    assert real_check(interpreter(act), COMMAND) == RealCheck(outcome="failed", text=text)


@pytest.mark.parametrize(
    "answer", ["", "garbage", '{"outcome": "accepted"', '{"outcome": "wonderful"}', "[]", '{"outcome": 1}']
)
def test_a_garbled_answer_is_none(tmp_path: Path, answer: str) -> None:
    found = real_check(script(tmp_path, f'cat >/dev/null; printf %s {shlex.quote(answer)} > "$4"'), COMMAND)
    assert (found.outcome, found.text) == ("failed", "the interpreter ended with status 0; it said nothing")


def test_a_flood_of_output_is_cut_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "FILE_SIZE", 1 << 20)
    found = real_check(script(tmp_path, "cat >/dev/null; while :; do echo xxxxxxxxxxxxxxxx; done"), COMMAND, seconds=30)
    assert found.outcome == "failed"
    assert "SIGXFSZ" in found.text or "status" in found.text


def test_processor_time_is_limited(interpreter: Interpreter, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "CPU_SECONDS", 1)
    found = real_check(interpreter("while True: pass"), COMMAND, seconds=60)
    assert found.outcome == "failed"
    assert "SIGKILL" in found.text or "SIGXCPU" in found.text


def test_memory_is_limited(interpreter: Interpreter, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MEMORY", 256 << 20)
    assert real_check(interpreter("bytearray(1 << 30)"), COMMAND).text == "MemoryError: "


def test_an_interpreter_that_is_not_there_is_said(tmp_path: Path) -> None:
    assert real_check("/nonexistent/python", COMMAND).text == (
        "/nonexistent/python cannot be started: No such file or directory"
    )
    plain = tmp_path / "python"
    plain.touch()
    assert real_check(str(plain), COMMAND).text == f"{plain} cannot be started: Permission denied"


def test_our_credentials_and_the_operators_stay_here(interpreter: Interpreter, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RESPONDER_SLACK_TOKEN", "xoxb-1")
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", "/run/credentials")
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy")
    monkeypatch.setenv("PYTHONPATH", "/nowhere")
    act = "raise ValueError(json.dumps(dict(os.environ)))"
    command = f"HF_TOKEN=hf_abcdefghij SGLANG_API_KEY=sk-1234567890ab NCCL_DEBUG=INFO HF_HOME=/models/hf {COMMAND}"
    found = real_check(interpreter(act), command, {"CUDA_VISIBLE_DEVICES": "0,1", "HF_TOKEN": "hf_abcdefghij"})
    env = json.loads(found.text.removeprefix("ValueError: "))
    assert env["CUDA_VISIBLE_DEVICES"] == "0,1"
    assert (env["NCCL_DEBUG"], env["HF_HOME"], env["HF_HUB_OFFLINE"]) == ("INFO", "/models/hf", "1")
    forbidden = {
        "RESPONDER_SLACK_TOKEN",
        "CREDENTIALS_DIRECTORY",
        "HTTPS_PROXY",
        "PYTHONPATH",
        "HF_TOKEN",
        "SGLANG_API_KEY",
    }
    assert not forbidden & env.keys()
    assert env["HOME"] != os.environ["HOME"]


def test_there_is_no_network(interpreter: Interpreter) -> None:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        act = f"""
try:
    socket.create_connection(("127.0.0.1", {port}), 2)
except OSError as error:
    raise ValueError(f"no network: {{error}}")
"""
        found = real_check(interpreter(act), COMMAND)
    if found.outcome == "accepted":
        pytest.skip("this kernel gives no network namespace to us")
    assert found.text.startswith("ValueError: no network")


def test_code_of_the_models_own_is_never_allowed(interpreter: Interpreter) -> None:
    act = "raise ValueError(json.dumps(self.argv))"
    found = real_check(interpreter(act), f"{COMMAND} --trust-remote-code --tp-size 2")
    assert json.loads(found.text.removeprefix("ValueError: ")) == ["--model-path", "m", "--tp-size", "2"]


def test_sglang_gets_the_arguments_as_the_server_would() -> None:
    assert checkable(parse("sglang serve /m --tp-size 2")) == ["--model-path", "/m", "--tp-size", "2"]
    assert checkable(parse("docker run x bash -c 'python3 -m sglang.launch_server --tp-size=2'")) == ["--tp-size=2"]
    masked = parse('sglang serve /m --api-key "$SGLANG_API_KEY"')
    assert checkable(masked) == ["--model-path", "/m", "--api-key", "$SGLANG_API_KEY"]


@pytest.mark.parametrize(
    "command", ["sglang serve /m --tp-size $TP", "sglang serve /m $(cat flags)", "sglang serve `x`"]
)
def test_what_only_the_shell_knows_cannot_be_checked(command: str) -> None:
    with pytest.raises(CommandError):
        checkable(parse(command))
    assert real_check("/nonexistent/python", command).text.startswith("only the shell knows")


def test_a_router_cannot_be_checked() -> None:
    assert real_check("/x", "python3 -m sglang_router.launch_router").outcome == "failed"


def test_a_daemon_that_may_use_little_memory_does_not_risk_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "memory_allowed", lambda: 512 << 20)
    assert real_check("/nonexistent/python", COMMAND).text == (
        "the check needs 3 GiB and this service may use 512 MiB: raise its MemoryMax"
    )


def test_the_memory_that_a_control_group_allows_is_the_least_on_the_way(tmp_path: Path) -> None:
    own = tmp_path / "cgroup"
    groups = tmp_path / "groups"
    unit = groups / "system.slice" / "responder.service"
    unit.mkdir(parents=True)
    own.write_text("0::/system.slice/responder.service\n")
    assert memory_allowed(groups, own) is None
    (unit / "memory.max").write_text("max\n")
    (groups / "system.slice" / "memory.max").write_text("536870912\n")
    assert memory_allowed(groups, own) == 512 << 20
    own.write_text("4:memory:/a\n0::/\n")
    (groups / "memory" / "a").mkdir(parents=True)
    (groups / "memory" / "a" / "memory.limit_in_bytes").write_text("1073741824\n")
    assert memory_allowed(groups, own) == 1 << 30
    (groups / "memory" / "a" / "memory.limit_in_bytes").write_text("9223372036854771712\n")
    assert memory_allowed(groups, own) is None


INSIDE = Path(__file__).parent.parent / "oracle" / "inside"
QWEN = Path(__file__).parent.parent / "oracle" / "models" / "qwen3"


@pytest.mark.oracle
@pytest.mark.parametrize(
    ("arguments", "outcome", "text"),
    [
        ("--tp-size 2", "accepted", ""),
        ("--tp-size 4 --attn-cp-size 3", "refused", "AssertionError: tp_size must be divisible by attn_cp_size"),
        ("--attention-backend trtllm_mla", "refused", "ValueError: TRTLLM MLA backend is only supported on Blackwell"),
        ("--nonsense 1", "refused", "sglang serve: error: unrecognized arguments: --nonsense 1"),
    ],
)
def test_the_real_sglang_says_the_same(tmp_path: Path, arguments: str, outcome: str, text: str) -> None:
    for python in pythons():
        pretending = tmp_path / "python"
        code = (
            "import pretend_gpu, runpy, sys; sys.argv = sys.argv[1:]; runpy.run_path(sys.argv[0], run_name='__main__')"
        )
        pretending.write_text(
            f'#!/bin/sh\nPRETEND_SM=90 PYTHONPATH={INSIDE} exec {python} -B -c {shlex.quote(code)} "$3" "$4"\n'
        )
        pretending.chmod(0o755)
        found = real_check(str(pretending), f"sglang serve {QWEN} {arguments}")
        assert (found.outcome, found.text[: len(text)], found.release) == (outcome, text, release_of(python))
