"""`tabulate`: how often values of one or two variables occur.

In: a frame of microdata (confidential), one or two variables, rules. Out: `SafeResult`s in
which small cells are withheld, and others, so that no margin, percentage or cumulated
column gives them away.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from discreet.errors import OutputCheckError
from discreet.output_checking.safe.cases import count_of, sums_of_groups
from discreet.output_checking.safe.crossing import Cross, two_way
from discreet.output_checking.safe.groups import Groups, group
from discreet.output_checking.safe.hiding import counts_to_hide
from discreet.output_checking.safe.holding import Holding
from discreet.output_checking.safe.judging import Found, checks_of, concentrated
from discreet.output_checking.safe.layout import Grid, closed, column_name
from discreet.output_checking.safe.limits import SafeLimits
from discreet.output_checking.safe.numbers import count_text, fixed, rounded
from discreet.output_checking.safe.records import FloatArray, IntArray, Records, take
from discreet.output_checking.safe.results import Check, Evidence, SafeResult
from discreet.output_checking.safe.sums import ends_of

__all__ = ["one_way_hidden", "tabulate"]

_COLUMNS = ("n", "percent", "cumulated")
#: What percentages are of.
PERCENT = ("row", "column", "cell")


def tabulate(
    frame: Any,
    row: str,
    column: str | None = None,
    *,
    limits: SafeLimits | None = None,
    entity: str | None = None,
    weights: str | None = None,
    where: str | None = None,
    missing: bool = False,
    percent: Sequence[str] = (),
    chi2: bool = False,
) -> SafeResult:
    """Frequencies of one variable, or of two against each other.

    Args:
        frame: Records; any frame narwhals reads.
        row: The variable down the side.
        column: The variable across the top.
        limits: The rules.
        entity: Column of whom a record is about; small cells are those of few entities.
        weights: Column of weights, whose sums are shown.
        where: Only these records.
        missing: Whether missing values are values too.
        percent: Percentages of a "row", a "column" and of all ("cell"), for two variables.
        chi2: Pearson's test of independence, if nothing is withheld.

    >>> frame = pl.DataFrame({"region": ["n"] * 6 + ["s"] * 5 + ["w"] * 2})
    >>> print(tabulate(frame, "region"))
          region |      Freq.    Percent       Cum.
    -------------+---------------------------------
               n |          6      46.15      46.15
               s |          .          .          .
               w |          .          .     100.00
    -------------+---------------------------------
           Total |         13     100.00
    . withheld for confidentiality
    """
    limits = limits or SafeLimits()
    _check(row, column, percent, chi2)
    names = [row, *([column] if column is not None else [])]
    records = take(frame, names, where=where, entity=entity, weights=weights)
    records = records.weighted().condensed()
    axes = [_counted(group(records, name, limits, missing=missing), records) for name in names]
    if len(axes[0]) == 0:
        return SafeResult(command=f"tabulate {row}", shown="no observations", stored={"N": 0})
    if column is None:
        return _one_way(records, axes[0], limits)
    margins = [one_way_hidden(records, axis, limits)[0] for axis in axes]
    cross = Cross(
        axes=(axes[0], axes[1]),
        margins=(margins[0], margins[1]),
        percent=tuple(word for word in PERCENT if word in percent),
        chi2=chi2,
    )
    return two_way(records, cross, limits)


def _counted(axis: Groups, records: Records) -> Groups:
    """With the number of cases of each group."""
    if axis.cases is not None or records.entity is None:
        return axis
    return replace(axis, cases=records.cases(axis.codes, len(axis)))


def _check(row: str, column: str | None, percent: Sequence[str], chi2: bool) -> None:
    wrong = [word for word in percent if word not in PERCENT]
    if wrong or (column is None and (percent or chi2)) or row == column:
        raise OutputCheckError(
            "two variables are needed" if row == column or not wrong else "unknown percentage",
            code="tabulate",
            where=wrong[0] if wrong else row,
            hint="tabulate(frame, row, column, percent=['row', 'column', 'cell'])",
        )


def one_way_hidden(
    records: Records, axis: Groups, limits: SafeLimits
) -> tuple[frozenset[int], bool, list[Found]]:
    """Withheld groups, whether their total is withheld, and the rules that are broken."""
    cases = records.cases(axis.codes, len(axis)) if axis.cases is None else axis.cases
    heavy = _heavy_groups(records, axis, limits)
    hidden, total = counts_to_hide(cases.tolist(), heavy, int(_all_cases(records, axis)), limits)
    found = []
    for at in sorted(hidden):
        small = 0 < cases[at] < limits.minimum
        rule = "minimum" if small else "weights" if at in heavy else "secondary"
        found.append(Found(rule, axis.name, f"{axis.name} = {axis.labels[at]}"))
    return hidden, total, found + [Found("secondary", axis.name, "total")] * total


def _all_cases(records: Records, axis: Groups) -> int:
    if not axis.codes.size or int(axis.codes.min()) >= 0:
        return records.everyone
    codes = np.where(axis.codes >= 0, 0, -1).astype(np.int64)
    return int(records.cases(codes, 1)[0])


def _heavy_groups(records: Records, axis: Groups, limits: SafeLimits) -> frozenset[int]:
    """Groups in which one or two entities have nearly all of the weight."""
    weights = records.weights()
    if weights is None:
        return frozenset()
    holding = Holding.of(weights, axis.codes, len(axis), records.entities())
    return frozenset(
        at
        for at, one in enumerate(holding.facts(limits))
        if concentrated(one.first, one.second, one.size, limits)
    )


def weighted_counts(records: Records, codes: IntArray, groups: int) -> FloatArray:
    """Records per group, or sums of their weights."""
    weights = records.weights()
    if weights is None:
        return count_of(codes, groups, records.times).astype(np.float64)
    if codes.size and int(codes.min()) >= 0 and not math.isnan(ends_of(weights)[0]):
        return sums_of_groups(weights, codes, groups)
    inside = (codes >= 0) & ~np.isnan(weights)
    return sums_of_groups(weights[inside], codes[inside], groups)


def _one_way(records: Records, axis: Groups, limits: SafeLimits) -> SafeResult:
    hidden, total_hidden, found = one_way_hidden(records, axis, limits)
    amounts = weighted_counts(records, axis.codes, len(axis))
    total = float(amounts.sum())
    shown: list[float | None] = [
        None if at in hidden else rounded(float(amount), limits.digits + 5)
        for at, amount in enumerate(amounts)
    ]
    percents = [
        None
        if amount is None or total_hidden or not total
        else rounded(100 * amount / total, limits.digits)
        for amount in shown
    ]
    cumulated = [
        None if share is None else rounded(share, limits.digits)
        for share in _cumulated(amounts, hidden, total, total_hidden)
    ]
    rows = [
        (label, [count_text(amount), fixed(percent), fixed(share)])
        for label, amount, percent, share in zip(
            axis.labels, shown, percents, cumulated, strict=True
        )
    ]
    whole = None if total_hidden else rounded(total, limits.digits + 5)
    last = ("Total", [count_text(whole), fixed(None if total_hidden else 100.0)])
    grid = Grid(stub=axis.name, heads=["Freq.", "Percent", "Cum."], blocks=[rows, [last]])
    checks: list[Check] = [*axis.checks, *checks_of(found, ["minimum"])]
    return SafeResult(
        command=f"tabulate {axis.name}",
        shown=closed(grid.lines(), bool(hidden) or total_hidden, limits.language),
        frame=pl.DataFrame(
            {column_name(axis.name, _COLUMNS): axis.labels}
            | dict(zip(_COLUMNS, (shown, percents, cumulated), strict=True)),
            schema_overrides=dict.fromkeys(_COLUMNS, pl.Float64),
        ),
        stored={} if whole is None else {"N": whole},
        checks=checks,
        evidence=Evidence(n=amounts, hidden=hidden, found=found),
    )


def _cumulated(
    amounts: FloatArray, hidden: frozenset[int], total: float, total_hidden: bool
) -> list[float | None]:
    """The cumulated column, where it follows from frequencies that are shown."""
    if total_hidden or not total:
        return [None] * len(amounts)
    first, last = (min(hidden), max(hidden)) if hidden else (len(amounts), -1)
    reached = 100 * np.cumsum(amounts) / total
    return [float(share) if at < first or at >= last else None for at, share in enumerate(reached)]
