"""No secret and no prompt that stands in a log or on a command line leaves in any form, whatever failed beside it."""

import os
import subprocess
import sys
from collections.abc import Iterable
from io import StringIO
from pathlib import Path

import msgspec
import pytest

from responder.catalogue import Catalogue
from responder.cli.show import FORMATS, show
from responder.nouns import Incident
from responder.publish.slack import message

SECRETS = {
    "api": "Zk4planted9ApiKey",
    "admin": "Qp2planted8Admin",
    "ssl": "tls-planted-Pass-77",
    "hugging face": "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",
    "cloud": "AKIAPLANTEDPLANTED12",
    "variable": "plantedVariable31",
    "url": "planted-url-pw-55",
    "bearer": "plantedBearer0123456789",
    "short name": "plantedShortName44",
    "mistyped flag": "plantedMistyped58",
    "prompt": "planted words of a patient",
}
COMMAND = (
    f"MYSQL_PWD={SECRETS['short name']} REDIS_PASS={SECRETS['short name']} "
    f"HF_TOKEN={SECRETS['hugging face']} OPENAI_API_KEY={SECRETS['variable']} python3 -m sglang.launch_server "
    f"--model-path https://me:{SECRETS['url']}@hub.example.com/m --tp-size 2 --api-key {SECRETS['api']} "
    f"--admin-api-key={SECRETS['admin']} --ssl-keyfile-password '{SECRETS['ssl']}' "
    "--prefill-attention-backend trtllm_mha --attn-cp-size 2 --enable-prefill-cp --cp-strategy zigzag"
)
PLANTED = (
    f"[2026-11-30 12:35:26] server_args=ServerArgs(model_path='/models/m', api_key='{SECRETS['api']}', "
    f"admin_api_key='{SECRETS['admin']}', ssl_keyfile_password='{SECRETS['ssl']}', tp_size=2)",
    f"+ {COMMAND}",
    f"export AWS_ACCESS_KEY_ID={SECRETS['cloud']} NOTION_TOKEN={SECRETS['short name']}",
    f"retrying with --api-ky {SECRETS['mistyped flag']} --hf-tokn={SECRETS['mistyped flag']}",
    f"headers: {{'Authorization': 'Bearer {SECRETS['bearer']}'}}",
    f"[2026-11-30 12:35:26] Receive: obj=GenerateReqInput(text='{SECRETS['prompt']}', input_ids=None)",
)


def planted(text: str) -> str:
    """The log with secrets above, below and between its last lines, and behind them."""
    lines = text.rstrip("\n").split("\n")
    head, tail = lines[:-3], lines[-3:]
    between = [part for line in tail for part in (*PLANTED, line)]
    behind = f"{lines[-1]} url=https://me:{SECRETS['url']}@hub.example.com api_key='{SECRETS['api']}'"
    return "\n".join([*head, *between, *PLANTED, behind, *PLANTED]) + "\n"


def outputs(folder: Path, *options: str, forms: Iterable[str] = FORMATS) -> dict[str, str]:
    """What `replay` writes of all logs in the folder, by format, and what Slack would get."""
    said = {}
    for form in forms:
        command = [sys.executable, "-m", "responder", "replay", str(folder), "--format", form, *options]
        done = subprocess.run(command, capture_output=True, text=True, env=os.environ, check=True)
        said[form] = done.stdout
        said[f"{form}, its errors"] = done.stderr
    found = [msgspec.json.decode(line, type=Incident) for line in said["jsonl"].splitlines()]
    payloads = [(message.root(one, buttons=True), message.thread(one), message.relaunches(one)) for one in found]
    said["slack"] = msgspec.json.encode([payloads, message.summary(found[:20], "A summary.")]).decode()
    for form in set(FORMATS) - set(said):
        page = StringIO()
        show(found, form, page)
        said[form] = page.getvalue()
    assert len(found) > 0
    return said


def leaks(said: dict[str, str]) -> list[str]:
    return [f"{name} in {form}" for form, text in said.items() for name, secret in SECRETS.items() if secret in text]


def write(folder: Path, texts: Iterable[tuple[str, str]]) -> Path:
    folder.mkdir()
    for name, text in texts:
        (folder / f"{name}.log").write_text(planted(text))
    return folder


@pytest.mark.parametrize("command", [None, COMMAND], ids=["as the log tells it", "given"])
def test_no_secret_beside_a_real_failure_leaves(tmp_path: Path, logs: Path, command: str | None) -> None:
    folder = write(tmp_path / "logs", ((log.stem, log.read_text(errors="replace")) for log in logs.glob("*.log")))
    options = ("--gpu", "sm90", "--sglang", "0.5.23", *(("--command", command) if command else ()))
    said = outputs(folder, *options)
    assert leaks(said) == []
    assert "[redacted]" in said["text"]  # they stood in what is shown
    if command:
        assert '--api-key "$SGLANG_API_KEY"' in said["text"]


@pytest.mark.slow
def test_no_secret_beside_any_sample_of_the_catalogue_leaves(tmp_path: Path, catalogue: Catalogue) -> None:
    samples = [
        (f"{rule.id}-{n}", sample.text)
        for rule in catalogue.rules
        for n, sample in enumerate(rule.sample)
        if sample.matches
    ]
    folder = write(tmp_path / "logs", samples)
    assert leaks(outputs(folder, "--command", COMMAND, forms=["jsonl"])) == []
