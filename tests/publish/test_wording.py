"""The sentences that all sinks share say what is known, once, and nothing that contradicts what stands beside them."""

from io import StringIO

import msgspec
import pytest

from responder.nouns import Device, GpuFacts, Relaunch, Remedy
from responder.publish import wording as words
from responder.publish.slack import message
from responder.publish.terminal import console, render
from tests.publish.incidents import CP_OFF, FA3, flags_only_incident, seed_incident, unknown_gpu_incident
from tests.slack_blocks import texts_of


@pytest.mark.parametrize(
    ("remedy", "said"),
    [
        (Remedy(title="Replace the GPU", applies="yes"), "no launch flag mends it"),
        (Remedy(title="Replace the GPU; no flag of sglang mends it", applies="yes"), ""),
        (Remedy(title="Give it more room", applies="yes", steps=("Raise `--mem-fraction-static` by 0.05.",)), ""),
        (FA3, ""),
    ],
)
def test_that_no_flag_helps_is_said_only_where_no_step_sets_one(remedy: Remedy, said: str) -> None:
    assert words.aside(remedy) == said


def test_flags_that_the_command_never_had_are_not_named_as_taken_out() -> None:
    aliases = msgspec.structs.replace(CP_OFF, unset=(*CP_OFF.unset, "--prefill-cp-mode"))
    assert words.change(aliases, aliases.relaunch) == "without --attn-cp-size --enable-prefill-cp --cp-strategy"


def test_a_change_that_the_title_names_is_not_repeated() -> None:
    remedy = msgspec.structs.replace(FA3, title="Prefill with --prefill-attention-backend fa3")
    assert words.change(remedy) == ""
    assert words.change(FA3) == "--prefill-attention-backend fa3"


def test_variables_alone_are_no_change_of_the_command() -> None:
    remedy = Remedy(title="More", applies="yes", env={"X": "1"})
    relaunch = Relaunch(command="X=1", diff=("+ X=1",), complete=False)
    assert words.change_label(flags_only_incident(), remedy, relaunch) == "Set this in the server's environment:"


def test_the_gpus_on_which_a_remedy_holds_stand_before_it_and_its_reason_after_it() -> None:
    remedy = msgspec.structs.replace(FA3, applies="unknown", why="on SM90 (H100, H200): it is built for them.")
    assert words.condition(remedy) == ("On SM90 (H100, H200)", "It is built for them")
    assert words.reason(remedy) == "It applies on SM90 (H100, H200). It is built for them"
    shown = texts_of(message.root(seed_incident(remedies=(remedy,), gpu=GpuFacts(), relaunch=None)))
    assert shown.index("On SM90") < shown.index("Use FlashAttention 3") < shown.index("It is built for them")


def test_an_if_is_not_said_twice() -> None:
    assert words.next_step(msgspec.structs.replace(FA3, next="If it fails, use triton."))[0] == "Else:"
    assert words.next_step(FA3)[0] == "If it recurs:"


def test_a_long_list_of_other_remedies_is_cut_to_a_few_and_the_titles_of_the_rest() -> None:
    others = tuple(Remedy(title=f"Remedy number {n}.", applies="unknown", why=f"reason {n}") for n in range(12))
    incident = seed_incident(remedies=(FA3, *others))
    slack = "\n".join(texts_of(payload) for payload in message.thread(incident))
    page = StringIO()
    render(incident, console(page))
    for text in (slack, page.getvalue()):
        flat = " ".join(text.split())
        assert "What else may help" in flat
        assert ("Reason 2" in flat, "Reason 3" in flat) == (True, False)
        assert "Also: Remedy number 3; Remedy number 4; Remedy number 5; Remedy number 6; and 5 more." in flat


def test_what_to_do_that_depends_on_the_gpus_says_so_in_the_notification() -> None:
    assert words.one_line(unknown_gpu_incident()).endswith("What to do depends on the GPUs, which are not known here.")


def test_a_gpu_without_a_name_is_called_by_its_capability() -> None:
    assert words.gpu(GpuFacts(status="ok", devices=(Device(sm=90),))) == "1 × SM90"
    assert words.gpu(GpuFacts(status="ok", devices=(Device(name="NVIDIA L4", sm=89, lost=True),))) == (
        "1 × NVIDIA L4 (SM89), lost"
    )
    assert words.gpu_details(GpuFacts()) == ""
