"""Where Slack's token comes from: never the configuration file, never the command line, and never into our own log.

In this order: the systemd credential `slack-token`, the file that `[slack] token_file` names, `RESPONDER_SLACK_TOKEN`.
"""

import os
import re
import stat
from collections.abc import Mapping
from pathlib import Path

import msgspec

CREDENTIAL = "slack-token"
VARIABLE = "RESPONDER_SLACK_TOKEN"
APP_CREDENTIAL = "slack-app-token"
APP_VARIABLE = "RESPONDER_SLACK_APP_TOKEN"

MANIFEST = Path(__file__).with_name("manifest.yaml")
"""The Slack app to paste when making one; what it gets on installation is the token."""

_TOKEN = re.compile(r"xox[a-z](?:\.xox[a-z])?-[A-Za-z0-9-]+")


class TokenError(Exception):
    """There is a token, or there should be one, and it cannot be used.  The message says where and what to do."""


class Secret(msgspec.Struct, frozen=True, kw_only=True, repr_omit_defaults=True):
    """A token or a webhook's address, and where it was found.  Printing it does not show it."""

    value: str
    source: str
    """In words, for `responder check`."""
    warning: str | None = None
    """What is wrong with where it lies, and what to do."""

    def __repr__(self) -> str:
        return f"Secret(source={self.source!r})"

    __str__ = __repr__


def find_token(token_file: Path | None = None, environment: Mapping[str, str] = os.environ) -> Secret | None:
    """The bot token, or None where none is set up.  Raises TokenError."""
    found = _find(CREDENTIAL, token_file, "[slack] token_file", VARIABLE, environment)
    if found is None:
        return None
    if not _TOKEN.fullmatch(found.value):
        raise TokenError(f"{found.source}: {_what_it_is(found.value)}")
    if not found.value.startswith("xoxb-"):
        return msgspec.structs.replace(
            found, warning=f"{found.source}: this is not a bot token (xoxb-…); messages will appear as a person's"
        )
    return found


def find_app_token(token_file: Path | None = None, environment: Mapping[str, str] = os.environ) -> Secret | None:
    """The app-level token that `responder hub` listens with; None where none is set up.  Raises TokenError."""
    found = _find(APP_CREDENTIAL, token_file, "[hub] app_token_file", APP_VARIABLE, environment)
    if found is not None and not re.fullmatch(r"xapp-[A-Za-z0-9-]+", found.value):
        raise TokenError(
            f"{found.source}: this is no app-level token (xapp-…); make one under Basic Information with the scope "
            "connections:write"
        )
    return found


def find_webhook(webhook_file: Path | None = None, environment: Mapping[str, str] = os.environ) -> Secret | None:
    """The address of an incoming webhook, which is a secret as well; None where none is set up.  Raises TokenError."""
    found = _find("slack-webhook", webhook_file, "[slack] webhook_file", "RESPONDER_SLACK_WEBHOOK", environment)
    if found is not None and not re.fullmatch(r"https?://\S+", found.value):
        raise TokenError(f"{found.source}: this is no webhook address (https://hooks.slack.com/services/…)")
    return found


def _find(credential: str, file: Path | None, key: str, variable: str, environment: Mapping[str, str]) -> Secret | None:
    folder = environment.get("CREDENTIALS_DIRECTORY")
    if folder and (Path(folder) / credential).is_file():
        # systemd made it readable for this service alone.
        return Secret(value=_read(Path(folder) / credential), source=f"the systemd credential {credential}")
    if file is not None:
        return Secret(value=_read(file), source=f"{file} ({key})", warning=_permissions(file))
    value = environment.get(variable, "").strip()
    return Secret(value=value, source=f"the environment variable {variable}") if value else None


def _read(path: Path) -> str:
    try:
        text = path.read_text(encoding="utf-8").strip()
    except OSError as error:
        raise TokenError(f"{path}: {error.strerror}; create it with the token as its only line, mode 0600") from None
    except UnicodeDecodeError:
        raise TokenError(f"{path}: this is no text; put the token there as the only line") from None
    if not text:
        raise TokenError(f"{path}: the file is empty; put the token there as the only line")
    return text


def _permissions(path: Path) -> str | None:
    mode = stat.S_IMODE(path.stat().st_mode)
    if mode & 0o077:
        return f"{path}: others can read it (mode {mode:04o}); run: chmod 600 {path}"
    return None


def _what_it_is(value: str) -> str:
    if value.startswith("xapp-"):
        return "this is an app-level token (xapp-…), which cannot post; use the bot token (xoxb-…) of the same app"
    if value.startswith("https://"):
        return "this is a webhook's address; put it into a file and name that as [slack] webhook_file"
    if len(value.split()) > 1:
        return "there is more than a token in it; put the token there as the only line"
    return "this is no Slack token; a bot token starts with xoxb-"
