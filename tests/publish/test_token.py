"""The token comes from three places in order, with one clear line when it cannot be used, and never shows."""

from pathlib import Path

import pytest

from responder.publish.slack.token import TokenError, find_token, find_webhook

TOKEN = "xoxb-123-456-abcDEF"


def write(path: Path, text: str, mode: int = 0o600) -> Path:
    path.write_text(text)
    path.chmod(mode)
    return path


def test_the_systemd_credential_comes_first_then_the_file_then_the_environment(tmp_path: Path) -> None:
    write(tmp_path / "slack-token", "xoxb-1-credential\n")
    file = write(tmp_path / "file", "xoxb-2-file\n")
    everything = {"CREDENTIALS_DIRECTORY": str(tmp_path), "RESPONDER_SLACK_TOKEN": "xoxb-3-environment"}
    found = [
        find_token(file, everything),
        find_token(file, {"RESPONDER_SLACK_TOKEN": "xoxb-3-environment"}),
        find_token(None, {"RESPONDER_SLACK_TOKEN": "xoxb-3-environment"}),
    ]
    assert [secret.value if secret else None for secret in found] == [
        "xoxb-1-credential",
        "xoxb-2-file",
        "xoxb-3-environment",
    ]
    assert find_token(None, {}) is None


def test_a_token_does_not_show_in_any_spelling_of_its_object() -> None:
    secret = find_token(None, {"RESPONDER_SLACK_TOKEN": TOKEN})
    assert TOKEN not in f"{secret} {secret!r} {[secret]}"


def test_a_file_that_others_can_read_is_used_with_a_warning_that_says_what_to_run(tmp_path: Path) -> None:
    file = write(tmp_path / "token", TOKEN, 0o644)
    found = find_token(file, {})
    assert found is not None
    assert found.warning == f"{file}: others can read it (mode 0644); run: chmod 600 {file}"
    assert find_token(write(tmp_path / "other", TOKEN), {}).warning is None  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "the file is empty"),
        ("xapp-1-A0-b", "app-level token"),
        ("https://hooks.slack.com/services/T/B/x", "webhook"),
        ("token: xoxb-1-a", "more than a token"),
        ("hunter2", "no Slack token"),
        ("xoxb-1-a\nxoxb-2-b", "more than a token"),
    ],
)
def test_what_is_no_bot_token_is_refused_with_the_reason_and_without_the_value(
    tmp_path: Path, text: str, says: str
) -> None:
    with pytest.raises(TokenError) as caught:
        find_token(write(tmp_path / "token", text), {})
    assert says in str(caught.value)
    assert str(tmp_path / "token") in str(caught.value)
    assert "hunter2" not in str(caught.value)


def test_a_file_that_is_not_there_or_no_text_is_one_clear_line(tmp_path: Path) -> None:
    with pytest.raises(TokenError, match="No such file"):
        find_token(tmp_path / "absent", {})
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00x")
    with pytest.raises(TokenError, match="no text"):
        find_token(tmp_path / "binary", {})
    with pytest.raises(TokenError, match="Is a directory"):
        find_token(tmp_path, {})


def test_a_persons_token_works_with_a_warning() -> None:
    found = find_token(None, {"RESPONDER_SLACK_TOKEN": "xoxp-1-2-3"})
    assert found is not None
    assert "not a bot token" in str(found.warning)


def test_a_webhook_is_a_secret_too(tmp_path: Path) -> None:
    file = write(tmp_path / "hook", "https://hooks.slack.com/services/T0/B0/hunter2")
    found = find_webhook(file, {})
    assert found is not None
    assert "hunter2" not in repr(found)
    with pytest.raises(TokenError, match="no webhook address"):
        find_webhook(write(file, TOKEN), {})
