"""A rule's remedies, resolved for one server: which applies, what exactly to change, the command that will start."""

import re
from collections.abc import Iterable, Mapping
from typing import Literal

import msgspec

from responder.advise.command.edit import edit
from responder.advise.command.launch import Command, parse
from responder.advise.command.shell import CommandError
from responder.advise.facts import Known
from responder.advise.flags import FlagTable
from responder.advise.on_which_gpu import on_which_gpu
from responder.advise.respelled import respelled
from responder.advise.steps_taken import reverses
from responder.advise.within import before, within
from responder.catalogue import RemedySpec, Rule
from responder.catalogue.conditions import Bound, evaluate, holds
from responder.nouns import Relaunch, Remedy

Applies = Literal["yes", "no", "unknown"]

_ORDER: dict[Applies, int] = {"yes": 0, "unknown": 1, "no": 2}


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """What a remedy does to a launch command, spelled for one release."""

    set: Mapping[str, str | bool] = {}
    unset: tuple[str, ...] = ()
    env: Mapping[str, str | None] = {}

    @property
    def empty(self) -> bool:
        """Whether it changes nothing."""
        return not (self.set or self.unset or self.env)


class Resolved(msgspec.Struct, frozen=True, kw_only=True):
    """A remedy and the launch command after it, secrets and all."""

    remedy: Remedy
    after: Command | None = None


def resolve(rule: Rule, known: Known, command: Command | None) -> tuple[Resolved, ...]:
    """The remedies of a rule for what is known of a server, those that apply first."""
    facts, captured = Bound(known.facts()), Bound({"captures": dict(known.captures)})
    computed: Iterable[RemedySpec] = ()
    if rule.kind == "cli-arguments":
        computed = respelled(command or _of_message(known.captures), known.release, " ".join(known.captures.values()))
    resolved = [
        one
        for spec in (*computed, *rule.remedy)
        # What was captured alone may rule a remedy out: it speaks of another flag or value than this line does.
        if holds(spec.when, captured) is not False
        and (one := _Resolution(rule, spec, known, facts, command).resolved()) is not None
    ]
    return tuple(sorted(resolved, key=lambda one: _ORDER[one.remedy.applies]))


def _of_message(captures: Mapping[str, str]) -> Command:
    """The arguments that argparse's message quotes, as a command: enough to spell them anew."""
    quoted = captures.get("flags") or " ".join(captures.get(name, "") for name in ("flag", "value"))
    return parse(["sglang", "serve", *quoted.split()])


