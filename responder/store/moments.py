"""The moments from which waits are counted: they survive a restart, so they are the wall clock's, which can be set.

When it is, every moment that was noted by it moves along, so that no wait becomes longer or shorter.  What people gave
by the clock (until when to be silent) stays.
"""

import sqlite3

_MOVE = (
    "UPDATE incident SET known = known + :by",
    "UPDATE telling SET told = json_set(told, '$.loud_at', json_extract(told, '$.loud_at') + :by,"
    " '$.said_at', json_extract(told, '$.said_at') + :by) WHERE told IS NOT NULL",
    # Looked at too early, it is decided when to look again.
    "UPDATE telling SET look_at = look_at + min(:by, 0)",
    "UPDATE outbox SET queued = queued + :by, due = due + :by, first_sent = first_sent + :by",
)


def move(connection: sqlite3.Connection, by: float) -> None:
    """The clock was set forward by so many seconds, back if it is negative.  Inside the caller's transaction."""
    for statement in _MOVE:
        connection.execute(statement, {"by": by})
