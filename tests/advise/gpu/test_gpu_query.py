"""The GPU query: every way in which NVML fails is a status, and no failure of it is the caller's."""

import json
import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from responder.advise.gpu.nvml import query_gpus
from responder.advise.gpu.spec import parse_gpu_spec
from responder.cli.gpu import gpu
from responder.nouns import Device, GpuFacts

Ask = Callable[..., GpuFacts]
Use = Callable[..., None]


def test_a_healthy_host_gives_each_device_with_its_facts(ask: Ask) -> None:
    facts = ask(ecc=0, mig=0)
    assert (facts.status, facts.source, facts.detail) == ("ok", "nvml", None)
    assert facts.devices[1] == Device(
        name="NVIDIA H100 80GB HBM3",
        sm=90,
        memory_mib=81559,
        driver="570.133.20",
        cuda="12.8",
        uuid="GPU-00000000-0000-0000-0000-000000000001",
        mig=False,
        ecc_uncorrected=0,
        remap_pending=False,
    )


def test_compute_capability_10_3_is_103(ask: Ask) -> None:
    assert ask(cc=103, gpus=1).sm == 103


@pytest.mark.parametrize(
    ("code", "status", "says"),
    [
        (9, "no-driver", "not loaded"),
        (18, "driver-mismatch", "different versions"),
        (4, "permission", "may not open"),
        (999, "error", "Unknown Error"),
        (17, "error", "code 17"),
    ],
)
def test_a_failing_start_of_nvml_is_a_status_with_a_sentence(ask: Ask, code: int, status: str, says: str) -> None:
    facts = ask(init=code)
    assert (facts.status, facts.devices) == (status, ())
    assert says in (facts.detail or "")


def test_a_host_without_the_library_says_so(tmp_path: Path) -> None:
    facts = query_gpus(limit_s=20, env={**os.environ, "LD_LIBRARY_PATH": str(tmp_path)})
    if facts.status == "ok":
        pytest.skip("this host has a real NVML")
    assert facts.status in {"no-library", "no-driver"}


@pytest.mark.parametrize("moment", ["lost", "lost_late"])
def test_a_lost_gpu_is_marked_and_the_others_are_kept(ask: Ask, moment: str) -> None:
    facts = ask(gpus=4, **{moment: 2})
    assert facts.status == "lost"
    assert [d.lost for d in facts.devices] == [False, False, True, False]
    assert facts.sm == 90
    assert "GPU 2 of 4" in (facts.detail or "")


def test_a_device_that_may_not_be_opened_is_permission(ask: Ask) -> None:
    assert ask(denied=0).status == "permission"


def test_mig_is_told_because_a_server_sees_only_a_slice(ask: Ask) -> None:
    facts = ask(mig=1)
    assert facts.status == "ok"
    assert [d.mig for d in facts.devices] == [True, True]
    assert "MIG" in (facts.detail or "")


def test_uncorrected_errors_and_a_pending_remap_are_read(ask: Ask) -> None:
    device = ask(ecc=7, remap=1).devices[0]
    assert (device.ecc_uncorrected, device.remap_pending) == (7, True)


def test_an_old_driver_without_the_newer_functions_leaves_those_fields_unknown(ask_old: Ask) -> None:
    facts = ask_old(ecc=7, mig=1)
    assert facts.status == "ok"
    device = facts.devices[0]
    assert (device.sm, device.cuda) == (90, "12.8")
    assert (device.mig, device.ecc_uncorrected, device.remap_pending) == (None, None, None)


def test_unified_memory_that_nvml_does_not_report_is_unknown(ask: Ask) -> None:
    facts = ask(name="NVIDIA GB10", cc=121, mib="none", gpus=1)
    assert facts.devices[0].memory_mib is None
    assert facts.sm == 121


def test_no_device_at_all_is_unknown(ask: Ask) -> None:
    facts = ask(gpus=0)
    assert (facts.status, facts.devices) == ("unknown", ())
    assert facts.detail


@pytest.mark.parametrize("call", ["init", "count", "name"])
def test_a_call_that_never_returns_ends_at_the_limit(ask: Ask, call: str) -> None:
    begun = time.monotonic()
    facts = ask(limit_s=0.5, hang=call)
    assert facts.status == "timeout"
    assert time.monotonic() - begun < 5


def test_a_crash_inside_the_driver_library_is_an_error(ask: Ask) -> None:
    facts = ask(crash="name")
    assert facts.status == "error"
    assert "-11" in (facts.detail or "")


def test_what_the_command_prints_as_json_is_what_the_gpu_option_reads(use_nvml: Use, tmp_path: Path) -> None:
    use_nvml(gpus=8)
    result = CliRunner().invoke(gpu, ["--json", "--limit", "20"])
    assert result.exit_code == 0
    assert json.loads(result.stdout)["from"] == "nvml"
    file = tmp_path / "gpu.json"
    file.write_text(result.stdout)
    facts = parse_gpu_spec(str(file))
    assert (facts.source, facts.sm, len(facts.devices)) == ("option", 90, 8)


def test_the_command_names_devices_and_what_sglang_makes_of_them(use_nvml: Use) -> None:
    use_nvml(gpus=2, lost=1)
    result = CliRunner().invoke(gpu, ["--limit", "20"])
    assert result.exit_code == 0
    assert "GPU 0: NVIDIA H100 80GB HBM3, sm90, 81559 MiB, driver 570.133.20, CUDA up to 12.8" in result.stdout
    assert "GPU 1: unknown, lost" in result.stdout
    assert "is_sm90_supported" in result.stdout
    assert "fallen off the bus" in result.stderr


def test_the_command_exits_69_where_no_facts_can_be_had(use_nvml: Use) -> None:
    use_nvml(init=9)
    result = CliRunner().invoke(gpu, ["--limit", "20"])
    assert (result.exit_code, result.stdout) == (69, "")
    assert "kernel driver is not loaded" in result.stderr
