"""Bad input gets one clear line and the exit status of the contract, never a traceback."""

import resource
import subprocess
import sys

import pytest

from tests.cli.helpers import responder

SEED = "ValueError: Prefill context parallelism with the TRTLLM MHA prefill backend requires SM100"


@pytest.mark.parametrize(
    ("arguments", "status", "says"),
    [
        (("replay", "/no/such/file.log"), 2, "no such file"),
        (("replay", "{tmp}"), 2, "no log in this folder"),
        (("replay", "{tmp}/*.log"), 2, "no file matches"),
        (("replay", "{log}", "--gpu", "H1000"), 2, "--gpu"),
        (("replay", "{log}", "--sglang", "newest"), 2, "no release number"),
        (("replay", "{log}", "--command", "sglang serve 'unclosed"), 2, "--command"),
        (("replay", "{log}", "--since", "yesterday"), 2, "no time"),
        (("replay", "{log}", "--since", "2199-01-01"), 0, "No failure in this span; 1 outside it."),
        (("replay", "{log}", "-o", "/no/such/folder/out"), 2, "cannot be written"),
        (("run", "{tmp}"), 2, "a folder, where a log file"),
        (("run",), 2, "nothing to follow"),
        (("run", "--config", "/no/such.toml"), 78, "no such file"),
        (("rules", "show", "trtllm-mha-prefill-cp-needs-sm10"), 2, "did you mean"),
        (("rules", "test", "/no/such/folder"), 2, "no such file or folder"),
        (("rules", "import", "{log}"), 2, "not JSON"),
        (("explane",), 2, "Did you mean `explain`"),
        (("preflight", "--", "ls", "-l"), 2, ""),
        (("incidents", "--state", "{tmp}", "list"), 69, "no state here"),
    ],
)
def test_one_clear_line(tmp_path, logs, arguments, status, says):
    log = logs / "real-seed-0523-sm90.log"
    ran = responder(*(part.format(tmp=tmp_path, log=log) for part in arguments), HOME=str(tmp_path))
    assert ran.returncode == status, ran.stderr
    assert says in ran.stderr
    assert "Traceback" not in ran.stderr


@pytest.mark.parametrize(
    ("toml", "says"),
    [
        ('[slack]\nchanel = "#x"\n', ":2: unknown key `chanel`; did you mean `channel`?"),
        ("[slack\n", ":1: not valid TOML"),
        ('[slack]\ntoken = "xoxb-1"\n', "secrets do not belong here"),
        ('[[server]]\nname = "a"\nlogs = "x.log"\n', ":3: `server.logs`"),
        ('[[server]]\nname = "a"\n', "neither `logs` nor `journal`"),
        ('[server]\nname = "a"\n', "[[server]], with two brackets"),
        ('[publish]\nexcerpt = "all"\n', ":2: `publish.excerpt`"),
        ('[[server]]\nname="a"\nlogs=["x"]\n[[server]]\nname="a"\nlogs=["y"]\n', "two servers are called `a`"),
        (
            '[[slack.route]]\nchannel="#x"\nkinds=["gpu-hardwear"]\n',
            ":3: [[slack.route]] no kind is `gpu-hardwear`; did",
        ),
        ('[[slack.route]]\nchannel="#x"\nservers=["b"]\n', "no server is `b`"),
        ('[[slack.route]]\nchannel="#x"\nseverities=["loud"]\n', "`slack.route.severities`"),
        ('[[slack.route]]\nkinds=["driver"]\n', "channel"),
        (
            '[[server]]\nname="a"\nlogs=["x"]\n[[server]]\nname="b"\nlogs=["./x"]\n',
            ":6: servers `a` and `b` both follow ./x: each fault would be told twice",
        ),
        (
            '[[server]]\nname="a"\nlogs=["/l/*.log"]\n[[server]]\nname="b"\nlogs=["/l/b.log"]\n',
            "servers `a` and `b` both follow /l/b.log",
        ),
        (
            '[[server]]\nname="a"\nlogs=["/l/a-1*.log"]\n[[server]]\nname="b"\nlogs=["/l/**/*.log"]\n',
            "servers `a` and `b` both follow /l/**/*.log",
        ),
        ('[[server]]\nname="a"\nlogs=["x"]\n[rules]\npaths=["/no/such"]\n', "/no/such: no such file or folder"),
        ('[[server]]\nname="a"\nlogs=["x"]\n[slack]\nchannel="#gpu"\n', "there is no token"),
    ],
)
def test_a_bad_configuration_is_told_with_its_line(tmp_path, toml, says):
    path = tmp_path / "responder.toml"
    path.write_text(toml)
    ran = responder("run", "--config", str(path), "--state", str(tmp_path / "state"))
    assert ran.returncode == 78, ran.stderr
    assert says in ran.stderr
    assert "Traceback" not in ran.stderr


