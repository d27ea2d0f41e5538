"""Whatever leaves as text is masked, and a masked command is still valid shell with the same words."""

import shlex

import pytest

from responder.advise.command import apply_form, edit, mask, mask_argv, parse, parse_server_args
from responder.advise.flags import FlagTable

SECRET = "s3cr3t-Val.ue"
COMMANDS = [
    "sglang serve m --api-key {}",
    "sglang serve m --api-key={}",
    "sglang serve m --api-k {}",
    "sglang serve m --api-key '{}'",
    'sglang serve m "--api-key={}"',
    "sglang serve m --admin-api-key \"{}\" --ssl-keyfile-password '{}'",
    "HF_TOKEN={} OPENAI_API_KEY='{}' sglang serve m",
    "export HF_TOKEN={}; sglang serve m",
    "docker run -e HF_TOKEN={} --env 'AWS_SECRET_ACCESS_KEY={}' --env=X_PASSWORD={} img sglang serve m",
    "bash -c 'HF_TOKEN={} exec sglang serve m --api-key \"{}\"'",
    "ssh n \"sglang serve m --api-key '{}'\"",
    "sglang serve https://user:{}@host/m",
    'sglang serve m --model-loader-extra-config \'{{"access_key": "{}", "a": 1}}\'',
    "curl -H 'Authorization: Bearer {}' x; sglang serve m",
    "sglang serve m --api-key s3cr3t-'Val.ue'",
]


@pytest.mark.parametrize("template", COMMANDS)
def test_no_secret_of_a_command_is_shown_anywhere(template: str) -> None:
    command = template.replace("{}", SECRET).replace("{{", "{").replace("}}", "}")
    edited = edit(command, {"--tp-size": "2"}, env={"MY_TOKEN": SECRET}, release="0.5.23")
    parsed = parse(command)
    shown = [mask(command), *mask_argv(parsed.argv), edited.command, *edited.argv, *edited.diff]
    shown += [apply_form(parsed, keeper).text for keeper in ("shell", "systemd", "kubernetes", "compose")]
    for text in shown:
        assert SECRET not in text
        assert "Val.ue" not in text


@pytest.mark.parametrize("template", COMMANDS)
def test_a_masked_command_is_valid_shell_with_as_many_words(template: str) -> None:
    command = template.replace("{}", SECRET).replace("{{", "{").replace("}}", "}")
    masked = mask(command)
    assert len(shlex.split(masked)) == len(shlex.split(command))
    assert len(parse(masked).words) == len(parse(command).words)
    assert mask(masked) == masked


def test_the_masked_key_refers_to_the_environment() -> None:
    assert mask(f"sglang serve m --api-key {SECRET} --tp 2") == 'sglang serve m --api-key "$SGLANG_API_KEY" --tp 2'
    assert mask_argv(["--api-key", SECRET]) == ("--api-key", "$SGLANG_API_KEY")


@pytest.mark.parametrize(
    "token", ["hf_abcdefghijklmnop", "sk-abcdefghijklmnopqrst", "xoxb-1234-abcdefgh", "AKIAABCDEFGHIJKLMNOP"]
)
def test_a_token_is_known_by_its_shape_wherever_it_stands(token: str) -> None:
    for command in (
        f"sglang serve m --x {token}",
        f"sglang serve m --x='a,{token}'",
        f"sglang serve 'm {token}",
        f"no 'shell {token}",
    ):
        assert token not in mask(command)


def test_every_flag_of_every_release_whose_value_is_a_secret_is_masked() -> None:
    table = FlagTable.load()
    names = {name for release in table.releases for flag in table.release(release).flags for name in flag.names}
    secret = {name for name in names if SECRET not in mask(f"sglang serve m {name} {SECRET}")}
    assert secret == {"--api-key", "--admin-api-key", "--ssl-keyfile-password"}


def test_words_that_only_look_like_secrets_stay() -> None:
    command = "TOKENIZERS_PARALLELISM=false sglang serve m --max-total-tokens 4096 --ssl-keyfile /k --tokenizer-path t"
    assert mask(command) == command
    reference = 'sglang serve m --api-key "$KEY" --api-key $SGLANG_API_KEY'
    assert mask(reference) == reference


def test_a_numeric_key_is_a_secret_too() -> None:
    assert "123456" not in mask("sglang serve m --api-key 123456")


def test_the_server_args_line_gives_values_and_no_secret() -> None:
    call = f"server_args=ServerArgs(model_path='/m', api_key='{SECRET}', graph=C(decode=P(bs=[1])), x=<X>, tp_size=2)"
    mapping = (
        f"server_args={{'model_path': '/m', 'api_key': '{SECRET}', 'extra': {{'token': '{SECRET}'}}, 'tp_size': 2}}"
    )
    for line in (call, mapping):
        values = parse_server_args(line)
        assert values is not None
        assert (values["model_path"], values["tp_size"]) == ("/m", 2)
        assert SECRET not in repr(values)
    assert parse_server_args(call) == {
        "model_path": "/m",
        "api_key": "$SGLANG_API_KEY",
        "graph": {"decode": {"bs": [1]}},
        "tp_size": 2,
    }


@pytest.mark.parametrize(
    "line", ["server_args={'a': 'cut", "server_args=ServerArgs(", "server_args={" + "[" * 99999, "none"]
)
def test_a_hostile_or_cut_server_args_line_gives_nothing(line: str) -> None:
    assert not parse_server_args(line)
