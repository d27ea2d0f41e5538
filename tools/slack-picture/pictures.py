"""Render every kind of Slack message to a PNG, to look at: `python tools/slack-picture/pictures.py [FOLDER]`.

Needs `npm install` in this folder once, Chromium, and the fonts Lato, DejaVu and Noto Color Emoji; pngquant makes the
pictures smaller.
"""

import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(ROOT))

from responder.publish.slack import message, presses  # noqa: E402
from responder.store.presses import Press  # noqa: E402
from tests.publish import incidents as samples  # noqa: E402

WIDTH = 760
NIGHT = "2026-11-30T03:12:00Z"
PRESS = Press(key="", incident="", action="acknowledge", by="", at=1_796_008_500.0)

Conversation = list[dict[str, Any]]


def conversations() -> dict[str, Conversation]:
    """Every kind of message, by the name of its picture."""
    seed = samples.seed_incident()
    loop = samples.crash_loop_incident()
    resolved = samples.change(loop, status="resolved", resolved_at="2026-11-30T13:20:00Z")
    acknowledged = samples.change(loop, status="acknowledged")
    pages = [samples.hardware_incident(), samples.unrecognised_incident(), samples.symptom_incident(), loop]
    return {
        "alert": [_said(message.root(seed))],
        "buttons": [
            _said(message.root(seed, buttons=True)),
            _said(presses.answer(PRESS, "ada", here=True), reply=True),
        ],
        "thread": [_said(message.root(seed)), *(_said(reply, reply=True) for reply in message.thread(seed))],
        "gpu-unknown": [_said(message.root(samples.unknown_gpu_incident()))],
        "flags-only": [_said(message.root(samples.flags_only_incident()))],
        "hardware": [_said(message.root(pages[0])), *(_said(r, reply=True) for r in message.thread(pages[0]))],
        "unrecognised": [_said(message.root(pages[1]))],
        "symptom": [_said(message.root(pages[2]))],
        "crash-loop": [_said(message.root(loop)), _said(message.broadcast(loop, "crash-loop"), reply=True)],
        "acknowledged": [_said(message.root(acknowledged))],
        "resolved": [_said(message.root(resolved))],
        "reopened": [_said(message.root(loop, again=True)), _said(message.broadcast(loop, "reopened"), reply=True)],
        "summary": [_said(message.summary(pages, "These stand in the logs written between 02:10 and 03:12."))],
    }


def _said(payload: dict[str, Any], *, reply: bool = False) -> dict[str, Any]:
    return {"time": NIGHT, "blocks": payload["blocks"], "reply": reply}


def draw(conversation: Conversation, picture: Path) -> None:
    """One PNG, exactly as high as the conversation."""
    node = ["node", str(HERE / "render.mjs")]
    html = subprocess.run(node, input=json.dumps(conversation), capture_output=True, text=True, check=True).stdout
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "page.html"
        page.write_text(html, encoding="utf-8")
        title = re.search(r"<title>(\d+)</title>", _chromium(page, "--dump-dom", f"--window-size={WIDTH},4000"))
        height = int(title[1]) if title else 2000
        # A headless window is a little smaller than it was asked to be; the surplus is white.
        _chromium(page, f"--screenshot={picture}", f"--window-size={WIDTH},{height + 4}")
    if shutil.which("pngquant"):
        subprocess.run(["pngquant", "--force", "--ext", ".png", "--strip", "32", str(picture)], check=True)


def _chromium(page: Path, *options: str) -> str:
    command = [
        "chromium",
        "--headless=new",
        "--no-sandbox",
        "--hide-scrollbars",
        "--disable-gpu",
        *options,
        page.as_uri(),
    ]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def main() -> None:
    """Draw all of them, or those named after the folder."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "docs" / "pictures").resolve()
    folder.mkdir(parents=True, exist_ok=True)
    for name, conversation in conversations().items():
        if len(sys.argv) < 3 or name in sys.argv[2:]:
            draw(conversation, folder / f"{name}.png")
            print(folder / f"{name}.png")


if __name__ == "__main__":
    main()
