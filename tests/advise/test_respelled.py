"""What argparse refuses is said again in the words of the release."""

import pytest

from responder.advise.command.launch import parse
from responder.advise.respelled import respelled
from tests.cli.helpers import responder

LAUNCH = "python3 -m sglang.launch_server --model-path M "


@pytest.mark.parametrize(
    ("typed", "release", "set_", "unset"),
    [
        ("--cuda-graph-max-bs 16", "0.5.23", {"--cuda-graph-max-bs-decode": "16"}, ("--cuda-graph-max-bs",)),
        ("--nsa-prefill-backend=fa3", "0.5.23", {"--dsa-prefill-backend": "fa3"}, ("--nsa-prefill-backend",)),
        (
            "--enable-prefill-context-parallel",
            "0.5.23",
            {"--enable-prefill-cp": True, "--cp-strategy": "zigzag"},
            ("--enable-prefill-context-parallel",),
        ),
        ("--enable-ep-moe --tp-size 8", "0.5.23", {"--ep-size": "8"}, ("--enable-ep-moe",)),
        ("--tp-sze 2", "0.5.23", {"--tp-size": "2"}, ("--tp-sze",)),
        ("--attention-backend flashinfr", "0.5.23", {"--attention-backend": "flashinfer"}, ()),
        ("--kv-cache-dtype fp8", "0.5.23", {"--kv-cache-dtype": "fp8_e4m3"}, ()),
    ],
)
def test_a_refused_flag_or_value_gets_its_present_spelling(typed, release, set_, unset):
    (spec,) = respelled(parse(LAUNCH + typed), release, typed)
    assert (spec.set, spec.unset) == (set_, unset)


@pytest.mark.parametrize(
    ("typed", "release"),
    [
        ("--no-such-thing-at-all 3", "0.5.23"),
        ("--attention-backend banana", "0.5.23"),
        ("--max-loaded-loras 1", "0.5.1"),
        ("--tp-size 2", "0.5.23"),
    ],
)
def test_what_has_no_known_successor_gets_none_invented(typed, release):
    assert list(respelled(parse(LAUNCH + typed), release, typed)) == []


def test_only_the_flag_that_the_message_names_is_changed():
    command = parse(LAUNCH + "--cuda-graph-max-bs 16 --nsa-prefill-backend fa3")
    (spec,) = respelled(command, "0.5.23", "unrecognized arguments: --nsa-prefill-backend fa3")
    assert spec.unset == ("--nsa-prefill-backend",)


def test_a_flag_that_the_message_names_is_taken_out_though_the_command_is_not_known():
    ran = responder("explain", "sglang serve: error: unrecognized arguments: --enable-prefill-context-parallel",
                    "--sglang", "0.5.23")  # fmt: skip
    assert "- --enable-prefill-context-parallel" in ran.stdout
    assert "+ --enable-prefill-cp" in ran.stdout
