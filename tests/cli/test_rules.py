"""The catalogue's commands."""

import json
import tomllib
from pathlib import Path

from tests.cli.helpers import responder


def test_the_list_as_json_holds_every_pattern():
    ran = responder("rules", "list", "--json")
    rules = [json.loads(line) for line in ran.stdout.splitlines()]
    seed = next(rule for rule in rules if rule["id"] == "trtllm-mha-prefill-cp-needs-sm100")
    assert seed["patterns"]
    assert len(rules) >= 200


def test_a_page_says_what_it_means_and_what_to_do():
    page = responder("rules", "show", "trtllm-mha-prefill-cp-needs-sm100").stdout
    for heading in ("What it means", "When sglang refuses", "What to do", "How it looks"):
        assert heading in page


def test_a_page_for_one_gpu_holds_only_what_can_help_there():
    whole = responder("rules", "show", "trtllm-mha-prefill-cp-needs-sm100").stdout
    sm120 = responder("rules", "show", "trtllm-mha-prefill-cp-needs-sm100", "--gpu", "sm120").stdout
    assert "Use FlashAttention 3 for prefill" in whole
    assert "Use FlashAttention 3 for prefill" not in sm120
    assert "Turn context parallelism off" in sm120


def test_a_draft_from_a_log_line_is_a_rule_that_matches_it(tmp_path):
    line = "[2026-09-14 07:02:10 TP0] RuntimeError: Widget 17 of '/models/x' is too blue"
    path = Path(responder("rules", "new", line, "-o", str(tmp_path)).stdout.strip())
    rule = tomllib.loads(path.read_text())
    assert rule["exception"] == "RuntimeError"
    tested = responder("rules", "test", str(tmp_path))
    assert f"{path}:" not in "".join(line for line in tested.stdout.splitlines() if "does not match" in line)
    assert "TODO" in path.read_text()


def test_error_records_become_drafts(tmp_path):
    record = {
        "messagePattern": r"Widget \d+ is too blue\.",
        "errorMessage": "Widget 17 is too blue.",
        "errorClass": "ValueError",
        "slug": "widget-too-blue",
        "solutions": ["Paint it red"],
        "tags": ["hang"],
    }
    for number, text in enumerate((record, [record], {"record": record})):
        source = tmp_path / f"{number}.json"
        source.write_text(json.dumps(text))
        ran = responder("rules", "import", str(source))
        rule = tomllib.loads(ran.stdout)
        assert (rule["id"], rule["kind"], rule["patterns"]) == ("widget-too-blue", "hang", [record["messagePattern"]])
        assert "# claim (solution): Paint it red" in ran.stdout


def test_the_schema_in_the_catalogue_is_the_one_the_code_reads():
    from responder.catalogue import rules_root

    assert (rules_root() / "rule.schema.json").read_text() == responder("rules", "schema").stdout
