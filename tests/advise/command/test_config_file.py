"""`--config FILE`: flags in a YAML file, below those of the line."""

import os
from pathlib import Path

import pytest

from responder.advise.command import edit, read

pytest.importorskip("yaml")


def config(folder: Path, text: str) -> Path:
    file = folder / "server.yaml"
    file.write_text(text)
    return file


def test_the_file_is_read_below_the_line(tmp_path: Path) -> None:
    file = config(tmp_path, "model-path: /m\ntp-size: 4\ntrust-remote-code: true\ncuda-graph-bs-decode: [1, 2]\n")
    found = read(f"sglang serve --config {file} --tp-size 2", "0.5.23")
    assert found.values["tp_size"] == 2
    assert found.values["trust_remote_code"] is True
    assert found.values["cuda_graph_bs_decode"] == [1, 2]
    assert found.from_config == {"model_path", "trust_remote_code", "cuda_graph_bs_decode"}
    assert (found.problems, found.open) == ([], False)


def test_a_key_with_underscores_is_no_flag_as_in_sglang(tmp_path: Path) -> None:
    file = config(tmp_path, "model-path: /m\ntp_size: 4\n")
    found = read(f"sglang serve --config {file}", "0.5.23")
    assert [problem.text for problem in found.problems] == ["unrecognized arguments: --tp_size 4"]


@pytest.mark.parametrize("text", ["- a\n- b\n", "a: [1\n"])
def test_a_file_that_cannot_be_understood_leaves_the_arguments_open(tmp_path: Path, text: str) -> None:
    found = read(f"sglang serve m --config {config(tmp_path, text)}", "0.5.23")
    assert found.open
    assert len(found.notes) == 1


def test_a_missing_relative_or_odd_file_is_said_and_not_opened(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.yaml"
    os.mkfifo(pipe)
    for path in ("server.yaml", str(tmp_path / "none.yaml"), str(pipe), str(tmp_path)):
        found = read(f"sglang serve m --config {path}", "0.5.23")
        assert found.open
        assert path in found.notes[0]


def test_a_flag_that_stands_in_the_file_is_overridden_but_cannot_be_removed(tmp_path: Path) -> None:
    file = config(tmp_path, "model-path: /m\nenable-metrics: true\ntp-size: 4\n")
    edited = edit(f"sglang serve --config {file}", {"--tp-size": "2"}, ["--enable-metrics"], release="0.5.23")
    assert edited.command == f"sglang serve --config {file} --tp-size 2"
    assert edited.notes == ("--enable-metrics stands in the --config file: remove it there",)
