"""The real argument check: the server's own sglang asked, in its own interpreter, whether it takes a command.

A process of its own with a clean environment, no network, no credentials of ours, and limits.  It reads the model's
configuration and starts nothing.  It can reject a command; that a server will run it does not prove.
"""

import contextlib
import json
import os
import re
import resource
import signal
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

import msgspec

from responder.advise.command import Command, CommandError, parse
from responder.advise.command.secret import mask_shapes, names_a_secret
from responder.advise.launch.environment import safe_part

CHILD = Path(__file__).with_name("real_check_child.py")

SECONDS = 180.0
"""Of wall time; importing sglang takes fifteen, longer where the disk is cold."""

CPU_SECONDS = 120
MEMORY = 8 << 30
"""Bytes of private memory; with the CPU's torch half a GiB was seen, CUDA's libraries take more."""

LEAST_MEMORY = 3 << 30
"""Bytes that our own control group has to allow: where it does not, the kernel would kill the daemon for the check."""

FILE_SIZE = 256 << 20
_LONGEST_ANSWER = 1 << 16
_REFERENCE = re.compile(r"\$\{?(\w+)\}?")


class RealCheck(msgspec.Struct, frozen=True, kw_only=True):
    """What sglang said."""

    outcome: Literal["accepted", "refused", "failed"]
    """`failed`: it could not be asked, which says nothing of the command."""
    text: str = ""
    """Why it refused, in sglang's words, or why it could not be asked."""
    release: str | None = None


def real_check(
    python: str, command: Command | str, env: Mapping[str, str] | None = None, *, seconds: float = SECONDS
) -> RealCheck:
    """Ask the sglang of the interpreter `python` about a command; takes up to `seconds`, mostly fifteen to thirty.

    `env` is the harmless part of the server's environment.  Secrets in the command may be references (`"$NAME"`).
    """
    try:
        parsed = command if isinstance(command, Command) else parse(command)
        argv = checkable(parsed)
    except CommandError as error:
        return _failed(str(error))
    short = _short_of_memory()
    if short:
        return _failed(short)
    with tempfile.TemporaryDirectory(prefix="responder-check-") as folder:
        return _asked(python, argv, safe_part(parsed.env) | safe_part(env or {}) | _caches(parsed.env), folder, seconds)


def checkable(command: Command) -> list[str]:
    """sglang's arguments as the check takes them: code of the model's own is never run.

    Raises CommandError for a router, and where an expansion hides an argument.
    """
    if command.entry == "router":
        raise CommandError("a router has no arguments of the server's")
    for word in command.arguments:
        hidden = [name for name in _REFERENCE.findall(word.text) if not names_a_secret(name)]
        if word.open and (hidden or not _REFERENCE.search(word.text)):
            raise CommandError(f"only the shell knows {word.text}")
    words = [word.text for word in command.arguments]
    if command.entry == "serve" and words and not words[0].startswith("-"):
        words = ["--model-path", *words]
    return [word for word in words if word != "--trust-remote-code"]


def _asked(python: str, argv: list[str], env: Mapping[str, str], folder: str, seconds: float) -> RealCheck:
    answer, said = Path(folder, "answer.json"), Path(folder, "said")
    try:
        with said.open("wb") as out:
            process = subprocess.Popen(
                [python, "-I", "-B", str(CHILD), str(answer)],
                stdin=subprocess.PIPE,
                stdout=out,
                stderr=subprocess.STDOUT,
                env=_environment(python, env, folder),
                cwd=folder,
                start_new_session=True,
            )
    except OSError as error:
        return _failed(f"{python} cannot be started: {error.strerror}")
    try:
        _limit(process.pid)
        process.communicate(json.dumps({"argv": argv}).encode(), seconds)
    except subprocess.TimeoutExpired:
        return _failed(f"no answer within {seconds:.0f} s")
    finally:
        _end(process)
    return _read(answer, said, process.returncode)


