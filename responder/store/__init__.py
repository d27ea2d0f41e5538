"""What must survive a restart: one SQLite database (WAL) behind a few functions."""
