"""Logs as busy sglang servers write them, of any size, with a failure of the catalogue every so many lines."""

import json
import random
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import cycle
from pathlib import Path

from responder.catalogue import Catalogue

LINES_PER_HIT = 20_000
_PER_SECOND = 120
"""Lines: what a server of eight ranks under load writes."""
_START = datetime(2026, 9, 14, 7, 2, 10, tzinfo=UTC)


def samples_of(catalogue: Catalogue) -> list[str]:
    """Every text of the catalogue that some rule fires on, as one or several lines, shuffled alike every time."""
    found = [
        sample.text.strip("\n")
        for rule in catalogue.rules
        for sample in rule.sample
        if sample.matches and rule.role in ("cause", "symptom") and len(sample.text) < 4000
    ]
    random.Random(1).shuffle(found)
    return found


def write_log(path: Path, size: int, samples: Sequence[str], *, hot: str | None = None) -> int:
    """Write about `size` bytes and return the number of lines.  With `hot`, that line stands in 45 of 100 places."""
    chance, hits = random.Random(2), cycle(samples)
    written = lines = 0
    with path.open("wb") as file:
        for seconds in range(1 << 40):
            stamp = (_START + timedelta(seconds=seconds)).strftime("%Y-%m-%d %H:%M:%S")
            block = [_healthy(chance, stamp) for _ in range(_PER_SECOND)]
            if hot is not None:
                block = [f"[{stamp} TP0] {hot}" if chance.random() < 0.45 else line for line in block]
            if samples and lines // LINES_PER_HIT != (lines + len(block)) // LINES_PER_HIT:
                block.insert(60, next(hits))
            text = ("\n".join(block) + "\n").encode()
            file.write(text)
            written += len(text)
            lines += text.count(b"\n")
            if written >= size:
                return lines
    raise AssertionError


def write_docker(bare: Path, path: Path) -> None:
    """The same log as Docker's json-file driver keeps it."""
    with bare.open("rb") as source, path.open("wb") as target:
        number = 0
        while lines := source.readlines(1 << 20):
            wrapped = []
            for line in lines:
                number += 1
                text = json.dumps(line.decode("utf-8", "replace"), ensure_ascii=False)
                second, rest = divmod(number, _PER_SECOND)
                stamp = (_START + timedelta(seconds=second)).strftime("%Y-%m-%dT%H:%M:%S")
                wrapped.append(f'{{"log":{text},"stream":"stderr","time":"{stamp}.{rest * 8_000_007:09}Z"}}\n')
            target.write("".join(wrapped).encode())


def small_lines(seed: int) -> Iterator[bytes]:
    """Healthy lines without an end, for a writer at a steady rate."""
    chance = random.Random(seed)
    while True:
        yield f"{_healthy(chance, datetime.now(UTC).strftime('%Y-%m-%d %H:%M:%S'))}\n".encode()


def _healthy(chance: random.Random, stamp: str) -> str:
    kind = chance.random()
    rank = int(chance.random() * 8)
    number = int(chance.random() * 1_000_000)
    if kind < 0.35:
        return (
            f"[{stamp} TP{rank}] Decode batch, #running-req: {number % 256}, #token: {number}, "
            f"token usage: 0.{number % 100:02}, cuda graph: True, gen throughput (token/s): {number / 77:.2f}, "
            "#queue-req: 0, "
        )
    if kind < 0.6:
        return (
            f"[{stamp} TP{rank}] Prefill batch, #new-seq: {number % 7}, #new-token: {number % 8192}, "
            f"#cached-token: {number % 4096}, token usage: 0.{number % 100:02}, #running-req: {number % 256}, "
            f"#queue-req: {number % 3}, #pending-token: 0, cuda graph: False, "
            f"input throughput (token/s): {number / 31:.2f}"
        )
    if kind < 0.9:
        path = ("/v1/chat/completions", "/v1/completions", "/generate", "/health", "/metrics")[number % 5]
        verb = "GET" if path in ("/health", "/metrics") else "POST"
        return f'INFO:     10.4.{number % 256}.{rank}:{number % 65536} - "{verb} {path} HTTP/1.1" 200 OK'
    return _RARE[number % len(_RARE)].format(stamp=stamp, rank=rank, number=number, small=number % 100)


_RARE = (
    "[{stamp} TP{rank}] Receive: obj=GenerateReqInput(rid='{number:032x}', text='Write a story about {number} bees "
    "that lost their way home and met a bear', sampling_params={{'temperature': 0.7, 'max_new_tokens': {small}}})",
    "[{stamp}] Finish: obj=GenerateReqInput(rid='{number:032x}'), out={{'text': 'Once upon a time there were {number} "
    "bees', 'meta_info': {{'finish_reason': {{'type': 'stop', 'matched': 2}}, 'prompt_tokens': {small}}}}}",
    "[{stamp} DP{rank} TP{rank} EP{rank}] Cache flushed successfully!",
    "[{stamp} PP0 TP{rank}] max_total_num_tokens={number}, chunked_prefill_size=8192, max_prefill_tokens=16384, "
    "max_running_requests=2048, context_len=131072, available_gpu_mem=9.{small} GB",
    "Loading safetensors checkpoint shards:  {small}% Completed | {small}/163 [00:{small:02}<01:12,  1.33it/s]",
    "gpu-host-17:{number}:{number} [{rank}] NCCL INFO Channel {small:02}/0 : {rank}[{rank}] -> 5[5] via P2P/CUMEM",
    "Capturing batches (bs={small} avail_mem=8.11 GB): {small}%|#####     | {small}/35 [00:03<00:02, 11.21it/s]",
    "[{stamp}] Start of co-location memory report: weights=131.{small} GB, kv=40.{small} GB, others=2.{small} GB",
    "[{stamp} TP{rank}] KV Cache is using {small} of {number} pages; hit rate 0.{small}",
    '{{"timestamp": "{stamp}", "level": "info", "rid": "{number:016x}", "e2e_latency": 1.{small}, "status": 200}}',
    "W0914 07:02:10.{number:06} {number} torch/distributed/run.py:774] Setting OMP_NUM_THREADS to 1 for each process",
    "",
)
"""What is printed besides batches and requests."""
