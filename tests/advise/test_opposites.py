"""Advice never sends an operator back over the step they have just taken."""

from responder.advise.advise import advise
from responder.advise.learn import Host
from responder.nouns import Server
from tests.diagnosing import findings

BANNER = (
    "/x/sglang/launch_server.py:71: UserWarning: 'python -m sglang.launch_server' is still supported, but use serve.\n"
)
HIT = "[2026-09-14 07:0{minute}:10 TP0] Scheduler hit an exception: Traceback (most recent call last):\n"
OOM = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n"
NO_ROOM = "RuntimeError: Not enough memory. Please try to increase --mem-fraction-static.\n"
READY = "[2026-09-14 07:00:04] The server is fired up and ready to roll!\n"


def advice(program, catalogue, log):
    (*_, last) = findings(program, log)
    host = Host(
        server=Server(name="x", version="0.5.6"),
        command="python3 -m sglang.launch_server --model-path M --mem-fraction-static 0.9",
    )
    return [r for r in advise(last, host, catalogue.by_id).remedies if r.applies != "no"]


def test_alone_each_of_the_two_texts_gets_its_own_move(program, catalogue):
    raised = advice(program, catalogue, BANNER + HIT.format(minute=1) + NO_ROOM)
    lowered = advice(program, catalogue, BANNER + READY + HIT.format(minute=1) + OOM)
    assert raised[0].set["--mem-fraction-static"] == "0.95"
    assert lowered[0].set["--mem-fraction-static"] == "0.85"


def test_after_an_out_of_memory_the_fraction_is_not_raised_again(program, catalogue):
    log = BANNER + READY + HIT.format(minute=1) + OOM + BANNER + HIT.format(minute=3) + NO_ROOM
    found = advice(program, catalogue, log)
    assert found
    assert all("--mem-fraction-static" not in remedy.set for remedy in found)


def test_after_the_demand_to_raise_it_the_fraction_is_not_lowered_again(program, catalogue):
    log = BANNER + HIT.format(minute=1) + NO_ROOM + BANNER + READY + HIT.format(minute=3) + OOM
    found = advice(program, catalogue, log)
    assert found
    assert all("--mem-fraction-static" not in remedy.set for remedy in found)
