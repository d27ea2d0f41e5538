"""The daemon: configuration and the loop that owns the sources, the diagnosis and the database."""
