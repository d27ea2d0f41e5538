"""Releases compared by PEP 440."""

from functools import cache

from packaging.version import InvalidVersion, Version


@cache
def within(release: str, since: str | None, until: str | None) -> bool | None:
    """Whether a release lies in a range, both ends included; None for a release that is no version.

    A development or post release counts as the release it is called after.
    """
    try:
        public = Version(Version(release).base_version)
    except InvalidVersion:
        return None
    return (since is None or public >= Version(since)) and (until is None or public <= Version(until))


def same(one: str, other: str) -> bool:
    """Whether two are one release; a development or post release counts as the release it is called after."""
    try:
        return Version(Version(one).base_version) == Version(Version(other).base_version)
    except InvalidVersion:
        return one == other


def before(one: str, other: str) -> bool:
    """Whether a release came before another.  Raises InvalidVersion."""
    return Version(one) < Version(other)
