"""Two processes that decide at the same time, each about a table of its own."""

import multiprocessing
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import Any

import numpy as np

from discreet_service.database import ServiceDatabase
from discreet_service.policies import verdicts
from discreet_service.policies.asked import AskedTable
from discreet_service.policies.ledger import FewUnits
from discreet_service.policies.rules import RuleCase, RuleVerdict, UniverseFacts, passed
from tests.helpers.policy_cases import Filters, PolicedTown, Town, policed

#: Seconds after which a process that waits for the other gives up.
_PATIENCE = 180


def race_town() -> Town:
    """A town with a twin of one sex, and with a whole that has three more than its parts."""
    town = Town.drawn(4000, 7, district=4, sex=2, age=5)
    twin = town.columns["twin"] = town.columns["sex"].copy()
    twin[np.flatnonzero(twin == 1)[:3]] = 0
    part = town.columns["part"] = np.arange(town.size) // 600
    whole = town.columns["whole"] = (part < 2) * 1
    whole[-3:] = 1
    return town


def both_allowed(
    url: str, folder: Path, first: Filters, second: Filters, trusting: bool = False
) -> list[bool]:
    """Whether each of two tables is answered, if both are compared before either is released.

    Args:
        url: The database, laid out, with the policy in force.
        folder: A folder.
        first: Filters that one process asks with.
        second: Those of the other.
        trusting: Believe each comparison, however old: what the race would then let through.
    """
    context = multiprocessing.get_context("spawn")
    gate, answers = context.Barrier(2), context.Queue()
    processes = [
        context.Process(target=_decide, args=(url, folder / name, where, gate, answers, trusting))
        for name, where in (("first", first), ("second", second))
    ]
    for each in processes:
        each.start()
    try:
        return [answers.get(timeout=2 * _PATIENCE) for _ in processes]
    finally:
        for each in processes:
            each.join(_PATIENCE)
            each.kill()


def _decide(
    url: str, folder: Path, where: Filters, gate: Barrier, answers: Any, trusting: bool
) -> None:
    """One of the processes: it compares, waits until the other has compared, and goes on."""
    database = ServiceDatabase.open(url)
    here = policed(race_town(), database, folder)
    if trusting:
        verdicts.RULES_BY_NAME = {**verdicts.RULES_BY_NAME, "P5": _trusting}
    _meet(here, gate)
    answers.put(here.ask(("age",), where))
    database.close()


def _meet(here: PolicedTown, gate: Barrier) -> None:
    compare = here.policies._compare

    def waiting(asked: AskedTable, facts: UniverseFacts) -> None:
        compare(asked, facts)
        limits = here.policies.policy(asked.dataset, asked.version).differences
        _OLD.extend(facts.few(limits))
        gate.wait(_PATIENCE)

    here.policies._compare = waiting  # type: ignore[method-assign]


#: What a process found before it waited for the other.
_OLD: list[FewUnits] = []


def _trusting(case: RuleCase) -> RuleVerdict:
    """P5 without a look at what was released since."""
    if case.facts is None or any(one.small for one in _OLD):
        return verdicts.difference_rule(case)
    return passed("P5")
