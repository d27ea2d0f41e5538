"""`responder check`: what works, what does not, and how to mend it."""

import glob
import os
import shutil
import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, NamedTuple

import click

from responder.advise.gpu.nvml import query_gpus
from responder.advise.launch import read_unit
from responder.advise.learn import parsed
from responder.cli.config import read
from responder.publish.dead_letters import undelivered
from responder.publish.inert import inert_line
from responder.publish.slack.token import MANIFEST, Secret, TokenError, find_app_token, find_token, find_webhook
from responder.run.config import Config, ServerConfig, state_dir, told_twice
from responder.sources.clock import SystemClock

ROOM = 4 << 20
"""Bytes that must be free for the state to be written."""


class Finding(NamedTuple):
    """One thing that was looked at."""

    state: Literal["ok", "warn", "fail"]
    what: str
    advice: str = ""


@click.command()
@click.option("--config", "path", type=click.Path(path_type=Path, readable=False), help="The daemon's configuration.")
@click.option("--online", is_flag=True, help="Ask Slack too: which scope is missing; posts a test message.")
def check(path: Path | None, online: bool) -> None:
    """Look at everything the daemon needs.  Exit status 0: all well, 69: something needed is missing."""
    loaded = read(path)
    failed = False
    for finding in [Finding("ok", f"configuration: {loaded.path or 'defaults'}"), *_findings(loaded.config, online)]:
        failed = failed or finding.state == "fail"
        click.echo(f"{finding.state:4}  {inert_line(finding.what)}")
        if finding.advice:
            click.echo(f"      {inert_line(finding.advice)}")
    sys.exit(69 if failed else 0)


def _findings(config: Config, online: bool) -> Iterator[Finding]:
    yield from _servers(config)
    yield from _rules(config)
    yield _state(config)
    facts = query_gpus()
    if facts.status == "ok":
        yield Finding("ok", f"GPUs: {len(facts.devices)} x {facts.devices[0].name if facts.devices else '?'}")
    else:
        yield Finding("warn", f"GPUs: {facts.status}", facts.detail or "alerts go out without GPU facts")
    yield from _slack(config, online)
    yield from _hub(config, online)
    for name in ("responder.db", "hub.db"):
        for letter in undelivered(state_dir(config) / name, SystemClock()):
            yield Finding(letter.state, f"Slack: {letter.text}", letter.advice)


def _servers(config: Config) -> Iterator[Finding]:
    if not config.server:
        yield Finding("warn", "servers: none configured", "add a [[server]] with `name` and `logs`")
    owners: dict[str, str] = {}
    for server in config.server:
        for pattern in server.logs:
            found = glob.glob(pattern, recursive=True)  # noqa: PTH207 - Path.glob takes no absolute pattern
            unreadable = [name for name in found if not os.access(name, os.R_OK)]
            for name in found:
                owner = owners.setdefault(os.path.realpath(name), server.name)
                if owner != server.name:
                    yield Finding("fail", told_twice(owner, server.name, name))
            if unreadable:
                yield Finding("fail", f"{server.name}: {unreadable[0]} is not readable", "see User= in the unit file")
            elif Path(pattern).is_dir():
                yield Finding("fail", f"{server.name}: {pattern} is a folder", f"try `{pattern.rstrip('/')}/*.log`")
            elif not found:
                yield Finding("warn", f"{server.name}: nothing matches {pattern} yet", "it is read when it appears")
            else:
                yield Finding("ok", f"{server.name}: {len(found)} logs match {pattern}")
        yield _launch(server)
        if server.journal is not None and shutil.which("journalctl") is None:
            yield Finding("fail", f"{server.name}: `journal` is set and there is no journalctl on PATH")


def _launch(server: ServerConfig) -> Finding:
    """Whether the launch command is known before the server is seen running."""
    _, problem = parsed(server.command)
    if problem:
        return Finding("fail", f"{server.name}: {problem}")
    if server.command is not None:
        return Finding("ok", f"{server.name}: the launch command stands in the configuration")
    unit = server.unit or server.journal
    launch = read_unit(unit).launch if unit else None
    if launch is not None and launch.command is not None:
        return Finding("ok", f"{server.name}: the launch command is {launch.where}", launch.note)
    why = launch.note if launch is not None else "it is looked for among the processes once the server runs"
    return Finding("warn", f"{server.name}: the launch command is not known", f"{why}; `command` gives it")


