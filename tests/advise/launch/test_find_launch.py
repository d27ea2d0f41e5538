"""Of several sources the most trusted one is believed, and what nobody vouches for is never shown for pasting."""

import pytest

from responder.advise.advise import advise
from responder.advise.environment import Versions
from responder.advise.gpu.spec import parse_gpu_spec
from responder.advise.launch import Launch, config_launch, find_launch, journald_launch, log_launch, printed_pids
from responder.advise.learn import Host, launched, learn, parsed
from responder.catalogue import Catalogue
from responder.nouns import Incident, Server
from responder.scan import Program
from tests.diagnosing import findings

FLAGS = "--model-path /models/qwen3 --tp-size 2 --attn-cp-size 2 --prefill-attention-backend trtllm_mha"
COMMAND = f"python3 -m sglang.launch_server {FLAGS} --api-key sk-1234567890abcdef"


def a(source: str, **more: object) -> Launch:
    """A launch that a source tells."""
    fields: dict[str, object] = {"command": f"sglang serve {source}", "source": source, "complete": source != "log"}
    return Launch(**(fields | more))  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def seed_text(program: Program) -> str:
    """The text that the rule of the seed knows."""
    rule = next(p.rule for p in program.patterns if p.rule and p.rule.id == "trtllm-mha-prefill-cp-needs-sm100")
    return rule.sample[0].text


def advised(catalogue: Catalogue, program: Program, text: str, launch: Launch | None, **more: object) -> Incident:
    """The incident of a log whose server was launched so, on H100s."""
    host = Host(server=Server(name="llama", version="0.5.23"), gpu=parse_gpu_spec("8xH100"))
    [finding] = [f for f in findings(program, text) if f.severity != "info"]
    return advise(finding, host if launch is None else launched(host, launch), catalogue.by_id, **more)  # type: ignore[arg-type]


def test_sources_are_believed_in_order_of_trust() -> None:
    order = ["config", "unit", "process", "container", "log"]
    sources = [a(source) for source in order]
    for number, source in enumerate(order):
        assert find_launch(*reversed(sources[number:])).source == source


def test_what_nobody_vouches_for_gives_way_to_whoever_is_vouched_for() -> None:
    assert find_launch(a("process", complete=False), a("container")).source == "container"
    assert find_launch(a("process", complete=False), a("log")).source == "process"


def test_a_source_without_a_command_gives_way_but_says_why_where_nobody_knows_better() -> None:
    silent = Launch(source="unit", note="there is no unit a.service")
    assert find_launch(silent, a("process")).command == "sglang serve process"
    assert find_launch(silent, a("process")).note == ""
    assert find_launch(silent, None, Launch(source="process")).note == "there is no unit a.service"


def test_the_others_complete_what_the_best_source_does_not_know() -> None:
    unit = a("unit", env={"SGLANG_A": "1", "SGLANG_B": "1"}, unit="a.service")
    process = a("process", env={"SGLANG_B": "2", "SGLANG_C": "2"}, versions=Versions(sglang="0.5.23"), pid=7)
    found = find_launch(unit, process, a("log", env={"SGLANG_D": "3"}))
    assert found.env == {"SGLANG_A": "1", "SGLANG_B": "1", "SGLANG_C": "2"}
    assert (found.versions.sglang, found.pid, found.source) == ("0.5.23", 7, "unit")


def test_a_process_in_a_container_is_kept_by_whoever_keeps_the_container() -> None:
    container = a("container", command="sglang serve process", keeper="compose", keeper_name="llm")
    assert find_launch(a("process"), container).keeper == "compose"
    other = a("container", command="/start.sh", keeper="compose", keeper_name="llm")
    assert find_launch(a("process"), other).keeper == "shell"


def test_journald_names_the_command_of_the_process_that_wrote_the_line() -> None:
    labels = {
        "cmdline": '/usr/bin/python3 -m sglang.launch_server --model-path "/my model"',
        "unit": "a.service",
        "pid": "40",
    }
    found = journald_launch(labels, "a.service")
    assert found is not None
    assert (found.pid, found.complete, found.where) == (40, True, "process 40, as journald noted it")
    assert parsed(found.command)[0] is not None
    assert journald_launch(labels, "b.service") is None
    assert journald_launch(labels, None) is None
    assert journald_launch({**labels, "cmdline": "sglang::scheduler_TP0"}, "a.service") is None
    assert journald_launch({**labels, "cmdline": "/lib/systemd/systemd"}, "a.service") is None


def test_the_log_names_a_command_that_nobody_vouches_for() -> None:
    found = log_launch({"launch_command": "sglang serve m"})
    assert found is not None
    assert (found.command, found.complete) == ("sglang serve m", False)
    assert log_launch({"launch_command": "sglang serve 'm"}) is None
    assert log_launch({}) is None


def test_the_pids_that_sglang_prints_of_itself_are_read() -> None:
    lines = ["[2026-09-14 07:02:10] kill_process_tree called: parent_pid=4211, include_parent=True", "pid=99"]
    assert printed_pids({"pid": "17"}, lines) == {4211, 17}
    assert printed_pids({}, []) == frozenset()


