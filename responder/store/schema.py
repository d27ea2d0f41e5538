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
        path        BLOB    NOT NULL,             -- as named to the user; bytes, for a name need not be UTF-8
        real_path   BLOB    NOT NULL,             -- with symbolic links resolved
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
        target BLOB PRIMARY KEY NOT NULL,
        since  REAL NOT NULL
    ) STRICT
    """,
)

INCIDENTS = (
    """
    CREATE TABLE incident (
        id          TEXT PRIMARY KEY NOT NULL,
        fingerprint TEXT NOT NULL,
        server      TEXT NOT NULL,
        rule        TEXT,
        status      TEXT NOT NULL,
        severity    TEXT NOT NULL,
        known       REAL NOT NULL,             -- wall clock, seconds: when responder first saw it
        changed     REAL NOT NULL,
        json        TEXT NOT NULL              -- the incident as nouns.Incident
    ) STRICT
    """,
    "CREATE INDEX incident_changed ON incident (changed)",
    "CREATE INDEX incident_fingerprint ON incident (fingerprint)",
    """
    CREATE TABLE telling (
        incident TEXT PRIMARY KEY NOT NULL,    -- an incident's id
        told     TEXT,                         -- what was last said of it, as publish.decision.Told; null: nothing
        post     TEXT,                         -- outbox key of the message that it was said in
        look_at  REAL                          -- wall clock, seconds: when to decide again; null: when it changes
    ) STRICT
    """,
    "CREATE INDEX telling_post ON telling (post)",
    "CREATE INDEX telling_look_at ON telling (look_at)",
    """
    CREATE TABLE acknowledgement (
        incident TEXT PRIMARY KEY NOT NULL,
        by       TEXT NOT NULL,
        at       REAL NOT NULL
    ) STRICT
    """,
    """
    CREATE TABLE silence (
        number   INTEGER PRIMARY KEY,
        incident TEXT,                         -- of these three, those that are not null must all match
        rule     TEXT,
        server   TEXT,
        until    REAL NOT NULL,
        by       TEXT NOT NULL,
        at       REAL NOT NULL
    ) STRICT
    """,
)

OUTBOX = (
    """
    CREATE TABLE outbox (
        number     INTEGER PRIMARY KEY,        -- the order in which they go out
        key        TEXT NOT NULL UNIQUE,       -- says what it is, so that queueing it twice changes nothing
        incident   TEXT NOT NULL,
        kind       TEXT NOT NULL,              -- post, reply, broadcast, update
        parent     TEXT,                       -- key of the post it belongs to
        channel    TEXT NOT NULL,
        payload    TEXT NOT NULL,
        state      TEXT NOT NULL,              -- queued, sending, ambiguous, sent, dead
        queued     REAL NOT NULL,              -- wall clock, seconds, as all times here
        due        REAL NOT NULL,
        first_sent REAL,
        attempts   INTEGER NOT NULL DEFAULT 0,
        plain      INTEGER NOT NULL DEFAULT 0, -- 1: the blocks were refused, only the text goes
        channel_id TEXT,                       -- as Slack answered
        ts         TEXT,
        done       REAL,
        error      TEXT
    ) STRICT
    """,
    "CREATE INDEX outbox_state ON outbox (state, due)",
    "CREATE INDEX outbox_parent ON outbox (parent)",
)

CRASHES = (
    """
    CREATE TABLE crash (
        id       TEXT PRIMARY KEY NOT NULL,    -- the place of its first line
        incident TEXT NOT NULL,
        lines    INTEGER NOT NULL,
        attempts INTEGER NOT NULL,
        known    REAL NOT NULL                 -- wall clock, seconds
    ) STRICT
    """,
    "CREATE INDEX crash_incident ON crash (incident)",
)

PRESSES = (
    """
    CREATE TABLE press (
        key      TEXT PRIMARY KEY NOT NULL,    -- names one press of a button, however often it is heard of
        incident TEXT NOT NULL,
        action   TEXT NOT NULL,
        by       TEXT NOT NULL,
        at       REAL NOT NULL                 -- wall clock, seconds
    ) STRICT
    """,
)

LAUNCHES = (
    """
    CREATE TABLE launch (
        server TEXT PRIMARY KEY NOT NULL,
        memory TEXT NOT NULL                   -- JSON: where its launch stood at the stored checkpoints
    ) STRICT
    """,
)

HELD = ("ALTER TABLE checkpoint ADD COLUMN held INTEGER",)
"""Where to go on reading, where lines before `read_to` are still needed."""

JOURNALS = (
    """
    CREATE TABLE journal_cursor (
        source  TEXT PRIMARY KEY NOT NULL,     -- SERVER/journal:UNIT, SERVER/journal:kernel
        file_id TEXT NOT NULL,
        cursor  TEXT NOT NULL,                 -- of the last entry behind us; empty: none yet
        offset  INTEGER NOT NULL,              -- bytes of entries before that place
        since   REAL NOT NULL                  -- wall clock, seconds: where to go on without a cursor
    ) STRICT
    """,
)

MIGRATIONS: tuple[str, ...] = (*CHECKPOINTS, *INCIDENTS, *OUTBOX, *CRASHES, *PRESSES, *LAUNCHES, *HELD, *JOURNALS)
"""Every statement in the order in which releases added them.  New ones go to the end."""
