"""The journal is followed without losing or repeating an entry, whatever becomes of journalctl."""

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from responder.sources import journal as module
from responder.sources.block import Block
from responder.sources.events import SourceEvent
from responder.sources.journal import KERNEL, KERNEL_MATCHES, Journal, unit_matches, unit_source
from responder.sources.wrappers import Unwrapper
from responder.store import cursors
from responder.store.cursors import Cursor
from responder.store.database import open_database
from tests.sources.following import DEADLINE, FakeClock, FakeWaker
from tests.sources.journals import EPOCH, FakeJournal

UNIT = "sglang.service"


class Following:
    """A journal that is followed, with its state and its clock in our hands."""

    def __init__(self, folder: Path) -> None:
        self.journal = FakeJournal(folder / "journald")
        self.clock, self.waker = FakeClock(), FakeWaker()
        self.database = open_database(folder / "state" / "test.db", self.clock)
        self.events: list[SourceEvent] = []
        self.blocks: list[Block] = []
        self.source: Journal | None = None

    def start(
        self,
        source: str = unit_source(UNIT),
        matches: tuple[str, ...] = unit_matches(UNIT),
        *,
        from_start: bool = False,
    ) -> Journal:
        """Follow from the stored place, if there is one."""
        self.source = Journal(
            source,
            matches,
            cursors.load(self.database.connection),
            self.clock,
            self.waker,
            from_start=from_start,
            owner="llama",
            events=self.events.append,
            command=[str(self.journal.journalctl)],
        )
        return self.source

    def store(self) -> None:
        """What the loop does after each poll."""
        assert self.source
        with self.database.transaction() as connection:
            cursors.save(connection, self.source.positions())
        self.source.stored()

    def poll_until(self, condition: Callable[[], bool]) -> None:
        """Poll until something holds; the journal is another process, so real time passes.

        Our clock goes on only while journalctl does not run.
        """
        assert self.source
        end = time.monotonic() + DEADLINE
        while not condition():
            assert time.monotonic() < end, (self.events, self.texts)
            self.blocks += self.source.poll()
            self.clock.passed += 0.5 if self.source._process is None else 0.0
            os.sched_yield()

    def until(self, *texts: str) -> None:
        """Poll until exactly these lines have come."""
        self.poll_until(lambda: len(self.texts) >= len(texts))
        assert self.texts == list(texts)

    @property
    def texts(self) -> list[str]:
        """The lines as rules see them."""
        unwrapper = Unwrapper()
        return [
            line
            for block in self.blocks
            for inner in unwrapper.feed(block)
            for line in inner.data.decode().splitlines()
        ]

    @property
    def places(self) -> list[tuple[str, int]]:
        """Name and offset of each entry."""
        found = []
        for block in self.blocks:
            at = 0
            for line in block.data.splitlines(keepends=True):
                found.append((block.file_id, block.locate(at).offset))
                at += len(line)
        return found

    def stop(self) -> None:
        """End journalctl."""
        if self.source is not None:
            self.source.close()
            self.source = None


@pytest.fixture
def following(tmp_path: Path) -> Iterator[Following]:
    """What the tests speak of."""
    one = Following(tmp_path)
    yield one
    one.stop()
    one.database.close()


def test_new_entries_of_the_unit_come_and_those_of_others_do_not(following: Following) -> None:
    following.start(from_start=True)
    following.journal.write("one")
    following.journal.write("of another", "nginx.service")
    following.journal.write("Started sglang.", "init.scope", UNIT=UNIT, _PID="1")
    following.until("one", "Started sglang.")


def test_what_was_written_before_the_first_start_is_passed_over(following: Following) -> None:
    following.clock.skew = EPOCH / 1e6 + 0.0025 - following.clock.wall()
    following.journal.write("before")
    following.journal.write("before")
    following.start()
    following.journal.write("after")
    following.until("after")
    [asked] = following.journal.asked
    assert "--follow" in asked
    assert "--all" in asked
    assert any(word.startswith("--since=@1796051720.00") for word in asked)


def test_a_start_that_saw_nothing_yet_is_gone_on_from_all_the_same(following: Following) -> None:
    following.clock.skew = EPOCH / 1e6 - following.clock.wall()
    following.start()
    following.store()
    following.stop()
    following.journal.write("while we were away")
    following.clock.skew += 3600
    following.start()
    following.until("while we were away")


