"""Changes the flags at fault in the operator's own command and nothing else.

Flags are named as in the newest release; the command keeps its spelling (aliases, `--flag=value`, quotes) and gets new
flags in the spelling of its own release.  Editing goes by what a flag sets: `--tp 8` is found under `--tp-size`.
"""

import re
import shlex
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from responder.advise.command.arguments import Arguments, Occurrence, read
from responder.advise.command.launch import Command, Variable, container_run, parse
from responder.advise.command.secret import mask, mask_argv, shown
from responder.advise.command.shell import CommandError, Edit, Word
from responder.advise.flags import Flag, FlagTable, ReleaseFlags, Renames, Setting


@dataclass(frozen=True)
class Edited:
    """A command after a change.  What is meant to be shown has its secrets masked; `parsed` has not."""

    command: str
    """The command, masked and valid shell."""
    argv: tuple[str, ...]
    """The same as an argv, masked."""
    diff: tuple[str, ...]
    """`- flag value` and `+ flag value`, masked; empty where the command already said all of it."""
    parsed: Command
    """The command itself."""
    notes: tuple[str, ...] = ()
    """What the edit could not reach: a value that stands in a `--config` file, a variable set elsewhere."""


@dataclass
class _Plan:
    command: Command
    found: Arguments
    edits: list[tuple[int, Edit]] = field(default_factory=list)
    diff: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    added: list[Setting] = field(default_factory=list)
    removed: set[int] = field(default_factory=set)

    @property
    def layer(self) -> int:
        return len(self.command.layers) - 1

    def add_edit(self, edit: Edit) -> None:
        self.edits.append((self.layer, edit))


def edit(
    command: Command | str | Sequence[str],
    set: Mapping[str, str | bool] | None = None,
    unset: Collection[str] = (),
    env: Mapping[str, str | None] | None = None,
    unset_env: Collection[str] = (),
    release: str | ReleaseFlags | None = None,
) -> Edited:
    """`command` with flags and environment variables set and removed.

    `set` and `unset` name flags as the newest release does, or as this one does; True is a flag without a value, False
    removes it.  A variable that is None is removed.  Raises CommandError where the command cannot be read, or where
    this release has no way to say what is asked.
    """
    parsed = command if isinstance(command, Command) else parse(command)
    flags = release if isinstance(release, ReleaseFlags) else FlagTable.load().release(release)
    plan = _Plan(parsed, read(parsed, flags))
    for flag in [*unset, *(name for name, value in (set or {}).items() if value is False)]:
        _unset(plan, flag)
    for flag, value in (set or {}).items():
        if value is not False:
            for setting in _spelled(plan, flag, value):
                _set(plan, *setting)
    _append(plan)
    for name, text in [*(env or {}).items(), *((name, None) for name in unset_env)]:
        _set_variable(plan, name, text) if text is not None else _unset_variable(plan, name)
    after = parsed.edited(plan.edits) if plan.edits else parsed
    return Edited(mask(after), mask_argv(after.argv), tuple(plan.diff), after, tuple(plan.notes))


def _spelled(plan: _Plan, flag: str, value: str | bool) -> list[Setting]:
    """What to set so that this command says `flag` = `value`: nothing where it does, the old form where it uses one."""
    flags = plan.found.release
    for rename in Renames.load().to(flag):
        given = [plan.found.spelled(name) for name in rename.old]
        if not all(given) or not all(flags.has(name) for name in rename.old):
            continue
        said = dict(rename.forward(_texts(plan.found)) or ())
        if said.get(flag) == value:
            return []
        old = rename.backward(value) if rename.first == flag else None
        if old is not None and all(flags.accepts(*setting) for setting in old):
            return list(old)
        if flags.has(flag):  # the old form gives way; what else it said is said anew
            _remove_all(plan, [o for found in given for o in found])
            for other in said.keys() - {flag}:
                _set(plan, other, said[other])
    spelled = flags.spell(flag, value)
    if spelled is None:
        raise CommandError(f"sglang {flags.version} has no way to say {flag if value is True else f'{flag} {value}'}")
    return spelled


def _texts(found: Arguments) -> dict[str, str | bool]:
    """Every flag as typed, under each of its names: its text, or True."""
    said: dict[str, str | bool] = {}
    for occurrence in found.occurrences:
        said |= dict.fromkeys(occurrence.flag.names, " ".join(occurrence.texts) or True)
    return said


def _set(plan: _Plan, name: str, value: str | bool) -> None:
    flag = plan.found.release.options[name]
    given = plan.found.of(flag.dest)
    keep = [o for o in given if o.flag.action == flag.action and o.flag.nargs == flag.nargs]
    _remove_all(plan, [o for o in given if o not in keep])
    if not keep:
        plan.added.append((name, value))
        plan.diff.append(f"+ {shown(name, value)}")
    elif isinstance(value, str):
        _replace(plan, keep[-1], value)
    elif flag.action == "switch" and keep[-1].option != name:
        plan.add_edit(keep[-1].word.splice(0, len(keep[-1].option), name))
        plan.diff += [f"- {keep[-1].option}", f"+ {name}"]


def _replace(plan: _Plan, found: Occurrence, value: str) -> None:
    wanted = _words(found.flag, value)
    if found.texts == wanted and not found.open:
        return
    if found.glued is not None and len(wanted) == 1:
        plan.add_edit(_splice(found.word, found.glued, value))
    elif len(wanted) == len(found.values):
        for word, text in zip(found.values, wanted, strict=True):
            plan.add_edit(_splice(word, 0, text))
    else:
        words = shlex.join((found.option, *wanted))
        plan.add_edit(Edit(found.word.start, found.last.end, words))
    plan.diff += [f"- {shown(found.option, ' '.join(found.texts))}", f"+ {shown(found.option, value)}"]


