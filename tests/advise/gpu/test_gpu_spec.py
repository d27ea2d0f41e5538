"""`--gpu SPEC` and product names."""

from pathlib import Path

import pytest

from responder.advise.gpu.products import find_product, similar_names
from responder.advise.gpu.spec import GpuSpecError, parse_gpu_spec


@pytest.mark.parametrize(
    ("name", "sm", "mib"),
    [
        ("NVIDIA H100 80GB HBM3", 90, 81559),
        ("NVIDIA_H100_80GB_HBM3", 90, 81559),
        ("NVIDIA H100 PCIe", 90, 81559),
        ("NVIDIA H100 NVL", 90, 95830),
        ("H100", 90, 81559),
        ("NVIDIA H20", 90, 97871),
        ("NVIDIA H20-3e", 90, 143771),
        ("NVIDIA GH200 480GB", 90, 97871),
        ("Tesla V100-SXM2-16GB", 70, 16384),
        ("Tesla T4", 75, 15360),
        ("Quadro RTX 6000", 75, 23040),
        ("NVIDIA RTX 6000 Ada Generation", 89, 49140),
        ("NVIDIA A100-SXM4-80GB", 80, 81920),
        ("NVIDIA A100-SXM4-40GB", 80, 40960),
        ("NVIDIA A100 80GB PCIe", 80, 81920),
        ("A100", 80, None),
        ("NVIDIA RTX A6000", 86, 49140),
        ("A6000", 86, 49140),
        ("NVIDIA A40-48Q", 86, 46068),
        ("NVIDIA A40-8Q", 86, None),
        ("Orin (nvgpu)", 87, None),
        ("NVIDIA L40S", 89, 46068),
        ("NVIDIA GeForce RTX 4090", 89, 24564),
        ("NVIDIA GeForce RTX 4090 Laptop GPU", 89, None),
        ("NVIDIA B200", 100, 183359),
        ("NVIDIA GB200", 100, 189471),
        ("NVIDIA B300 SXM6 AC", 103, 275040),
        ("NVIDIA GB300", 103, 284208),
        ("NVIDIA Thor", 110, None),
        ("NVIDIA RTX PRO 6000 Blackwell Server Edition", 120, 97887),
        ("NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition", 120, 97887),
        ("NVIDIA GeForce RTX 5090", 120, 32607),
        ("rtx 5090", 120, 32607),
        ("5090", 120, 32607),
        ("RTX5090", 120, 32607),
        ("NVIDIA GB10", 121, None),
        ("DGX Spark", 121, None),
        ("AMD Instinct MI300X", None, 196608),
        ("MI355X", None, 294912),
    ],
)
def test_a_product_is_found_by_the_drivers_name_and_by_the_short_one(
    name: str, sm: int | None, mib: int | None
) -> None:
    product = find_product(name)
    assert product is not None
    assert product.sm == sm
    assert product.memory_for(name) == mib


@pytest.mark.parametrize(
    "name", ["", "RTX 6000", "RTX 4000", "H1000", "H100 or newer", "AMD Radeon Graphics", "GPU", "80GB"]
)
def test_an_unknown_or_ambiguous_name_means_no_product(name: str) -> None:
    assert find_product(name) is None


def test_amd_is_another_platform_with_its_own_architecture_name() -> None:
    product = find_product("AMD Instinct MI325X")
    assert product is not None
    assert (product.platform, product.gfx, product.sm) == ("rocm", "gfx942", None)


def test_a_mistyped_name_has_suggestions() -> None:
    assert "H100" in similar_names("NVIDIA H1O0")
    assert "Quadro RTX 6000" in similar_names("RTX 6000")


@pytest.mark.parametrize(
    ("spec", "sms"),
    [
        ("sm90", [90]),
        ("SM_90", [90]),
        ("sm90a", [90]),
        ("sm_121a", [121]),
        ("9.0", [90]),
        ("8xsm90", [90] * 8),
        ("8 x sm100", [100] * 8),
        ("8xB200", [100] * 8),
        ("2*H100", [90, 90]),
        ("RTX 5090", [120]),
        ("1xsm86,1xsm89", [86, 89]),
        ("2xA100, H100", [80, 80, 90]),
        ("8xMI300X", [None] * 8),
    ],
)
def test_a_spec_gives_its_devices(spec: str, sms: list[int | None]) -> None:
    facts = parse_gpu_spec(spec)
    assert (facts.status, facts.source) == ("ok", "option")
    assert [d.sm for d in facts.devices] == sms


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ("", "empty"),
        ("  ", "empty"),
        ("sm95", "did you mean sm90"),
        ("H1O0", "did you mean"),
        ("RTX 6000", "RTX 6000 Ada"),
        ("zzz", "sm90"),
        ("0xsm90", "1 to 1024"),
        ("99999xsm90", "1 to 1024"),
        ("1024xsm90,sm90", "more than 1024"),
        ("sm90,,sm90", "between the commas"),
        ("gpu.json", "no such file"),
        ("./facts", "no such file"),
    ],
)
def test_a_bad_spec_is_one_clear_line(spec: str, says: str) -> None:
    with pytest.raises(GpuSpecError) as error:
        parse_gpu_spec(spec)
    assert says in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("not json", "not a file of"),
        ('{"status": "splendid"}', "not a file of"),
        ('{"status": "no-driver", "detail": "The driver is not loaded."}', "not loaded"),
    ],
)
def test_a_file_without_usable_facts_is_one_clear_line(tmp_path: Path, content: str, says: str) -> None:
    file = tmp_path / "gpu.json"
    file.write_text(content)
    with pytest.raises(GpuSpecError, match=says):
        parse_gpu_spec(str(file))
