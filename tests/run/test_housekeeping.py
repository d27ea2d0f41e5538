"""What a daemon that runs for months must not gather: files, crashes, incidents, folders."""

import threading

import pytest

from responder.diagnose.diagnosis import KEPT_CRASHES
from responder.run.watched import KEPT_SECONDS
from responder.sources.watcher import FolderWatcher
from tests.run.daemon_at_hand import AtHand

DAY = 24 * 3600.0
LAUNCH = "[2026-11-30 12:00:00] server_args=ServerArgs(model_path='/models/llama')\n"


@pytest.fixture
def at_hand(tmp_path, program, catalogue):
    made = AtHand(tmp_path, program, catalogue)
    yield made
    made.close()


def test_logs_that_rotation_took_away_are_forgotten(at_hand):
    watched = at_hand.daemon.watched[0]
    for number in range(20):
        at_hand.write(f"[2026-11-30 12:00:00] a line of file {number}\n")
        at_hand.log.replace(at_hand.log.with_suffix(".log.1"))
        at_hand.log.touch()
        at_hand.pass_time(2)
    assert len(watched._unwrappers) == 20
    at_hand.pass_time(2 * KEPT_SECONDS)
    at_hand.write("[2026-11-30 12:00:00] the newest\n")
    at_hand.pass_time(KEPT_SECONDS)
    assert len(watched._unwrappers) == 1
    assert len(watched._fed_at) == 2


def test_a_crash_loop_is_counted_in_the_state_and_not_in_memory(at_hand, logs):
    crash = (logs / "real-seed-0523-sm90.log").read_text()
    for _ in range(30):
        at_hand.write(LAUNCH + crash)
        at_hand.pass_time(20)
    (attempts,) = at_hand.database.connection.execute("SELECT json ->> 'attempts' FROM incident").fetchone()
    assert attempts == 30
    (finding,) = at_hand.daemon.watched[0].pipeline.diagnosis.findings()
    assert len(finding.crashes) <= KEPT_CRASHES + 1
    assert [reason for reason, _ in at_hand.told] == ["first", "crash-loop"]


def test_what_is_long_over_is_deleted_once_a_day(at_hand, logs):
    at_hand.write((logs / "real-seed-0523-sm90.log").read_text())
    at_hand.pass_time(6)
    at_hand.write(LAUNCH + "[2026-11-30 13:00:00] The server is fired up and ready to roll!\n")
    at_hand.pass_time(601)
    for _ in range(92):
        at_hand.pass_time(DAY)
        at_hand.write("[2026-11-30 13:00:00] a line\n")
    for table in ("incident", "crash", "telling"):
        assert at_hand.database.connection.execute(f"SELECT count(*) FROM {table}").fetchone() == (0,)


def test_followers_share_a_watcher_and_each_is_woken_by_its_own_folder(tmp_path):
    class Bell:
        def __init__(self) -> None:
            self.rung = threading.Event()

        def wake(self) -> None:
            self.rung.set()

        def wait(self, seconds: float) -> None:
            self.rung.wait(seconds)

    bell = Bell()
    watcher = FolderWatcher(bell, lambda _event: None)
    folders = [tmp_path / "one", tmp_path / "two"]
    for folder in folders:
        folder.mkdir()
        watcher.part().watch({str(folder)})
    for folder in folders:
        bell.rung.clear()
        (folder / "server.log").touch()
        assert bell.rung.wait(10)
    watcher.close()


def test_what_is_remembered_of_a_launch_holds_no_secret(at_hand):
    at_hand.write(
        "[2026-11-30 12:00:00] server_args=ServerArgs(model_path='/models/llama', api_key='sk-verysecret1')\n"
    )
    (memory,) = at_hand.database.connection.execute("SELECT memory FROM launch").fetchone()
    assert "/models/llama" in memory
    assert "verysecret1" not in memory
