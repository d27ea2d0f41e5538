"""Only the flags at fault change, in the operator's own spelling and the release's own flags."""

import pytest

from responder.advise.command import CommandError, edit

LAUNCH = "python3 -m sglang.launch_server --model-path m"


def after(command: str, *, release: str = "0.5.23", **change: object) -> str:
    return edit(command, release=release, **change).command  # type: ignore[arg-type]


def test_the_real_failure_of_0519_changes_one_value_and_keeps_its_spelling() -> None:
    command = f"{LAUNCH} --tp 2 --enable-prefill-context-parallel --prefill-attention-backend=trtllm_mha"
    edited = edit(command, {"--prefill-attention-backend": "fa3"}, release="0.5.19")
    assert edited.command == command.replace("trtllm_mha", "fa3")
    assert edited.diff == ("- --prefill-attention-backend trtllm_mha", "+ --prefill-attention-backend fa3")


def test_context_parallelism_is_turned_off_in_the_spelling_of_each_release() -> None:
    off = ["--enable-prefill-cp", "--attn-cp-size", "--cp-strategy"]
    old = f"{LAUNCH} --enable-prefill-context-parallel --prefill-cp-mode in-seq-split --tp 2"
    new = f"{LAUNCH} --attention-context-parallel-size 2 --enable-prefill-cp --cp-strategy zigzag --tp 2"
    assert after(old, unset=off, release="0.5.10") == f"{LAUNCH} --tp 2"
    assert after(new, unset=off, release="0.5.23") == f"{LAUNCH} --tp 2"


@pytest.mark.parametrize(
    ("release", "typed", "wanted"),
    [
        ("0.4.9", "", " --enable-dp-attention --dp-size 8"),
        ("0.5.6", "", " --enable-dp-attention --dp-size 8"),
        ("0.5.23", "", " --attn-dp-size 8"),
        ("0.5.23", " --dp-size 4 --enable-dp-attention", " --dp-size 8 --enable-dp-attention"),
        ("0.5.23", " --attn-dp-size=4", " --attn-dp-size=8"),
    ],
)
def test_one_remedy_is_spelled_as_the_release_and_the_operator_do(release: str, typed: str, wanted: str) -> None:
    assert after(LAUNCH + typed, set={"--attn-dp-size": "8"}, release=release) == LAUNCH + wanted


def test_attention_dp_is_removed_with_both_of_its_old_flags() -> None:
    command = f"{LAUNCH} --dp-size 4 --enable-dp-attention --tp 8"
    assert after(command, unset=["--attn-dp-size"]) == f"{LAUNCH} --tp 8"
    assert after(f"{LAUNCH} --dp-size 4", unset=["--attn-dp-size"]) == f"{LAUNCH} --dp-size 4"


def test_a_removed_flag_goes_with_the_value_that_it_had() -> None:
    command = f"{LAUNCH} --cuda-graph-max-bs 16 --tp 2"
    change = {"--cuda-graph-max-bs-decode": "16"}
    assert after(command, set=change, unset=["--cuda-graph-max-bs"]) == f"{LAUNCH} --tp 2 --cuda-graph-max-bs-decode 16"


def test_what_an_old_flag_also_said_is_said_anew() -> None:
    wanted = f"{LAUNCH} --cuda-graph-backend-prefill disabled --cuda-graph-backend-decode full"
    assert after(f"{LAUNCH} --disable-cuda-graph", set={"--cuda-graph-backend-decode": "full"}) == wanted
    same = f"{LAUNCH} --disable-cuda-graph"
    assert after(same, set={"--cuda-graph-backend-decode": "disabled"}) == same


def test_a_value_that_the_release_does_not_know_is_refused() -> None:
    with pytest.raises(CommandError, match=r"0\.5\.6 has no way to say --fp4-gemm-backend marlin"):
        edit(LAUNCH, {"--fp4-gemm-backend": "marlin"}, release="0.5.6")
    with pytest.raises(CommandError, match="no way to say --attention-backend fa4"):
        edit(LAUNCH, {"--attention-backend": "fa4"}, release="0.4.9")


def test_new_flags_stand_before_a_redirection_and_on_lines_of_their_own_where_others_do() -> None:
    assert after(f"{LAUNCH} > log 2>&1 &", set={"--tp-size": "2"}) == f"{LAUNCH} --tp-size 2 > log 2>&1 &"
    lines = "sglang serve m \\\n  --dp-size 2 \\\n  --log-level info\n"
    assert after(lines, set={"--tp-size": "2"}) == lines.rstrip("\n") + " \\\n  --tp-size 2\n"
    assert after(lines, unset=["--dp-size"]) == "sglang serve m \\\n  --log-level info\n"


def test_quotes_are_kept_in_every_layer() -> None:
    command = """docker run -e A=1 img bash -lc 'exec sglang serve m --attention-backend "triton" --dtype auto'"""
    wanted = (
        """docker run -e A=1 img bash -lc 'exec sglang serve m --attention-backend "fa3" --dtype auto --tp-size 2'"""
    )
    assert after(command, set={"--attention-backend": "fa3", "--tp-size": "2"}) == wanted
    double = 'ssh n "sglang serve m --chat-template \\"a b\\""'
    assert (
        after(double, set={"--chat-template": "it's $5"})
        == 'ssh n "sglang serve m --chat-template \\"it\'s \\\\\\$5\\""'
    )


def test_environment_variables_are_set_where_the_server_sees_them() -> None:
    assert after("exec sglang serve m", env={"A": "x y"}) == "exec A='x y' sglang serve m"
    assert after("A=1 sglang serve m", env={"A": "2"}) == "A=2 sglang serve m"
    assert after("A=1 sglang serve m", env={"A": None}) == "sglang serve m"
    assert after("docker run img sglang serve m", env={"A": "1"}) == "docker run -e A=1 img sglang serve m"
    assert after("docker run -e A=1 img sglang serve m", unset_env=["A"]) == "docker run img sglang serve m"
    assert after("sudo sglang serve m", env={"A": "1"}) == "sudo env A=1 sglang serve m"
    assert after("bash -c 'sglang serve m'", env={"A": "1"}) == "bash -c 'A=1 sglang serve m'"
    edited = edit("--model-path m", env={"A": "1"}, unset_env=["B"], release="0.5.23")
    assert edited.command == "--model-path m"
    assert len(edited.notes) == 2


def test_a_part_whose_quotes_open_and_close_inside_is_quoted_anew() -> None:
    assert after("""sglang serve m --dtype "au"'to'""", set={"--dtype": "half"}) == "sglang serve m --dtype half"
    assert after("""sglang serve m "--dtype=au"'to'""", set={"--dtype": "half"}) == "sglang serve m --dtype=half"


def test_an_expansion_is_replaced_whole_and_others_stay() -> None:
    assert after('sglang serve "$M" --tp-size "${TP}"', set={"--tp-size": "2"}) == 'sglang serve "$M" --tp-size "2"'
