"""A file may be called anything, by anybody: what a command says of it does nothing to the terminal."""

from pathlib import Path

import pytest

from tests.cli.helpers import responder
from tests.publish.hostile import ACTIVE

NAME = "a\x1b]0;title\x07\x1b[31m\u202egol\u200b.log"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two logs that are none, one of which nobody may read."""
    made = tmp_path / "logs"
    made.mkdir()
    (made / NAME).write_bytes(b"\0\1\2" * 1000)
    (made / f"b{NAME}").symlink_to("/no/such/file")
    return made


@pytest.mark.parametrize(
    "arguments",
    [
        ("replay", "{folder}"),
        ("replay", "{folder}/{name}"),
        ("replay", "{folder}/{name}.none"),
        ("check", "--config", "{config}"),
        ("config", "show", "--config", "{folder}/{name}"),
        ("rules", "test", "{folder}/{name}"),
        ("incidents", "--state", "{folder}/{name}", "list"),
    ],
)
def test_the_name_of_a_file_is_inert(folder: Path, tmp_path: Path, arguments: tuple[str, ...]) -> None:
    config = tmp_path / "responder.toml"
    config.write_text(f'[[server]]\nname = "a"\nlogs = ["{folder}/*.log"]\n[state]\ndir = "{tmp_path}/state"\n')
    ran = responder(*(part.format(folder=folder, name=NAME, config=config) for part in arguments))
    assert not set(ran.stdout + ran.stderr) & set(ACTIVE), (ran.stdout + ran.stderr)[-500:]
    assert ran.returncode in (1, 2, 69, 78), ran.stderr
