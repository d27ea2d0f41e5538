"""Prints, as JSON lines, what the argparse of an installed sglang says of itself and of some commands.

    PYTHON_WITH_SGLANG record_argparse.py < commands.jsonl

The first line describes every option; then one line per line of standard input, each a JSON list of arguments:
the namespace that parsing gives, or argparse's refusal.  Kernel packages are replaced by empty modules, so that no GPU
and no compiled kernel is needed; no line of sglang is changed.
"""

import contextlib
import importlib.machinery
import importlib.metadata
import io
import json
import sys
import types
from unittest.mock import MagicMock

STUBS = {"torchvision", "sgl_kernel", "flashinfer", "deep_gemm", "flash_attn"}


class _Stub(types.ModuleType):
    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return MagicMock()


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


def parser():
    import argparse

    from sglang.srt.server_args import ServerArgs

    made = argparse.ArgumentParser(prog="sglang serve")
    ServerArgs.add_cli_args(made)
    return made


def plain(value):
    if isinstance(value, (set, frozenset)):
        return sorted(value)
    if value is None or isinstance(value, (str, int, float, bool)):
        return getattr(value, "value", value)
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    return repr(value)


def describe(action):
    return {
        "names": action.option_strings,
        "dest": action.dest,
        "action": type(action).__name__,
        "type": getattr(action.type, "__name__", None),
        "nargs": action.nargs,
        "choices": None if action.choices is None else plain(list(action.choices)),
        "default": plain(action.default),
        "const": plain(action.const),
        "required": action.required,
        "instead": getattr(action, "new_flag", None) or getattr(action, "error_message", None),
    }


def parse(made, argv):
    said = io.StringIO()
    try:
        with contextlib.redirect_stderr(said), contextlib.redirect_stdout(said):
            return {"args": {k: plain(v) for k, v in vars(made.parse_args(argv)).items() if v != made.get_default(k)}}
    except SystemExit:
        return {"refused": (said.getvalue().strip().splitlines() or [""])[-1].partition("error: ")[2]}
    except Exception as error:  # noqa: BLE001 - whatever an option of sglang raises is its answer
        return {"refused": f"{type(error).__name__}: {error}"}


if __name__ == "__main__":
    out = sys.stdout
    with contextlib.redirect_stdout(sys.stderr):
        sys.meta_path.insert(0, _Finder())
        made = parser()
    release = importlib.metadata.version("sglang")
    print(json.dumps({"sglang": release, "options": [describe(a) for a in made._actions]}), file=out)
    for line in sys.stdin:
        argv = json.loads(line)
        print(json.dumps({"argv": argv, **parse(made, argv)}), file=out)
