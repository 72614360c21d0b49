"""Rates: how fast one may ask, and how much that nobody was given before (P8). Speed is no
protection: it keeps the service usable, and gives staff time to see what P9 tells them.
"""

from __future__ import annotations

import math

import sqlalchemy as sa

from discreet_service.database import RATE_COUNTERS, put_row
from discreet_service.policies.rules import Outcome, RuleCase, RuleVerdict, passed, refused

_DAY = 86_400_000
_QUERIES, _ALL_CELLS = "policy queries", "policy cells of all"
#: What counts the new cells of one principal and day.
CELLS_PER_DAY = "policy cells"

_COLUMNS = RATE_COUNTERS.c
#: Made once: to build it takes longer than to run it.
_COUNTED = sa.select(_COLUMNS.measure, _COLUMNS.amount).where(
    sa.or_(
        *(
            sa.and_(
                _COLUMNS.subject == sa.bindparam(subject),
                _COLUMNS.measure == measure,
                _COLUMNS.window_start == start,
            )
            for subject, measure, start in (
                ("mine", _QUERIES, 0),
                ("mine", CELLS_PER_DAY, sa.bindparam("day")),
                ("all", _ALL_CELLS, sa.bindparam("day")),
            )
        )
    )
)


def rate_rule(case: RuleCase) -> RuleVerdict:
    """P8: a bucket of queries, and new cells per day; all of them together raise an alarm."""
    rates, cells = case.policy.rates, case.layers.new_cells(case.asked)
    pause = 1000 / rates.per_second
    # When the bucket was full again, if nobody asked: a time instead of a number of tokens.
    amounts, day = _amounts(case), day_of(case.now)
    wait = amounts.get(_QUERIES, 0) - case.now - pause * (rates.burst - 1)
    # With the data it is the same query once more; a programme takes its queries together.
    if wait > 0 and case.facts is None and not case.asked.programme:
        return refused("P8", "too many queries at once", retry_after=math.ceil(wait / 1000))
    used = amounts.get(CELLS_PER_DAY, 0)
    if cells and used + cells > rates.cells_per_day:
        rest = math.ceil((day + _DAY - case.now) / 1000)
        return refused("P8", f"{used:,} new cells today and {cells:,} more", retry_after=rest)
    together = amounts.get(_ALL_CELLS, 0)
    if cells and together + cells > rates.dataset_alarm:
        said = f"{together + cells:,} new cells of all today"
        return RuleVerdict(rule="P8", outcome=Outcome.alerted, explanation=said)
    return passed("P8", f"{cells:,} new cells")


def day_of(now: int) -> int:
    """When the day of a time began, UTC, in milliseconds.

    >>> day_of(86_400_001)
    86400000
    """
    return now // _DAY * _DAY


def take_query(case: RuleCase) -> None:
    """Take one query from the bucket, whatever comes of it; tables of programmes take it, too."""
    pause = math.ceil(1000 / case.policy.rates.per_second)
    full = _amounts(case).get(_QUERIES, 0)
    _set(case, _subject(case), _QUERIES, 0, max(full, case.now) + pause)


def charge_cells(case: RuleCase) -> int:
    """Charge the cells of a table that nobody was given before; how many these are."""
    cells, day = case.layers.new_cells(case.asked), day_of(case.now)
    if cells:
        amounts = _amounts(case)
        for subject, measure in ((_subject(case), CELLS_PER_DAY), (case.asked.dataset, _ALL_CELLS)):
            _set(case, subject, measure, day, amounts.get(measure, 0) + cells)
    return cells


def _subject(case: RuleCase) -> str:
    return f"{case.asked.dataset}: {case.principal}"


def _amounts(case: RuleCase) -> dict[str, int]:
    """What is counted of the principal, and of all together today; nothing yet is left out."""
    told = {"mine": _subject(case), "all": case.asked.dataset, "day": day_of(case.now)}
    return {str(name): int(amount) for name, amount in case.connection.execute(_COUNTED, told)}


def _set(case: RuleCase, subject: str, measure: str, start: int, amount: int) -> None:
    key = {"subject": subject, "measure": measure, "window_start": start}
    put_row(case.connection, RATE_COUNTERS, key, amount=amount)
