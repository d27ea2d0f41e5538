"""The state's database survives what may happen to it."""

import contextlib
import os
import signal
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from responder.store import database as database_module
from responder.store import schema
from responder.store.database import (
    KEPT_ASIDE,
    Database,
    StoreDamagedError,
    StoreUnavailableError,
    open_database,
)


class WallClock:
    """The time of day, as the test wants it."""

    def __init__(self) -> None:
        self.now = 1_800_000_000.0

    def wall(self) -> float:
        """Seconds since the epoch."""
        self.now += 1.0
        return self.now


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where the database lies."""
    return tmp_path / "state" / "responder.db"


@pytest.fixture
def clock() -> WallClock:
    """A clock."""
    return WallClock()


def note(database: Database, *targets: str) -> None:
    """Write something, in a transaction of its own."""
    with database.transaction() as connection:
        rows = [(target.encode(),) for target in targets]
        connection.executemany("INSERT INTO followed_target (target, since) VALUES (?, 0)", rows)


def noted(database: Database) -> list[str]:
    """What was written."""
    rows = database.connection.execute("SELECT target FROM followed_target ORDER BY rowid")
    return [target.decode() for (target,) in rows]


def test_what_is_committed_is_there_after_opening_again(path: Path, clock: WallClock) -> None:
    """The least one may ask."""
    database = open_database(path, clock)
    note(database, "a")
    database.close()
    again = open_database(path, clock)
    assert noted(again) == ["a"]
    assert again.set_aside is None
    again.close()


def test_the_state_is_its_owners_alone(path: Path, clock: WallClock) -> None:
    """It quotes logs."""
    database = open_database(path, clock)
    note(database, "a")
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    modes = {p.name: stat.S_IMODE(p.stat().st_mode) for p in path.parent.iterdir()}
    assert modes == {"responder.db": 0o600, "responder.db-wal": 0o600, "responder.db-shm": 0o600}
    database.close()


def test_a_transaction_that_fails_leaves_nothing(path: Path, clock: WallClock) -> None:
    """All of it or none."""
    database = open_database(path, clock)
    with pytest.raises(sqlite3.IntegrityError):
        note(database, "a", "twice", "twice")
    note(database, "b")
    assert noted(database) == ["b"]
    database.close()


def test_a_durable_commit_asks_the_disk_and_the_others_do_not(path: Path, clock: WallClock) -> None:
    """Which is what makes one commit per wake-up cheap."""
    database = open_database(path, clock)
    for durable, level in ((True, 2), (False, 1)):
        with database.transaction(durable=durable) as connection:
            assert connection.execute("PRAGMA synchronous").fetchone() == (level,)
    database.close()


@pytest.mark.parametrize(
    "damage",
    [b"\0" * 20_000, b"not a database at all\n" * 100, None],
    ids=["nul", "text", "cut-short"],
)
def test_54_corrupt_checkpoint(damage: bytes | None, path: Path, clock: WallClock) -> None:
    """A damaged file is moved aside, which is said once, and an empty one takes its place."""
    database = open_database(path, clock)
    for n in range(300):
        note(database, f"a long target to fill some pages {n}")
    database.close()
    content = path.read_bytes()
    assert len(content) > 8192
    path.write_bytes(content[:5000] if damage is None else damage)
    again = open_database(path, clock)
    assert noted(again) == []
    assert again.set_aside is not None
    assert again.set_aside.name.startswith("responder.db.damaged-20")
    assert again.set_aside.stat().st_size == (5000 if damage is None else len(damage))
    note(again, "new")
    again.close()
    third = open_database(path, clock)
    assert third.set_aside is None
    assert noted(third) == ["new"]
    third.close()


def test_54_a_wal_of_nonsense_costs_the_last_commits_at_most(path: Path, clock: WallClock) -> None:
    """Its checksums tell."""
    database = open_database(path, clock)
    note(database, "a")
    database.close()
    path.with_name("responder.db-wal").write_bytes(os.urandom(50_000))
    again = open_database(path, clock)
    assert noted(again) == ["a"]
    assert again.set_aside is None
    again.close()


def test_only_the_newest_damaged_files_are_kept(path: Path, clock: WallClock) -> None:
    """A disk that damages a file at every start is not filled with them."""
    path.parent.mkdir()
    for n in range(KEPT_ASIDE + 3):
        path.write_bytes(f"damage {n}".encode())
        open_database(path, clock).close()
    kept = sorted(p.read_bytes() for p in path.parent.glob("*.damaged-*"))
    assert kept == [f"damage {n}".encode() for n in range(3, KEPT_ASIDE + 3)]


def test_damage_found_later_is_told_from_other_errors(path: Path, clock: WallClock) -> None:
    """So that the caller can end, and start with an empty database."""
    database = open_database(path, clock)
    for n in range(2000):
        note(database, f"a long target to fill some pages {n}")
    database.close()
    again = open_database(path, clock)
    with path.open("r+b") as file:
        file.seek(4096)
        file.write(os.urandom(path.stat().st_size - 4096))
    again.connection.execute("PRAGMA shrink_memory")  # or else it goes on with the pages that it has
    with pytest.raises(StoreDamagedError), again.transaction() as connection:
        connection.execute("SELECT count(*), sum(length(target)) FROM followed_target NOT INDEXED").fetchall()
    again.close()
    third = open_database(path, clock)
    assert third.set_aside is not None
    third.close()


def test_a_database_of_another_major_version_is_set_aside(path: Path, clock: WallClock) -> None:
    """It cannot be read, and must not be lost."""
    database = open_database(path, clock)
    note(database, "a")
    database.connection.execute(f"PRAGMA user_version = {(schema.MAJOR + 1) * 1000 + 5}")
    database.close()
    again = open_database(path, clock)
    assert again.set_aside is not None
    assert noted(again) == []
    again.close()


def test_one_version_back_reads_and_writes_what_a_newer_one_left(
    path: Path, clock: WallClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And the newer one goes on with that."""
    newer = (
        *schema.MIGRATIONS,
        "ALTER TABLE followed_target ADD COLUMN note TEXT NOT NULL DEFAULT ''",
        "CREATE TABLE novelty (id INTEGER PRIMARY KEY) STRICT",
    )
    with monkeypatch.context() as release:
        release.setattr(database_module, "MIGRATIONS", newer)
        database = open_database(path, clock)
        with database.transaction() as connection:
            connection.execute("INSERT INTO followed_target VALUES (x'61', 0, 'noted')")
        database.close()
    older = open_database(path, clock)
    assert older.set_aside is None
    note(older, "b")
    assert noted(older) == ["a", "b"]
    older.close()
    with monkeypatch.context() as release:
        release.setattr(database_module, "MIGRATIONS", newer)
        database = open_database(path, clock)
        rows = database.connection.execute("SELECT note FROM followed_target").fetchall()
        assert rows == [("noted",), ("",)]
        database.close()


