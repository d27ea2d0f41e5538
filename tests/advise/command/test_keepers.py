"""The relaunch in the form that whatever keeps the server needs."""

import shlex
import subprocess

import pytest

from responder.advise.command import apply_form, parse, place_of, read
from responder.advise.command.role import Place

COMMAND = """A='x y' sglang serve "$MODEL" --api-key k3y --json-model-override-args '{"a": "50% $5 $(x)"}'"""


def text(keeper: str, command: str = COMMAND) -> str:
    return apply_form(parse(command), keeper, name="llama").text  # type: ignore[arg-type]


def test_a_drop_in_clears_the_command_and_escapes_what_systemd_expands() -> None:
    assert text("systemd").splitlines() == [
        "[Service]",
        'Environment="A=x y"',
        "ExecStart=",
        "ExecStart=sglang serve ${MODEL} --api-key ${SGLANG_API_KEY} "
        '--json-model-override-args "{\\"a\\": \\"50%% $$5 $$(x)\\"}"',
    ]


def test_a_bare_reference_stays_bare_for_systemd_to_split_it() -> None:
    wanted = "ExecStart=sglang serve m $EXTRA --a ${MORE} --b x${THIRD}"
    assert text("systemd", 'sglang serve m $EXTRA --a "$MORE" --b x$THIRD').splitlines()[-1] == wanted


def test_what_needs_a_shell_gets_one_under_systemd() -> None:
    wanted = 'ExecStart=/bin/sh -c "cd /srv && exec sglang serve m > log"'
    assert text("systemd", "cd /srv && exec sglang serve m > log").splitlines()[-1] == wanted


def test_kubernetes_gets_command_args_and_env_with_its_own_references() -> None:
    yaml = pytest.importorskip("yaml")
    found = yaml.safe_load(text("kubernetes"))
    assert found["command"] == ["sglang"]
    assert found["args"][:4] == ["serve", "$(MODEL)", "--api-key", "$(SGLANG_API_KEY)"]
    assert found["args"][-1] == '{"a": "50% $5 $$(x)"}'
    assert found["env"] == [{"name": "A", "value": "x y"}]


def test_compose_gets_its_words_with_dollars_doubled() -> None:
    yaml = pytest.importorskip("yaml")
    service = yaml.safe_load(text("compose"))["services"]["llama"]
    assert service["command"][:5] == ["sglang", "serve", "${MODEL}", "--api-key", "${SGLANG_API_KEY}"]
    assert service["command"][-1] == '{"a": "50% $$5 $$(x)"}'
    assert service["environment"] == {"A": "x y"}


def test_a_container_keeper_takes_the_place_of_docker_run() -> None:
    yaml = pytest.importorskip("yaml")
    plain = yaml.safe_load(text("kubernetes", "docker run -e B=1 --gpus all img sglang serve m"))
    assert (plain["command"], plain["args"], plain["env"]) == (
        ["sglang"],
        ["serve", "m"],
        [{"name": "B", "value": "1"}],
    )
    script = yaml.safe_load(text("kubernetes", "docker run img bash -c 'cd /x && sglang serve m'"))
    assert (script["command"], script["args"]) == (["/bin/sh"], ["-c", "cd /x && sglang serve m"])


def test_the_shell_form_runs_with_the_words_that_were_typed() -> None:
    command = """sglang serve 'a b' --chat-template "it's" --dtype auto"""
    shown = text("shell", command)
    done = subprocess.run(["sh", "-c", f"printf '%s\\n' {shown}"], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == shlex.split(command)


def test_several_nodes_are_named_and_keep_their_ranks() -> None:
    command = parse("sglang serve m --nnodes 4 --node-rank 2 --dist-init-addr a:1")
    applied = apply_form(command, place=place_of(command, read(command, "0.5.23")))
    assert applied.where == "On all 4 nodes, each with its own --node-rank; this is node 2's command."
    assert "--node-rank 2" in applied.text


def test_one_side_of_a_disaggregated_pair_is_told_what_both_must_share() -> None:
    applied = apply_form(parse("sglang serve m"), "systemd", name="u.service", place=Place(role="decode"))
    assert applied.where.startswith("`systemctl edit u.service`")
    assert "every decode server and not on the prefill ones; --page-size" in applied.where
