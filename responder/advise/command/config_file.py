"""sglang's `--config FILE`: a flat YAML file of flags and values."""

import importlib
import stat
from pathlib import Path
from typing import Any

LIMIT = 1 << 20
"""Bytes.  A file of flags is a few kilobytes; anything larger is something else."""


def read_config(path: str, base: Path | None = None) -> dict[str, Any] | str:
    """The file's entries, or one clause on why they are not known.

    A relative path counts from `base`, the server's working directory; without it, it is not read.
    """
    file = (base or Path()) / path
    if not file.is_absolute():
        return "the path is relative to the server's working directory"
    try:
        facts = file.stat()
        if not stat.S_ISREG(facts.st_mode) or facts.st_size > LIMIT:
            return "it is no plain file of flags"
        text = file.read_text()
    except (OSError, UnicodeDecodeError) as error:
        return f"it cannot be read ({error.__class__.__name__})"
    try:
        yaml = importlib.import_module("yaml")
    except ModuleNotFoundError:
        return "PyYAML is not installed here"
    try:
        entries = yaml.safe_load(text) or {}
    except yaml.YAMLError:
        return "it is not valid YAML"
    return {str(key): value for key, value in entries.items()} if isinstance(entries, dict) else "it holds no mapping"