def _read(answer: Path, said: Path, status: int) -> RealCheck:
    try:
        with answer.open("rb") as file:
            found = msgspec.json.decode(file.read(_LONGEST_ANSWER), type=RealCheck)
    except (OSError, msgspec.DecodeError):
        ended = f"signal {signal.Signals(-status).name}" if status < 0 else f"status {status}"
        return _failed(f"the interpreter ended with {ended}; {_last_line(said) or 'it said nothing'}")
    text = mask_shapes(found.text or _last_line(said))
    if found.outcome == "refused" and "trust_remote_code" in text.replace("-", "_"):
        return _failed(text)
    return msgspec.structs.replace(found, text="" if found.outcome == "accepted" else text)


def _last_line(said: Path) -> str:
    """The last words on its output: argparse says there what it does not like."""
    with contextlib.suppress(OSError), said.open("rb") as file:
        file.seek(max(0, file.seek(0, 2) - 8192))
        lines = file.read().decode("utf-8", "replace").strip().splitlines()
        return lines[-1].strip()[:1000] if lines else ""
    return ""


def _environment(python: str, env: Mapping[str, str], folder: str) -> dict[str, str]:
    """A clean one: what steers sglang, caches in a folder that goes away, and nothing that reaches out."""
    return {
        **env,
        "PATH": f"{Path(python).parent}:/usr/local/bin:/usr/bin:/bin",
        "LANG": "C.UTF-8",
        "HOME": folder,
        "TMPDIR": folder,
        "XDG_CACHE_HOME": folder,
        "TRITON_CACHE_DIR": f"{folder}/triton",
        "TORCHINDUCTOR_CACHE_DIR": f"{folder}/inductor",
        "FLASHINFER_WORKSPACE_BASE": folder,
        "HF_HUB_OFFLINE": "1",
        "TRANSFORMERS_OFFLINE": "1",
        "HF_HUB_DISABLE_TELEMETRY": "1",
        "OMP_NUM_THREADS": "1",
        # torch then asks NVML, not CUDA, whether there are GPUs: no context, no memory.
        "PYTORCH_NVML_BASED_CUDA_CHECK": "1",
    }


def _caches(env: Mapping[str, str]) -> dict[str, str]:
    """Where the operator's command says that models lie."""
    return {name: env[name] for name in ("HF_HOME", "HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE") if name in env}


def _limit(pid: int) -> None:
    """Limits from outside, which hold whatever the interpreter turns out to be."""
    limits = {
        resource.RLIMIT_CPU: CPU_SECONDS,
        resource.RLIMIT_DATA: MEMORY,
        resource.RLIMIT_FSIZE: FILE_SIZE,
        resource.RLIMIT_CORE: 0,
    }
    for kind, most in limits.items():
        with contextlib.suppress(OSError, ValueError):
            resource.prlimit(pid, kind, (most, most))


def _end(process: "subprocess.Popen[bytes]") -> None:
    """End it and whatever it started."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _short_of_memory() -> str:
    """What to do where our control group allows too little memory; empty where it does not."""
    most = memory_allowed()
    if most is None or most >= LEAST_MEMORY:
        return ""
    return f"the check needs {LEAST_MEMORY >> 30} GiB and this service may use {most >> 20} MiB: raise its MemoryMax"


def memory_allowed(groups: Path = Path("/sys/fs/cgroup"), own: Path = Path("/proc/self/cgroup")) -> int | None:
    """The bytes that our control group or one above it allows; None where there is no limit."""
    limits: list[int] = []
    with contextlib.suppress(OSError):
        for line in own.read_text(encoding="utf-8").splitlines():
            number, controllers, path = line.split(":", 2)
            unified = number == "0" and not controllers
            if not unified and controllers != "memory":
                continue
            base = groups if unified else groups / "memory"
            name = "memory.max" if unified else "memory.limit_in_bytes"
            for folder in (base / path.lstrip("/"), *(base / path.lstrip("/")).parents):
                limits += _number(folder / name)
                if folder == base:
                    break
    least = min(limits, default=None)
    return least if least is not None and least < 1 << 60 else None


def _number(file: Path) -> list[int]:
    try:
        text = file.read_text(encoding="utf-8").strip()
    except OSError:
        return []
    return [int(text)] if text.isdecimal() else []


def _failed(text: str) -> RealCheck:
    return RealCheck(outcome="failed", text=text)
