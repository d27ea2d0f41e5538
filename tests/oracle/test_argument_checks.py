"""Argument checks of sglang, one by one: refused is refused by the right rule, accepted accepted, and cured."""

from functools import cache

from tests.oracle import verdicts
from tests.oracle.checks import RELEASE, Check, load
from tests.oracle.proposing import arguments, diagnosed, examined
from tests.oracle.test_refused_cells import wrong_relaunch
from tests.oracle.verdicts import Cell


@cache
def recorded() -> dict[tuple[str, str], Cell]:
    """What sglang said, by card and command."""
    return {(cell.card, cell.command): cell for cell in verdicts.cells("checks", RELEASE)}


def refused(check: Check) -> Cell:
    """What it said to the command that it refuses."""
    return recorded()[check.card, check.refused]


def test_the_record_holds_both_commands_of_every_check() -> None:
    assert len(load()) > 80
    assert [check for check in load() if not refused(check).refused] == []
    assert [check for check in load() if recorded()[check.card, check.accepted].refused] == []


def test_a_refused_command_is_refused_by_the_rule_of_that_message() -> None:
    wrong = []
    for check in load():
        incident = diagnosed(refused(check))
        found = examined(RELEASE, check.card, check.refused)
        rules = [refusal.rule.id for refusal in found.refused_by if refusal.gate == "arguments"]
        if incident is None or incident.rule not in rules:
            wrong.append((check.refused, refused(check).printed, incident and incident.rule, rules))
    assert wrong == []


def test_the_nearest_accepted_command_is_let_through() -> None:
    wrong = [
        (check.accepted, [refusal.rule.id for refusal in found.refused_by], found.missing)
        for check in load()
        if (found := examined(RELEASE, check.card, check.accepted)).verdict != "accepted"
    ]
    assert wrong == []


def test_the_proposed_relaunch_is_one_that_sglang_accepts() -> None:
    assert [text for check in load() if (text := wrong_relaunch(refused(check)))] == []


def test_every_check_has_a_relaunch() -> None:
    """Each of these has a nearest command, so the alert and preflight must find one."""
    without = [
        check.refused
        for check in load()
        if (incident := diagnosed(refused(check))) is None
        or incident.relaunch is None
        or examined(RELEASE, check.card, check.refused).relaunch is None
        or arguments(incident.relaunch.command) == check.refused
    ]
    assert without == []
