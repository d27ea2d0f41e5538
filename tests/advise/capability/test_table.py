"""What attention backends can do where, as the table says it."""

import pytest

from responder.advise.capability import PHASES, Situation, preferred, verdict
from responder.advise.capability.table import Table
from responder.catalogue import Catalogue

ROWS = [*Table.load().build, *Table.load().context_parallel, *Table.load().kv_cache]
SMS = (75, 80, 86, 89, 90, 100, 103, 110, 120, 121)


def at(sm: int | None, model: str | None, release: str = "0.5.23", **more: str | None) -> Situation:
    return Situation(release=release, platform="cuda", sm=sm, model=model, **more)  # type: ignore[arg-type]


def test_a_row_that_says_no_says_which_gate_and_why() -> None:
    assert [row for row in ROWS if (row.allowed == "no") != (row.gate is not None)] == []
    assert [row for row in ROWS if row.allowed != "yes" and not row.why] == []


def test_a_rule_that_the_table_names_is_in_the_catalogue(catalogue: Catalogue) -> None:
    assert {row.rule for row in ROWS if row.rule} <= set(catalogue.by_id)


@pytest.mark.parametrize(
    ("backend", "phase", "sm", "model", "allowed"),
    [
        ("fa3", "prefill", 90, "mla", True),
        ("fa3", "prefill", 86, "mha", True),
        ("fa3", "prefill", 86, "mla", False),
        ("fa3", "decode", 120, "mha", False),
        ("fa4", "prefill", 86, "mha", False),
        ("fa4", "prefill", 120, "mha", None),
        ("trtllm_mha", "prefill", 100, "mla", False),
        ("trtllm_mha", "prefill", 120, "mha", True),
        ("trtllm_mla", "prefill", 120, "mla", False),
        ("trtllm_mla", "decode", 103, "mla", True),
        ("hpc_ops", "decode", 100, "mha", False),
        ("flashinfer", "prefill", 120, "gdn", True),
        ("ascend", "prefill", 90, "mha", False),
    ],
)
def test_a_backend_on_a_gpu(backend: str, phase: str, sm: int, model: str, allowed: bool | None) -> None:
    assert verdict(backend, phase, at(sm, model)).allowed is allowed  # type: ignore[arg-type]


def test_an_old_release_has_its_own_answer() -> None:
    assert verdict("trtllm_mha", "prefill", at(90, "mha", "0.5.18")).allowed is False
    assert verdict("trtllm_mha", "prefill", at(90, "mha", "0.5.19")).allowed is True
    assert verdict("fa4", "prefill", at(90, "mha", "0.5.15")).allowed is False
    assert verdict("flashinfer", "decode", at(100, "gdn", "0.5.19")).gate == "construction"
    assert verdict("flashinfer", "decode", at(100, "gdn", "0.5.21")).allowed is True


def test_a_torch_too_old_for_the_card_takes_the_trtllm_backends_away() -> None:
    assert verdict("trtllm_mha", "prefill", at(100, "mha", torch_cuda="12.6")).allowed is False
    assert verdict("trtllm_mha", "prefill", at(100, "mha", torch_cuda="13.0")).allowed is True


def test_an_unknown_model_leaves_open_what_depends_on_it() -> None:
    cell = verdict("fa3", "prefill", at(86, None))
    assert cell.allowed is None
    assert cell.doubtful


def test_an_unknown_model_leaves_decided_what_does_not_depend_on_it() -> None:
    assert verdict("fa3", "prefill", at(90, None)).allowed is True
    assert verdict("fa3", "prefill", at(120, None)).allowed is False


def test_a_backend_that_no_row_speaks_of_is_unknown() -> None:
    cell = verdict("some_new_backend", "prefill", at(90, "mha"))
    assert (cell.allowed, cell.unproven, cell.doubtful) == (None, False, False)


@pytest.mark.parametrize(
    ("backend", "strategy", "model", "allowed"),
    [
        ("fa3", "zigzag", "mha", True),
        ("fa3", "zigzag", "mla", True),
        ("fa3", "interleave", "mha", False),
        ("flashinfer", "zigzag", "mha", False),
        ("triton", "zigzag", "mla", False),
        ("dsa", "interleave", "dsa", True),
        ("flashinfer", "none", "mha", None),
        ("fa3", "none", "mha", True),
    ],
)
def test_a_sharded_prompt(backend: str, strategy: str, model: str, allowed: bool | None) -> None:
    assert verdict(backend, "prefill", at(90, model, strategy=strategy)).allowed is allowed


def test_decode_is_not_asked_about_a_sharded_prompt() -> None:
    assert verdict("flashinfer", "decode", at(90, "mha", strategy="zigzag")).allowed is True


def test_a_cache_dtype_takes_a_backend_away() -> None:
    assert verdict("trtllm_mha", "prefill", at(120, "mha", kv_dtype="fp8_e4m3")).allowed is False
    assert verdict("trtllm_mla", "decode", at(100, "mla", kv_dtype="fp8_e5m2")).allowed is False
    assert verdict("flashinfer", "decode", at(120, "mha", kv_dtype="fp8_e4m3")).allowed is True


def test_what_is_preferred_is_allowed_and_there_is_something_for_every_gpu() -> None:
    for sm in SMS:
        for model in ("mha", "mla", "gdn"):
            for phase in PHASES:
                names = preferred(phase, at(sm, model))
                assert names, (sm, model, phase)
                assert all(verdict(name, phase, at(sm, model)).allowed for name in names)
