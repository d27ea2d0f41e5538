"""Asks the sglang beside this interpreter whether it takes some arguments.  Run as a script, never imported.

Reads `{"argv": […]}` from standard input and writes the answer, one JSON object, to the file named by its argument:

    {"outcome": "accepted" | "refused" | "failed", "text": "…", "release": "0.5.23"}

Stands alone, since it runs in the server's environment (Python 3.9 or newer), not in ours.  Nothing is launched: only
what a server's main process does before it starts its schedulers.  The entry points are those of 0.5.6 to 0.5.23; seen
to work with 0.5.12, 0.5.18 and 0.5.23.
"""

from __future__ import annotations

import ctypes
import json
import linecache
import os
import sys
from contextlib import suppress
from pathlib import Path

CLONE_NEWNET, CLONE_NEWUSER = 0x40000000, 0x10000000

REFUSALS = (ValueError, AssertionError, NotImplementedError)
"""What sglang raises where it does not want an argument; a RuntimeError may be a driver that is not there."""


def main(out: str) -> None:
    argv = json.load(sys.stdin)["argv"]
    leave_the_network()
    answer: dict[str, str | None] = {"outcome": "failed", "text": "", "release": None}
    try:
        answer["release"] = release()
        check(argv)
        answer["outcome"] = "accepted"
    except SystemExit as error:
        answer["outcome"] = "refused" if error.code == 2 else "failed"
    except BaseException as error:  # noqa: BLE001 - whatever it raises is the answer
        answer["outcome"] = "refused" if is_refusal(error) else "failed"
        answer["text"] = f"{type(error).__name__}: {error}"[:4000]
    Path(out).write_text(json.dumps(answer))


def check(argv: list[str]) -> None:
    """sglang's own way from arguments to a server, up to where it would start one."""
    import sglang.launch_server  # noqa: F401 - registers what is registered at start
    from sglang.srt.server_args import prepare_server_args

    args = prepare_server_args(argv)  # up to 0.5.18 this resolves, too
    if hasattr(args, "resolve_once"):
        args.resolve_once()
    args.check_server_args()


def release() -> str | None:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("sglang")
    except PackageNotFoundError:
        return None


def is_refusal(error: BaseException) -> bool:
    """Whether sglang's own code raised it on purpose: the innermost frame is a `raise` or `assert` of sglang's."""
    at = error.__traceback__
    while at is not None and at.tb_next is not None:
        at = at.tb_next
    if at is None or not isinstance(error, REFUSALS):
        return False
    path = at.tb_frame.f_code.co_filename
    line = linecache.getline(path, at.tb_lineno).strip()
    return f"{os.sep}sglang{os.sep}" in path and line.startswith(("raise", "assert"))


def leave_the_network() -> None:
    """Into a network namespace of our own, empty, where the kernel lets us have one."""
    with suppress(OSError, AttributeError):
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.unshare(CLONE_NEWNET) != 0:
            libc.unshare(CLONE_NEWUSER | CLONE_NEWNET)


if __name__ == "__main__":
    main(sys.argv[1])
