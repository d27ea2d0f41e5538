"""The tables of the state's database, as the statements that made them, oldest first.

Append only.  Each entry is one SQL statement, and how many of them a database has seen is its version.  Within one
`MAJOR` they only add (a table, an index, a column with a default), so that the release before still reads and writes
what a newer one left; it never sees the columns it does not name.  Whatever cannot be done that way raises `MAJOR`,
and a database of another major version is set aside like a damaged one.
"""

MAJOR = 1
"""Databases of another major version cannot be read."""

CHECKPOINTS = (
    """
    CREATE TABLE checkpoint (
        device      TEXT    NOT NULL,             -- st_dev and st_ino, as text: they are unsigned 64-bit numbers
        inode       TEXT    NOT NULL,
        file_id     TEXT    NOT NULL,
        generation  INTEGER NOT NULL,
        path        TEXT    NOT NULL,             -- as named to the user
        real_path   TEXT    NOT NULL,             -- with symbolic links resolved
        offset      INTEGER NOT NULL,             -- of the first byte still to be read
        shown       INTEGER NOT NULL DEFAULT 0,   -- bytes after it that went out as an unfinished line
        cut         INTEGER NOT NULL DEFAULT 0,   -- 1: the offset lies inside a line whose beginning was cut off
        head_size   INTEGER NOT NULL,
        head        BLOB    NOT NULL,
        tail_size   INTEGER NOT NULL,
        tail        BLOB    NOT NULL,
        modified_ns INTEGER NOT NULL,
        seen        REAL    NOT NULL,             -- wall clock, seconds
        PRIMARY KEY (device, inode)
    ) STRICT
    """,
    """
    CREATE TABLE followed_target (
        target TEXT PRIMARY KEY NOT NULL,
        since  REAL NOT NULL
    ) STRICT
    """,
)

MIGRATIONS: tuple[str, ...] = (*CHECKPOINTS,)
"""Every statement in the order in which releases added them.  New ones go to the end."""
