"""The launch command of a container, from the files that Docker and containerd keep of it; never from their sockets.

Docker: `config.v2.json` beside the container's log, kept as long as the container is.  containerd (Kubernetes):
`config.json`, the OCI runtime's specification, there while the container runs.
"""

import json
import re
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from responder.advise.command import CommandError, Keeper, parse
from responder.advise.launch.environment import safe_part
from responder.advise.launch.found import Launch

DOCKER = "var/lib/docker/containers"
CONTAINERD = "run/containerd/io.containerd.runtime.v2.task"
LIMIT = 4 << 20
"""Bytes of a container's file."""

_DOCKER_LOG = re.compile(r"/containers/([0-9a-f]{64})/")
_POD_LOG = re.compile(r"/pods/(?P<namespace>[^/_]+)_(?P<pod>[^/_]+)_(?P<uid>[0-9a-f-]{36})/(?P<container>[^/]+)/")
_LINKED_LOG = re.compile(
    r"/containers/(?P<pod>[^/_]+)_(?P<namespace>[^/_]+)_(?P<container>.+)-(?P<id>[0-9a-f]{64})\.log$"
)


class Named(msgspec.Struct, frozen=True, kw_only=True):
    """A container, as the path of its log names it."""

    container: str | None = None
    """Its full id."""
    pod_uid: str | None = None
    namespace: str | None = None
    pod: str | None = None
    name: str | None = None
    """Within its pod."""


class Container(msgspec.Struct, frozen=True, kw_only=True):
    """What a container's file says."""

    id: str
    launch: Launch
    user: str | None = None
    """Whose process it is, where the file says so in plain numbers."""


def named_by(path: str) -> Named | None:
    """The container whose log lies at `path`, symbolic links resolved or not; None for any other file."""
    linked, pod, docker = _LINKED_LOG.search(path), _POD_LOG.search(path), _DOCKER_LOG.search(path)
    if linked:
        return Named(container=linked["id"], namespace=linked["namespace"], pod=linked["pod"], name=linked["container"])
    if pod:
        return Named(pod_uid=pod["uid"], namespace=pod["namespace"], pod=pod["pod"], name=pod["container"])
    return Named(container=docker[1]) if docker else None


def read_container(named: Named, root: Path = Path("/")) -> Container | None:
    """What Docker or containerd keeps of the container; None where its files cannot be read or are gone."""
    if named.container is not None:
        docker = _json(root / DOCKER / named.container / "config.v2.json")
        if docker is not None:
            return _of_docker(named.container, docker)
    for folder in _bundles(named, root):
        spec = _json(folder / "config.json")
        if spec is not None and _is_named(named, folder.name, spec):
            return _of_oci(folder.name, spec)
    return None


def _bundles(named: Named, root: Path) -> Iterator[Path]:
    """The folders in which containerd keeps the specifications that may be meant."""
    try:
        for namespace in sorted((root / CONTAINERD).iterdir()):
            if named.container is not None:
                yield namespace / named.container
            else:
                yield from sorted(namespace.iterdir())
    except OSError:
        return


def _is_named(named: Named, ident: str, spec: Mapping[str, Any]) -> bool:
    if named.container is not None:
        return ident == named.container
    notes = _table(spec.get("annotations"))
    return (
        notes.get("io.kubernetes.cri.sandbox-uid") == named.pod_uid
        and notes.get("io.kubernetes.cri.container-name") == named.name
        and notes.get("io.kubernetes.cri.container-type", "container") == "container"
    )


def _of_docker(ident: str, found: Mapping[str, Any]) -> Container:
    config = _table(found.get("Config"))
    labels = _table(config.get("Labels"))
    name = str(found.get("Name", "")).lstrip("/") or ident[:12]
    service = labels.get("com.docker.compose.service")
    pod = labels.get("io.kubernetes.pod.name")
    keeper: Keeper = "compose" if service else "kubernetes" if pod else "shell"
    argv = [str(found.get("Path", "")), *_texts(found.get("Args"))]
    launch = _launch(argv, _texts(config.get("Env")), ident, f"container {name}", keeper, service or pod)
    return Container(id=ident, launch=launch, user=_number(config.get("User")))


def _of_oci(ident: str, spec: Mapping[str, Any]) -> Container:
    process, notes = _table(spec.get("process")), _table(spec.get("annotations"))
    pod = notes.get("io.kubernetes.cri.sandbox-name")
    where = f"container {notes.get('io.kubernetes.cri.container-name', ident[:12])}"
    keeper: Keeper = "kubernetes" if pod else "shell"
    launch = _launch(
        _texts(process.get("args")), _texts(process.get("env")), ident, f"{where} of pod {pod}" if pod else where,
        keeper, pod,
    )  # fmt: skip
    uid = _table(process.get("user")).get("uid")
    return Container(id=ident, launch=launch, user=str(uid) if isinstance(uid, int) else None)


def _launch(argv: list[str], env: list[str], ident: str, where: str, keeper: Keeper, keeper_name: str | None) -> Launch:
    text = shlex.join(argv)
    variables = {name: value for name, equals, value in (word.partition("=") for word in env) if equals}
    try:
        parse(text)
    except CommandError as error:
        return Launch(
            source="container", note=f"{where}: {error}", where=where, env=safe_part(variables), complete=True,
            container=ident,
        )  # fmt: skip
    return Launch(
        command=text,
        env=safe_part(variables),
        source="container",
        complete=True,
        where=where,
        keeper=keeper,
        keeper_name=keeper_name,
        container=ident,
    )


def _json(path: Path) -> Mapping[str, Any] | None:
    try:
        if path.stat().st_size > LIMIT:
            return None
        found = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None


def _table(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _texts(value: Any) -> list[str]:
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


def _number(user: Any) -> str | None:
    uid = str(user).partition(":")[0] if user else "0"
    return uid if uid.isdecimal() else None
