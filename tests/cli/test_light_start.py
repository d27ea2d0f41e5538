"""`--version` and `--help` import none of the heavy packages."""

import subprocess
import sys

import pytest

HEAVY = ("hyperscan", "regex", "slack_sdk", "rich", "watchdog", "structlog", "msgspec", "pynvml", "psutil", "jinja2")


@pytest.mark.parametrize("argument", ["--version", "--help"])
def test_nothing_heavy_is_imported(argument):
    code = (
        "import sys\n"
        "from responder.cli import main\n"
        "try:\n"
        f"    main([{argument!r}])\n"
        "except SystemExit as end:\n"
        "    assert not end.code, end.code\n"
        f"print([name for name in {HEAVY!r} if name in sys.modules])\n"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert ran.stdout.splitlines()[-1] == "[]"


def test_every_command_of_the_help_exists():
    from responder.cli.main import COMMANDS, cli

    for name in COMMANDS:
        assert cli.get_command(None, name) is not None, name  # type: ignore[arg-type]
