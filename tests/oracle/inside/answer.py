"""What the installed sglang says to launch commands: run by `record.py` in an environment that holds sglang.

Reads one JSON object per line: `{"argv": […], "env": {…}}` asks the argument checks, `{"backend": …, "mla": …}` whether
the scheduler would construct that attention backend.  Writes one JSON object per line, in the same order:

    {"verdict": "accepted", "prefill": …, "decode": …, "kv": …, "page": …, "cp": …}      what was resolved
    {"verdict": "refused", "exception": …, "text": …, "at": "srt/….py:1"}                what was raised, and where
    {"verdict": "passed"} or {"verdict": "needs", "package": …}                          of a constructor

Importing sglang takes a dozen seconds, so every question is answered by a fork of one process.
"""

import gc
import importlib
import json
import os
import sys
import tempfile
import traceback
from contextlib import suppress
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import pretend_gpu  # noqa: F401 - before sglang
import sglang.launch_server  # registers what sglang registers at start
from sglang.srt.server_args import prepare_server_args

with suppress(ImportError):
    import sglang.srt.arg_groups.pipeline  # noqa: F401 - the checks of 0.5.19 and later


def main() -> None:
    gc.disable()  # a collection in a child would copy all of sglang
    for line in sys.stdin:
        answer = in_a_fork(json.loads(line))
        for name in answer.pop("imported", ()):
            # So that the next child need not import it again.
            with suppress(Exception):
                importlib.import_module(name)
        print(json.dumps(answer), flush=True)


def in_a_fork(question: dict[str, Any]) -> dict[str, Any]:
    """The answer of a child, which may leave the process in any state."""
    with tempfile.TemporaryDirectory() as folder:
        answer, said = Path(folder, "answer"), Path(folder, "said")
        child = os.fork()
        if child == 0:
            with said.open("w") as out:
                os.dup2(out.fileno(), 1)
                os.dup2(out.fileno(), 2)
                before = set(sys.modules)
                found = answered(question) | {"imported": sorted(set(sys.modules) - before)}
                sys.stdout.flush()
                sys.stderr.flush()
            answer.write_text(json.dumps(found))
            os._exit(0)
        os.waitpid(child, 0)
        if not answer.exists():
            return {"verdict": "died"}
        found = json.loads(answer.read_text())
        if found["verdict"] == "refused" and found["exception"] == "SystemExit":
            found["text"] = (said.read_text(errors="replace").strip().splitlines() or [""])[-1]
        return found


def answered(question: dict[str, Any]) -> dict[str, Any]:
    try:
        if "backend" in question:
            return constructed(question["backend"], question["mla"])
        return checked(question["argv"], question.get("env", {}))
    except BaseException as error:  # noqa: BLE001 - whatever it raises is the answer
        frames = traceback.extract_tb(error.__traceback__)
        last = frames[-1]
        where = last.filename.rpartition("/sglang/")[2]
        found = {
            "verdict": "refused",
            "exception": type(error).__name__,
            "text": str(error),
            "at": f"{where}:{last.lineno}",
        }
        if not str(error) and last.line:
            found["line"] = last.line
        return found


def checked(argv: list[str], env: dict[str, str]) -> dict[str, Any]:
    os.environ.update(env)
    args = prepare_server_args(argv)
    if hasattr(args, "resolve_once"):
        args.resolve_once()
    args.check_server_args()
    return {"verdict": "accepted", **resolved(args)}


def resolved(args: Any) -> dict[str, Any]:
    """The values that were decided, by their place in this release."""
    try:
        from sglang.srt.arg_groups.overrides import attention_backends_of, resolved_view

        args = resolved_view(args)
        prefill, decode = attention_backends_of(args)
    except ImportError:
        prefill, decode = (
            getattr(args, f"{phase}_attention_backend", None) or args.attention_backend
            for phase in ("prefill", "decode")
        )
    return {
        "prefill": prefill,
        "decode": decode,
        "kv": args.kv_cache_dtype,
        "page": args.page_size,
        "cp": getattr(args, "attn_cp_size", 1),
    }


def constructed(backend: str, mla: bool) -> dict[str, Any]:
    """Calls the constructor that the scheduler calls, with a runner that says yes to everything else."""
    from sglang.srt.layers.attention.attention_registry import ATTENTION_BACKENDS

    runner = MagicMock(use_mla_backend=mla, page_size=64)
    runner.model_config.is_encoder_decoder = False
    runner.model_config.hf_config.architectures = ["DeepseekV3ForCausalLM" if mla else "Qwen3ForCausalLM"]
    construct = ATTENTION_BACKENDS[backend]
    try:
        construct(runner)
    except ImportError as error:
        return {"verdict": "needs", "package": error.name}
    except (AssertionError, ValueError) as error:
        # Raised elsewhere it is about the runner, which is none; the backend's own gate was passed.
        if "/layers/attention/" in traceback.extract_tb(error.__traceback__)[-1].filename:
            raise
    except Exception:  # noqa: BLE001, S110 - the same
        pass
    return {"verdict": "passed"}


main()
