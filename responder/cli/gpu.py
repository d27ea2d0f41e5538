"""`responder gpu`: what this host's driver says about its GPUs."""

import sys

import click
import msgspec

from responder.advise.gpu.nvml import DEFAULT_LIMIT_S, query_gpus
from responder.advise.gpu.probes import probe_values
from responder.nouns import Device, GpuFacts

UNAVAILABLE = 69
"""Exit status: no GPU facts could be had on this host."""


@click.command("gpu")
@click.option("--json", "as_json", is_flag=True, help="Print the facts as JSON; --gpu FILE of other commands reads it.")
@click.option("--limit", type=click.FloatRange(min=0.1), default=DEFAULT_LIMIT_S, show_default=True, help="Seconds.")
def gpu(as_json: bool, limit: float) -> None:
    """This host's GPUs, as NVIDIA's driver describes them."""
    facts = query_gpus(limit_s=limit)
    if as_json:
        click.echo(msgspec.json.format(msgspec.json.encode(facts)))
    else:
        for index, device in enumerate(facts.devices):
            click.echo(f"GPU {index}: {_describe(device)}")
        if answers := [name for name, value in probe_values(facts).items() if value]:
            click.echo(f"sglang answers yes to: {', '.join(answers)}")
    if facts.detail and not as_json:
        click.echo(facts.detail, err=True)
    if not _usable(facts):
        sys.exit(UNAVAILABLE)


def _usable(facts: GpuFacts) -> bool:
    return any(not device.lost for device in facts.devices)


def _describe(device: Device) -> str:
    if device.lost:
        return f"{device.name or 'unknown'}, lost: it has fallen off the bus"
    parts = [
        device.name or "unknown",
        f"sm{device.sm}" if device.sm is not None else None,
        f"{device.memory_mib} MiB" if device.memory_mib is not None else None,
        f"driver {device.driver}" if device.driver else None,
        f"CUDA up to {device.cuda}" if device.cuda else None,
        "MIG on" if device.mig else None,
        f"{device.ecc_uncorrected} uncorrected ECC errors" if device.ecc_uncorrected else None,
        "row remap pending, reset needed" if device.remap_pending else None,
    ]
    return ", ".join(p for p in parts if p)
