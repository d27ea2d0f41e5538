"""The launch command of a systemd unit, read from its files and as systemctl tells it.

What systemd makes of the same files (argv, environment) was seen in a running systemd 252.
"""

import shlex
from pathlib import Path

import pytest

from responder.advise.launch import Unit, read_unit

NO_SYSTEMCTL = "/nonexistent/systemctl"

TRICKY = r"""
[Unit]
Description=sglang

[Service]
Environment=PYTHONPATH=/opt/x "MODEL=/models/my model" TP=2 SGLANG_X=1
Environment='EXTRA=--a "b c" --d'
EnvironmentFile=-/etc/default/sglang
EnvironmentFile=-/etc/default/missing*
# a comment
ExecStart=/usr/bin/python3 -m sglang.launch_server --model-path ${MODEL} \
    # comment within
    --tp-size ${TP} $EXTRA --served-model-name 'it''s %n' --json-model-override-args '{"a": "b\\n"}' \
    --chat-template "tab\there" --api-key ${SGLANG_API_KEY} --x $$HOME --y a$TP --z '${TP}' --pc 50%%

[Install]
WantedBy=multi-user.target
"""
TRICKY_ARGV = [
    "/usr/bin/python3", "-m", "sglang.launch_server", "--model-path", "/models/my model", "--tp-size", "2",
    "--a", "b c", "--d", "--served-model-name", "its sglang.service", "--json-model-override-args", '{"a": "b\\n"}',
    "--chat-template", "tab\there", "--api-key", "${SGLANG_API_KEY}", "--x", "$HOME", "--y", "a$TP", "--z", "2",
    "--pc", "50%",
]  # fmt: skip
ENVIRONMENT_FILE = r"""# comment
SGLANG_API_KEY=sk-secret-1234567890
SGLANG_Y="a 'b' \"c\" \$d \n"
SGLANG_Z=it's  a  test
SGLANG_W='single "x" \n' tail
export SGLANG_E=1
SGLANG_V=one\
two
HOME_OF_MODELS=/models
; other
"""


def write(root: Path, path: str, text: str) -> None:
    """A file below the root."""
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def unit(root: Path, name: str = "sglang", systemctl: str = NO_SYSTEMCTL) -> Unit:
    return read_unit(name, root, systemctl)


def argv(found: Unit) -> list[str]:
    return shlex.split(found.launch.command or "")


def simple(exec_start: str, more: str = "") -> str:
    return f"[Service]\n{more}ExecStart={exec_start}\n"


def test_the_argv_is_systemds_own(tmp_path: Path) -> None:
    write(tmp_path, "etc/systemd/system/sglang.service", TRICKY)
    write(tmp_path, "etc/default/sglang", ENVIRONMENT_FILE)
    found = unit(tmp_path)
    assert argv(found) == TRICKY_ARGV
    assert (found.launch.source, found.launch.complete, found.launch.keeper) == ("unit", True, "systemd")
    assert (found.launch.keeper_name, found.user) == ("sglang.service", "root")
    assert found.launch.where == "ExecStart of sglang.service"


def test_only_the_harmless_part_of_the_environment_is_kept(tmp_path: Path) -> None:
    write(tmp_path, "etc/systemd/system/sglang.service", TRICKY)
    write(tmp_path, "etc/default/sglang", ENVIRONMENT_FILE)
    assert unit(tmp_path).launch.env == {
        "SGLANG_X": "1",
        "SGLANG_Y": "a 'b' \"c\" $d \\n",
        "SGLANG_Z": "it's  a  test",
        "SGLANG_W": 'single "x" \\ntail',
        "SGLANG_V": "onetwo",
    }


def test_no_secret_of_an_environment_file_gets_into_the_command(tmp_path: Path) -> None:
    write(tmp_path, "etc/systemd/system/sglang.service", TRICKY)
    write(tmp_path, "etc/default/sglang", ENVIRONMENT_FILE)
    found = unit(tmp_path)
    assert "sk-secret" not in repr(found)
    assert '--api-key "${SGLANG_API_KEY}"' in (found.launch.command or "")


def test_drop_ins_count_in_the_order_of_their_names_whatever_folder_they_lie_in(tmp_path: Path) -> None:
    write(
        tmp_path, "usr/lib/systemd/system/sglang.service", simple("sglang serve m --tp-size $TP", "Environment=TP=1\n")
    )
    write(tmp_path, "run/systemd/system/sglang.service.d/20-b.conf", "[Service]\nEnvironment=TP=2\n")
    write(tmp_path, "usr/lib/systemd/system/sglang.service.d/30-c.conf", "[Service]\nEnvironment=TP=3\n")
    write(tmp_path, "etc/systemd/system/sglang.service.d/10-a.conf", "[Service]\nEnvironment=TP=4\n")
    assert argv(unit(tmp_path))[-1] == "3"


