"""The post-mortem: the same pipeline over logs that are finished."""
