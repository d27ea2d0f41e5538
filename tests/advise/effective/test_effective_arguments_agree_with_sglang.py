"""Our resolution of arguments against the real one, recorded: backends, page size, KV dtype, parallel sizes.

SGLANG_ORACLE_PYTHON=… pytest -m oracle tests/advise/effective     compares the records with the real code
SGLANG_ORACLE_PYTHON=… python -m tests.advise.effective.record     writes them anew
"""

import json
import lzma
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from responder.advise.command import read
from responder.advise.effective import effective, model_facts
from responder.advise.gpu.probes import probe_values
from responder.nouns import Device, GpuFacts
from tests.advise.effective.trials import trials
from tests.advise.oracles import pythons, release_of, resolve

HERE = Path(__file__).parent
RECORDS = sorted(path.name.removesuffix(".jsonl.xz") for path in (HERE / "records").glob("0.*.jsonl.xz"))
UNDECIDED = {"dcp_comm_backend"}
"""What depends on more than command, release, model and GPU: may be left out, must not be wrong."""


@cache
def lines(name: str) -> list[dict[str, Any]]:
    text = lzma.decompress((HERE / "records" / f"{name}.jsonl.xz").read_bytes())
    return [json.loads(line) for line in text.splitlines()]


@cache
def gpu(sm: int, cuda: str, release: str) -> dict[str, Any]:
    if sm == 0:
        return {**dict.fromkeys(probe_values(GpuFacts(devices=(Device(sm=90),))), False), "sm": 0}
    facts = GpuFacts(status="ok", torch_cuda=cuda, devices=(Device(sm=sm, memory_mib=144384),))
    return {**probe_values(facts, release), "sm": sm, "memory_gib": 141.0}


def ours(argv: list[str], sm: int, cuda: str, release: str) -> dict[str, Any]:
    found = read(["sglang", "serve", *argv], release)
    assert found.problems == [], argv
    return effective(found, gpu=gpu(sm, cuda, release), model=model_facts(str(HERE / argv[1])))


@pytest.mark.parametrize("record", RECORDS)
def test_every_recorded_resolution_is_ours_too(record: str) -> None:
    release, _, sm = record.partition("-sm")
    accepted = [line for line in lines(record) if "resolved" in line]
    assert len(accepted) > 100
    for line in accepted:
        args = ours(line["argv"], int(sm), "13.0", release)
        wrong = {d: (v, args.get(d, "unknown")) for d, v in line["resolved"].items() if args.get(d, "unknown") != v}
        wrong = {dest: pair for dest, pair in wrong.items() if dest not in UNDECIDED or pair[1] != "unknown"}
        assert not wrong, (line["argv"], wrong)


def test_every_backend_on_every_gpu_resolves_as_recorded() -> None:
    rows = lines("matrix-0.5.23")
    assert len(rows) == 1829
    for row in rows:
        args = ours(row["argv"], row["sm"], row["cuda"], "0.5.23")
        found = [args[dest] for dest in ("prefill_attention_backend", "decode_attention_backend")]
        found += [args[dest] for dest in ("kv_cache_dtype", "page_size", "attn_cp_size")]
        assert found == [row["prefill"], row["decode"], row["kv"], row["page"], row["cp"]], row


@pytest.mark.oracle
@pytest.mark.parametrize("python", pythons())
def test_the_record_is_what_the_real_resolution_gives(python: str) -> None:
    assert resolve(python, 90, "13.0", trials()) == lines(f"{release_of(python)}-sm90")