def test_logs_in_a_folder_and_below_it_may_belong_to_two_servers(tmp_path):
    path = tmp_path / "responder.toml"
    path.write_text('[[server]]\nname="a"\nlogs=["/l/*.log"]\n[[server]]\nname="b"\nlogs=["/l/b/*.log"]\n')
    ran = responder("config", "show", "--config", str(path))
    assert ran.returncode == 0, ran.stderr


def test_a_log_that_two_servers_reach_by_two_names_is_found_by_check(tmp_path):
    (tmp_path / "a.log").touch()
    (tmp_path / "link").symlink_to("a.log")
    path = tmp_path / "responder.toml"
    path.write_text(
        f'[[server]]\nname="a"\nlogs=["{tmp_path}/a.log"]\n[[server]]\nname="b"\nlogs=["{tmp_path}/link"]\n'
    )
    ran = responder("check", "--config", str(path))
    assert f"fail  servers `a` and `b` both follow {tmp_path}/link" in ran.stdout
    assert ran.returncode == 69


def test_a_path_that_a_configured_server_follows_is_refused(tmp_path):
    path = tmp_path / "responder.toml"
    path.write_text(f'[[server]]\nname="a"\nlogs=["{tmp_path}/*.log"]\n')
    ran = responder("run", "--config", str(path), "--state", str(tmp_path / "state"), str(tmp_path / "b.log"))
    assert ran.returncode == 78
    assert f"servers `a` and `b` both follow {tmp_path}/b.log" in ran.stderr


def test_a_disk_that_is_full_at_the_start_is_one_clear_line(tmp_path):
    def fill_the_disk() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))

    command = [sys.executable, "-m", "responder", "run", "--state", str(tmp_path / "state"), str(tmp_path / "a.log")]
    ran = subprocess.run(
        command,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        preexec_fn=fill_the_disk,
    )
    assert ran.returncode == 69
    assert "responder.db: disk I/O error" in ran.stderr
    assert "Traceback" not in ran.stderr


def test_check_tells_of_a_disk_without_room_for_the_state(tmp_path):
    state = tmp_path / "state"
    state.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", state], capture_output=True).returncode:
        pytest.skip("mounting takes root")
    try:
        path = tmp_path / "responder.toml"
        path.write_text(f'[[server]]\nname="a"\nlogs=["x"]\n[state]\ndir="{state}"\n')
        ran = responder("check", "--config", str(path))
    finally:
        subprocess.run(["umount", state], check=True)
    assert f"fail  state: the disk of {state} is full" in ran.stdout
    assert ran.returncode == 69


def test_an_invalid_token_is_told_without_showing_it(tmp_path):
    path = tmp_path / "responder.toml"
    path.write_text('[[server]]\nname="a"\nlogs=["x"]\n[slack]\nchannel="#gpu"\n')
    secret = "not-a-slack-token-17"
    ran = responder("run", "--config", str(path), "--state", str(tmp_path / "state"), RESPONDER_SLACK_TOKEN=secret)
    assert ran.returncode == 78
    assert "RESPONDER_SLACK_TOKEN" in ran.stderr
    assert secret not in ran.stderr


def test_a_broken_rule_is_left_out_and_the_others_work(tmp_path):
    rules = tmp_path / "rules"
    rules.mkdir()
    (rules / "broken.toml").write_text("id = ")
    (rules / "wrong-sample.toml").write_text(
        'id = "wrong-sample"\ntitle = "Wrong"\nkind = "hang"\nrole = "cause"\ncause = "x"\n'
        "patterns = ['''certain words''']\n[[sample]]\ntext = 'other words'\n"
    )
    config = tmp_path / "responder.toml"
    config.write_text(f'[[server]]\nname="a"\nlogs=["x.log"]\n[rules]\npaths=["{rules}"]\n')
    ran = responder("check", "--config", str(config))
    assert "broken.toml:1" in ran.stdout
    assert ran.returncode == 69


def test_no_secret_stands_in_an_error_a_configuration_or_a_draft(tmp_path):
    secret = "sk-abcdefghijklmnop1234"
    path = tmp_path / "responder.toml"
    path.write_text(f'[[server]]\nname="a"\nlogs=["x"]\ncommand="sglang serve M --api-key {secret}"\n')
    for ran in (
        responder("config", "show", "--config", str(path)),
        responder("replay", str(path), "--command", f"vllm serve M --api-key {secret}"),
        responder("rules", "new", f"ValueError: key api_key={secret} is wrong"),
    ):
        assert secret not in ran.stdout + ran.stderr


def test_check_tells_of_a_folder_among_the_logs_and_of_a_channel_without_a_token(tmp_path):
    config = tmp_path / "responder.toml"
    config.write_text(f'[[server]]\nname = "a"\nlogs = ["{tmp_path}"]\n[slack]\nchannel = "#gpu"\n')
    ran = responder("check", "--config", str(config), HOME=str(tmp_path), XDG_STATE_HOME=str(tmp_path))
    assert ran.returncode == 69
    assert f"fail  a: {tmp_path} is a folder" in ran.stdout
    assert "Slack: a channel, and no token that this user can see" in ran.stdout