def _rules(config: Config) -> Iterator[Finding]:
    from responder.catalogue import load_catalogue
    from responder.scan import build_program

    missing = [path for path in config.rules.paths if not Path(path).exists()]
    for path in missing:
        yield Finding("fail", f"rules: {path}: no such file or folder")
    catalogue = load_catalogue([Path(path) for path in config.rules.paths if path not in missing])
    _, problems = build_program(catalogue)
    for problem in (*catalogue.problems, *problems):
        yield Finding("fail", f"rules: {problem}", "the rule is left out; the others work")
    yield Finding("ok", f"rules: {len(catalogue.rules)}")


def _state(config: Config) -> Finding:
    folder = state_dir(config)
    existing = next(parent for parent in (folder, *folder.parents) if parent.exists())
    if not os.access(existing, os.W_OK):
        return Finding("fail", f"state: {folder} cannot be written", "set [state] dir, or run as the daemon's user")
    if shutil.disk_usage(existing).free < ROOM:
        return Finding("fail", f"state: the disk of {folder} is full", "alerts wait until there is room; none is lost")
    return Finding("ok", f"state: {folder}")


def _slack(config: Config, online: bool) -> Iterator[Finding]:
    slack = config.slack
    try:
        token = find_token(Path(slack.token_file) if slack.token_file else None)
        webhook = find_webhook(Path(slack.webhook_file) if slack.webhook_file else None)
    except TokenError as error:
        yield Finding("fail", f"Slack: {error}")
        return
    if token is None and webhook is None and slack.channel:
        where = "systemd's LoadCredential=slack-token:…, [slack] token_file, or RESPONDER_SLACK_TOKEN"
        yield Finding("fail", "Slack: a channel, and no token that this user can see", f"`run` takes it from {where}")
        return
    if token is None and webhook is None:
        yield Finding("warn", "Slack: no token", f"alerts are printed; to post them, make a Slack app from {MANIFEST}")
        return
    found = token or webhook
    assert found is not None
    yield Finding("warn" if found.warning else "ok", f"Slack: {found.source}", found.warning or "")
    if token is not None and not slack.channel:
        yield Finding("fail", "Slack: a token but no channel", "set [slack] channel")
        return
    if config.slack.route and token is None:
        yield Finding("warn", "[[slack.route]]: a webhook posts to one channel", "use a bot token")
    if online:
        yield from _online(config, found)


def _hub(config: Config, online: bool) -> Iterator[Finding]:
    if config.slack.buttons and not config.slack.channel:
        yield Finding("warn", "[slack] buttons: only a bot's messages have buttons", "set [slack] channel")
    if not (config.hub.users or config.hub.usergroups):
        return
    try:
        token = find_app_token(Path(config.hub.app_token_file) if config.hub.app_token_file else None)
    except TokenError as error:
        yield Finding("fail", f"hub: {error}")
        return
    if token is None:
        yield Finding("warn", "hub: no app-level token", "only the host that runs `responder hub` needs one")
        return
    yield Finding("warn" if token.warning else "ok", f"hub: {token.source}", token.warning or "")
    if online:
        from responder.publish.slack.online import check_hub

        for one in check_hub(token, config.slack.base_url):
            yield Finding(_STATES[one.status], f"hub: {one.text}")


_STATES: dict[str, Literal["ok", "warn", "fail"]] = {"ok": "ok", "warning": "warn", "error": "fail"}


def _online(config: Config, secret: Secret) -> Iterator[Finding]:
    from responder.publish.slack.online import check_bot, check_webhook
    from responder.publish.slack.transport import client

    host = socket.gethostname()
    if config.slack.channel and secret.value.startswith("xox"):
        channels = list(dict.fromkeys([config.slack.channel, *(route.channel for route in config.slack.route)]))
        bot = client(secret, config.slack.base_url)
        found = check_bot(bot, channels, host, groups=bool(config.hub.usergroups))
    else:
        found = check_webhook(secret, host)
    for one in found:
        yield Finding(_STATES[one.status], f"Slack: {one.text}")
