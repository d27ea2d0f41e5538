"""How a command fails: one clear line and the exit status that the contract gives it."""

USAGE, UNAVAILABLE, INTERNAL, BAD_CONFIG = 2, 69, 70, 78


class Failure(Exception):  # noqa: N818 - it is not an error of ours
    """Something a user can mend: what was wrong, where, and what to do, in one line."""

    def __init__(self, message: str, status: int = USAGE) -> None:
        super().__init__(message)
        self.status = status
