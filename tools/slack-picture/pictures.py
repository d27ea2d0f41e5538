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

from responder.nouns import Evidence, Incident, Relaunch, Remedy  # noqa: E402
from responder.publish.slack import message, presses  # noqa: E402
from responder.store.presses import Press  # noqa: E402
from tests.publish import incidents as samples  # noqa: E402

WIDTH = 760
FIRST = "2026-11-30T12:35:33Z"
"""When the message goes out; what its samples tell of came some seconds before."""
LATER = "2026-11-30T13:05:00Z"
PRESS = Press(key="", incident="", action="acknowledge", by="", at=1_796_042_200.0)

Conversation = list[dict[str, Any]]


def conversations() -> dict[str, Conversation]:
    """Every kind of message, by the name of its picture."""
    seed, loop, hardware = samples.seed_incident(), samples.crash_loop_incident(), samples.hardware_incident()
    unknown, symptom, refused = samples.unrecognised_incident(), samples.symptom_incident(), samples.refused_incident()
    change = samples.change
    acknowledged = change(loop, status="acknowledged", acknowledged_by="oncall (Slack U0000000ON)")
    resolved = change(loop, status="resolved", resolved_at="2026-11-30T13:20:00Z")
    pages = [hardware, unknown, symptom, loop]
    missed = "Their last lines were older than ten minutes when responder came to read them."
    return {
        "alert": [_said(message.root(seed))],
        "thread": _with_thread(seed),
        "gpu-unknown": [_said(message.root(samples.unknown_gpu_incident()))],
        "flags-only": [_said(message.root(samples.flags_only_incident()))],
        "hardware": _with_thread(hardware),
        "unrecognised": [_said(message.root(unknown))],
        "symptom": [_said(message.root(symptom))],
        "cause-found": [
            _said(message.root(change(hardware, id=symptom.id))),
            *(_said(reply, reply=True) for reply in message.thread(symptom)[:1]),
            _said(message.broadcast(hardware, "cause-found"), reply=True),
        ],
        "refused": _with_thread(refused),
        "storm": [_said(message.root(_storm()))],
        "crash-loop": [_said(message.root(loop)), _said(message.broadcast(loop, "crash-loop"), reply=True)],
        "acknowledged": [_said(message.root(acknowledged))],
        "silenced": [_said(message.root(change(seed, silenced_until="2026-11-30T13:35:00Z"), buttons=True))],
        "resolved": [_said(message.root(resolved))],
        "reopened": [
            _said(message.root(loop, again=True)),
            _said(message.broadcast(loop, "reopened"), reply=True, time=LATER),
        ],
        "still-open": [_said(message.broadcast(hardware, "repeat"), time="2026-11-30T16:35:33Z")],
        "buttons": [
            _said(message.root(seed, buttons=True)),
            _said(presses.answer(PRESS, "oncall", here=True), reply=True, time="2026-11-30T12:36:40Z"),
        ],
        "relaunch": [_said(message.relaunches(seed) or {})],
        "summary": [_said(message.summary(pages, missed), time=LATER)],
        "held-back": [_said(message.held_back(pages, 55), time=LATER)],
        "test": [_said(message.hello("gpu-17"))],
    }


def _storm() -> Incident:
    """Out of memory on eight ranks, 100,000 lines of it."""
    line = (
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 3 has a total capacity of 79.11 "
        "GiB of which 1.05 GiB is free."
    )
    remedy = Remedy(
        title="Give the weights and the KV cache less of the GPU",
        applies="yes",
        why="activations of long prefills found no room beside them",
        set={"--mem-fraction-static": "0.80"},
        next="Cut prefills into smaller chunks (`--chunked-prefill-size 4096`).",
        verified="catalogue",
        relaunch=Relaunch(
            command=" ".join(samples.SEED_COMMAND) + " --mem-fraction-static 0.80",
            diff=("+ --mem-fraction-static 0.80",),
            complete=True,
        ),
    )
    return samples.seed_incident(
        id="b20c44d1f7e8",
        rule="cuda-out-of-memory",
        kind="gpu-memory",
        title="CUDA ran out of memory",
        phase="serving",
        cause="A request needed more GPU memory than was left beside the weights and the KV cache.",
        evidence=Evidence(path="/var/log/sglang/llama-70b.log", line=4711, offset=1, text=line, excerpt=(line,)),
        last_seen="2026-11-30T12:36:11Z",
        lines=100_000,
        ranks=tuple(f"TP{n}" for n in range(8)),
        remedies=(remedy,),
        relaunch=remedy.relaunch,
    )


def _with_thread(incident: Incident) -> Conversation:
    return [_said(message.root(incident)), *(_said(reply, reply=True) for reply in message.thread(incident))]


def _said(payload: dict[str, Any], *, reply: bool = False, time: str = FIRST) -> dict[str, Any]:
    return {"time": time, "blocks": payload["blocks"], "reply": reply}


def draw(conversation: Conversation, picture: Path) -> None:
    """One PNG, exactly as high as the conversation."""
    node = ["node", str(HERE / "render.mjs")]
    html = subprocess.run(node, input=json.dumps(conversation), stdout=subprocess.PIPE, text=True, check=True).stdout
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
