"""Where each server's launch stood at the stored checkpoints: what the lines before them had told of it."""

import sqlite3


def load(connection: sqlite3.Connection, server: str) -> str | None:
    """What was remembered of a server, as `save` got it."""
    found = connection.execute("SELECT memory FROM launch WHERE server = ?", (server,)).fetchone()
    return str(found[0]) if found else None


def save(connection: sqlite3.Connection, server: str, memory: str) -> None:
    """Remember it.  Inside the transaction that stores the checkpoints."""
    connection.execute("INSERT OR REPLACE INTO launch (server, memory) VALUES (?, ?)", (server, memory))
