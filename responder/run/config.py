"""The configuration: one TOML file, every key with a default.

A value comes from the environment (`RESPONDER_<SECTION>_<KEY>`), else the file, else the default; `origins` says
which.  Secrets are never in it: the names of files that hold them are.
"""

import difflib
import os
import re
import tomllib
from collections.abc import Mapping, Sequence
from itertools import combinations, product
from pathlib import Path
from typing import Any, Literal

import msgspec

from responder.catalogue.problem import find_line
from responder.nouns import KINDS, Role
from responder.publish.route import Route
from responder.sources.discovery import matches

DEFAULT_PATH = Path("/etc/responder/responder.toml")


class ConfigError(ValueError):
    """What is wrong with the configuration: file, line and what to do, in one line."""


class ServerConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One sglang server to watch."""

    name: str
    logs: tuple[str, ...] = ()
    """Files and globs."""
    journal: str | None = None
    """A systemd unit whose journal holds the log."""
    unit: str | None = None
    """The systemd unit that starts the server, for its command line."""
    command: str | None = None
    """The launch command as the operator types it."""
    python: str | None = None
    """The server's interpreter, to learn its versions from."""
    sglang: str | None = None
    """The release, where its interpreter cannot be read (in an image)."""
    role: Role = "unknown"


class SlackConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Where alerts go.  Without a channel or a webhook they go to the terminal."""

    channel: str | None = None
    base_url: str = "https://slack.com/api/"
    token_file: str | None = None
    webhook_file: str | None = None
    buttons: bool = False
    """Put buttons under alerts: for a fleet with a `responder hub`, which listens for them."""
    route: tuple[Route, ...] = ()
    """Other channels for some of the alerts; the first that takes one gets it."""


class HubConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Who may press the buttons that `responder hub` listens for."""

    users: tuple[str, ...] = ()
    """Slack's ids of people (`U…`); `*` for everybody who sees the channel."""
    usergroups: tuple[str, ...] = ()
    """Slack's ids of user groups (`S…`); asking for their members needs the scope usergroups:read."""
    app_token_file: str | None = None


class AlertmanagerConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Alertmanagers to post to; all of them, they agree among themselves."""

    urls: tuple[str, ...] = ()


class PublishConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What may leave this host."""

    excerpt: Literal["full", "cause", "none"] = "full"
    hide_hosts: bool = False


class StateConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Where the daemon keeps what it must not forget."""

    dir: str | None = None
    """None: systemd's $STATE_DIRECTORY, else $XDG_STATE_HOME/responder, else ~/.local/state/responder."""


class HttpConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Metrics and health; off without an address."""

    listen: str | None = None


class VerifyConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The real argument check: off without an interpreter."""

    python: str | None = None


class RulesConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Further rules: files and folders."""

    paths: tuple[str, ...] = ()


class Config(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Everything that can be set."""

    server: tuple[ServerConfig, ...] = ()
    slack: SlackConfig = SlackConfig()
    hub: HubConfig = HubConfig()
    alertmanager: AlertmanagerConfig = AlertmanagerConfig()
    publish: PublishConfig = PublishConfig()
    state: StateConfig = StateConfig()
    http: HttpConfig = HttpConfig()
    verify: VerifyConfig = VerifyConfig()
    rules: RulesConfig = RulesConfig()


class Loaded(msgspec.Struct, frozen=True, kw_only=True):
    """A configuration and where each value that is not a default came from, by `section.key`."""

    config: Config
    origins: dict[str, str] = {}
    path: Path | None = None


_SECTIONS: dict[str, type[msgspec.Struct]] = {
    "slack": SlackConfig,
    "hub": HubConfig,
    "alertmanager": AlertmanagerConfig,
    "publish": PublishConfig,
    "state": StateConfig,
    "http": HttpConfig,
    "verify": VerifyConfig,
    "rules": RulesConfig,
}

_NOT_SETTINGS = frozenset({"RESPONDER_SLACK_TOKEN", "RESPONDER_SLACK_ROUTE"})


def load_config(path: Path | None, environ: Mapping[str, str] = os.environ) -> Loaded:
    """Read a configuration file; `path` None means defaults and the environment alone.

    Raises ConfigError for anything that cannot be read or is not understood.
    """
    text, data = ("", {}) if path is None else _read(path)
    name = str(path) if path else "environment"
    _refuse_unknown(name, text, data)
    origins = {
        f"{section}.{key}": f"{name}:{find_line(text, f'{key} ', f'{key}=')}"
        for section, table in data.items()
        if isinstance(table, dict)
        for key in table
    }
    for variable, section, key, value in _from_environment(environ):
        data.setdefault(section, {})[key] = value
        origins[f"{section}.{key}"] = f"${variable}"
    try:
        config = msgspec.convert(data, Config, strict=False)
    except msgspec.ValidationError as error:
        raise ConfigError(_told(name, text, str(error))) from None
    _refuse_contradictions(name, text, config)
    return Loaded(config=config, origins=origins, path=path)


