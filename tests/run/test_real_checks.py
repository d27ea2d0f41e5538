"""What the real sglang says of a relaunch stands on the remedy, and a refused proposal is withdrawn."""

import threading
from collections.abc import Mapping
from pathlib import Path

import pytest
from msgspec.structs import replace

from responder.advise.advise import advise
from responder.advise.gpu.spec import parse_gpu_spec
from responder.advise.launch import Launch
from responder.advise.learn import Host
from responder.advise.real_check import RealCheck
from responder.catalogue import Catalogue
from responder.nouns import Incident, Server
from responder.run.real_checks import RealChecks
from responder.scan import Program
from tests.diagnosing import findings

COMMAND = (
    "python3 -m sglang.launch_server --model-path /models/qwen3 --tp-size 2 --attn-cp-size 2"
    " --prefill-attention-backend trtllm_mha --api-key sk-1234567890abcdef"
)
HOST = Host(server=Server(name="llama", version="0.5.23"), gpu=parse_gpu_spec("8xH100"), command=COMMAND)
ACCEPTED = RealCheck(outcome="accepted", release="0.5.23")
REFUSED = RealCheck(outcome="refused", text="ValueError: not so.")
FAILED = RealCheck(outcome="failed", text="no answer")


class Asked:
    """Answers at once and notes what it was asked."""

    def __init__(self, *answers: RealCheck | None) -> None:
        self.answers, self.commands = list(answers), list[str]()

    def __call__(self, command: str, env: Mapping[str, str], release: str | None) -> RealCheck | None:
        """The next answer; the last one again and again."""
        self.commands.append(command)
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


@pytest.fixture
def seed(catalogue: Catalogue, program: Program) -> str:
    """A text whose rule knows several remedies."""
    rule = catalogue.by_id["trtllm-mha-prefill-cp-needs-sm100"]
    return rule.sample[0].text


def advised(catalogue: Catalogue, program: Program, text: str, asked: Asked, host: Host = HOST) -> Incident:
    [finding] = [f for f in findings(program, text) if f.severity != "info"]
    return advise(finding, host, catalogue.by_id, asked)


def test_an_accepted_relaunch_says_who_accepted_it(catalogue: Catalogue, program: Program, seed: str) -> None:
    asked = Asked(ACCEPTED)
    incident = advised(catalogue, program, seed, asked)
    assert incident.remedies[0].verified == "sglang"
    assert incident.relaunch == incident.remedies[0].relaunch
    assert incident.relaunch is not None
    assert asked.commands == [incident.relaunch.command]
    assert "sk-1234567890abcdef" not in asked.commands[0]


def test_a_refused_relaunch_is_withdrawn_and_the_next_is_asked_about(
    catalogue: Catalogue, program: Program, seed: str
) -> None:
    first = advised(catalogue, program, seed, Asked(ACCEPTED)).remedies[0].title
    incident = advised(catalogue, program, seed, Asked(REFUSED, ACCEPTED))
    withdrawn = next(remedy for remedy in incident.remedies if remedy.title == first)
    assert (withdrawn.applies, withdrawn.relaunch) == ("no", None)
    assert withdrawn.refused == "sglang itself refuses this relaunch: ValueError: not so."
    assert withdrawn.why.endswith(withdrawn.refused)
    assert incident.remedies[0].title != first
    if incident.remedies[0].applies == "yes" and incident.remedies[0].relaunch is not None:
        assert incident.remedies[0].verified == "sglang"


def test_a_relaunch_that_a_rule_refuses_is_withdrawn_and_says_by_which(
    catalogue: Catalogue, program: Program, seed: str
) -> None:
    [finding] = [f for f in findings(program, seed) if f.severity != "info"]
    known = catalogue.by_id[finding.rule.id if finding.rule else ""]
    never = replace(
        known, id="never-fa3", title="Never fa3", refused_when='args.prefill_attention_backend == "fa3"', remedy=()
    )
    incident = advise(finding, HOST, catalogue.by_id | {"never-fa3": never})
    refused = [remedy for remedy in incident.remedies if remedy.refused]
    assert [remedy.set["--prefill-attention-backend"] for remedy in refused] == ["fa3"]
    assert [(one.applies, one.relaunch, one.refused) for one in refused] == [
        ("no", None, "The relaunch would be refused: Never fa3.")
    ]


def test_where_all_are_refused_no_relaunch_is_left(catalogue: Catalogue, program: Program, seed: str) -> None:
    incident = advised(catalogue, program, seed, Asked(REFUSED))
    assert incident.relaunch is None
    assert not any(remedy.applies == "yes" and remedy.relaunch for remedy in incident.remedies)


@pytest.mark.parametrize("answer", [None, FAILED])
def test_no_answer_changes_nothing(catalogue: Catalogue, program: Program, seed: str, answer: RealCheck | None) -> None:
    [finding] = [f for f in findings(program, seed) if f.severity != "info"]
    assert advised(catalogue, program, seed, Asked(answer)) == advise(finding, HOST, catalogue.by_id)


def test_a_command_that_nobody_vouches_for_is_never_run(catalogue: Catalogue, program: Program, seed: str) -> None:
    asked = Asked(ACCEPTED)
    advised(catalogue, program, seed, asked, replace(HOST, launch=Launch(command=COMMAND, source="log")))
    assert asked.commands == []


def test_each_command_is_asked_about_once_and_beside_the_caller(tmp_path: Path) -> None:
    asked, answered = [], threading.Event()

    def check(python: str, command: str, env: Mapping[str, str]) -> RealCheck:
        asked.append((python, command, dict(env), threading.current_thread().name))
        return ACCEPTED

    checks = RealChecks(str(tmp_path / "python"), answered.set, check=check)
    assert checks("sglang serve m", {"NCCL_DEBUG": "INFO"}, "0.5.23") is None
    assert checks("sglang serve m", {"NCCL_DEBUG": "INFO"}, "0.5.23") is None
    checks.start()
    assert answered.wait(20)
    assert checks("sglang serve m", {"NCCL_DEBUG": "INFO"}, "0.5.23") == ACCEPTED
    assert checks.version == 1
    checks.close()
    assert asked == [(str(tmp_path / "python"), "sglang serve m", {"NCCL_DEBUG": "INFO"}, "real-check")]


def test_another_release_than_the_servers_is_not_asked(tmp_path: Path) -> None:
    (tmp_path / "lib/python3.12/site-packages/sglang-0.5.20.dist-info").mkdir(parents=True)
    (tmp_path / "bin").mkdir()
    checks = RealChecks(str(tmp_path / "bin" / "python"))
    found = checks("sglang serve m", {}, "0.5.23")
    assert found is not None
    assert (found.outcome, found.text) == ("failed", "the interpreter has sglang 0.5.20, not 0.5.23")
