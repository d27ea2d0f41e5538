"""Every flag of every sglang release: names, values, defaults, and what became of each."""

from responder.advise.flags.flag import Flag
from responder.advise.flags.renames import Rename, Renames, Setting
from responder.advise.flags.table import Ambiguous, FlagTable, ReleaseFlags, Unknown

__all__ = ["Ambiguous", "Flag", "FlagTable", "ReleaseFlags", "Rename", "Renames", "Setting", "Unknown"]
