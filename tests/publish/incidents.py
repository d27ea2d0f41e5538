"""Incidents as the rooms before this one would hand them over, one per kind of message."""

from typing import Any

import msgspec

from responder.nouns import Device, Evidence, GpuFacts, Incident, Relaunch, Remedy, Server, Symptom

SEED_LINE = (
    "ValueError: Prefill context parallelism with the TRTLLM MHA prefill backend requires SM100 (trtllm-gen context "
    "kernel): the SM90/SM120 fmha_v2 prefill path does not implement CP shard masking."
)
SEED_EXCERPT = (
    "[2026-11-30 12:35:27] Attention backend not specified. Use fa3 backend by default.",
    "[2026-11-30 12:35:27] TensorRT-LLM MHA only supports page_size of 16, 32, 64 or 128, changing page_size from "
    "None to 64.",
    "Traceback (most recent call last):",
    '  File "/opt/sglang/lib/python3.12/site-packages/sglang/launch_server.py", line 29, in run_server',
    "    server_args.resolve_once()",
    '  File "/opt/sglang/lib/python3.12/site-packages/sglang/srt/arg_groups/attention_hook.py", line 233, in '
    "handle_attention_backend_compatibility",
    "    raise ValueError(",
    SEED_LINE,
)
SEED_COMMAND = (
    "python3", "-m", "sglang.launch_server", "--model-path", "meta-llama/Llama-3.1-70B-Instruct", "--tp-size", "2",
    "--prefill-attention-backend", "trtllm_mha", "--attn-cp-size", "2", "--enable-prefill-cp",
    "--cp-strategy", "zigzag", "--host", "0.0.0.0", "--port", "30000",
)  # fmt: skip

H100 = Device(name="NVIDIA H100 80GB HBM3", sm=90, memory_mib=81559, driver="570.133.20", cuda="12.8")

FA3 = Remedy(
    title="Use FlashAttention 3 for prefill; context parallelism stays on",
    applies="yes",
    why="these GPUs are SM90, and FlashAttention 3 carries the context-parallel path there",
    set={"--prefill-attention-backend": "fa3"},
    next="Turn context parallelism off (`--attn-cp-size 1`).",
    verified="sglang",
    relaunch=Relaunch(
        command=" ".join(SEED_COMMAND).replace("trtllm_mha", "fa3"),
        diff=("- --prefill-attention-backend trtllm_mha", "+ --prefill-attention-backend fa3"),
        complete=True,
    ),
)
CP_OFF = Remedy(
    title="Turn context parallelism off",
    applies="yes",
    why="without it the TRTLLM backend is accepted",
    unset=("--attn-cp-size", "--enable-prefill-cp", "--cp-strategy"),
    verified="sglang",
    relaunch=Relaunch(
        command=" ".join(SEED_COMMAND).replace(" --attn-cp-size 2 --enable-prefill-cp --cp-strategy zigzag", ""),
        diff=("- --attn-cp-size 2", "- --enable-prefill-cp", "- --cp-strategy zigzag"),
        complete=True,
    ),
)


def change(incident: Incident, **fields: Any) -> Incident:
    """The incident with these fields replaced."""
    return msgspec.structs.replace(incident, **fields)


def seed_incident(**fields: Any) -> Incident:
    """Refused at its arguments, the cause certain, the command known: one flag mends it."""
    incident = Incident(
        id="9f3c2a71d0e4",
        fingerprint="5b1d77aa90c2",
        rule="trtllm-mha-prefill-cp-needs-sm100",
        kind="attention-backend",
        title="Prefill context parallelism needs SM100 with the TRTLLM MHA backend",
        severity="critical",
        confidence="certain",
        phase="arguments",
        cause="The TRTLLM MHA prefill backend implements context parallelism only on SM100; these GPUs are SM90, so "
        "sglang refuses the combination before it loads anything.",
        evidence=Evidence(
            path="/var/log/sglang/llama-70b.log", line=57, offset=4096, text=SEED_LINE, excerpt=SEED_EXCERPT
        ),
        first_seen="2026-11-30T12:35:27Z",
        last_seen="2026-11-30T12:35:27Z",
        clock="log",
        server=Server(
            name="llama-70b",
            host="gpu-17",
            role="unified",
            version="0.5.23",
            version_from="log",
            command=SEED_COMMAND,
            command_from="config",
        ),
        gpu=GpuFacts(status="ok", source="nvml", torch_cuda="13.0", devices=(H100,) * 8),
        remedies=(FA3, CP_OFF),
        relaunch=FA3.relaunch,
        references=("https://docs.sglang.ai/advanced_features/attention_backend.html",),
    )
    return change(incident, **fields)


def unknown_gpu_incident() -> Incident:
    """The same on GPUs that nobody knows: a remedy per SM, none of them asserted."""
    fa3 = msgspec.structs.replace(FA3, applies="unknown", why="on SM90 (H100, H200)")
    off = msgspec.structs.replace(CP_OFF, applies="unknown", why="on SM120 and SM121 (RTX 50, RTX PRO, DGX Spark)")
    return seed_incident(
        gpu=GpuFacts(status="no-library", detail="libnvidia-ml.so.1 is not installed on this host"),
        remedies=(fa3, off),
        relaunch=None,
        cause="The TRTLLM MHA prefill backend implements context parallelism only on SM100, so sglang refuses the "
        "combination before it loads anything.",
    )


