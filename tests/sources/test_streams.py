"""Scenario 63: what cannot be read twice."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from responder.sources.pipe import Pipe
from tests.sources.following import InProcess, append, partials, texts


def test_63_stdin_and_fifo(tail: InProcess) -> None:
    """The end of a FIFO's writer is not the end of the FIFO."""
    fifo = tail.folder / "fifo"
    os.mkfifo(fifo)
    tail.start(fifo)
    for n in range(3):
        writer = os.open(fifo, os.O_WRONLY)
        os.write(writer, f"line {n}\nunfin".encode())
        tail.settle()
        os.write(writer, b"ished\n")
        tail.settle()
        os.close(writer)
        tail.pause(1.0)
    assert texts(tail) == [text for n in range(3) for text in (f"line {n}", "unfinished")]
    assert len({(line.file_id, line.offset) for line in tail.lines}) == 6


def test_63_a_writer_that_dies_inside_a_line_does_not_spoil_the_next_one(tail: InProcess) -> None:
    """Its last words come as such."""
    fifo = tail.folder / "fifo"
    os.mkfifo(fifo)
    tail.start(fifo)
    for text in (b"a1\ncut", b"b1\n"):
        writer = os.open(fifo, os.O_WRONLY)
        os.write(writer, text)
        os.close(writer)
        tail.settle()
    assert texts(tail) == ["a1", "b1"]
    assert partials(tail) == ["cut"]


def test_63_a_fifo_names_its_lines_anew_after_a_restart(tail: InProcess) -> None:
    """The same offset is another line."""
    fifo = tail.folder / "fifo"
    os.mkfifo(fifo)
    for _ in range(2):
        tail.start(fifo)
        writer = os.open(fifo, os.O_WRONLY)
        os.write(writer, b"a1\n")
        tail.settle()
        os.close(writer)
        tail.stop()
    assert texts(tail) == ["a1", "a1"]
    assert len({line.file_id for line in tail.lines}) == 2


def test_63_a_fifo_that_is_made_anew_is_followed(tail: InProcess) -> None:
    """Or replaced by a file."""
    fifo = tail.folder / "fifo"
    os.mkfifo(fifo)
    tail.start(fifo)
    fifo.unlink()
    tail.settle()
    os.mkfifo(fifo)
    tail.settle()
    writer = os.open(fifo, os.O_WRONLY)
    os.write(writer, b"a1\n")
    os.close(writer)
    tail.settle()
    fifo.unlink()
    append(fifo, "b1\n")
    tail.settle()
    assert texts(tail) == ["a1", "b1"]


def test_a_pipe_bounds_what_it_keeps_of_a_line() -> None:
    """16 MiB without a newline: cut at the limit, and the next line is exact."""
    reader, writer = os.pipe2(os.O_NONBLOCK)
    pipe = Pipe("-", reader, lambda _: None, 0.0, endless=True)
    blocks = []
    for _ in range(256):
        os.write(writer, b"x" * 65536)
        blocks += pipe.read(1 << 20, 0.0)
    os.write(writer, b"\n" + b"\0\0a1\n")
    blocks += pipe.read(1 << 20, 0.0)
    os.close(writer)
    os.close(reader)
    assert [(block.truncated, block.offset) for block in blocks] == [(True, 0), (False, (16 << 20) + 3)]
    assert len(blocks[0].data) == 256 * 1024 + 1
    assert blocks[1].data == b"a1\n"


@pytest.mark.parametrize("how", ["pipe", "file"])
def test_the_command_reads_standard_input_to_its_end(how: str, folder: Path) -> None:
    """And ends by itself."""
    text = "".join(f"line {n}\n" for n in range(50_000)) + "no newline"
    given = folder / "given"
    append(given, text)
    with given.open("rb") as source:
        result = subprocess.run(
            [sys.executable, "-m", "responder", "tail", "-"],
            input=text.encode() if how == "pipe" else None,
            stdin=None if how == "pipe" else source,
            capture_output=True,
            check=True,
            timeout=30,
        )
    lines = result.stdout.splitlines()
    assert len(lines) == 50_001
    assert lines[0] == b'{"path":"-","offset":0,"text":"line 0","partial":false}'
    assert lines[-1].endswith(b'"text":"no newline","partial":true}')


def test_the_command_ends_quietly_when_nobody_reads_it(folder: Path) -> None:
    """`responder tail log | head -1`."""
    log = folder / "log"
    append(log, "".join(f"line {n}\n" for n in range(100_000)))
    command = [sys.executable, "-m", "responder", "tail", "--from-start", str(log)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout
        assert process.stderr
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(10) == 0


def test_the_command_ends_on_a_signal_though_its_reader_does_not_read(folder: Path) -> None:
    """It gives it a moment, not for ever; what it did not take comes again."""
    log = folder / "log"
    append(log, "".join(f"line {n}\n" for n in range(100_000)))
    state = folder.parent / "state"
    command = [sys.executable, "-m", "responder", "tail", "--from-start", "--state", str(state), str(log)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout
        process.stdout.read(1)
        process.send_signal(signal.SIGTERM)
        assert process.wait(10) == 143
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout
        assert process.stdout.readline() == f'{{"path":"{log}","offset":0,"text":"line 0","partial":false}}\n'.encode()
        process.stdout.close()
        process.wait(10)


@pytest.mark.parametrize(
    ("arguments", "status", "words"),
    [(["{folder}"], 2, "is a folder"), ([], 2, "PATH"), (["--state", "/dev/null/x", "{folder}/log"], 69, "/dev/null")],
)
def test_the_command_says_in_one_line_what_is_wrong(
    arguments: list[str], status: int, words: str, folder: Path
) -> None:
    """And with which status."""
    command = [sys.executable, "-m", "responder", "tail", *(a.format(folder=folder) for a in arguments)]
    result = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    assert result.returncode == status
    assert words in result.stderr
    assert "Traceback" not in result.stderr
