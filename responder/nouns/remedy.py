"""A remedy: one way to mend a failure, and the launch command after applying it."""

from typing import Literal

import msgspec


class Apply(msgspec.Struct, frozen=True, kw_only=True):
    """The relaunch in the form that whatever keeps the server needs: a shell line, a drop-in, a manifest."""

    kind: Literal["shell", "systemd", "kubernetes", "compose"] = msgspec.field(name="as", default="shell")
    where: str = ""
    """On which node, unit or file the text has to be applied, in words."""
    text: str = ""


class Relaunch(msgspec.Struct, frozen=True, kw_only=True):
    """The command that will start, shell-quoted, with secrets masked."""

    command: str
    diff: tuple[str, ...] = ()
    """Lines `- flag value` and `+ flag value`: what differs from the command that failed."""
    complete: bool = False
    """False where only the flags to change are known, or where only the log vouches for the command."""
    apply: Apply | None = None


class Remedy(msgspec.Struct, frozen=True, kw_only=True):
    """One way to mend it, resolved for this server: does it apply, why, and what exactly to change."""

    title: str
    applies: Literal["yes", "no", "unknown"] = "unknown"
    why: str = ""
    set: dict[str, str | bool] = {}
    """Flags to set, spelled for this server's release.  True is a flag without a value."""
    unset: tuple[str, ...] = ()
    env: dict[str, str | None] = {}
    """Environment variables to set; None is one to remove."""
    steps: tuple[str, ...] = ()
    next: str = ""
    """What to try if the failure recurs."""
    verified: Literal["sglang", "catalogue", "none"] = "none"
    """Who said that the relaunch passes: the real argument check, the rules of that release, or nobody."""
    refused: str = ""
    """Who refuses its relaunch, and why: sglang's own check or a rule.  It does not apply then."""
    relaunch: Relaunch | None = None