def test_a_restart_goes_on_behind_the_last_stored_entry(following: Following) -> None:
    following.start(from_start=True)
    cursors_seen = [following.journal.write(text) for text in ("one", "two")]
    following.until("one", "two")
    following.store()
    following.stop()
    following.journal.write("three")
    following.start()
    following.until("one", "two", "three")
    assert f"--after-cursor={cursors_seen[1]}" in following.journal.asked[-1]
    assert len(set(following.places)) == 3


def test_what_is_held_comes_again_under_the_same_place(following: Following) -> None:
    source = following.start(from_start=True)
    for text in ("one", "two", "three"):
        following.journal.write(text)
    following.until("one", "two", "three")
    before = following.places
    source.hold(*before[1])
    following.store()
    following.stop()
    following.blocks.clear()
    following.start()
    following.until("two", "three")
    assert following.places == before[1:]


def test_a_hold_that_is_let_go_lets_the_stored_place_go_on(following: Following) -> None:
    source = following.start(from_start=True)
    last = [following.journal.write(text) for text in ("one", "two")][-1]
    following.until("one", "two")
    source.hold(*following.places[0])
    assert source.positions()[0].cursor == ""
    source.hold(following.places[0][0], None)
    assert source.positions()[0].cursor == last
    source.stored()
    assert source.positions() == []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_journalctl_that_dies_is_started_again_and_nothing_is_lost(following: Following, number: int) -> None:
    source = following.start(from_start=True)
    following.journal.write("one")
    following.until("one")
    assert source._process is not None
    source._process.send_signal(number)
    following.journal.write("two")
    following.until("one", "two")
    assert len(following.journal.asked) == 2
    assert following.events == []


def test_a_journalctl_that_cannot_run_is_tried_ever_more_seldom_and_told_of_once(following: Following) -> None:
    broken = following.journal.folder / "broken"
    broken.write_text("No journal files were found.")
    following.start(from_start=True)
    begun = following.clock.passed
    following.poll_until(lambda: len(following.journal.asked) >= 7)
    assert following.clock.passed - begun > 1 + 2 + 4 + 8 + 16
    assert [(event.kind, event.detail) for event in following.events] == [
        ("unreadable", "No journal files were found.")
    ]
    broken.unlink()
    following.journal.write("one")
    following.poll_until(lambda: following.texts == ["one"])
    assert [event.kind for event in following.events] == ["unreadable", "readable"]


def test_a_journalctl_that_is_not_there_is_told_of(following: Following) -> None:
    following.journal.journalctl.unlink()
    source = following.start()
    for _ in range(40):
        assert source.poll() == []
        following.clock.passed += 0.5
    [event] = following.events
    assert event.kind == "unreadable"
    assert event.detail.endswith("journalctl cannot be started: No such file or directory")


def test_a_journal_that_we_may_not_read_is_told_of_while_journalctl_runs(following: Following) -> None:
    hint = "Hint: You are currently not seeing messages from other users and the system."
    (following.journal.folder / "complaint").write_text(hint)
    following.start(from_start=True)
    following.poll_until(lambda: bool(following.events))
    assert [(event.kind, event.detail) for event in following.events] == [("unreadable", hint)]


def test_a_cursor_that_the_journal_does_not_know_gives_way_to_its_time(following: Following) -> None:
    following.journal.write("one")
    time_of_two = EPOCH + 2000
    following.journal.write("two")
    cursor = f"damaged;t={EPOCH + 1000:x};"
    saved = Cursor(source=f"llama/journal:{UNIT}", file_id="journal-1", cursor=cursor, offset=10, since=0.0)
    with following.database.transaction() as connection:
        cursors.save(connection, [saved])
    following.start()
    following.poll_until(lambda: bool(following.texts))
    assert following.texts == ["two"]
    assert following.places == [("journal-1", 10)]
    assert float(following.journal.asked[-1][-1].removeprefix("--since=@")) * 1e6 <= time_of_two


def test_a_coloured_line_and_a_cut_one_are_put_together(following: Following) -> None:
    following.start(from_start=True)
    following.journal.write([27, 91, 51, 49, 109, 114, 101, 100, 27, 91, 48, 109])
    following.journal.write("begins " + "x" * 49_000, _LINE_BREAK="line-max")
    following.journal.write(" ends")
    following.until("red", "begins " + "x" * 49_000 + " ends")


def test_labels_tell_unit_pid_and_command_line(following: Following) -> None:
    following.start(from_start=True)
    following.journal.write("one", _CMDLINE="python3 -m sglang.launch_server --model-path m")
    following.until("one")
    [inner] = Unwrapper().feed(following.blocks[0])
    origin = inner.locate(0)
    assert origin.labels["cmdline"] == "python3 -m sglang.launch_server --model-path m"
    assert (origin.labels["unit"], origin.labels["pid"], origin.labels["host"]) == (UNIT, "40", "gpu-1")
    assert origin.time == (EPOCH + 1000) / 1e6


