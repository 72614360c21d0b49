"""`tabulate`: how often values of one or two variables occur.

In: a frame of microdata (confidential), one or two variables, rules. Out: `SafeResult`s in
which small cells are withheld, and others, so that no margin, percentage or cumulated
column gives them away.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from discreet.errors import OutputCheckError
from discreet.output_checking.safe.crossing import Cross, two_way
from discreet.output_checking.safe.groups import Groups, group
from discreet.output_checking.safe.hiding import counts_to_hide
from discreet.output_checking.safe.judging import Found, checks_of
from discreet.output_checking.safe.layout import Grid, closed, column_name
from discreet.output_checking.safe.limits import SafeLimits, limits_of
from discreet.output_checking.safe.numbers import count_text, fixed, rounded
from discreet.output_checking.safe.records import FloatArray, Records, take
from discreet.output_checking.safe.results import Check, Evidence, SafeResult
from discreet.output_checking.safe.weighing import Weighing

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
    limits = limits_of(limits)
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
    return _hidden(Weighing(records=records, axis=axis, limits=limits))


def _hidden(weighing: Weighing) -> tuple[frozenset[int], bool, list[Found]]:
    records, axis, limits = weighing.records, weighing.axis, weighing.limits
    cases = records.cases(axis.codes, len(axis)) if axis.cases is None else axis.cases
    heavy = weighing.heavy
    hidden, total = counts_to_hide(cases.tolist(), heavy, int(_all_cases(records, axis)), limits)
    found = []
    for at in sorted(hidden):
        small = 0 < cases[at] < limits.minimum
        rule = "minimum" if small else "weights" if at in heavy else "secondary"
        found.append(Found(rule, axis.name, f"{axis.name} = {axis.labels[at]}"))
    return hidden, total, found + [Found("secondary", axis.name, "total")] * total


def _all_cases(records: Records, axis: Groups) -> int:
    if axis.complete:
        return records.everyone
    codes = np.where(axis.codes >= 0, 0, -1).astype(np.int64)
    return int(records.cases(codes, 1)[0])


def _one_way(records: Records, axis: Groups, limits: SafeLimits) -> SafeResult:
    weighing = Weighing(records=records, axis=axis, limits=limits)
    hidden, total_hidden, found = _hidden(weighing)
    amounts = weighing.amounts
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
