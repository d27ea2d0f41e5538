"""Real processes that launch sglang are seen, read once and remembered past death."""

import os
import shlex
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from responder.advise.launch import Process, ProcessWatch
from responder.advise.launch.process_watch import launched, read_process
from tests.advise.launch.servers import package, running, server


def known(watch: ProcessWatch, *pids: int) -> list[Process]:
    """What the watch knows of these processes; other servers may run on the machine that tests."""
    return [one for one in watch.processes if one.pid in pids]


def test_a_launch_is_seen_and_remembered_past_its_death(tmp_path: Path) -> None:
    watch = ProcessWatch(wall=lambda: 42.0)
    watch.look()
    argv = server("--model-path", "my model", "--tp-size", "2")
    with running(argv, package(tmp_path)) as pid:
        assert watch.look()
        [alive] = known(watch, pid)
        assert (list(alive.argv), alive.uid, alive.ended, alive.router) == (argv, os.getuid(), None, False)
        assert os.getpid() in alive.parents
    assert watch.look()
    [dead] = known(watch, pid)
    assert (dead.ended, dead.argv) == (42.0, alive.argv)


def test_the_environment_is_kept_without_tokens_and_without_what_nobody_asks_for(tmp_path: Path) -> None:
    env = {
        "SGLANG_LOG_MS": "1", "CUDA_VISIBLE_DEVICES": "0,1", "NCCL_DEBUG": "INFO",
        "SGLANG_API_KEY": "sk-1234567890abcd",
        "HF_TOKEN": "hf_abcdefghijkl", "SGLANG_PROXY": "http://user:pw@host", "MY_SECRET": "x", "HOME": "/root",
    }  # fmt: skip
    with running(server("--model-path", "m"), package(tmp_path), env) as pid:
        found = read_process(pid)
    assert found is not None
    assert found.env == {"SGLANG_LOG_MS": "1", "CUDA_VISIBLE_DEVICES": "0,1", "NCCL_DEBUG": "INFO"}


def test_only_new_processes_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[int] = []
    watch = ProcessWatch()
    watch.look()
    real = psutil.Process.cmdline
    monkeypatch.setattr(psutil.Process, "cmdline", lambda self: read.append(self.pid) or real(self))
    with running(server("--model-path", "m"), package(tmp_path)) as pid:
        for _ in range(64):
            watch.look()
    assert 1 <= read.count(pid) <= 8
    assert read.count(os.getpid()) <= 7


def test_a_script_that_becomes_the_server_is_seen_as_the_server(tmp_path: Path) -> None:
    script = tmp_path / "start.sh"
    script.write_text(f"echo up; read line; exec {shlex.join(server('--model-path', 'm'))}\n")
    watch = ProcessWatch()
    env = {"PATH": os.environ["PATH"], "PYTHONPATH": str(package(tmp_path))}
    process = subprocess.Popen(["sh", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env)
    assert process.stdin
    assert process.stdout
    with process:
        assert process.stdout.readline() == b"up\n"
        for _ in range(5):
            watch.look()
        assert known(watch, process.pid) == []
        process.stdin.write(b"go\n")
        process.stdin.flush()
        assert process.stdout.readline() == b"up\n"
        looks = 0
        while not known(watch, process.pid):
            watch.look()
            looks += 1
            assert looks < 10
        assert known(watch, process.pid)[0].argv == tuple(server("--model-path", "m"))
        process.stdin.close()


def test_a_forked_worker_is_no_launch_of_its_own(tmp_path: Path) -> None:
    watch = ProcessWatch()
    with running(server("--model-path", "m", "--fork"), package(tmp_path)) as pid:
        watch.look()
        children = [child.pid for child in psutil.Process(pid).children()]
        assert len(children) == 1
        assert [one.pid for one in known(watch, pid, *children)] == [pid]


def test_the_files_that_a_server_writes_to_are_known(tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    with log.open("wb") as file:
        env = {"PATH": os.environ["PATH"], "PYTHONPATH": str(package(tmp_path))}
        process = subprocess.Popen(
            server("--model-path", "m"), stdin=subprocess.PIPE, stdout=file, stderr=file, env=env
        )
        assert process.stdin
        with process:
            found = read_process(process.pid)
            process.stdin.close()
    assert found is not None
    assert found.outputs == (str(log),)


def test_a_process_that_is_gone_or_no_launch_is_nothing(tmp_path: Path) -> None:
    assert read_process(os.getpid()) is None
    with running(server("--model-path", "m"), package(tmp_path)) as pid:
        pass
    with pytest.raises(psutil.NoSuchProcess):
        read_process(pid)


@pytest.mark.parametrize(
    "argv",
    [
        ["python3", "-m", "sglang.launch_server", "--model-path", "m"],
        ["/venv/bin/python", "/venv/bin/sglang", "serve", "m"],
        ["bash", "-c", "source /x; python3 -m sglang.launch_server --model-path m"],
        [
            "docker",
            "run",
            "--gpus",
            "all",
            "lmsysorg/sglang",
            "python3",
            "-m",
            "sglang.launch_server",
            "--model-path",
            "m",
        ],
        ["python3", "/usr/bin/torchrun", "--nproc-per-node", "2", "-m", "sglang.launch_server", "--model-path", "m"],
        ["sudo", "-u", "llm", "numactl", "-N", "0", "python3", "-m", "sglang.launch_server", "--model-path", "m"],
        ["python3", "-m", "sglang_router.launch_router", "--worker-urls", "http://a"],
    ],
)
def test_what_launches_sglang_is_recognised(argv: list[str]) -> None:
    assert launched(tuple(argv)) is not None


@pytest.mark.parametrize(
    "argv",
    [
        [],
        ["sglang::scheduler_TP0"],
        [sys.executable, "-c", "from multiprocessing.spawn import spawn_main"],
        ["pgrep", "-f", "python3 -m sglang.launch_server"],
        ["grep", "-m", "sglang.launch_server", "x"],
        ["vim", "sglang.launch_server.py"],
        ["ssh", "gpu-1", "python3 -m sglang.launch_server --model-path m"],
        ["python3", "-m", "responder", "preflight", "--", "python3", "-m", "sglang.launch_server", "--model-path", "m"],
        ["/usr/bin/responder", "preflight", "--", "sglang", "serve", "m"],
        ["bash", "-c", "sglang serve a & sglang serve b"],
        ["bash", "-c", "sglang serve 'a"],
        ["python3", "-m", "sglang.bench_serving"],
    ],
)
def test_what_only_speaks_of_it_is_not(argv: list[str]) -> None:
    assert launched(tuple(argv)) is None
