"""What is one crash, what is one incident, and which line is the cause."""

from tests.diagnosing import findings, rules_of

BANNER = (
    "/x/sglang/launch_server.py:71: UserWarning: 'python -m sglang.launch_server' is still supported, but use serve.\n"
)
SEED = (
    "Traceback (most recent call last):\n"
    '  File "/x/sglang/srt/arg_groups/attention_hook.py", line 233, in handle_attention_backend_compatibility\n'
    "    raise ValueError(\n"
    "ValueError: Prefill context parallelism with the TRTLLM MHA prefill backend requires SM100 (trtllm-gen context"
    " kernel): the SM90/SM120 fmha_v2 prefill path does not implement CP shard masking.\n"
)
SEED_RULE = "trtllm-mha-prefill-cp-needs-sm100"
READY = "[2026-09-14 07:02:04] The server is fired up and ready to roll!\n"


def exception(rank: str, text: str, second: int = 10, header: str = "Scheduler hit an exception: ") -> str:
    stamp = f"[2026-09-14 07:05:{second:02} {rank}] " if rank else ""
    return (
        f"{stamp}{header}Traceback (most recent call last):\n"
        '  File "/x/sglang/srt/managers/scheduler.py", line 4112, in run_scheduler_process\n'
        "    scheduler = Scheduler(\n"
        f"{text}\n"
    )


def test_the_real_failure_is_one_finding(program, logs):
    for name in ("real-seed-0523-sm90", "real-seed-0519-sm90"):
        found = findings(program, (logs / f"{name}.log").read_text())
        assert rules_of(found) == [SEED_RULE]
        assert (found[0].phase, found[0].attempts, found[0].lines) == ("arguments", 1, 1)


def test_a_launch_that_was_accepted_is_no_finding(program, logs):
    assert findings(program, (logs / "real-accepted-0523.log").read_text()) == []


def test_ranks_that_fail_alike_are_one_finding(program):
    oom = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB."
    found = findings(program, "".join(exception(f"TP{rank}", oom) for rank in range(8)))
    assert rules_of(found) == ["cuda-out-of-memory"]
    assert found[0].ranks == tuple(f"TP{rank}" for rank in range(8))
    assert (found[0].lines, found[0].attempts) == (8, 1)


def test_restarts_that_fail_alike_are_one_finding_with_attempts(program):
    found = findings(program, (BANNER + SEED) * 3)
    assert rules_of(found) == [SEED_RULE]
    assert (found[0].attempts, found[0].lines) == (3, 3)


def test_two_launches_that_fail_differently_are_two_findings(program):
    other = "ValueError: --cp-strategy must be set when --enable-prefill-cp is enabled.\n"
    found = findings(program, BANNER + SEED + BANNER + SEED.splitlines(keepends=True)[0] + other)
    assert rules_of(found) == [SEED_RULE, "cp-strategy-missing"]


def test_follow_on_lines_attach_to_the_cause(program):
    log = exception(
        "TP0", "ValueError: Not enough host memory available. Requesting 40.00 GB but only have 4.87 GB free."
    )
    log += "[2026-09-14 07:05:14] Received sigquit from a child process. It usually means the child failed.\nKilled\n"
    found = findings(program, log)
    assert rules_of(found) == ["hicache-host-pool-exceeds-memory"]
    assert {"child-failed-sigquit", "process-killed-by-shell"} <= set(found[0].symptoms)


def test_follow_on_lines_alone_say_that_the_cause_is_not_here(program):
    log = "[2026-09-14 07:05:14] Received sigquit from a child process. It usually means the child failed.\nKilled\n"
    found = findings(program, log)
    assert len(found) == 1
    assert found[0].confidence == "possible"
    assert "not in this log" in found[0].why


def test_a_wrapper_yields_to_what_it_wraps(program):
    log = exception("TP0", "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.00 GiB.")
    log += "Exception: Capture cuda graph failed: CUDA out of memory. Tried to allocate 1.00 GiB.\n"
    assert rules_of(findings(program, log)) == ["cuda-out-of-memory"]


def test_an_unknown_traceback_is_one_incident_without_an_invented_remedy(program):
    log = "".join(exception(f"TP{rank}", "FancyError: 17 of 0x7f001 is odd") for rank in range(2))
    found = findings(program, log)
    assert [f.kind for f in found] == ["unrecognised"]
    assert found[0].rule is None
    assert found[0].confidence == "possible"
    assert "FancyError" in found[0].title


def test_the_next_occurrence_of_an_unknown_traceback_is_the_same_incident(program):
    one = findings(program, exception("TP0", "FancyError: 17 of 0x7f001 is odd"))
    other = findings(program, exception("TP3", "FancyError: 99 of 0x8e777 is odd").replace("4112", "4200"))
    assert one[0].fingerprint == other[0].fingerprint


def test_the_first_of_chained_tracebacks_is_the_cause(program):
    log = exception("TP0", "FirstError: deep inside")
    log += "\nDuring handling of the above exception, another exception occurred:\n\n"
    log += exception("", "SecondError: on top", header="")
    found = findings(program, log)
    assert len(found) == 1
    assert "FirstError" in found[0].title


def test_a_traceback_of_one_request_is_no_incident(program):
    log = READY + "[2026-09-14 07:03:00] Error in request: 'NoneType' object has no attribute 'x'\n"
    log += exception("", "AttributeError: 'NoneType' object has no attribute 'x'", header="")
    log += "[2026-09-14 07:03:02] Decode batch, #running-req: 3, #token: 2291, token usage: 0.01\n"
    assert findings(program, log) == []


def test_a_prompt_that_quotes_an_error_is_no_incident(program):
    quoted = "please explain torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2 GiB"
    log = READY + f"[2026-09-14 07:03:00] Receive: obj=GenerateReqInput(rid='1', text='{quoted}', stream=False)\n"
    assert rules_of(findings(program, log)) == []


def test_a_stop_that_was_asked_for_makes_follow_on_lines_harmless(program):
    log = READY + "[2026-09-14 09:00:00] Gracefully exiting... Remaining number of requests 0. Remaining requests\n"
    log += "[2026-09-14 09:00:01] Received sigquit from a child process. It usually means the child failed.\n"
    assert rules_of(findings(program, log)) == []


def test_the_phase_is_read_from_the_markers(program):
    oom = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB."
    load = "[2026-09-14 07:01:14 TP0] Load weight begin. avail mem=77.32 GB\n"
    assert findings(program, load + exception("TP0", oom))[0].phase == "load"
    assert findings(program, load + READY + exception("TP0", oom))[0].phase == "serving"


def test_faults_hours_apart_are_two_crashes_but_alike_they_are_one_incident(program):
    first = exception("TP0", "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.")
    later = first.replace("2026-09-14", "2026-09-15")
    found = findings(program, READY + first + later)
    assert rules_of(found) == ["cuda-out-of-memory"]
    assert found[0].attempts == 2


def test_a_traceback_that_a_request_quotes_is_no_incident(program):
    quoted = "Traceback (most recent call last):"
    line = "[2026-09-14 07:03:0{n}] Receive: obj=GenerateReqInput(rid='1', text='{quoted} why?', stream=False)\n"
    log = READY + "".join(line.format(n=n, quoted=quoted) for n in range(3))
    assert findings(program, log) == []


def test_of_follow_on_lines_alone_the_most_telling_names_the_incident(program):
    log = exception("TP0", "RuntimeError: Rank 8 scheduler died during initialization (exit code: 1).")
    log += "Killed\n"
    found = findings(program, log)
    assert [f.rule.id for f in found if f.rule] == ["scheduler-died-at-init"]
