"""A storm of lines is one message with the right count, through the daemon as it runs: scanner, outbox and Slack."""

import itertools
import os
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from tests.fake_slack import TOKEN, FakeSlack
from tests.fleet.rig import until
from tests.slack_blocks import texts_of

LINES, RANKS, BURST = 100_000, 8, 5_000
OOM = (
    "[2026-11-30 12:35:27 TP{rank}] torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU {rank} "
    "has a total capacity of 79.11 GiB of which 1.05 GiB is free.\n"
)


def counted(state: Path) -> int:
    """The lines of the one incident that the daemon has stored so far."""
    try:
        with closing(sqlite3.connect(f"file:{state / 'responder.db'}?mode=ro", uri=True)) as database:
            return int(database.execute("SELECT json ->> 'lines' FROM incident").fetchone()[0])
    except (sqlite3.OperationalError, TypeError):
        return 0  # there is no state yet, or no incident in it


@pytest.mark.slow
def test_a_hundred_thousand_lines_of_eight_ranks_are_one_message_that_counts_them(tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    state = tmp_path / "state"
    log.touch()
    with FakeSlack() as slack:
        config = tmp_path / "responder.toml"
        config.write_text(
            f'[[server]]\nname = "llama-70b"\nlogs = ["{log}"]\n'
            f'[slack]\nchannel = "alerts"\nbase_url = "{slack.base_url}"\n[state]\ndir = "{state}"\n'
        )
        command = [sys.executable, "-m", "responder", "run", "--config", str(config), "--from-start"]
        process = subprocess.Popen(
            command, stderr=subprocess.DEVNULL, env={**os.environ, "RESPONDER_SLACK_TOKEN": TOKEN}
        )
        try:
            lines = (OOM.format(rank=n % RANKS) for n in range(LINES))
            with log.open("a") as file:
                for written in range(BURST, LINES + 1, BURST):
                    file.writelines(itertools.islice(lines, BURST))
                    file.flush()
                    assert until(lambda written=written: counted(state) == written, 60), counted(state)
                    if written == LINES // 2:
                        slack.wait_for(lambda: slack.messages, 60)
            slack.wait_for(lambda: slack.messages and f"{LINES:,} lines" in texts_of(slack.messages[0]), 120)
            process.send_signal(signal.SIGTERM)
            assert process.wait(30) == 143
        finally:
            process.kill()
        (root,) = slack.roots()
        assert "8 ranks (TP0–TP7)" in texts_of(root)
        assert root["edits"] <= 4
        assert not [reply for reply in slack.messages if reply.get("reply_broadcast")]
        assert slack.dangers == []
