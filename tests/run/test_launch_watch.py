"""The launch of a server, found on the host that it runs on and kept for the failure that it led to."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from responder.diagnose import Finding
from responder.run.config import ServerConfig
from responder.run.failed_launches import FailedLaunches
from responder.run.launch_watch import LaunchWatch
from responder.scan import Program
from tests.advise.launch.servers import package, running, server
from tests.diagnosing import findings

ID = "fedcba9876543210" * 4
TRACEBACK = 'Traceback (most recent call last):\n  File "a.py", line 1, in f\n    x\nKeyError: 1\n'


@pytest.fixture
def finding(program: Program, tmp_path: Path) -> Finding:
    """A failure in this server's log, which belongs to whoever runs the tests."""
    log = tmp_path / "server.log"
    log.touch()
    [found] = findings(program, TRACEBACK)
    found.evidence = replace(found.evidence, path=str(log))
    return found


def watch_of(root: Path, *configs: ServerConfig, on_change: Callable[[], None] = lambda: None) -> LaunchWatch:
    return LaunchWatch(configs, on_change, root=root, systemctl="/nonexistent")


def config(**more: object) -> ServerConfig:
    return ServerConfig(**({"name": "llama", "logs": ("/log",)} | more))  # type: ignore[arg-type]


def test_the_configured_command_is_known_before_anything_was_looked_at(tmp_path: Path) -> None:
    launch = watch_of(tmp_path, config(command="sglang serve m")).launch_of("llama")
    assert (launch.command, launch.source, launch.complete) == ("sglang serve m", "config", True)


def test_a_unit_is_read_at_the_first_look(tmp_path: Path) -> None:
    unit = tmp_path / "etc/systemd/system/llama.service"
    unit.parent.mkdir(parents=True)
    unit.write_text("[Service]\nExecStart=sglang serve m\n")
    changes: list[None] = []
    watch = watch_of(tmp_path, config(journal="llama"), on_change=lambda: changes.append(None))
    watch.look()
    launch = watch.launch_of("llama")
    assert (launch.command, launch.source, launch.keeper_name) == ("sglang serve m", "unit", "llama.service")
    assert len(changes) == 1


def test_the_pid_that_the_log_prints_binds_a_process_of_the_logs_owner(tmp_path: Path, finding: Finding) -> None:
    watch = watch_of(tmp_path, config())
    first, second = server("--model-path", "a"), server("--model-path", "b")
    with running(first, package(tmp_path)) as pid, running(second, package(tmp_path)):
        watch.look()
        unbound = watch.launch_of("llama", finding)
        finding.stated["pid"] = str(pid)
        bound = watch.launch_of("llama", finding)
    assert (unbound.command, unbound.complete) == (None, False)
    assert bound.command is not None
    assert bound.command.endswith("--model-path a")
    assert (bound.complete, bound.pid) == (True, pid)


def test_a_container_is_read_when_its_log_is_followed_and_remembered_when_it_is_gone(tmp_path: Path) -> None:
    folder = tmp_path / "var/lib/docker/containers" / ID
    folder.mkdir(parents=True)
    file = folder / "config.v2.json"
    file.write_text(json.dumps({"Path": "sglang", "Args": ["serve", "m"], "Name": "/llama", "Config": {}}))
    watch = watch_of(tmp_path, config())
    watch.look()
    watch.follow("llama", [f"/var/lib/docker/containers/{ID}/{ID}-json.log"])
    watch.look()
    file.unlink()
    watch.look()
    launch = watch.launch_of("llama")
    assert (launch.command, launch.source, launch.container) == ("sglang serve m", "container", ID)


def test_a_failure_keeps_the_launch_that_failed(tmp_path: Path, finding: Finding) -> None:
    unit = tmp_path / "etc/systemd/system/llama.service"
    unit.parent.mkdir(parents=True)
    unit.write_text("[Service]\nExecStart=sglang serve old\n")
    watch = watch_of(tmp_path, config(unit="llama"))
    launches = FailedLaunches(config(unit="llama"), watch)
    assert launches.of(finding).command is None
    watch.look()
    assert launches.open_again([finding]) == [finding]
    assert launches.of(finding).command == "sglang serve old"
    assert launches.open_again([finding]) == []
    unit.write_text("[Service]\nExecStart=sglang serve new\n")
    with running(server("--model-path", "x"), package(tmp_path)):
        watch.look()
    assert launches.of().command == "sglang serve new"
    assert launches.of(finding).command == "sglang serve old"
    assert launches.open_again([finding]) == []
    finding.crashes["the next attempt"] = (1, 1)
    assert launches.of(finding).command == "sglang serve new"


def test_the_thread_looks_by_itself_and_ends_when_told(tmp_path: Path) -> None:
    import threading

    looked = threading.Event()
    watch = watch_of(tmp_path, config(), on_change=looked.set)
    watch.start()
    assert looked.wait(20)
    watch.close()
    assert "launch-watch" not in {thread.name for thread in threading.enumerate()}
