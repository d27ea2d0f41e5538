"""The launch command of a container, from Docker's and containerd's own files."""

import json
from pathlib import Path
from typing import Any

import pytest

from responder.advise.launch import Container, Named, named_by, read_container

ID = "0123456789abcdef" * 4
UID = "12345678-1234-1234-1234-123456789abc"
DOCKER_LOG = f"/var/lib/docker/containers/{ID}/{ID}-json.log"
POD_LOG = f"/var/log/pods/serving_llama-0_{UID}/sglang/0.log"
LINKED_LOG = f"/var/log/containers/llama-0_serving_sglang-{ID}.log"
ENV = ["PATH=/usr/bin", "HF_TOKEN=hf_abcdefgh", "NCCL_DEBUG=WARN", "SGLANG_API_KEY=sk-123456789012", "SGLANG_LOG_MS=1"]
KEPT = {"NCCL_DEBUG": "WARN", "SGLANG_LOG_MS": "1"}


def docker(root: Path, **config: Any) -> None:
    """Docker's file of a container, with the keys that matter here and some of the others."""
    found = {
        "ID": ID,
        "Created": "2026-09-14T07:02:10.1Z",
        "Path": config.pop("Path", "python3"),
        "Args": config.pop("Args", ["-m", "sglang.launch_server", "--model-path", "my model", "--tp-size", "2"]),
        "Name": "/llama",
        "LogPath": DOCKER_LOG,
        "State": {"Running": True, "Pid": 4211},
        "Config": {"Image": "lmsysorg/sglang:v0.5.23", "Env": ENV, "Labels": {}, "User": "", **config},
    }
    write(root / "var/lib/docker/containers" / ID / "config.v2.json", found)


def oci(root: Path, ident: str = ID, **process: Any) -> None:
    """The OCI specification that containerd hands to its runtime."""
    args = ["sglang", "serve", "/models/llama", "--tp-size", "2"]
    found = {
        "ociVersion": "1.1.0",
        "process": {"user": {"uid": 0, "gid": 0}, "args": args, "env": ENV, "cwd": "/", **process},
        "annotations": {
            "io.kubernetes.cri.container-name": "sglang",
            "io.kubernetes.cri.container-type": "container",
            "io.kubernetes.cri.sandbox-name": "llama-0",
            "io.kubernetes.cri.sandbox-namespace": "serving",
            "io.kubernetes.cri.sandbox-uid": UID,
        },
    }
    write(root / "run/containerd/io.containerd.runtime.v2.task/k8s.io" / ident / "config.json", found)


def write(path: Path, found: object) -> None:
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(found))


def read(root: Path, log: str) -> Container | None:
    named = named_by(log)
    assert named is not None
    return read_container(named, root)


def test_a_docker_log_leads_to_what_docker_started(tmp_path: Path) -> None:
    docker(tmp_path)
    found = read(tmp_path, DOCKER_LOG)
    assert found is not None
    assert found.launch.command == "python3 -m sglang.launch_server --model-path 'my model' --tp-size 2"
    assert (found.launch.source, found.launch.complete, found.launch.where) == ("container", True, "container llama")
    assert (found.launch.keeper, found.launch.env, found.user) == ("shell", KEPT, "0")


def test_a_compose_service_keeps_its_command(tmp_path: Path) -> None:
    docker(tmp_path, Labels={"com.docker.compose.service": "llm", "com.docker.compose.project": "x"}, User="1000:1000")
    found = read(tmp_path, DOCKER_LOG)
    assert found is not None
    assert (found.launch.keeper, found.launch.keeper_name, found.user) == ("compose", "llm", "1000")


@pytest.mark.parametrize("log", [POD_LOG, LINKED_LOG])
def test_a_pods_log_leads_to_the_runtimes_specification(tmp_path: Path, log: str) -> None:
    oci(tmp_path)
    found = read(tmp_path, log)
    assert found is not None
    assert found.launch.command == "sglang serve /models/llama --tp-size 2"
    assert (found.launch.keeper, found.launch.keeper_name) == ("kubernetes", "llama-0")
    assert (found.launch.where, found.launch.env, found.id) == ("container sglang of pod llama-0", KEPT, ID)


def test_another_container_of_the_pod_is_not_taken(tmp_path: Path) -> None:
    oci(tmp_path)
    assert read(tmp_path, POD_LOG.replace("/sglang/", "/istio-proxy/")) is None
    assert read(tmp_path, POD_LOG.replace(UID, UID.replace("1", "2"))) is None


def test_a_container_that_runs_a_script_says_that_it_launches_nothing_readable(tmp_path: Path) -> None:
    docker(tmp_path, Path="/start.sh", Args=[])
    found = read(tmp_path, DOCKER_LOG)
    assert found is not None
    assert found.launch.command is None
    assert found.launch.note == "container llama: no launch of sglang in this command: /start.sh"
    assert found.launch.env == KEPT


@pytest.mark.parametrize("text", ["", "{", "[]", '{"Path": 1, "Args": {}, "Config": []}', "\0" * 100])
def test_a_damaged_file_is_nothing_and_breaks_nothing(tmp_path: Path, text: str) -> None:
    docker(tmp_path)
    (tmp_path / "var/lib/docker/containers" / ID / "config.v2.json").write_text(text)
    found = read(tmp_path, DOCKER_LOG)
    assert found is None or found.launch.command is None


def test_a_container_that_is_gone_is_nothing(tmp_path: Path) -> None:
    assert read(tmp_path, DOCKER_LOG) is None
    assert read(tmp_path, POD_LOG) is None


def test_the_names_in_a_logs_path_are_told() -> None:
    assert named_by(LINKED_LOG) == Named(container=ID, namespace="serving", pod="llama-0", name="sglang")
    assert named_by(POD_LOG) == Named(pod_uid=UID, namespace="serving", pod="llama-0", name="sglang")
    assert named_by("/var/log/sglang/server.log") is None