def test_a_drop_in_of_the_same_name_is_taken_from_the_first_folder_and_may_be_masked(tmp_path: Path) -> None:
    write(tmp_path, "usr/lib/systemd/system/sglang.service", simple("sglang serve m"))
    write(
        tmp_path, "usr/lib/systemd/system/sglang.service.d/a.conf", "[Service]\nExecStart=\nExecStart=sglang serve a\n"
    )
    write(
        tmp_path, "usr/lib/systemd/system/sglang.service.d/b.conf", "[Service]\nExecStart=\nExecStart=sglang serve b\n"
    )
    (tmp_path / "etc/systemd/system/sglang.service.d").mkdir(parents=True)
    (tmp_path / "etc/systemd/system/sglang.service.d/b.conf").symlink_to("/dev/null")
    assert argv(unit(tmp_path)) == ["sglang", "serve", "a"]


def test_an_instance_takes_its_template_its_specifiers_and_its_own_drop_ins(tmp_path: Path) -> None:
    write(tmp_path, "etc/systemd/system/sglang@.service", simple("sglang serve /models/%i --port $PORT --x %I %p"))
    write(tmp_path, "etc/systemd/system/sglang@.service.d/port.conf", "[Service]\nEnvironment=PORT=1\n")
    write(tmp_path, "etc/systemd/system/sglang@qwen-3.service.d/port.conf", "[Service]\nEnvironment=PORT=2\n")
    found = unit(tmp_path, "sglang@qwen-3.service")
    assert argv(found) == ["sglang", "serve", "/models/qwen-3", "--port", "2", "--x", "qwen/3", "sglang"]


def test_an_empty_assignment_forgets_what_came_before(tmp_path: Path) -> None:
    write(
        tmp_path,
        "etc/systemd/system/sglang.service",
        simple("sglang serve a", "ExecStart=sglang serve b\nExecStart=\n"),
    )
    assert argv(unit(tmp_path)) == ["sglang", "serve", "a"]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("-/usr/bin/sglang serve m", ["/usr/bin/sglang", "serve", "m"]),
        ("@/usr/bin/sglang my-name serve m", ["/usr/bin/sglang", "serve", "m"]),
        (":+/usr/bin/sglang serve $X ${X} $$X", ["/usr/bin/sglang", "serve", "$X", "${X}", "$$X"]),
        ("/bin/bash -c 'source /x; exec sglang serve $X'", ["/bin/bash", "-c", "source /x; exec sglang serve $X"]),
        ("/bin/true ; sglang serve m", ["sglang", "serve", "m"]),
    ],
)
def test_prefixes_and_several_commands_are_read_as_systemd_does(tmp_path: Path, line: str, expected: list[str]) -> None:
    write(tmp_path, "etc/systemd/system/sglang.service", simple(line))
    assert argv(unit(tmp_path)) == expected


def test_a_variable_that_nobody_here_knows_stays_a_reference(tmp_path: Path) -> None:
    write(tmp_path, "etc/systemd/system/sglang.service", simple('sglang serve ${MODEL} $EXTRA "a ${B}"'))
    assert unit(tmp_path).launch.command == 'sglang serve "${MODEL}" $EXTRA "a ${B}"'


def test_an_environment_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    write(tmp_path, "etc/systemd/system/sglang.service", simple("sglang serve m $X", "EnvironmentFile=/etc/absent\n"))
    found = unit(tmp_path)
    assert found.launch.command == "sglang serve m $X"
    assert found.launch.note == "/etc/absent cannot be read"


@pytest.mark.parametrize(
    ("text", "note"),
    [
        (simple("/opt/start.sh"), "ExecStart of sglang.service does not launch sglang itself"),
        (simple("sglang serve a ; sglang serve b"), "sglang.service starts sglang 2 times"),
        (simple("sglang serve 'a"), "the settings of sglang.service cannot be read: a quote ' is not closed"),
        ("[Service]\n", "ExecStart of sglang.service does not launch sglang itself"),
        ("\0\0garbage", "ExecStart of sglang.service does not launch sglang itself"),
    ],
)
def test_a_unit_without_one_readable_launch_says_why(tmp_path: Path, text: str, note: str) -> None:
    write(tmp_path, "etc/systemd/system/sglang.service", text)
    found = unit(tmp_path)
    assert (found.launch.command, found.launch.note) == (None, note)


def test_an_unknown_or_masked_unit_says_so(tmp_path: Path) -> None:
    assert unit(tmp_path, "absent").launch.note == "there is no unit absent.service"
    (tmp_path / "etc/systemd/system").mkdir(parents=True)
    (tmp_path / "etc/systemd/system/sglang.service").symlink_to("/dev/null")
    write(tmp_path, "usr/lib/systemd/system/sglang.service", simple("sglang serve m"))
    assert unit(tmp_path).launch.note == "there is no unit sglang.service"