def test_what_systemd_says_of_the_unit_bears_its_name_as_in_syslog(following: Following) -> None:
    following.start(from_start=True)
    following.journal.write("Stopping sglang...", "init.scope", UNIT=UNIT, _PID="1", SYSLOG_IDENTIFIER="systemd")
    following.journal.write("Stopping sglang...", SYSLOG_IDENTIFIER="systemd")
    following.until("systemd[1]: Stopping sglang...", "Stopping sglang...")


def test_a_message_that_looks_like_a_cursor_is_none(following: Following) -> None:
    source = following.start(from_start=True)
    real = following.journal.write('{"__CURSOR":"s=forged;i=ffff"} "__CURSOR":"s=forged"')
    following.poll_until(lambda: bool(following.blocks))
    assert source.positions()[0].cursor == real


def test_an_endless_entry_costs_bounded_memory_and_is_told_of(
    following: Following, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "LONGEST_ENTRY", 200_000)
    following.start(from_start=True)
    following.journal.write("one")
    following.journal.write("x" * 900_000)
    following.journal.write("three")
    following.poll_until(lambda: "three" in following.texts)
    assert following.texts == ["one", "three"]
    assert [event.kind for event in following.events] == ["line-cut"]


def test_the_kernels_lines_are_a_journal_of_their_own(following: Following) -> None:
    xid = "NVRM: Xid (PCI:0000:05:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus."
    following.start(KERNEL, KERNEL_MATCHES, from_start=True)
    following.journal.write("one")
    following.journal.kernel(xid)
    following.until(xid)


def test_closing_ends_journalctl(following: Following) -> None:
    source = following.start(from_start=True)
    following.journal.write("one")
    following.until("one")
    process = source._process
    assert process is not None
    following.stop()
    assert process.poll() is not None


# With the real journalctl, on a journal that systemd's own tool writes.

REMOTE = shutil.which("systemd-journal-remote", path=f"{os.environ.get('PATH', '')}:/lib/systemd:/usr/lib/systemd")


@pytest.fixture
def real(tmp_path: Path) -> Callable[[list[str]], Path]:
    """A folder with a real journal of these lines."""
    if REMOTE is None or shutil.which("journalctl") is None:
        pytest.skip("needs journalctl and systemd-journal-remote")
    remote = REMOTE
    folder = tmp_path / "real"
    folder.mkdir()
    written = 0

    def write(lines: list[str]) -> Path:
        nonlocal written
        export = ""
        for line in lines:
            written += 1
            time_now = EPOCH + written * 1000
            export += f"__REALTIME_TIMESTAMP={time_now}\n__MONOTONIC_TIMESTAMP={written * 1000}\n"
            export += "_BOOT_ID=6c4399a729dd42979929f9724e5d8e7c\n_MACHINE_ID=3d1219c7c4c5404aaa1f6d2a48adfda4\n"
            export += f"_SYSTEMD_UNIT={UNIT}\n_PID=40\n_TRANSPORT=stdout\nMESSAGE={line}\n\n"
        output = folder / "remote-test.journal"
        subprocess.run([remote, f"--output={output}", "-"], input=export.encode(), check=True, capture_output=True)
        return folder

    return write


def test_the_real_journalctl_is_followed_and_gone_on_with(tmp_path: Path, real: Callable[[list[str]], Path]) -> None:
    following = Following(tmp_path)
    folder = real(["one", "two " + "x" * 40_000])

    def start() -> Journal:
        saved = cursors.load(following.database.connection)
        following.source = Journal(
            f"journal:{UNIT}", unit_matches(UNIT), saved, following.clock, following.waker,
            from_start=True, events=following.events.append, command=["journalctl", f"--directory={folder}"],
        )  # fmt: skip
        return following.source

    start()
    following.until("one", "two " + "x" * 40_000)
    real(["three"])
    following.until("one", "two " + "x" * 40_000, "three")
    following.store()
    following.stop()
    real(["four"])
    source = start()
    following.until("one", "two " + "x" * 40_000, "three", "four")
    assert len(set(following.places)) == 4
    source.hold(*following.places[3])
    following.store()
    following.stop()
    before, following.blocks = following.places[3:], []
    start()
    following.until("four")
    assert following.places == before
    following.stop()
    following.database.close()