def _splice(word: Word, start: int, value: str) -> Edit:
    """Replaces the end of a word from `start` on; in its own quotes where that is possible."""
    if word.text[start:] == value:
        return Edit(word.start, word.start, "")
    try:
        return word.splice(start, len(word.text), value)
    except CommandError:
        return Edit(word.start, word.end, shlex.quote(word.text[:start] + value))


def _unset(plan: _Plan, flag: str) -> None:
    """Removes every spelling of `flag`: aliases, the old forms it had, and the flag as a stranger to this release."""
    known = plan.found.release.options.get(flag)
    gone = plan.found.of(known.dest) if known else plan.found.spelled(flag)
    for rename in Renames.load().to(flag):
        typed = [plan.found.spelled(name) for name in rename.old]
        if all(typed) and rename.first == flag:
            gone = [*gone, *(o for found in typed for o in found)]
    if known and known.dest in plan.found.from_config:
        plan.notes.append(f"{flag} stands in the --config file: remove it there")
    _remove_all(plan, gone)


def _remove_all(plan: _Plan, gone: Sequence[Occurrence]) -> None:
    for found in gone:
        if found.word.start in plan.removed:
            continue
        plan.removed.add(found.word.start)
        plan.add_edit(Edit(*_extent(plan.command, found), ""))
        plan.diff.append(f"- {shown(found.option, ' '.join(found.texts) or True)}")


def _extent(command: Command, found: Occurrence) -> tuple[int, int]:
    """From the end of the word before a flag (or, for the first word, from the flag) to the end of its last word."""
    words = command.words
    at = next(i for i, word in enumerate(words) if word.start == found.word.start)
    if at > 0:
        return words[at - 1].end, found.last.end
    last = next(i for i, word in enumerate(words) if word.start == found.last.start)
    return found.word.start, words[last + 1].start if last + 1 < len(words) else found.last.end


def _append(plan: _Plan) -> None:
    """Adds the new flags behind sglang's last argument, on lines of their own where the operator's stand so."""
    if not plan.added:
        return
    words = plan.command.words
    dashes = next((i for i, word in enumerate(words) if word.text == "--" and i >= plan.command.first), len(words))
    at = max(dashes, 1) - 1
    gap = _gap(plan.command.layers[-1].text, words[: at + 1])
    said = (shlex.join((name, *_words(plan.found.release.options[name], value))) for name, value in plan.added)
    text = "".join(gap + words for words in said)
    plan.add_edit(Edit(words[at].end, words[at].end, text))


def _gap(text: str, words: Sequence[Word]) -> str:
    """What separates flags here: a blank, or a continued line as before the last flag that begins one."""
    gaps = [text[a.end : b.start] for a, b in pairwise(words)]
    return next((gap for gap in reversed(gaps) if re.fullmatch(r"[ \t]*\\\r?\n[ \t]*", gap)), " ")


def _words(flag: Flag, value: str | bool) -> tuple[str, ...]:
    """The words that say a flag's value."""
    if isinstance(value, bool):
        return ()
    return tuple(value.split()) if flag.nargs in ("+", "*") else (value,)


def _set_variable(plan: _Plan, name: str, value: str) -> None:
    given = [v for v in plan.command.variables if v.name == name]
    if not given:
        plan.diff.append(f"+ {shown(name, value, glued=True)}")
        _add_variable(plan, name, value)
    elif given[-1].value != value or given[-1].open:
        word = plan.command.layers[given[-1].layer].words[given[-1].word]
        plan.edits.append((given[-1].layer, _splice(word, given[-1].offset, value)))
        plan.diff += [f"- {shown(name, given[-1].value, glued=True)}", f"+ {shown(name, value, glued=True)}"]


def _add_variable(plan: _Plan, name: str, value: str) -> None:
    said = f"{name}={shlex.quote(value)}"
    for number, layer in enumerate(plan.command.layers):
        run = container_run(layer)
        if run is not None:
            plan.edits.append((number, Edit(layer.words[run].end, layer.words[run].end, f" -e {said}")))
            return
    words, program = plan.command.words, plan.command.program
    if plan.command.entry == "arguments":
        plan.notes.append(f"set {shown(name, value, glued=True)} in the server's environment")
        return
    before = [word.text.rpartition("/")[2] for word in words[:program]]
    shielded = {"sudo", "env", "srun", "torchrun"} & {*before}
    at = words[program if shielded else _first_plain(before)].start
    plan.add_edit(Edit(at, at, f"env {said} " if shielded else f"{said} "))


def _first_plain(before: list[str]) -> int:
    """Past the shell's own words and the assignments that lead a command."""
    at = 0
    while at < len(before) and (before[at] in ("then", "do", "else", "time", "!", "{", "exec") or "=" in before[at]):
        at += 1
    return at


def _unset_variable(plan: _Plan, name: str) -> None:
    given = [v for v in plan.command.variables if v.name == name]
    if not given:
        plan.notes.append(f"{name} is not set by this command: remove it where it is set")
    for variable in given:
        start, end = _variable_extent(plan.command, variable)
        plan.edits.append((variable.layer, Edit(start, end, "")))
        plan.diff.append(f"- {shown(name, variable.value, glued=True)}")


def _variable_extent(command: Command, variable: Variable) -> tuple[int, int]:
    """An assignment with the blanks after it, its `-e` included."""
    words = command.layers[variable.layer].words
    first = variable.word - (variable.word > 0 and words[variable.word - 1].text in ("-e", "--env"))
    return words[first].start, words[variable.word + 1].start
