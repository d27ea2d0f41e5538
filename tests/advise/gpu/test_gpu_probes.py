"""sglang's own questions about the GPU."""

import pytest

from responder.advise.gpu.probes import gpu_platform, probe_values
from responder.advise.gpu.spec import parse_gpu_spec
from responder.nouns import Device, GpuFacts


def _facts(spec: str, torch_cuda: str | None = None) -> GpuFacts:
    facts = parse_gpu_spec(spec)
    return GpuFacts(status="ok", source="option", torch_cuda=torch_cuda, devices=facts.devices)


@pytest.mark.parametrize(
    ("sm", "yes"),
    [
        (75, set()),
        (80, {"is_sm80_supported", "is_ampere_with_cuda_12_3"}),
        (89, {"is_sm80_supported", "is_ampere_with_cuda_12_3"}),
        (90, {"is_sm90_supported", "is_hopper_with_cuda_12_3"}),
        (100, {"is_sm100_supported", "is_blackwell", "is_blackwell_supported", "is_sm100_or_sm110_supported"}),
        (103, {"is_sm100_supported", "is_blackwell", "is_blackwell_supported", "is_sm100_or_sm110_supported"}),
        (110, {"is_sm110_supported", "is_blackwell", "is_blackwell_supported", "is_sm100_or_sm110_supported"}),
        (120, {"is_sm120_supported", "is_sm120", "is_blackwell", "is_blackwell_supported"}),
        (121, {"is_sm120_supported", "is_sm121", "is_blackwell", "is_blackwell_supported"}),
    ],
)
def test_each_compute_capability_gets_the_answers_sglang_gets(sm: int, yes: set[str]) -> None:
    answers = probe_values(_facts(f"sm{sm}"))
    assert {name for name, answer in answers.items() if answer} == yes | {"is_cuda", "is_cuda_alike"}
    assert answers["is_hip"] is False


def test_a_blackwell_card_under_an_old_torch_is_no_blackwell_to_sglang() -> None:
    answers = probe_values(_facts("B200", torch_cuda="12.6"))
    assert answers["is_sm100_supported"] is False
    assert answers["is_blackwell"] is False
    assert probe_values(_facts("RTX 5090", torch_cuda="12.6"))["is_sm120"] is True
    assert probe_values(_facts("B200", torch_cuda="12.8"))["is_sm100_supported"] is True
    assert probe_values(_facts("B200", torch_cuda="13.0"))["is_sm100_supported"] is True


def test_a_torch_version_that_cannot_be_read_leaves_the_probe_open() -> None:
    answers = probe_values(_facts("B200", torch_cuda="rocm"))
    assert "is_sm100_supported" not in answers
    assert answers["is_sm90_supported"] is False


def test_nothing_is_asserted_of_a_box_with_several_compute_capabilities() -> None:
    answers = probe_values(_facts("1xsm86,1xsm120"))
    assert answers == {
        "is_cuda": True,
        "is_cuda_alike": True,
        "is_hip": False,
        "is_gfx942_supported": False,
        "is_gfx95_supported": False,
        "is_gfx1250_supported": False,
    }


def test_nothing_is_asserted_where_nothing_is_known() -> None:
    assert probe_values(GpuFacts()) == {}
    assert probe_values(GpuFacts(devices=(Device(memory_mib=144384),))) == {}


def test_an_amd_card_is_hip_and_none_of_nvidias() -> None:
    answers = probe_values(_facts("8xMI300X"))
    assert {name for name, answer in answers.items() if answer} == {"is_hip", "is_cuda_alike", "is_gfx942_supported"}
    assert answers["is_sm90_supported"] is False


def test_one_lost_device_does_not_hide_what_the_others_are() -> None:
    facts = GpuFacts(status="lost", source="nvml", devices=(Device(sm=90), Device(lost=True)))
    assert probe_values(facts)["is_sm90_supported"] is True


@pytest.mark.parametrize(
    ("release", "sm", "blackwell"),
    [("0.5.3", 120, False), ("0.5.5", 120, True), ("0.5.8", 110, False), ("0.5.9", 110, True), (None, 110, True)],
)
def test_a_probe_that_changed_is_answered_as_of_the_release(release: str | None, sm: int, blackwell: bool) -> None:
    assert probe_values(_facts(f"sm{sm}"), release)["is_blackwell"] is blackwell


def test_the_platform_is_unknown_where_devices_contradict_each_other() -> None:
    assert gpu_platform(_facts("H100,MI300X")) is None
