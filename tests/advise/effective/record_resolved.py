"""Prints, as JSON lines, what an installed sglang resolves argument lists to on a GPU that is only pretended.

    FAKE_SM=90 FAKE_CUDA=13.0 PYTHON_WITH_SGLANG record_resolved.py < argvs.jsonl

One JSON list of arguments a line; the answer holds `resolved` (dest -> value) or `refused` (why).  Kernel packages are
empty modules and torch's device queries answer from the environment; no line of sglang is changed.
"""

import contextlib
import importlib.machinery
import json
import os
import sys
import tempfile
import types
from pathlib import Path
from unittest.mock import MagicMock

STUBS = {"torchvision", "sgl_kernel", "flashinfer", "deep_gemm", "flash_attn"}
DESTS = (
    "attention_backend", "prefill_attention_backend", "decode_attention_backend", "kv_cache_dtype", "page_size",
    "attn_cp_size", "attn_dp_size", "dp_size", "enable_dp_attention", "ep_size", "moe_dp_size", "moe_a2a_backend",
    "moe_dense_tp_size", "chunked_prefill_size", "enable_prefill_cp", "cp_strategy", "enable_prefill_context_parallel",
    "enable_dp_lm_head", "dcp_comm_backend", "enable_tp_lm_head_all_to_all", "device",
)  # fmt: skip


class _Stub(types.ModuleType):
    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        value = MagicMock(name=name)
        setattr(self, name, value)
        return value


class _Finder:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in STUBS:
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec):
        module = _Stub(spec.name)
        module.__path__ = []
        module.__version__ = "99.0.0"
        return module

    def exec_module(self, module):
        pass


def pretend(sm, cuda):
    """One kind of device, eight of them, 141 GiB each."""
    import torch

    major, minor = divmod(sm, 10)
    torch.version.cuda = cuda
    properties = types.SimpleNamespace(
        name="pretended", major=major, minor=minor, total_memory=141 << 30, multi_processor_count=132, warp_size=32,
        L2_cache_size=50 << 20, shared_memory_per_block_optin=232448, gcnArchName="",
    )  # fmt: skip
    answers = {
        "is_available": True, "device_count": 8, "is_initialized": True, "get_device_capability": (major, minor),
        "get_device_name": "pretended", "get_device_properties": properties, "current_device": 0,
        "mem_get_info": (140 << 30, 141 << 30), "set_device": None, "synchronize": None, "empty_cache": None,
    }  # fmt: skip
    for name, answer in answers.items():
        setattr(torch.cuda, name, lambda *args, answer=answer, **kwargs: answer)


def resolve(argv):
    from sglang.srt.arg_groups.overrides import attention_backends_of, resolved_view
    from sglang.srt.server_args import prepare_server_args

    args = prepare_server_args(argv)
    args.resolve_once()
    args.check_server_args()
    view = resolved_view(args)
    found = {dest: getattr(view, dest) for dest in DESTS if hasattr(view, dest)}
    found["prefill_attention_backend"], found["decode_attention_backend"] = attention_backends_of(view)
    return found


def in_child(argv, folder):
    """sglang resolves once per process."""
    answer = Path(folder) / "answer"
    child = os.fork()
    if child == 0:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        os.dup2(1, 2)
        try:
            said = {"resolved": resolve(argv)}
        except SystemExit:
            said = {"refused": "argparse"}
        except BaseException as error:  # noqa: BLE001 - whatever sglang raises is its answer
            said = {"refused": f"{type(error).__name__}: {error}"[:200]}
        answer.write_text(json.dumps(said, default=str))
        os._exit(0)
    os.waitpid(child, 0)
    return json.loads(answer.read_text())


if __name__ == "__main__":
    out = sys.stdout
    with contextlib.redirect_stdout(sys.stderr):
        sys.meta_path.insert(0, _Finder())
        pretend(int(os.environ["FAKE_SM"]), os.environ.get("FAKE_CUDA", "13.0"))
        import sglang.launch_server
        import sglang.srt.arg_groups.pipeline  # noqa: F401
    for line in sys.stdin:
        with tempfile.TemporaryDirectory() as folder:
            print(json.dumps({"argv": json.loads(line), **in_child(json.loads(line), folder)}), file=out, flush=True)
