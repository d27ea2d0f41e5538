"""Follows sglang's logs, recognises the failure, finds its cause and says which command will start."""

__version__ = "0.1.0"
