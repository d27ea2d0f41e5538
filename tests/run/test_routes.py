"""What `[[slack.route]]` says is where the alert goes."""

import os
import subprocess
import sys
from pathlib import Path

from responder.cli.config import lines
from responder.run.config import Loaded, load_config
from tests.fake_slack import TOKEN, FakeSlack

ROUTES = """
[[slack.route]]
channel = "other"
severities = ["critical"]
kinds = ["attention-backend", "parallelism"]
servers = ["llama-70b"]
"""


def configured(folder: Path, slack: str, log: Path | str = "x.log") -> Path:
    path = folder / "responder.toml"
    path.write_text(
        f'[[server]]\nname = "llama-70b"\nlogs = ["{log}"]\n[slack]\nchannel = "alerts"\nbase_url = "{slack}"\n'
        f'{ROUTES}[state]\ndir = "{folder / "state"}"\n'
    )
    return path


def test_an_alert_goes_to_the_channel_of_the_route_that_takes_it(tmp_path: Path, logs: Path) -> None:
    log = tmp_path / "server.log"
    log.write_bytes((logs / "real-seed-0523-sm90.log").read_bytes())
    with FakeSlack() as slack:
        config = configured(tmp_path, slack.base_url, log)
        command = [sys.executable, "-m", "responder", "run", "--config", str(config), "--from-start"]
        environ = {**os.environ, "RESPONDER_SLACK_TOKEN": TOKEN}
        process = subprocess.Popen(command, stderr=subprocess.DEVNULL, env=environ)
        try:
            slack.wait_for(slack.roots, 60)
        finally:
            process.terminate()
            process.wait(30)
        assert [root["channel"] for root in slack.roots()] == ["C0000OTHER"]


def test_what_config_show_prints_has_the_same_routes(tmp_path: Path) -> None:
    loaded = load_config(configured(tmp_path, "http://127.0.0.1:9/api/"), {})
    again = tmp_path / "again.toml"
    again.write_text("\n".join(lines(loaded)))
    shown: Loaded = load_config(again, {})
    assert shown.config == loaded.config
    assert shown.config.slack.route[0].channel == "other"