def _read(path: Path) -> tuple[str, dict[str, Any]]:
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise ConfigError(
            f"{path}: no such file; `responder config show` prints a configuration to start from"
        ) from None
    except IsADirectoryError:
        raise ConfigError(f"{path}: a folder, where a TOML file is expected") from None
    except UnicodeDecodeError:
        raise ConfigError(f"{path}: not UTF-8 text") from None
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from None
    try:
        return text, tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        at = re.search(r"\(at line (\d+), column (\d+)\)", str(error))
        place = f":{at[1]}" if at else ""
        raise ConfigError(f"{path}{place}: not valid TOML: {error}") from None


def _refuse_unknown(name: str, text: str, data: Mapping[str, Any]) -> None:
    for section, table in data.items():
        known = Config.__struct_encode_fields__
        if section not in known:
            raise ConfigError(_unknown(name, text, section, known, f"[{section}", section))
        shape = ServerConfig if section == "server" else _SECTIONS[section]
        if section == "server" and not isinstance(table, list):
            line = find_line(text, "[server")
            raise ConfigError(f"{name}:{line}: servers are written as [[server]], with two brackets")
        for part in table if isinstance(table, list) else [table]:
            for key in part if isinstance(part, dict) else ():
                if key not in shape.__struct_encode_fields__:
                    raise ConfigError(_unknown(name, text, key, shape.__struct_encode_fields__, f"{key} ", f"{key}="))


def _unknown(name: str, text: str, key: str, known: tuple[str, ...], *needles: str) -> str:
    if "token" in key or "webhook" in key or "password" in key:
        hint = "secrets do not belong here; use token_file, webhook_file or the systemd credential `slack-token`"
    else:
        near = difflib.get_close_matches(key, known, 1)
        hint = f"did you mean `{near[0]}`?" if near else f"known: {', '.join(known)}"
    return f"{name}:{find_line(text, *needles)}: unknown key `{key}`; {hint}"


def _refuse_contradictions(name: str, text: str, config: Config) -> None:
    names = [server.name for server in config.server]
    for double in {n for n in names if names.count(n) > 1}:
        raise ConfigError(f"{name}:{find_line(text, double)}: two servers are called `{double}`; names must differ")
    for server in config.server:
        if not server.logs and not server.journal:
            line = find_line(text, server.name)
            raise ConfigError(f"{name}:{line}: server `{server.name}` has neither `logs` nor `journal` to follow")
    for route in config.slack.route:
        for what, given, known in (("kind", route.kinds, KINDS), ("server", route.servers, names)):
            for word in (word for word in given if word not in known):
                near = difflib.get_close_matches(word, known, 1)
                hint = f"did you mean `{near[0]}`?" if near else f"known: {', '.join(known)}"
                raise ConfigError(f"{name}:{find_line(text, word)}: [[slack.route]] no {what} is `{word}`; {hint}")
    shared = shared_log(config.server)
    if shared is not None:
        line = find_line(text, shared[-1], shared[1])
        raise ConfigError(f"{name}:{line}: {told_twice(*shared)}")


def shared_log(servers: Sequence[ServerConfig]) -> tuple[str, str, str] | None:
    """Two servers that follow the same log, going by their names and globs, and what the second calls it."""
    for one, other in combinations(servers, 2):
        for theirs, others in product(one.logs, other.logs):
            first, second = os.path.abspath(theirs), os.path.abspath(others)  # noqa: PTH100 (of a glob, too)
            if matches(first, second) or matches(second, first):
                return one.name, other.name, others
    return None


def told_twice(one: str, other: str, log: str) -> str:
    """Why two servers must not follow the same log."""
    return f"servers `{one}` and `{other}` both follow {log}: each fault would be told twice; a log belongs to one"


def _told(name: str, text: str, message: str) -> str:
    at = re.search(r" - at `\$\.?(.*)`", message)
    keys = re.findall(r"[A-Za-z_]+", at[1]) if at else []
    line = find_line(text, *(f"{key} " for key in reversed(keys)), *(f"{key}=" for key in reversed(keys)), *keys)
    where = ".".join(keys)
    plain = re.sub(r" - at `.*`", "", message)
    return f"{name}:{line}: {f'`{where}`: ' if where else ''}{plain}"


def _from_environment(environ: Mapping[str, str]) -> list[tuple[str, str, str, str | list[str]]]:
    found: list[tuple[str, str, str, str | list[str]]] = []
    for section, shape in _SECTIONS.items():
        for field in msgspec.structs.fields(shape):
            variable = f"RESPONDER_{section}_{field.name}".upper()
            value = environ.get(variable)
            if value is None or variable in _NOT_SETTINGS:
                continue
            found.append((variable, section, field.name, value.split(",") if field.default == () else value))
    return found


def state_dir(config: Config, environ: Mapping[str, str] = os.environ) -> Path:
    """The folder for the state."""
    if config.state.dir:
        return Path(config.state.dir)
    systemd = environ.get("STATE_DIRECTORY", "").split(":")[0]
    if systemd:
        return Path(systemd)
    xdg = environ.get("XDG_STATE_HOME")
    return Path(xdg) / "responder" if xdg else Path.home() / ".local" / "state" / "responder"
