"""The state's SQLite database: opening it, bringing it up to date, and its transactions.

One thread owns it.  WAL with `synchronous=NORMAL` survives kill -9 at any instant without a sync per commit; a power
cut may cost the last commits and never the database.  A commit that must survive even that asks for `durable=True`.
"""

import contextlib
import os
import sqlite3
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

from responder.store.schema import MAJOR, MIGRATIONS

BUSY_WAIT = 2.0
"""Seconds to wait for another process (`responder incidents ack`) to finish its own small transaction."""
KEPT_ASIDE = 3
"""How many damaged databases are kept for a look; older ones are deleted."""
_VERSIONS_PER_MAJOR = 1000

_PASSING = frozenset(
    {
        sqlite3.SQLITE_FULL,
        sqlite3.SQLITE_IOERR,
        sqlite3.SQLITE_BUSY,
        sqlite3.SQLITE_LOCKED,
        sqlite3.SQLITE_READONLY,
        sqlite3.SQLITE_CANTOPEN,
        sqlite3.SQLITE_PERM,
        sqlite3.SQLITE_NOMEM,
        sqlite3.SQLITE_PROTOCOL,
    }
)
_DAMAGE = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})


class WallClock(Protocol):
    """Whatever tells the time of day."""

    def wall(self) -> float:
        """Seconds since the epoch."""
        ...


class StoreError(Exception):
    """The database could not do what was asked.  Nothing of the transaction was written."""


class StoreUnavailableError(StoreError):
    """Disk full, read-only, locked or an I/O error: keep what was to be written and try again later."""


class StoreDamagedError(StoreError):
    """The file turned out to be damaged.  Opening it again sets it aside and starts an empty one."""


class Database:
    """An open state database.  Make one with `open_database`."""

    def __init__(self, path: Path, connection: sqlite3.Connection, set_aside: Path | None) -> None:
        self.path = path
        self.connection = connection
        self.set_aside = set_aside
        """Where a damaged predecessor was moved to while opening, to be told to the user once; else None."""

    @contextlib.contextmanager
    def transaction(self, *, durable: bool = False) -> Iterator[sqlite3.Connection]:
        """Everything in the block or nothing.  With `durable` the commit is on the disk when this returns.

        Raises StoreUnavailableError when the disk is full or the like: the block's writes are undone, and the caller
        keeps them for its next try.  Does not nest: functions that write take the connection as their argument.
        """
        with _translated(self.path):
            self.connection.execute(f"PRAGMA synchronous = {'FULL' if durable else 'NORMAL'}")
            self.connection.execute("BEGIN IMMEDIATE")
            try:
                yield self.connection
                self.connection.execute("COMMIT")
            finally:
                # After a full disk SQLite has already rolled back by itself in some cases.
                if self.connection.in_transaction:
                    with contextlib.suppress(sqlite3.Error):
                        self.connection.execute("ROLLBACK")

    def close(self) -> None:
        """Fold the WAL into the file where possible and let go of it."""
        self.connection.close()


def open_database(path: Path, clock: WallClock) -> Database:
    """Open or create the database at `path`, its folder included (0700), and bring its schema up to date.

    A damaged file, or one of another major version, is moved beside itself as `NAME.damaged-TIME` and an empty one
    takes its place: see `Database.set_aside`.  Raises StoreUnavailableError when the file cannot be used at all.
    """
    set_aside = None
    try:
        connection = _opened(path)
    except StoreDamagedError:
        set_aside = _move_aside(path, clock.wall())
        connection = _opened(path)
    return Database(path, connection, set_aside)


def _opened(path: Path) -> sqlite3.Connection:
    """Open, check and migrate; StoreDamagedError when there is nothing here to go on with."""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        # Made here for its mode, which the WAL and its index inherit: the state quotes logs.
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
    except OSError as error:
        raise StoreUnavailableError(f"{path}: {error.strerror}") from error
    with _translated(path):
        connection = sqlite3.connect(path, timeout=BUSY_WAIT, isolation_level=None)
        try:
            _check(connection, path)
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA foreign_keys = ON")
            _migrate(connection)
        except BaseException:
            connection.close()
            raise
    return connection


def _check(connection: sqlite3.Connection, path: Path) -> None:
    verdict = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
    if verdict != "ok":
        raise StoreDamagedError(f"{path}: {verdict}")
    major = _version(connection) // _VERSIONS_PER_MAJOR
    empty = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] == 0
    if major != MAJOR and not empty:
        raise StoreDamagedError(f"{path}: written by an incompatible release (schema {major}, this one reads {MAJOR})")


def _migrate(connection: sqlite3.Connection) -> None:
    """Apply what this database has not seen.  One that has seen more, from a newer release, is left as it is."""
    newest = MAJOR * _VERSIONS_PER_MAJOR + len(MIGRATIONS)
    if _version(connection) >= newest:
        return
    connection.execute("BEGIN IMMEDIATE")
    # Asked again under the lock: another process may have been faster.
    applied = _version(connection) % _VERSIONS_PER_MAJOR
    for statement in MIGRATIONS[applied:]:
        connection.execute(statement)
    connection.execute(f"PRAGMA user_version = {max(newest, _version(connection))}")
    connection.execute("COMMIT")


def _version(connection: sqlite3.Connection) -> int:
    version: int = connection.execute("PRAGMA user_version").fetchone()[0]
    return version


def _move_aside(path: Path, wall: float) -> Path:
    stamp = datetime.fromtimestamp(wall, UTC).strftime("%Y%m%dT%H%M%S%fZ")
    aside = path.with_name(f"{path.name}.damaged-{stamp}")
    try:
        path.rename(aside)
        for suffix in ("-wal", "-shm"):
            companion = path.with_name(path.name + suffix)
            if companion.exists():
                companion.rename(aside.with_name(aside.name + suffix))
        older = sorted(p for p in path.parent.glob(f"{path.name}.damaged-*Z"))[:-KEPT_ASIDE]
        for old in older:
            for suffix in ("", "-wal", "-shm"):
                old.with_name(old.name + suffix).unlink(missing_ok=True)
    except OSError as error:
        raise StoreUnavailableError(f"{path}: damaged, and cannot be moved aside: {error.strerror}") from error
    return aside


@contextlib.contextmanager
def _translated(path: Path) -> Iterator[None]:
    """Turn SQLite's errors that are the machine's fault, not the program's, into ours."""
    try:
        yield
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF  # the low byte is the primary code
        if code in _DAMAGE:
            raise StoreDamagedError(f"{path}: {error}") from error
        if code in _PASSING:
            raise StoreUnavailableError(f"{path}: {error}") from error
        raise
