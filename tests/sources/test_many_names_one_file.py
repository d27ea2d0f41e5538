"""Scenarios 44 to 49: what is one file and what are two."""

import gzip
import os
import shutil

from tests.sources.following import InProcess, append, texts


def test_44_two_files_same_header(tail: InProcess) -> None:
    """Files that begin alike are two files."""
    header = "".join(f"header {n} {'.' * 60}\n" for n in range(20))
    one, two = tail.folder / "one.log", tail.folder / "two.log"
    append(one, header + "a1\n")
    append(two, header + "b1\n")
    tail.start(tail.folder / "*.log", from_start=True)
    append(one, "a2\n")
    append(two, "b2\n")
    tail.settle()
    by_path = {path: [line.text for line in tail.lines if line.path == str(path)] for path in (one, two)}
    assert by_path[one][20:] == ["a1", "a2"]
    assert by_path[two][20:] == ["b1", "b2"]
    assert len(tail.lines) == 44


def test_44_a_rotated_name_is_no_proof_of_a_copy(tail: InProcess) -> None:
    """A new file with a rotated file's name and the same beginning, but other lines, is read whole."""
    header = "".join(f"header {n} {'.' * 60}\n" for n in range(20))
    log = tail.folder / "log"
    append(log, header + "a1\n")
    tail.start(tail.folder / "log*", from_start=True)
    append(tail.folder / "log.2", header + "b1\nb2\n")
    tail.settle()
    assert texts(tail).count("b1") == 1
    assert len(tail.lines) == 21 + 22


def test_45_same_file_two_globs(tail: InProcess) -> None:
    """A hard link, a symbolic link, two patterns and the name itself: still one file, read once."""
    log = tail.folder / "log"
    append(log, "a1\n")
    os.link(log, tail.folder / "hard.log")
    (tail.folder / "soft.log").symlink_to(log)
    tail.start(log, tail.folder / "*.log", tail.folder / "so*", tail.folder / "log*", from_start=True)
    append(log, "a2\n")
    tail.settle()
    assert texts(tail) == ["a1", "a2"]
    os.link(log, tail.folder / "late.log")
    tail.pause(6.0)
    assert texts(tail) == ["a1", "a2"]
    (tail.folder / "late.log").unlink()
    log.rename(tail.folder / "gone")
    append(log, "b1\n")
    append(tail.folder / "gone", "a3\n")
    tail.settle()
    assert sorted(texts(tail)) == ["a1", "a2", "a3", "b1"]


def test_45_a_glob_that_does_not_find_a_file_does_not_follow_it_after_a_restart_either(tail: InProcess) -> None:
    """A star ends at a slash: what lies in the folder below is another's."""
    (tail.folder / "below").mkdir()
    log, other = tail.folder / "a.log", tail.folder / "below" / "b.log"
    append(log, "a1\n")
    append(other, "b1\n")
    tail.start(tail.folder / "*.log", tail.folder / "**" / "b.log", from_start=True)
    assert sorted(texts(tail)) == ["a1", "b1"]
    tail.stop()
    append(log, "a2\n")
    append(other, "b2\n")
    tail.start(tail.folder / "*.log")
    tail.pause(1.0)
    assert sorted(texts(tail)) == ["a1", "a2", "b1"]


def test_46_rotated_gz_appears(tail: InProcess) -> None:
    """A rotated file that is compressed under the glob is not read again."""
    log, rotated = tail.folder / "log", tail.folder / "log.1"
    append(log, "a1\n")
    tail.start(tail.folder / "log*", from_start=True)
    log.rename(rotated)
    append(log, "b1\n")
    tail.settle()
    with gzip.open(tail.folder / "log.1.gz", "wb") as packed:
        packed.write(rotated.read_bytes())
    rotated.unlink()
    tail.pause(70.0)
    assert texts(tail) == ["a1", "b1"]
    assert tail.happened("unreadable") == tail.happened("ignored") == 0


