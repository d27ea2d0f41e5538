"""Hyperscan databases: compiled, scanned with, and read back."""

from collections.abc import Sequence
from typing import Any

import hyperscan

Scannable = tuple[Any, Any]
"""A database and scratch space for it."""


def compiled(expressions: Sequence[bytes], once: Sequence[bool] = ()) -> Any:
    """The database of some expressions, each known by its place among them.

    Of those for which `once` is true only the first match in a block is reported.  Raises hyperscan.error where one is
    refused.
    """
    every = hyperscan.HS_FLAG_MULTILINE
    flags = [every | hyperscan.HS_FLAG_SINGLEMATCH if single else every for single in once] or every
    database, count = hyperscan.Database(mode=hyperscan.HS_MODE_BLOCK), len(expressions)
    database.compile(expressions=list(expressions), ids=list(range(count)), elements=count, flags=flags)
    return database


def scannable(database: Any) -> Scannable:
    """The database with scratch space, which no two scans may share at a time."""
    return database, hyperscan.Scratch(database)


def restored(dumped: bytes) -> Any:
    """A database that was dumped by this very version on this kind of machine.  Raises what the binding raises."""
    database = hyperscan.loadb(dumped, hyperscan.HS_MODE_BLOCK)
    # The binding leaves a loaded database without scratch space; a scan would fail.
    database.scratch = hyperscan.Scratch(database)
    return database