class _Resolution:
    """One remedy in the making."""

    def __init__(self, rule: Rule, spec: RemedySpec, known: Known, facts: Bound, command: Command | None) -> None:
        self.rule, self.spec, self.known, self.facts, self.command = rule, spec, known, facts, command
        self.reasons = [filled(spec.why, known.captures)] if spec.why else []
        self.flags = FlagTable.load().release(known.release or rule.until)

    def resolved(self) -> Resolved | None:
        """The remedy for this server; None where it is one of another release, or this release cannot say it."""
        if self._in_release() is False:
            return None
        applies = self._applies()
        turned_back = reverses(self.spec, self.known.steps) if applies != "no" else None
        if turned_back is not None:
            applies = "no"
            self.reasons = [f"It would undo the step just taken with {turned_back}; going to and fro mends nothing."]
        change = self._change()
        if change is None:
            # The release has no such flag: this is no remedy there.
            return None
        relaunch, after = (None, None) if change.empty else self._relaunch(change)
        if relaunch is not None and self.command is not None and not relaunch.diff:
            # Nothing would differ from the command that failed.
            applies = "no"
        remedy = Remedy(
            title=filled(self.spec.title, self.known.captures),
            applies=applies,
            why=self._why(applies),
            set=dict(change.set),
            unset=change.unset,
            env=dict(change.env),
            steps=tuple(filled(step, self.known.captures) for step in self.spec.steps),
            next=filled(self.spec.next, self.known.captures),
            relaunch=relaunch if applies != "no" else None,
        )
        return Resolved(remedy=remedy, after=after if applies != "no" else None)

    def _why(self, applies: Applies) -> str:
        """Why it helps; of one that depends on the GPU, first of all on which."""
        where = on_which_gpu(self.spec.when, self.known) if applies == "unknown" and self.known.gpu.sm is None else ""
        if not where:
            return " ".join(self.reasons)
        return where if self.spec.confidence == "certain" else f"{where}: {' '.join(self.reasons)}"

    def _applies(self) -> Applies:
        answer = _and(holds(self.spec.when, self.facts), self._in_release())
        if answer is False:
            return "no"
        if answer is None or self.spec.confidence == "possible":
            return "unknown"
        return "yes"

    def _in_release(self) -> bool | None:
        """Whether the server's release lies within the remedy's; from the matched wording where it is not known."""
        if self.known.release is not None:
            return within(self.known.release, self.spec.since, self.spec.until)
        if self.spec.since is None and self.spec.until is None:
            return True
        first, last = self.rule.since, self.rule.until
        inside = (self.spec.since is None or (first is not None and not before(first, self.spec.since))) and (
            self.spec.until is None or (last is not None and not before(self.spec.until, last))
        )
        outside = (self.spec.since is not None and last is not None and before(last, self.spec.since)) or (
            self.spec.until is not None and first is not None and before(self.spec.until, first)
        )
        return True if inside else False if outside else None

    def _change(self) -> Change | None:
        """What to change, in the release's own spelling; None where the release cannot say it."""
        settings: dict[str, str | bool] = {}
        for flag, value in self.spec.set.items():
            given = self._value(value)
            if given is None:
                self.reasons.append(f"The value for {flag} depends on what is not known here.")
                continue
            spelled = self.flags.spell(flag, given)
            if spelled is None:
                return None
            settings.update(spelled)
        unset = tuple(dict.fromkeys(flag for flag in self.spec.unset if self._unsets(flag)))
        if self.spec.set and not settings and not self.spec.steps and not unset:
            return Change()
        env: dict[str, str | None] = {name: str(value) for name, value in self._environment().items()}
        env |= dict.fromkeys(self.spec.unset_env)
        return Change(set=settings, unset=unset, env=env)

    def _unsets(self, flag: str) -> bool:
        """Whether a flag is there to be removed: typed; with the command unknown, in the release or in the message."""
        named = (word for text in self.known.captures.values() for word in text.split())
        return self.command is not None or self.flags.has(flag) or flag in named

    def _value(self, value: str | bool) -> str | bool | None:
        if isinstance(value, bool) or not value.startswith("="):
            return value if isinstance(value, bool) else filled(value, self.known.captures)
        computed = evaluate(value[1:], self.facts)
        if computed is None or isinstance(computed, bool):
            return computed
        return f"{computed:g}" if isinstance(computed, float) else str(computed)

    def _environment(self) -> dict[str, str]:
        found = {}
        for name, value in self.spec.env.items():
            given = self._value(value)
            if isinstance(given, str):
                found[name] = given
        return found

    def _relaunch(self, change: Change) -> tuple[Relaunch, Command | None]:
        if self.command is None:
            return delta(change), None
        try:
            edited = edit(self.command, change.set, change.unset, change.env, release=self.flags)
        except CommandError as error:
            self.reasons.append(f"The launch command could not be edited: {error}.")
            return delta(change), None
        self.reasons += [f"{note}." for note in edited.notes]
        return Relaunch(command=edited.command, diff=edited.diff, complete=True), edited.parsed


def delta(change: Change) -> Relaunch:
    """The change alone, where there is no launch command to apply it to."""
    environment = [f"{name}={value}" for name, value in change.env.items() if value is not None]
    flags = [flag if value is True else f"{flag} {value}" for flag, value in change.set.items()]
    diff = [f"- {flag}" for flag in change.unset]
    diff += [f"- {name}" for name, value in change.env.items() if value is None]
    diff += [f"+ {text}" for text in (*environment, *flags)]
    return Relaunch(command=" ".join([*environment, *flags]), diff=tuple(diff), complete=False)


def _and(*answers: bool | None) -> bool | None:
    if any(answer is False for answer in answers):
        return False
    return None if any(answer is None for answer in answers) else True


def filled(text: str, captures: Mapping[str, str]) -> str:
    """A text with `{name}` replaced by what was captured, on one line."""
    return " ".join(re.sub(r"\{(\w+)\}", lambda m: captures.get(m[1], m[0]), text).split())