def test_46_rotated_copy_appears_under_the_glob(tail: InProcess) -> None:
    """Nor is the copy that precedes truncation, be it slow in the making."""
    log, copy = tail.folder / "log", tail.folder / "log.1"
    lines = [f"a{n} {'.' * 60}" for n in range(50)]
    append(log, "".join(f"{line}\n" for line in lines))
    tail.start(tail.folder / "log*", from_start=True)
    content = log.read_bytes()
    for part in range(0, len(content), 1000):
        append(copy, content[part : part + 1000])
        tail.settle()
    append(log, "a50\n")
    append(copy, "a50\n")
    os.truncate(log, 0)
    append(log, "b1\n")
    tail.settle()
    assert texts(tail) == [*lines, "a50", "b1"]


def test_46_a_copy_without_truncation_is_never_read(tail: InProcess) -> None:
    """Somebody keeps a copy for themselves; what they add to it later counts."""
    log, copy = tail.folder / "log", tail.folder / "log.1"
    append(log, "a1\n")
    tail.start(tail.folder / "log*", from_start=True)
    shutil.copy(log, copy)
    append(log, "a2\n")
    tail.pause(61.0)
    append(copy, "own line\n")
    tail.settle()
    assert texts(tail) == ["a1", "a2", "own line"]


def test_47_gz_half_written(tail: InProcess) -> None:
    """An archive in the making is left alone, by its name or by its content, and costs nothing."""
    packed = gzip.compress(b"old line\n" * 1000)
    tail.start(tail.folder / "*", from_start=True)
    for part in range(0, len(packed), 20):
        append(tail.folder / "log.1.gz", packed[part : part + 20])
        append(tail.folder / "nameless", packed[part : part + 20])
        tail.settle()
    assert tail.lines == []
    assert [(e.kind, e.detail) for e in tail.events if e.kind == "ignored"] == [("ignored", "compressed (gzip)")]


def test_47_an_archive_named_by_the_user_is_refused_once(tail: InProcess) -> None:
    """The live follower says that it is for the replay, and says so once."""
    packed = tail.folder / "log.gz"
    packed.write_bytes(gzip.compress(b"old line\n"))
    tail.start(packed, from_start=True)
    tail.pause(2.0)
    assert tail.lines == []
    assert [e.detail for e in tail.events] == ["compressed: a finished log, for `responder replay`"]


def test_49_symlink_chain_k8s(tail: InProcess) -> None:
    """containers → pods → file, rotated by the kubelet under load, with restarts and a new container."""
    pod = tail.folder / "pods" / "default_llama_1234" / "sglang"
    pod.mkdir(parents=True)
    containers = tail.folder / "containers"
    containers.mkdir()
    data = tail.folder / "data"
    data.mkdir()
    (pod / "0.log").symlink_to(data / "0.log")
    link = containers / "llama_default_sglang-abc.log"
    link.symlink_to(pod / "0.log")
    count = 0

    def write(path: str, lines: int) -> None:
        nonlocal count
        append(data / path, "".join(f"line {n}\n" for n in range(count, count + lines)))
        count += lines

    write("0.log", 10)
    tail.start(containers / "*.log", from_start=True)
    for rotation in range(5):
        write("0.log", 100)
        (data / "0.log").rename(data / f"0.log.2026082{rotation}-05100{rotation}")
        write("0.log", 100)
        if rotation == 2:
            tail.stop()
            write("0.log", 50)
            (data / "0.log").rename(data / "0.log.20260822-051009")
            write("0.log", 50)
            tail.start(containers / "*.log")
        tail.settle()
    # The container restarts: its next log has another name, and the chain is made anew.
    write("0.log", 10)
    write("1.log", 10)
    (pod / "1.log").symlink_to(data / "1.log")
    link.unlink()
    link.symlink_to(pod / "1.log")
    tail.settle()
    assert texts(tail) == [f"line {n}" for n in range(count)]
    assert {line.path for line in tail.lines} == {str(link)}
