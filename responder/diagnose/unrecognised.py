"""A traceback that no rule knows: what it is called, and what makes its next occurrence the same fault."""

import re

from responder.scan.seen import Frame, Traceback

_INNERMOST = 3
_OURS = ("/sglang/", "/torch/", "/flashinfer/", "/sgl_kernel/", "/triton/", "/vllm/", "/transformers/")
_NUMBER = re.compile(r"0x[0-9a-fA-F]+|\d+")


def signature(traceback: Traceback) -> str:
    """The exception's type and its innermost frames in sglang or torch.

    No line numbers, addresses, paths or text: they differ between hosts, releases and requests.
    """
    frames = [frame for frame in traceback.frames if any(part in frame.path for part in _OURS)] or traceback.frames
    inner = [f"{_module(frame)}:{frame.function}" for frame in frames[-_INNERMOST:]]
    return "|".join([traceback.exception or "cut", *inner])


def title_of(traceback: Traceback) -> str:
    """A headline: the exception and the innermost frame."""
    exception = (traceback.exception or "traceback").rpartition(".")[2]
    where = f" in {traceback.frames[-1].function}" if traceback.frames and traceback.frames[-1].function else ""
    return f"Unknown failure: {exception}{where}"


def cause_of(traceback: Traceback) -> str:
    """What can be said without knowing the failure: what was raised and where."""
    if traceback.exception is None:
        return "A traceback that no rule knows; the log ends before the exception is named."
    where = ""
    if traceback.frames:
        frame = traceback.frames[-1]
        where = f", raised in {_module(frame)} line {frame.line}"
    said = f": {traceback.message[:300]}" if traceback.message else ""
    return f"No rule knows this failure. {traceback.exception}{said}{where}."


def _module(frame: Frame) -> str:
    """The file below site-packages (or its last two parts), numbers removed from generated names."""
    _, _, inside = frame.path.rpartition("site-packages/")
    short = inside if inside != frame.path else "/".join(frame.path.split("/")[-2:])
    return _NUMBER.sub("#", short)
