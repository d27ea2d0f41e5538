"""Lines as syslog writes them and journalctl prints them: `Sep 14 07:02:10 host python3[123]: text`."""

from responder.sources.wrappers.layer import END, RFC3339, Prefixed

_PRIORITY = rb"(?:<\d{1,3}>)?"
_HOST = rb" (?P<host>[\w.:-]+) "
_PROGRAM = rb"(?P<program>[\w./@:()-]+?)"
_PID = rb"\[(?P<pid>\d+)\]"
_COLON = rb":" + END

_SHORT = _PRIORITY + rb"[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d(?:\.\d+)?"
"""short and short-precise of journalctl, RFC 3164."""

_ISO = _PRIORITY + rb"(?P<time>" + RFC3339 + rb")"
"""short-iso of journalctl, and the files of a newer rsyslog."""

_FULL = rb"[A-Z][a-z]{2} \d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)? [A-Z0-9+:-]+"
"""short-full of journalctl."""

_RFC_5424 = rb"<\d{1,3}>1 (?P<time>" + RFC3339 + rb")"


class Syslog(Prefixed):
    """Syslog files and what journalctl prints by default.  Only the forms with a zone give a time."""

    def __init__(self) -> None:
        super().__init__(
            "syslog",
            _SHORT + _HOST + _PROGRAM + rb"(?:" + _PID + rb")?" + _COLON,
            _ISO + _HOST + rb"(?:" + _PROGRAM + _PID + rb"|(?P<kernel>kernel))" + _COLON,
            _FULL + _HOST + _PROGRAM + rb"(?:" + _PID + rb")?" + _COLON,
            _RFC_5424
            + _HOST
            + rb"(?P<program>\S+) (?P<pid>\S+) \S+ (?:-|(?:\[[^\]\n]*\])+)(?: \xef\xbb\xbf|"
            + END
            + rb")",
        )

    def labels(self, found: dict[str, str]) -> dict[str, str]:
        labels = {key: found[key] for key in ("host", "pid") if found.get(key, "-") != "-"}
        program = found.get("program") or found.get("kernel", "-")
        if program == "kernel":
            labels["transport"] = "kernel"
        elif program.endswith(".service"):  # journalctl -o with-unit
            labels["unit"] = program
        elif program != "-":
            labels["program"] = program
        return labels
