"""The Python files of one sglang release, read from a wheel or an unpacked one.  Nothing of it is ever imported."""

import ast
import zipfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path


class Wheel:
    """A release's source tree: a `.whl` file, or a folder that holds the package `sglang` (or is it)."""

    def __init__(self, path: Path) -> None:
        """Raises FileNotFoundError where `path` holds no `sglang/srt/server_args.py`."""
        self.path = path
        self._zip = zipfile.ZipFile(path) if path.is_file() else None
        self._root = path if (path / "sglang").is_dir() else path.parent
        self.module = cache(self._module)
        if self.text("sglang/srt/server_args.py") is None:
            raise FileNotFoundError(f"no sglang/srt/server_args.py in {path}: give a wheel or the folder it unpacks to")

    def text(self, name: str) -> str | None:
        """The file `name` (as `sglang/srt/server_args.py`), or None where the release has none."""
        try:
            if self._zip is not None:
                return self._zip.read(name).decode()
            return (self._root / name).read_text()
        except (KeyError, FileNotFoundError, NotADirectoryError):
            return None

    def _module(self, dotted: str) -> ast.Module | None:
        stem = dotted.replace(".", "/")
        for name in (f"{stem}.py", f"{stem}/__init__.py"):
            text = self.text(name)
            if text is not None:
                return ast.parse(text, filename=name)
        return None


def statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements of a module or class body, those under `if` and `try` included."""
    for node in body:
        yield node
        if isinstance(node, ast.If):
            yield from statements(node.body)
            yield from statements(node.orelse)
        elif isinstance(node, ast.Try):
            yield from statements(node.body)
            for handler in node.handlers:
                yield from statements(handler.body)
