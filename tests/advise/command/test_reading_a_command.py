"""Where the launch stands in an operator's command, and what it says."""

import random

import pytest

from responder.advise.command import CommandError, edit, mask, parse, parse_all, place_of, read

SERVER = "python3 -m sglang.launch_server --model-path m --tp-size 2"


@pytest.mark.parametrize(
    "text",
    [
        SERVER,
        f"HF_HOME=/x nohup {SERVER} > log 2>&1 &",
        f"env -i A=1 numactl -N 0 {SERVER}",
        f"srun -N 2 --export=ALL {SERVER}",
        f"torchrun --nproc-per-node 8 {SERVER.removeprefix('python3 ')}",
        f"docker run --gpus all -v /m:/m lmsysorg/sglang:latest {SERVER}",
        f"bash -lc 'set -x; cd /srv && exec {SERVER}'",
        f"ssh node0 \"bash -c '{SERVER}'\"",
        f"docker run image bash -c 'A=1 {SERVER} | tee log'",
        "sglang serve m --tp-size 2",
        "/opt/venv/bin/sglang serve --model-path m --tp 2",
        "python3 -m sglang.launch_server \\\n  --model-path m \\\n  --tp-size=2",
        'python3 -m sglang.launch_server --model-path "m" --tp 2 # the model',
        "--model-path m --tp-size 2",
        '["python3", "-m", "sglang.launch_server", "--model-path", "m", "--tp-size", "2"]',
        "python3 /opt/sglang/launch_server.py --model-path m --tp-size 2",
    ],
)
def test_the_launch_is_found_wherever_it_stands(text: str) -> None:
    assert read(parse(text), "0.5.23").values == {"model_path": "m", "tp_size": 2}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("vllm serve m", "no launch of sglang"),
        ("", "no launch of sglang"),
        ("python3 -m sglang.bench_serving --model m", "no launch of sglang"),
        (f"{SERVER} & {SERVER}", "2 launches"),
        ("python3 -m sglang.launch_server --model-path 'm", "quote ' at column 46 is not closed"),
        ('python3 -m sglang.launch_server --model-path "$(cat x"', "is not closed"),
        ("cat <<EOF\nx\nEOF\nsglang serve m", "here-document"),
    ],
)
def test_what_cannot_be_read_says_where(text: str, says: str) -> None:
    with pytest.raises(CommandError) as error:
        parse(text)
    assert says in str(error.value)


def test_an_argv_is_read_like_a_shell_line() -> None:
    argv = ["python3", "-m", "sglang.launch_server", "--model-path", "/a b", "--json-model-override-args", '{"a": 1}']
    command = parse(argv)
    assert list(command.argv) == argv
    assert read(command, "0.5.23").values["json_model_override_args"] == '{"a": 1}'


def test_every_launch_of_a_script_is_found() -> None:
    script = (
        "export A=1\n"
        "sglang serve m --disaggregation-mode prefill &\n"
        "sglang serve m --disaggregation-mode decode --nnodes 2 --node-rank 1 &\n"
        "python3 -m sglang_router.launch_router --pd-disaggregation\n"
    )
    places = [place_of(command, read(command, "0.5.23")) for command in parse_all(script)]
    assert [place.role for place in places] == ["prefill", "decode", "router"]
    assert (places[1].nnodes, places[1].node_rank, places[1].model_path) == (2, 1, "m")


def test_what_an_expansion_hides_is_unknown_and_never_a_default() -> None:
    found = read('sglang serve "$MODEL" --tp-size $TP --dp-size 2 --disaggregation-mode "$MODE"', "0.5.23")
    assert found.unknown == {"model_path", "tp_size", "disaggregation_mode"}
    assert found.values == {"dp_size": 2}
    assert not found.open
    assert place_of(parse("sglang serve m $MORE"), read("sglang serve m $MORE", "0.5.23")).role == "unknown"


def test_an_expansion_that_may_hold_flags_leaves_the_list_open() -> None:
    assert read("sglang serve m $EXTRA", "0.5.23").open
    assert read('sglang serve m "$@"', "0.5.23").open
    assert read("sglang serve m --cuda-graph-bs-decode 1 2 $MORE", "0.5.23").open
    assert not read("sglang serve m --log-level \\$5", "0.5.23").open


def test_environment_variables_of_the_command_are_known() -> None:
    text = "A=1 docker run -e B=2 --env C=3 --env=D=4 -eE=5 -v F=6:x image env G=7 H=$X python3 -m sglang.launch_server"
    assert parse(text).env == {"A": "1", "B": "2", "C": "3", "D": "4", "E": "5", "G": "7"}


def test_a_repeated_flag_counts_once_and_last() -> None:
    assert read("sglang serve m --tp 2 --tensor-parallel-size=4", "0.5.23").values["tp_size"] == 4


def test_the_same_line_reads_differently_on_another_release() -> None:
    line = "sglang serve m --cuda-graph-max-bs 16"
    assert read(line, "0.5.6").problems == []
    problem = read(line, "0.5.23").problems[0].text
    assert problem.startswith("ambiguous option: --cuda-graph-max-bs could match --cuda-graph-max-bs-decode")


def test_all_that_the_parser_has_no_use_for_is_one_complaint() -> None:
    found = read("sglang serve m --enable-ep-moe --no-such 1 --tp-size 2", "0.5.23")
    assert [problem.text for problem in found.problems] == ["unrecognized arguments: --enable-ep-moe --no-such 1"]
    assert found.values["tp_size"] == 2


def test_no_text_however_odd_raises_anything_but_a_command_error() -> None:
    chance = random.Random(7)
    pieces = [*"ab -='\"\\$(){}`;|&<>#\n\t", "$(", "--tp ", "sglang serve m ", "env A=1 ", "bash -c '", "-e ", "sglang"]
    for number in range(3000):
        text = "".join(chance.choices(pieces, k=chance.randint(0, 25)))
        text = f"sglang serve m {text}" if number % 2 else text
        mask(text)
        try:
            for command in parse_all(text):
                read(command, "0.5.23")
                edit(command, {"--tp-size": "2"}, env={"A": "1"}, release="0.5.23")
        except CommandError:
            continue


def test_a_text_longer_than_any_command_is_refused_and_still_masked() -> None:
    text = "sglang serve m --api-key s3cr3t " + "x" * (1 << 18)
    with pytest.raises(CommandError, match="more than any command has"):
        parse(text)
    assert "s3cr3t" not in mask(text)
