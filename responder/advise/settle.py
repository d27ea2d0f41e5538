"""The nearest command that no rule refuses: remedy after remedy, until nothing is left to mend.

One change may bring the next refusal: a flag that replaces a removed one may want a companion, a backend that fits the
GPU another page size.
"""

import msgspec
from msgspec.structs import replace

from responder.advise.capability import remedies, situation, verdict
from responder.advise.command.launch import Command
from responder.advise.command.secret import mask
from responder.advise.facts import Known
from responder.advise.learn import Host, learn, parsed
from responder.advise.remedies import Resolved, resolve
from responder.advise.verify import Refusal, attention_backends, refusals
from responder.catalogue import Rule
from responder.nouns import Remedy

MOST_STEPS = 8
"""Changes in a row; a command that needs more is not near any that starts."""


class Settled(msgspec.Struct, frozen=True, kw_only=True):
    """Where the changes led."""

    command: Command
    remedies: tuple[Remedy, ...] = ()
    """What was changed, in order."""
    left: tuple[Refusal, ...] = ()
    """Certain refusals that no remedy mends."""

    @property
    def accepted(self) -> bool:
        """Whether no rule refuses the command for certain."""
        return not self.left


def settle(rules: tuple[Rule, ...], command: Command, host: Host) -> Settled:
    """Apply the first remedy of the first certain refusal, again and again, as long as it mends something."""
    applied: list[Remedy] = []
    for _ in range(MOST_STEPS):
        left = certain_refusals(rules, command, host)
        # One that nothing mends must not hide what helps against the others.
        steps = (_first_that_mends(rules, command, host, refusal) for refusal in left)
        step = next((one for one in steps if one is not None), None)
        if step is None or step.after is None:
            return Settled(command=command, remedies=tuple(applied), left=left)
        applied.append(step.remedy)
        command = step.after
    return Settled(command=command, remedies=tuple(applied), left=certain_refusals(rules, command, host))


def checked(option: Resolved, rules: tuple[Rule, ...], host: Host) -> Remedy:
    """A remedy with its relaunch held against every rule of the release: mended further, or withdrawn."""
    remedy, relaunch = option.remedy, option.remedy.relaunch
    if option.after is None or relaunch is None:
        return remedy
    settled = settle(rules, option.after, host)
    if not settled.accepted:
        reason = f"The relaunch would be refused: {settled.left[0].rule.title}."
        why = f"{remedy.why} {reason}".strip()
        return replace(remedy, applies="no", why=why, refused=reason, relaunch=None)
    known = host.gpu.sm is not None and host.server.version is not None
    remedy = replace(remedy, verified="catalogue" if known else "none")
    launched, _ = parsed(host.command)
    if remedy.applies == "yes" and (unproven := _unproven(launched, settled.command, host)):
        remedy = replace(remedy, applies="unknown", why=f"{remedy.why} {unproven}".strip())
    if not settled.remedies:
        return remedy
    further = [step.relaunch for step in settled.remedies if step.relaunch is not None]
    lines = [line for part in (relaunch, *further) for line in part.diff]
    settings = dict(remedy.set)
    for step in settled.remedies:
        settings |= step.set
    return replace(
        remedy,
        set={flag: value for flag, value in settings.items() if not _dropped_later(flag, settled.remedies)},
        unset=tuple(dict.fromkeys([*remedy.unset, *(flag for step in settled.remedies for flag in step.unset)])),
        why=" ".join([remedy.why, *(f"Then {step.title[:1].lower()}{step.title[1:]}." for step in settled.remedies)]),
        relaunch=replace(relaunch, command=mask(settled.command), diff=net(lines)),
    )


def _unproven(before: Command | None, after: Command, host: Host) -> str:
    """Why an attention backend that a change brings in may not run; empty where none is in doubt."""
    old = attention_backends(learn(host, before)) if before is not None else {}
    known = learn(host, after)
    at = situation(known)
    for phase, backend in attention_backends(known).items():
        if backend != old.get(phase) and (cell := verdict(backend, phase, at)).unproven:
            return f"Unproven: {cell.why}"
    return ""


def net(lines: list[str]) -> tuple[str, ...]:
    """A diff without what was added and then taken out again."""
    kept: list[str] = []
    for line in lines:
        undone = f"+ {line[2:]}"
        if line.startswith("- ") and undone in kept:
            kept.remove(undone)
        else:
            kept.append(line)
    return tuple(kept)


def _dropped_later(flag: str, steps: tuple[Remedy, ...]) -> bool:
    return any(flag in step.unset and flag not in step.set for step in steps)


def certain_refusals(rules: tuple[Rule, ...], command: Command, host: Host) -> tuple[Refusal, ...]:
    """What refuses the command for certain."""
    known = learn(host, command, phase="arguments")
    return tuple(refusal for refusal in refusals(rules, command, known) if refusal.certain)


def other_backends(rule: Rule, known: Known, command: Command | None) -> tuple[Resolved, ...]:
    """What the capability table names where an attention backend's own remedies do not help."""
    if rule.kind != "attention-backend" or command is None:
        return ()
    return resolve(replace(rule, remedy=remedies(situation(known), attention_backends(known))), known, command)


def _first_that_mends(rules: tuple[Rule, ...], command: Command, host: Host, refusal: Refusal) -> Resolved | None:
    """The first remedy that applies for certain and after which this rule refuses no longer."""
    known = learn(host, command, phase="arguments", captures=refusal.captures)
    own, others = resolve(refusal.rule, known, command), other_backends(refusal.rule, known, command)
    for option in (*own, *others):
        if option.remedy.applies != "yes" or option.after is None or _unproven(command, option.after, host):
            continue
        still = certain_refusals(rules, option.after, host)
        if not any(other.rule.id == refusal.rule.id and other.text == refusal.text for other in still):
            return option
    return None
