"""How far the current launch of a server has come, read from its marker lines."""

from responder.nouns import Phase

ORDER: tuple[Phase, ...] = ("unknown", "arguments", "init", "load", "capture", "warmup", "serving", "shutdown")
"""The phases as a launch passes through them."""


class Launch:
    """One launch: its phase, which only moves forward."""

    def __init__(self, phase: Phase = "unknown", stated: dict[str, str] | None = None) -> None:
        self.phase: Phase = phase
        self.stated: dict[str, str] = stated or {}
        """What the markers captured: `server_args` and whatever else a launch says of itself."""

    def reach(self, phase: Phase) -> None:
        """A marker says that the launch has come to this phase; ranks lag, so an earlier one changes nothing."""
        if ORDER.index(phase) > ORDER.index(self.phase):
            self.phase = phase

    def is_over(self, phase: Phase) -> bool:
        """Whether a line that only a new launch prints, of this phase, cannot belong to this launch."""
        return ORDER.index(phase) < ORDER.index(self.phase) or self.phase == "shutdown"


def phase_of_fault(launch: Phase, rule: Phase) -> Phase:
    """The phase a fault struck in: what the log shows, unless the text itself proves a later one.

    A text that may be printed at any time proves nothing; where the last thing seen is the argument checks, the log is
    most likely cut, for what follows them prints as well.
    """
    if rule == "unknown" and launch == "arguments":
        return "unknown"
    return rule if ORDER.index(rule) > ORDER.index(launch) else launch