def test_an_old_database_is_brought_up_to_date_with_its_content(
    path: Path, clock: WallClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Statement by statement, from wherever it stands."""
    with monkeypatch.context() as release:
        release.setattr(database_module, "MIGRATIONS", schema.MIGRATIONS[:2])
        database = open_database(path, clock)
        note(database, "a")
        database.close()
    again = open_database(path, clock)
    assert noted(again) == ["a"]
    version = again.connection.execute("PRAGMA user_version").fetchone()[0]
    assert version == schema.MAJOR * 1000 + len(schema.MIGRATIONS)
    again.close()


def test_every_migration_only_adds() -> None:
    """Or else the release before could not read it."""
    allowed = ("CREATE TABLE", "CREATE INDEX", "CREATE UNIQUE INDEX", "ALTER TABLE")
    for statement in schema.MIGRATIONS:
        words = " ".join(statement.split())
        assert words.startswith(allowed)
        assert not words.startswith("ALTER TABLE") or " ADD COLUMN " in words
        assert sqlite3.complete_statement(statement + ";")


def test_two_processes_may_use_it_at_once(path: Path, clock: WallClock) -> None:
    """The daemon, and a command that acknowledges."""
    one, two = open_database(path, clock), open_database(path, clock)
    for n in range(10):
        note(one, f"one {n}")
        note(two, f"two {n}")
    assert len(noted(one)) == 20
    one.close()
    two.close()


def test_a_folder_that_cannot_be_made_is_said_so(clock: WallClock) -> None:
    """As something to mend, not as a traceback."""
    with pytest.raises(StoreUnavailableError, match="Not a directory"):
        open_database(Path("/dev/null/state/responder.db"), clock)


_WRITER = """
import sys, time
from pathlib import Path
from responder.store.database import open_database
database = open_database(Path(sys.argv[1]), time_clock := type("C", (), {"wall": lambda self: time.time()})())
n = database.connection.execute("SELECT count(*) FROM followed_target").fetchone()[0] // 3
while True:
    with database.transaction() as connection:
        for part in range(3):
            connection.execute("INSERT INTO followed_target VALUES (?, 0)", (f"{n} {part}".encode(),))
    print(n, flush=True)
    n += 1
"""


def test_kill_9_in_the_middle_of_writing_loses_nothing_that_was_committed(path: Path, clock: WallClock) -> None:
    """Twenty times; every transaction is there whole or not at all."""
    for round_ in range(20):
        command = [sys.executable, "-c", _WRITER, str(path)]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as writer:
            assert writer.stdout
            told = [int(writer.stdout.readline()) for _ in range(5 + round_ * 7)]
            writer.send_signal(signal.SIGKILL)
            told += [int(line) for line in writer.stdout.read().split()]
        database = open_database(path, clock)
        assert database.set_aside is None
        rows = noted(database)
        assert len(rows) % 3 == 0
        assert rows == [f"{n} {part}" for n in range(len(rows) // 3) for part in range(3)]
        assert len(rows) // 3 >= told[-1] + 1
        database.close()


def test_53_a_full_database_keeps_what_it_has_and_takes_more_later(path: Path, clock: WallClock) -> None:
    """SQLite's own full: what did not fit is undone whole, and the same write succeeds when there is room."""
    database = open_database(path, clock)
    note(database, "a")
    pages = database.connection.execute("PRAGMA page_count").fetchone()[0]
    database.connection.execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(StoreUnavailableError, match="full"):
        note(database, *(f"filling {n} {'.' * 100}" for n in range(500)))
    assert noted(database) == ["a"]
    database.connection.execute("PRAGMA max_page_count = 1000000")
    note(database, "b")
    assert noted(database) == ["a", "b"]
    database.close()


@pytest.fixture
def tiny_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 512 KiB, where one may be mounted."""
    place = tmp_path / "tiny"
    place.mkdir()
    mount = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=512k", "tmpfs", str(place)], capture_output=True, check=False
    )
    if mount.returncode:
        pytest.skip("mounting takes root")
    yield place
    subprocess.run(["umount", "--lazy", str(place)], check=True)


def fill(disk: Path) -> Path:
    """Leave no room on a disk; deleting the file that this returns makes room again."""
    filler = disk / "filler"
    with filler.open("wb", buffering=0) as file, contextlib.suppress(OSError):
        while True:
            file.write(b"x" * 4096)
    return filler


def test_53_a_full_disk_is_an_error_that_passes(tiny_disk: Path, clock: WallClock) -> None:
    """The real thing."""
    database = open_database(tiny_disk / "responder.db", clock)
    note(database, "a")
    filler = fill(tiny_disk)
    more = [f"more {n} {'.' * 100}" for n in range(300)]
    with pytest.raises(StoreUnavailableError):
        note(database, *more)
    assert noted(database) == ["a"]
    filler.unlink()
    note(database, *more)
    assert noted(database) == ["a", *more]
    database.close()


def test_53_a_disk_that_is_full_at_the_start_is_not_taken_for_damage(tiny_disk: Path, clock: WallClock) -> None:
    """The file stays where it is, and opens when there is room."""
    path = tiny_disk / "responder.db"
    database = open_database(path, clock)
    note(database, "a")
    database.close()
    filler = fill(tiny_disk)
    with contextlib.suppress(StoreUnavailableError):
        open_database(path, clock).close()
    assert [p.name for p in tiny_disk.iterdir() if "damaged" in p.name] == []
    filler.unlink()
    again = open_database(path, clock)
    assert noted(again) == ["a"]
    again.close()
