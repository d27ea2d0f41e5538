"""The pictures in the README are of messages that responder sends, and none of them is missing."""

import importlib.util
import re
from pathlib import Path
from typing import Any

import pytest

from tests.slack_blocks import refusals

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def conversations() -> dict[str, list[dict[str, Any]]]:
    spec = importlib.util.spec_from_file_location("pictures", ROOT / "tools" / "slack-picture" / "pictures.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return dict(module.conversations())


def test_every_kind_of_message_has_its_picture_in_the_readme(conversations: dict[str, Any]) -> None:
    shown = re.findall(r"!\[[^]]+\]\(docs/pictures/([a-z-]+)\.png\)", (ROOT / "README.md").read_text())
    assert sorted(shown) == sorted(conversations)
    assert sorted(path.stem for path in (ROOT / "docs" / "pictures").glob("*.png")) == sorted(conversations)


def test_slack_would_take_each_message_that_is_drawn(conversations: dict[str, list[dict[str, Any]]]) -> None:
    for conversation in conversations.values():
        for said in conversation:
            assert refusals({"text": "x", "blocks": said["blocks"]}) == ("", [])