def flags_only_incident() -> Incident:
    """The launch command is not known: only the change can be named."""
    fa3 = msgspec.structs.replace(
        FA3,
        verified="catalogue",
        relaunch=Relaunch(
            command="--prefill-attention-backend fa3", diff=("+ --prefill-attention-backend fa3",), complete=False
        ),
    )
    incident = seed_incident(remedies=(fa3,), relaunch=fa3.relaunch)
    server = msgspec.structs.replace(incident.server, command=(), command_from="unknown")
    return change(incident, server=server)


def hardware_incident() -> Incident:
    """A dead GPU under load: no flag helps."""
    line = "NVRM: Xid (PCI:0000:05:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus."
    return seed_incident(
        id="c04e77120b9a",
        rule="xid-79-fallen-off-the-bus",
        kind="gpu-hardware",
        title="A GPU has fallen off the bus (Xid 79)",
        phase="serving",
        cause="GPU 0000:05:00 no longer answers on PCIe. The scheduler of its rank died with it and took the others "
        "down.",
        evidence=Evidence(path="journal:kernel", line=None, offset=0, text=line, excerpt=(line,)),
        lines=9,
        ranks=tuple(f"TP{n}" for n in range(8)),
        symptoms=(
            Symptom(rule="nccl-watchdog-timeout", title="A collective ran into its time limit", lines=7),
            Symptom(rule="health-check-failed", title="The health check got no answer", lines=12),
        ),
        gpu=GpuFacts(
            status="lost",
            source="nvml",
            devices=(*(H100,) * 7, Device(name=H100.name, lost=True)),
            detail="1 of 8 GPUs does not answer",
        ),
        remedies=(
            Remedy(
                title="Drain the node and reset or replace the GPU",
                applies="yes",
                why="a GPU that left the bus comes back only with power",
                steps=(
                    "Drain gpu-17 and stop the server.",
                    "Power-cycle the node; a reset alone does not bring this GPU back.",
                    "Run the vendor's field diagnostics before it takes traffic again.",
                ),
                next="Open a hardware case with the serial number of 0000:05:00.",
            ),
        ),
        relaunch=None,
        references=("https://docs.nvidia.com/deploy/xid-errors/",),
    )


def unrecognised_incident() -> Incident:
    """An exception that no rule knows."""
    line = "AttributeError: 'NoneType' object has no attribute 'set_embed'"
    return seed_incident(
        id="77aa01cd34ef",
        rule=None,
        kind="unrecognised",
        title="AttributeError in eagle_worker.py, init_lm_head",
        severity="error",
        confidence="possible",
        phase="init",
        cause="No rule knows this exception. It is the first that this launch printed.",
        evidence=Evidence(
            path="/var/log/sglang/llama-70b.log",
            line=412,
            offset=99120,
            text=line,
            excerpt=("Traceback (most recent call last):", "    self.draft_model.set_embed(embed)", line),
        ),
        remedies=(),
        relaunch=None,
        references=(),
    )


def symptom_incident() -> Incident:
    """Only what followed the fault stands in the log."""
    line = "[Rank 3] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=4711, OpType=ALLREDUCE)"
    return seed_incident(
        id="e1b2c3d4e5f6",
        rule="nccl-watchdog-timeout",
        kind="collectives",
        title="A collective ran into its time limit",
        severity="error",
        confidence="likely",
        phase="serving",
        cause="The cause is not in this log. A rank waited 600 s for another one that had stopped answering.",
        evidence=Evidence(path="/var/log/sglang/llama-70b.log", line=90312, offset=1, text=line, excerpt=(line,)),
        lines=7,
        ranks=("TP1", "TP2", "TP3"),
        remedies=(
            Remedy(
                title="Find the rank that died first",
                applies="yes",
                why="the ranks that report the timeout are the ones that waited",
                steps=("Look for the rank that is missing from this list: TP0.", "Read its log on the other nodes."),
            ),
        ),
        relaunch=None,
    )


def refused_incident() -> Incident:
    """All that is known was put to sglang's own argument check, and refused."""
    said = "sglang itself refuses this relaunch: ValueError: {} is not supported with cp_strategy zigzag."
    refused = tuple(
        msgspec.structs.replace(remedy, applies="no", relaunch=None, verified="catalogue", refused=said.format(word))
        for remedy, word in ((FA3, "fa3"), (CP_OFF, "trtllm_mha"))
    )
    return seed_incident(id="51a7be9c03dd", remedies=refused, relaunch=None)


def crash_loop_incident() -> Incident:
    """The same failure on eight ranks, launch after launch."""
    return seed_incident(
        attempts=6, lines=48, ranks=tuple(f"TP{n}" for n in range(8)), last_seen="2026-11-30T12:58:03Z"
    )
