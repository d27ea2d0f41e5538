"""What the daemon costs on a host where nothing happens."""

import threading

import pytest

from tests.soak.guest import guest

SECONDS = 20.0


@pytest.mark.slow
@pytest.mark.parametrize("servers", [1, 8])
def test_idle_it_takes_little_memory_and_next_to_no_time(tmp_path, program, servers):
    with guest(tmp_path, servers) as quiet:
        threading.Event().wait(5)
        before = quiet.cost()
        threading.Event().wait(SECONDS)
        after = quiet.cost()
    share = (after.cpu - before.cpu) / SECONDS
    print(f"{servers} servers, 64 files: {after.rss:.0f} MiB, {share:.1%} of a core, {after.descriptors} descriptors")
    assert after.rss < 60
    assert share < 0.05
    assert after.descriptors == before.descriptors
