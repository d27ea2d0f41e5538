"""A server whose log is a unit's journal: followed, diagnosed, advised by what journald notes of its process."""

import io
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from responder.publish.decision import Policy
from responder.run.config import Config, Loaded, ServerConfig
from responder.run.start import Service, build
from tests.sources.journals import FakeJournal

DEADLINE = 60.0
COMMAND = (
    '/usr/bin/python3 -m sglang.launch_server --model-path "/models/my qwen" --tp-size 2 --attn-cp-size 2'
    " --prefill-attention-backend trtllm_mha --api-key sk-1234567890abcdef"
)
XID = "NVRM: Xid (PCI:0000:05:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus."


class Daemon:
    """The real daemon, its alerts in a text."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.out = folder, io.StringIO()
        self.service: Service | None = None

    def start(self) -> None:
        """Build it; its first wake-up starts journalctl."""
        server = ServerConfig(name="llama", journal="sglang", sglang="0.5.23")
        loaded = Loaded(config=Config(server=(server,)))
        self.service = build(
            loaded, state=self.folder / "state", out=self.out, posting=Policy(hold=0.0), from_start=True
        )
        self.service.daemon.wake_up()

    def until(self, text: str) -> str:
        """Wake up until an alert says `text`; all alerts so far."""
        assert self.service
        end = time.monotonic() + DEADLINE
        while text not in self.out.getvalue():
            assert time.monotonic() < end, self.out.getvalue()
            self.service.daemon.wake_up()
        return self.out.getvalue()

    def wake_ups(self, number: int) -> None:
        """Some more."""
        assert self.service
        for _ in range(number):
            self.service.daemon.wake_up()

    def stop(self) -> None:
        """Let go of everything, as a kill would."""
        if self.service is not None:
            self.service.close()
            self.service = None


@pytest.fixture
def journal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeJournal:
    """The journal that `journalctl` on PATH shows."""
    made = FakeJournal(tmp_path / "journald")
    monkeypatch.setenv("PATH", f"{made.folder}:/usr/bin:/bin")
    return made


@pytest.fixture
def daemon(tmp_path: Path, journal: FakeJournal) -> Iterator[Daemon]:
    one = Daemon(tmp_path)
    yield one
    one.stop()


def test_a_failure_in_the_journal_is_told_with_the_command_that_journald_noted(
    daemon: Daemon, journal: FakeJournal, logs: Path
) -> None:
    daemon.start()
    for line in (logs / "real-seed-0523-sm90.log").read_text().splitlines():
        journal.write(line, _CMDLINE=COMMAND)
    told = daemon.until("llama did not start")
    assert "journal:sglang" in told
    assert "from the running process" in told
    assert "sk-1234567890abcdef" not in told


def test_a_failure_is_told_once_over_restarts(daemon: Daemon, journal: FakeJournal, logs: Path) -> None:
    daemon.start()
    for line in (logs / "real-seed-0523-sm90.log").read_text().splitlines():
        journal.write(line, _CMDLINE=COMMAND)
    daemon.until("llama did not start")
    for _ in range(2):
        daemon.stop()
        daemon.start()
        daemon.wake_ups(50)
    assert daemon.out.getvalue().count("llama did not start") == 1


def test_a_dead_gpu_is_told_from_the_kernels_own_lines(daemon: Daemon, journal: FakeJournal) -> None:
    daemon.start()
    journal.kernel(XID)
    # Only what the kernel says from now on counts: this entry bears an old time, the next one does not.
    daemon.wake_ups(20)
    assert daemon.out.getvalue() == ""
    journal.kernel_now(XID)
    assert "Xid" in daemon.until("Xid")
