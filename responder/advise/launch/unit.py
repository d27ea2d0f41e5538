"""The launch command of a systemd unit: its ExecStart, with the variables that the unit sets."""

from pathlib import Path

import msgspec

from responder.advise.command import CommandError, parse, parse_all
from responder.advise.launch import systemctl
from responder.advise.launch.environment import safe_part
from responder.advise.launch.environment_file import read_environment_files
from responder.advise.launch.found import Launch
from responder.advise.launch.interpreter import versions_in
from responder.advise.launch.systemd_words import UnitSyntaxError, shell_text, specified, specifiers, split
from responder.advise.launch.unit_files import (
    Settings,
    drop_ins_of,
    fragment_of,
    last_assigned,
    read_settings,
    unit_name,
)

_PREFIXES = "@-:+!"


class Unit(msgspec.Struct, frozen=True, kw_only=True):
    """What a unit says."""

    launch: Launch
    user: str | None = None
    """Whose processes the unit's are, as the unit names them; None where that is not known (a dynamic user)."""


def read_unit(name: str, root: Path = Path("/"), executable: str = "systemctl") -> Unit:
    """What is known of the unit `name`: asked of systemd which files make it, else found where it would look.

    The launch has no command, and a note, where the unit starts no sglang, or several, or cannot be read.
    """
    unit = unit_name(name)
    shown = systemctl.show(unit, executable)
    fragment = Path(shown["FragmentPath"]) if shown and shown.get("FragmentPath") else fragment_of(unit, root)
    drop_ins = [Path(p) for p in shown.get("DropInPaths", "").split()] if shown else drop_ins_of(unit, root)
    if fragment is None and shown is None:
        return Unit(launch=_none(unit, f"there is no unit {unit}"))
    try:
        settings = read_settings([*([fragment] if fragment else []), *drop_ins])
    except OSError as error:
        if shown is None:
            return Unit(launch=_none(unit, f"the files of {unit} cannot be read: {error.strerror}"))
        return _as_shown(unit, shown)
    found = _of_settings(unit, settings, root)
    if shown and shown.get("NeedDaemonReload") == "yes" and found.launch.command:
        note = f"the files of {unit} have changed since systemd read them"
        found = msgspec.structs.replace(found, launch=msgspec.structs.replace(found.launch, note=note))
    return found


def _of_settings(unit: str, settings: Settings, root: Path) -> Unit:
    known = specifiers(unit)
    user = _last(settings, "User", known) or ("root" if not _is_dynamic(settings) else None)
    try:
        env, unread = _environment(settings, known, root)
        starts = [_command(line, known, env) for line in last_assigned(settings, "ExecStart")]
    except UnitSyntaxError as error:
        return Unit(launch=_none(unit, f"the settings of {unit} cannot be read: {error}"), user=user)
    launch = _chosen(unit, [one for line in starts for one in line])
    if launch.command is not None:
        launch = msgspec.structs.replace(launch, env=safe_part(env), note=unread)
    return Unit(launch=launch, user=user)


def _as_shown(unit: str, shown: dict[str, str]) -> Unit:
    """What systemd itself shows, where the files cannot be read.  Words with blanks in them cannot be told apart."""
    lines = systemctl.argvs(shown.get("ExecStart", ""))
    launch = _chosen(unit, [line for line in lines if not set(line) & set("'\"{}\\$")])
    if launch.command is None:
        return Unit(launch=_none(unit, f"the files of {unit} cannot be read"), user=shown.get("User") or "root")
    try:
        env = dict(_pairs(split(shown.get("Environment", ""))))
    except UnitSyntaxError:
        env = {}
    launch = msgspec.structs.replace(launch, env=safe_part(env))
    return Unit(launch=launch, user=shown.get("User") or "root")


def _chosen(unit: str, texts: list[str]) -> Launch:
    """The one text that launches sglang."""
    launching = [text for text in texts if _launches(text)]
    if not launching:
        return _none(unit, f"ExecStart of {unit} does not launch sglang itself")
    if len(launching) > 1:
        return _none(unit, f"{unit} starts sglang {len(launching)} times")
    try:
        command = parse(launching[0])
    except CommandError as error:
        return _none(unit, f"ExecStart of {unit}: {error}")
    return Launch(
        command=launching[0],
        source="unit",
        complete=True,
        where=f"ExecStart of {unit}",
        keeper="systemd",
        keeper_name=unit,
        versions=versions_in(command),
        unit=unit,
    )


def _none(unit: str, note: str) -> Launch:
    return Launch(source="unit", note=note, unit=unit)


def _launches(text: str) -> bool:
    try:
        return bool(parse_all(text))
    except CommandError:
        return False


def _command(line: str, known: dict[str, str], env: dict[str, str]) -> list[str]:
    """The command lines of one ExecStart (`;` parts them) as shell texts."""
    commands: list[list[str]] = [[]]
    for word in split(line):
        if word == ";":
            commands.append([])
        else:
            commands[-1].append(specified(word, known))
    return [shell_text(*_prepared(words, env)) for words in commands if words]


def _prepared(words: list[str], env: dict[str, str]) -> tuple[list[str], dict[str, str]]:
    """The words without the prefixes of the first; after `:` no variable is replaced, after `@` argv[0] is left out."""
    path = words[0].lstrip(_PREFIXES)
    prefixes = words[0][: len(words[0]) - len(path)]
    rest = words[2:] if "@" in prefixes else words[1:]
    if ":" in prefixes:
        return [path, *(word.replace("$", "$$") for word in rest)], {}
    return [path, *rest], env


def _environment(settings: Settings, known: dict[str, str], root: Path) -> tuple[dict[str, str], str]:
    """The variables that the unit sets, and a note on files that could not be read."""
    env: dict[str, str] = {}
    for value in last_assigned(settings, "Environment"):
        env |= dict(_pairs([specified(word, known) for word in split(value)]))
    unread = []
    for value in last_assigned(settings, "EnvironmentFile"):
        file = specified(value, known)
        try:
            env |= read_environment_files(file, root)
        except OSError:
            unread.append(file)
    for value in last_assigned(settings, "UnsetEnvironment"):
        for word in split(value):
            env.pop(word.partition("=")[0], None)
    return env, f"{', '.join(unread)} cannot be read" if unread else ""


def _pairs(words: list[str]) -> list[tuple[str, str]]:
    return [(name, value) for name, equals, value in (word.partition("=") for word in words) if equals]


def _last(settings: Settings, key: str, known: dict[str, str]) -> str | None:
    values = last_assigned(settings, key)
    return specified(values[-1], known) if values else None


def _is_dynamic(settings: Settings) -> bool:
    return (last_assigned(settings, "DynamicUser") or ["no"])[-1].lower() in ("yes", "true", "1", "on")
