"""What a log states about its own GPUs, and what only looks like it."""

import pytest

from responder.advise.gpu.from_log import facts_from_text
from responder.nouns import Device

_NVIDIA_SMI = """\
+---------------------------------------------------------------------------------------+
| NVIDIA-SMI 535.129.03             Driver Version: 535.129.03   CUDA Version: 12.2     |
|-----------------------------------------+----------------------+----------------------+
|   0  NVIDIA H100 80GB HBM3          On  | 00000000:19:00.0 Off |                    0 |
| N/A   30C    P0              70W / 700W |      1MiB / 81559MiB |      0%      Default |
|                                         |                      |             Disabled |
|   1  NVIDIA H100 80GB HBM3          On  | 00000000:3B:00.0 Off |                    0 |
| N/A   31C    P0              71W / 700W |      1MiB / 81559MiB |      0%      Default |
""".splitlines()


def test_the_table_of_nvidia_smi_gives_each_device() -> None:
    facts = facts_from_text(_NVIDIA_SMI)
    assert facts is not None
    assert (facts.status, facts.source) == ("ok", "log")
    device = Device(name="NVIDIA H100 80GB HBM3", sm=90, memory_mib=81559, driver="535.129.03", cuda="12.2")
    assert facts.devices == (device, device)


@pytest.mark.parametrize(
    ("line", "device"),
    [
        (
            "[2026-09-12 08:00:00 TP0] Using default MoE kernel config. Config file not found at "
            "/x/configs/triton_3_6_0/E=256,N=128,device_name=NVIDIA_H200,dtype=fp8_w8a8.json",
            Device(name="NVIDIA H200", sm=90),
        ),
        ("config for device_name='NVIDIA GeForce RTX 5090'", Device(name="NVIDIA GeForce RTX 5090", sm=120)),
        ("E=8,N=14336,device_name=AMD_Instinct_MI300X.json", Device(name="AMD Instinct MI300X")),
        (
            "E=257,N=256,device_name=NVIDIA_B300_SXM6_AC_down.json",
            Device(name="NVIDIA B300 SXM6 AC", sm=103),
        ),
        (
            "NVIDIA GeForce RTX 5090 with CUDA capability sm_120 is not compatible with the current PyTorch install.",
            Device(name="NVIDIA GeForce RTX 5090", sm=120),
        ),
        ("    Found GPU0 NVIDIA GB10 which is of cuda capability 12.1.", Device(name="NVIDIA GB10", sm=121)),
        ("Your GPU has compute capability 7.5", Device(sm=75)),
        ("this device has compute capability 8.9", Device(sm=89)),
        ("ptxas fatal   : Value 'sm_121a' is not defined for option 'gpu-name'", Device(sm=121)),
        ("/usr/local/cuda/bin/ptxas -v --gpu-name=sm_90a /tmp/x.ptx -o /tmp/x.o", Device(sm=90)),
        ("NVIDIA A100-SXM4-80GB, 81920 MiB", Device(name="NVIDIA A100-SXM4-80GB", sm=80, memory_mib=81920)),
    ],
)
def test_one_line_that_a_program_prints_about_its_device_is_believed(line: str, device: Device) -> None:
    facts = facts_from_text([line])
    assert facts is not None
    assert facts.devices == (device,)


def test_the_environment_report_gives_names_capabilities_and_torch() -> None:
    facts = facts_from_text(
        [
            "CUDA available: True",
            "GPU 0,1,2,3: NVIDIA L40S",
            "GPU 0,1,2,3 Compute Capability: 8.9",
            "PyTorch: 2.8.0+cu128",
        ]
    )
    assert facts is not None
    assert facts.devices == (Device(name="NVIDIA L40S", sm=89),) * 4
    assert facts.torch_cuda == "12.8"


def test_memory_per_device_counts_devices_and_claims_no_compute_capability() -> None:
    facts = facts_from_text(
        ["[2026-11-30 12:56:15] nvidia-smi not found. Reported total GPU memory per device (MiB): [144384, 144384], x"]
    )
    assert facts is not None
    assert facts.status == "unknown"
    assert facts.devices == (Device(memory_mib=144384),) * 2


def test_torchs_out_of_memory_text_gives_the_memory_of_that_device() -> None:
    facts = facts_from_text(
        ["CUDA out of memory. Tried to allocate 2.00 GiB. GPU 3 has a total capacity of 79.11 GiB of which"]
    )
    assert facts is not None
    assert facts.devices[0].memory_mib == 81009


def test_a_mixed_box_that_the_log_lists_device_by_device_stays_mixed() -> None:
    facts = facts_from_text(
        ["GPU 0: NVIDIA A40 (UUID: GPU-1)", "GPU 1: NVIDIA L40S (UUID: GPU-2)"],
    )
    assert facts is not None
    assert facts.sms == {86, 89}
    assert facts.sm is None


def test_statements_that_contradict_each_other_are_not_believed() -> None:
    facts = facts_from_text(["E=8,N=1,device_name=NVIDIA_H200,dtype=fp8.json", "Your GPU has compute capability 12.0"])
    assert facts is None or facts.sms == frozenset()


@pytest.mark.parametrize(
    "line",
    [
        "TRTLLM MHA backend for prefill requires Hopper (SM90), Blackwell (SM100), or SM120 GPUs.",
        "FP8 needs an NVIDIA GPU with compute capability 9.0 or higher",
        "only supported on GPUs with compute capability 9.0",
        "requires a device with compute capability 8.9 or above",
        "The current PyTorch install supports CUDA capabilities sm_50 sm_60 sm_70 sm_75 sm_80 sm_86 sm_90.",
        "Minimum and Maximum cuda capability supported by this version of PyTorch is (8.0) - (12.0)",
        "out of resource: shared memory, Required: 114688, Hardware limit: 101376",
        "obj=GenerateReqInput(text='My NVIDIA GeForce RTX 5090 with CUDA capability sm_120 is not compatible, why?')",
        "I would buy an NVIDIA H100 80GB HBM3 if I could",
        "-gencode arch=compute_90a,code=sm_90a",
        "",
    ],
)
def test_talk_about_other_gpus_states_nothing(line: str) -> None:
    assert facts_from_text([line]) is None