def test_a_vouched_command_becomes_a_whole_relaunch_with_its_keepers_form(
    catalogue: Catalogue, program: Program, seed_text: str
) -> None:
    launch = a("unit", command=COMMAND, keeper="systemd", keeper_name="llama.service", unit="llama.service")
    incident = advised(catalogue, program, seed_text, launch)
    relaunch = incident.relaunch
    assert relaunch is not None
    assert relaunch.complete
    assert relaunch.apply is not None
    assert (relaunch.apply.kind, relaunch.apply.text.splitlines()[:2]) == ("systemd", ["[Service]", "ExecStart="])
    assert "systemctl edit llama.service" in relaunch.apply.where
    assert (incident.server.command_from, incident.server.unit) == ("unit", "llama.service")
    assert "sk-1234567890abcdef" not in repr(incident)


def test_what_only_the_log_says_is_shown_as_a_change_and_not_as_a_command(
    catalogue: Catalogue, program: Program, seed_text: str
) -> None:
    incident = advised(catalogue, program, f"+ {COMMAND}\n{seed_text}", Launch())
    relaunch = incident.relaunch
    assert relaunch is not None
    assert not relaunch.complete
    assert "launch_server" not in relaunch.command
    assert relaunch.command.startswith("--prefill-attention-backend")
    assert relaunch.apply is None
    assert incident.server.command_from == "log"
    assert incident.server.command[:3] == ("python3", "-m", "sglang.launch_server")


def test_a_command_that_was_given_counts_more_than_the_logs(
    catalogue: Catalogue, program: Program, seed_text: str
) -> None:
    text = f"+ sglang serve /models/other --prefill-attention-backend trtllm_mha\n{seed_text}"
    incident = advised(catalogue, program, text, config_launch(COMMAND, None, None))
    assert incident.server.command_from == "config"
    assert "/models/other" not in " ".join(incident.server.command)


def test_a_replay_shows_the_logs_own_command_as_a_change_too(
    catalogue: Catalogue, program: Program, seed_text: str
) -> None:
    incident = advised(catalogue, program, f"++ exec {COMMAND}\n{seed_text}", None)
    assert incident.relaunch is not None
    assert not incident.relaunch.complete


def test_doubt_about_the_launch_stands_with_the_cause(catalogue: Catalogue, program: Program, seed_text: str) -> None:
    note = "several sglang processes run as this server: 7, 8"
    incident = advised(catalogue, program, seed_text, Launch(source="process", note=note))
    assert incident.cause.endswith("(Several sglang processes run as this server: 7, 8.)")
    assert incident.relaunch is not None
    assert not incident.relaunch.complete


def test_the_nodes_on_which_to_apply_it_are_said(catalogue: Catalogue, program: Program, seed_text: str) -> None:
    command = f"{COMMAND} --nnodes 2 --node-rank 1 --dist-init-addr a:1 --disaggregation-mode prefill"
    incident = advised(catalogue, program, seed_text, config_launch(command, None, None))
    assert incident.relaunch is not None
    assert incident.relaunch.apply is not None
    where = incident.relaunch.apply.where
    assert "On all 2 nodes, each with its own --node-rank; this is node 1's command." in where
    assert "On every prefill server" in where
    assert (incident.server.nnodes, incident.server.node_rank, incident.server.role) == (2, 1, "prefill")


OOM = (
    "[2026-09-14 07:12:10 TP0] torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a"
    " total capacity of 79.19 GiB of which 1.00 GiB is free."
)
RESOLVED = (
    "[2026-09-14 07:02:10] server_args={'model_path': '/models/qwen3', 'tp_size': 4, 'disaggregation_mode': 'decode',"
    " 'nnodes': 2, 'node_rank': 1, 'attention_backend': 'fa3', 'api_key': 'sk-1234567890abcdef'}"
)


def test_what_the_launch_resolved_its_arguments_to_is_what_ran(program: Program) -> None:
    [finding] = findings(program, f"{RESOLVED}\n{OOM}")
    host = Host(server=Server(name="llama", version="0.5.23"))
    command, _ = parsed("sglang serve /models/qwen3 --tp-size 2")
    known = learn(host, command, stated=finding.stated)
    assert (known.args["tp_size"], known.args["attention_backend"]) == (4, "fa3")
    assert known.typed is not None
    assert (known.typed["tp_size"], known.typed["attention_backend"]) == (2, None)
    assert "sk-1234567890abcdef" not in repr(known)


def test_a_log_alone_tells_role_nodes_and_arguments(program: Program) -> None:
    [finding] = findings(program, f"{RESOLVED}\n{OOM}")
    known = learn(Host(server=Server(name="llama")), None, stated=finding.stated)
    assert (known.role, known.nnodes, known.node_rank, known.args["tp_size"]) == ("decode", 2, 1, 4)
    assert known.typed is None
