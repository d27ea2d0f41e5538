"""Which process is this server's."""

import pytest

from responder.advise.launch import Launch, Place, Process, process_launch
from responder.advise.launch.control_group import Group, parse

NOW = 10_000.0
ID = "0123456789abcdef" * 4


def process(pid: int, *arguments: str, **more: object) -> Process:
    """A server's process."""
    fields: dict[str, object] = {
        "started": NOW - 100 + pid,
        "argv": ("python3", "-m", "sglang.launch_server", *arguments),
        "uid": 1000,
        "user": "llm",
    }
    return Process(pid=pid, **(fields | more))  # type: ignore[arg-type]


def found(*processes: Process, **place: object) -> Launch:
    return process_launch(processes, Place(**place), NOW)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("process_is", "place_is"),
    [
        ({"group": Group(unit="a.service")}, {"unit": "a.service"}),
        ({"group": Group(unit="a.service")}, {"unit": "a.service", "user": "llm"}),
        ({"group": Group(unit="a.service")}, {"unit": "a.service", "user": "1000"}),
        ({"group": Group(container=ID)}, {"containers": {ID}}),
        ({"group": Group(container=ID, pod="p")}, {"pods": {"p"}}),
        ({"outputs": ("/var/log/a.log",)}, {"logs": {"/var/log/a.log"}}),
        ({}, {"pids": {1}, "owner": 1000}),
    ],
)
def test_a_process_bound_to_the_server_vouches_for_its_command(
    process_is: dict[str, object], place_is: dict[str, object]
) -> None:
    launch = found(process(1, "--tp", "2", **process_is), process(2, "--tp", "4"), **place_is)
    assert (launch.command, launch.complete) == ("python3 -m sglang.launch_server --tp 2", True)
    assert (launch.pid, launch.source) == (1, "process")


@pytest.mark.parametrize(
    ("process_is", "place_is"),
    [
        ({"group": Group(unit="a.service")}, {"unit": "b.service"}),
        ({"group": Group(unit="a.service"), "user": "eve", "uid": 7}, {"unit": "a.service", "user": "llm"}),
        ({"group": Group(container=ID)}, {"containers": {"f" * 64}}),
        ({}, {"pids": {1}, "owner": 0}),
        ({}, {"pids": {1}}),
    ],
)
def test_a_process_of_another_place_or_user_vouches_for_nothing(
    process_is: dict[str, object], place_is: dict[str, object]
) -> None:
    assert not found(process(1, "--tp", "2", **process_is), **place_is).complete


def test_the_only_server_of_a_host_is_told_without_being_vouched_for() -> None:
    launch = found(process(7, "--tp", "2"))
    assert (launch.command, launch.complete) == ("python3 -m sglang.launch_server --tp 2", False)
    assert launch.note == "process 7 may belong to another server"


@pytest.mark.parametrize("place", [{"unit": "a.service"}, {"containers": {ID}}, {"pods": {"p"}}])
def test_where_it_is_known_what_keeps_the_server_no_process_of_elsewhere_is_told(place: dict[str, object]) -> None:
    launch = found(process(7, "--tp", "2"), **place)
    assert (launch.command, launch.note) == (None, "")


def test_several_unbound_processes_are_told_as_such() -> None:
    launch = found(process(7, "--tp", "2"), process(8, "--tp", "4"))
    assert launch.command is None
    assert launch.note == "several sglang processes run on this host, and none is known to be this server: 7, 8"


def test_two_servers_in_one_unit_are_told_as_such() -> None:
    unit = Group(unit="a.service")
    launch = found(process(7, "--tp", "2", group=unit), process(8, "--tp", "4", group=unit), unit="a.service")
    assert (launch.command, launch.note) == (None, "several sglang processes run as this server: 7, 8")


def test_a_restart_with_another_command_leaves_the_newest() -> None:
    unit = Group(unit="a.service")
    old = process(7, "--tp", "2", group=unit, ended=NOW - 91)
    assert found(old, process(8, "--tp", "4", group=unit), unit="a.service").pid == 8


def test_one_that_died_lately_is_still_the_one_and_one_that_died_long_ago_is_not() -> None:
    unit = Group(unit="a.service")
    assert found(process(7, group=unit, ended=NOW - 5), unit="a.service").pid == 7
    assert found(process(7, group=unit, ended=NOW - 5000), unit="a.service").command is None


def test_of_a_script_and_its_server_the_script_is_what_was_typed() -> None:
    unit = Group(unit="a.service")
    script = process(1, argv=("bash", "-c", "cd /x && sglang serve m --tp 2"), group=unit)
    inner = process(
        2, argv=("/usr/bin/python3", "/usr/bin/sglang", "serve", "m", "--tp", "2"), parents=(1,), group=unit
    )
    assert found(script, inner, unit="a.service").pid == 1


def test_a_script_whose_variables_hide_the_arguments_gives_way_to_its_server() -> None:
    unit = Group(unit="a.service")
    script = process(1, argv=("bash", "-c", "sglang serve m --tp $TP"), group=unit)
    inner = process(
        2, argv=("/usr/bin/python3", "/usr/bin/sglang", "serve", "m", "--tp", "2"), parents=(1,), group=unit
    )
    assert found(script, inner, unit="a.service").pid == 2


def test_a_router_is_not_taken_for_the_server_beside_it() -> None:
    router = process(1, argv=("python3", "-m", "sglang_router.launch_router"), router=True)
    server = process(2)
    assert found(router, server).pid == 2
    assert found(router, server, router=True).pid == 1


@pytest.mark.parametrize(
    ("text", "group"),
    [
        ("0::/system.slice/sglang.service\n", Group(unit="sglang.service")),
        ("0::/system.slice/system-sglang.slice/sglang@a.service\n", Group(unit="sglang@a.service")),
        ("9:name=systemd:/system.slice/sglang.service\n8:pids:/\n", Group(unit="sglang.service")),
        ("0::/user.slice/user-1000.slice/session-3.scope\n", Group()),
        (f"0::/system.slice/docker-{ID}.scope\n", Group(container=ID)),
        (f"12:memory:/docker/{ID}\n0::/\n", Group(container=ID)),
        (
            "0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod12345678_1234_1234_1234_123456789abc.slice"
            f"/cri-containerd-{ID}.scope\n",
            Group(container=ID, pod="12345678-1234-1234-1234-123456789abc"),
        ),
        (
            f"1:name=systemd:/kubepods/besteffort/pod12345678-1234-1234-1234-123456789abc/{ID}\n",
            Group(container=ID, pod="12345678-1234-1234-1234-123456789abc"),
        ),
        ("", Group()),
        ("garbage\n::\n", Group()),
    ],
)
def test_a_control_group_tells_unit_container_and_pod(text: str, group: Group) -> None:
    assert parse(text) == group
