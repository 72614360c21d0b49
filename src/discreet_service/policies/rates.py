"""Rates: how fast one may ask, and how much that nobody was given before (P8). Speed is no
protection: it keeps the service usable, and gives staff time to see what P9 tells them.
"""

from __future__ import annotations

import math

from discreet_service.policies.rules import Outcome, RuleCase, RuleVerdict, passed, refused

_DAY = 86_400_000
_QUERIES, _ALL_CELLS = "policy queries", "policy cells of all"
#: What counts the new cells of one principal and day.
CELLS_PER_DAY = "policy cells"


def rate_rule(case: RuleCase) -> RuleVerdict:
    """P8: a bucket of queries, and new cells per day; all of them together raise an alarm."""
    rates, cells = case.policy.rates, case.layers.new_cells(case.asked)
    pause = 1000 / rates.per_second
    # When the bucket was full again, if nobody asked: a time instead of a number of tokens.
    day = day_of(case.now)
    wait = _amount(case, _QUERIES) - case.now - pause * (rates.burst - 1)
    # What was looked at is the same query once more; a programme takes its queries together.
    if wait > 0 and not case.looked and not case.asked.programme:
        return refused("P8", "too many queries at once", retry_after=math.ceil(wait / 1000))
    used = _amount(case, CELLS_PER_DAY)
    if cells and used + cells > rates.cells_per_day:
        rest = math.ceil((day + _DAY - case.now) / 1000)
        sentence = f"{used:,} new cells today and {cells:,} more"
        return refused(
            "P8", sentence, retry_after=rest, actual=used + cells, limit=rates.cells_per_day
        )
    together = _amount(case, _ALL_CELLS)
    if cells and together + cells > rates.dataset_alarm:
        sentence = f"{together + cells:,} new cells of all today"
        return RuleVerdict(rule="P8", outcome=Outcome.alerted, explanation=sentence)
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
    full = max(_amount(case, _QUERIES), case.now)
    case.counters.count(*_counter(case, _QUERIES), full + pause)


def charge_cells(case: RuleCase) -> int:
    """Charge the cells of a table that nobody was given before; how many these are."""
    cells = case.layers.new_cells(case.asked)
    for measure in (CELLS_PER_DAY, _ALL_CELLS) if cells else ():
        case.counters.count(*_counter(case, measure), _amount(case, measure) + cells)
    return cells


def _counter(case: RuleCase, measure: str) -> tuple[str, str, int]:
    """What counts a measure: queries of one principal, and cells of a day."""
    dataset = case.asked.dataset
    if measure == _QUERIES:
        return f"{dataset}: {case.principal}", measure, 0
    subject = dataset if measure == _ALL_CELLS else f"{dataset}: {case.account}"
    return subject, measure, day_of(case.now)


def _amount(case: RuleCase, measure: str) -> int:
    return case.counters.amount(case.database, *_counter(case, measure))