def test_the_user_is_whom_the_unit_names(tmp_path: Path) -> None:
    write(tmp_path, "etc/systemd/system/a.service", simple("sglang serve m", "User=llm\n"))
    write(tmp_path, "etc/systemd/system/b.service", simple("sglang serve m", "DynamicUser=yes\n"))
    assert (unit(tmp_path, "a").user, unit(tmp_path, "b").user) == ("llm", None)


# Where a systemd runs, it is asked which files make the unit.


def systemctl(folder: Path, answer: str, status: int = 0) -> str:
    """A stand-in that answers as systemctl 252 does."""
    folder.mkdir(parents=True, exist_ok=True)
    program = folder / "systemctl"
    (folder / "answer").write_text(answer)
    program.write_text(f'#!/bin/sh\nprintf "%s\\n" "$*" > "{folder}/asked"\ncat "{folder}/answer"\nexit {status}\n')
    program.chmod(0o755)
    return str(program)


def test_systemctl_says_which_files_to_read(tmp_path: Path) -> None:
    write(tmp_path, "elsewhere/sglang.service", simple("sglang serve m --tp-size ${TP}", "Environment=TP=1\n"))
    write(tmp_path, "elsewhere/10.conf", "[Service]\nEnvironment='TP=8'\n")
    answer = (
        "ExecStart={ path=/usr/bin/sglang ; argv[]=/usr/bin/sglang serve m --tp-size ${TP} ; ignore_errors=no ;"
        " start_time=[n/a] ; stop_time=[n/a] ; pid=0 ; code=(null) ; status=0/0 }\n"
        "Environment=TP=8\nUser=\nLoadState=loaded\n"
        f"FragmentPath={tmp_path}/elsewhere/sglang.service\nDropInPaths={tmp_path}/elsewhere/10.conf\n"
        "NeedDaemonReload=no\n"
    )
    program = systemctl(tmp_path / "bin", answer)
    found = unit(tmp_path, systemctl=program)
    assert argv(found) == ["sglang", "serve", "m", "--tp-size", "8"]
    assert found.launch.note == ""
    asked = (tmp_path / "bin" / "asked").read_text().split()
    assert asked[:2] == ["show", "--no-pager"]
    assert asked[-1] == "sglang.service"


def test_files_that_changed_since_systemd_read_them_are_told_of(tmp_path: Path) -> None:
    write(tmp_path, "u/sglang.service", simple("sglang serve m"))
    answer = f"LoadState=loaded\nFragmentPath={tmp_path}/u/sglang.service\nDropInPaths=\nNeedDaemonReload=yes\n"
    found = unit(tmp_path, systemctl=systemctl(tmp_path / "bin", answer))
    assert found.launch.note == "the files of sglang.service have changed since systemd read them"


SHOWN = (
    "ExecStart={{ path=/usr/bin/sglang ; argv[]={argv} ; ignore_errors=no ; start_time=[n/a] ; stop_time=[n/a] ;"
    ' pid=0 ; code=(null) ; status=0/0 }}\nEnvironment=SGLANG_X=1 "SGLANG_Y=a b" HF_TOKEN=hf_abcdefgh\nUser=llm\n'
    "LoadState=loaded\nFragmentPath=/nonexistent/sglang.service\nDropInPaths=\nNeedDaemonReload=no\n"
)


def test_where_the_files_cannot_be_read_systemctls_own_words_do_if_they_are_plain(tmp_path: Path) -> None:
    plain = systemctl(tmp_path / "a", SHOWN.format(argv="/usr/bin/sglang serve m --tp-size 8"))
    found = unit(tmp_path, systemctl=plain)
    assert (argv(found)[-1], found.user) == ("8", "llm")
    assert found.launch.env == {"SGLANG_X": "1", "SGLANG_Y": "a b"}
    joined = systemctl(tmp_path / "b", SHOWN.format(argv='/usr/bin/sglang serve my model --json {"a": 1}'))
    assert unit(tmp_path, systemctl=joined).launch.note == "the files of sglang.service cannot be read"


@pytest.mark.parametrize(
    ("answer", "status"),
    [
        ("System has not been booted with systemd as init system (PID 1). Can't operate.\n", 1),
        ("LoadState=not-found\nFragmentPath=\n", 0),
        ("", 0),
        ("\xff garbage", 0),
    ],
)
def test_a_systemctl_that_knows_nothing_leaves_the_files(tmp_path: Path, answer: str, status: int) -> None:
    write(tmp_path, "etc/systemd/system/sglang.service", simple("sglang serve m"))
    assert argv(unit(tmp_path, systemctl=systemctl(tmp_path / "bin", answer, status))) == ["sglang", "serve", "m"]
