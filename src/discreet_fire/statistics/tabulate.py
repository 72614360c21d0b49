"""`tabulate`: how often values of one or two variables occur.

In: a frame of microdata (confidential), one or two variables, rules. Out: `SafeResult`s in which
small cells are withheld, and others, so that no margin, percentage, cumulated column or sum of
weights gives them away. A percentage is shown only where both counts that it is made of are
shown, a test only where all of them are.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from discreet.arrays import BoolArray, FloatArray, IntArray
from discreet.errors import OutputCheckError
from discreet_fire.statistics.disclosure_rules import Found, checks_of, concentrated
from discreet_fire.statistics.group_suppression import counts_to_hide
from discreet_fire.statistics.grouped_values import GroupedValues
from discreet_fire.statistics.layout import Grid, closed, column_name, count_text, fixed, rounded
from discreet_fire.statistics.limits import SafeLimits, limits_of
from discreet_fire.statistics.models.distributions import chi2_tail
from discreet_fire.statistics.parallel import SMALL
from discreet_fire.statistics.records import (
    MicrodataRecords,
    RecordGroups,
    count_of,
    group,
    sums_of_groups,
    take,
)
from discreet_fire.statistics.results import Check, CheckVerdict, OutputEvidence, SafeResult
from discreet_fire.statistics.table_suppression import Counts, SumTable, count_cells, hide_cells


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class GroupWeights:
    """Weights along one variable (confidential)."""

    records: MicrodataRecords
    axis: RecordGroups
    limits: SafeLimits

    @cached_property
    def amounts(self) -> FloatArray:
        """Sums of weights per group; without weights, numbers of records."""
        groups = len(self.axis)
        if self.records.weights() is None:
            return count_of(self.axis.codes, groups, self.records.times).astype(np.float64)
        return sums_of_groups(*self._inside, groups) if self._alone is None else self._alone[0]

    @cached_property
    def heavy(self) -> frozenset[int]:
        """Groups in which one or two cases have nearly all of the weight."""
        weights = self.records.weights()
        if weights is None:
            return frozenset()
        if self._alone is not None:
            loads = [tuple(map(float, load)) for load in zip(*self._alone, strict=True)]
        else:
            who = self.records.entities()
            holding = GroupedValues.of(weights, self.axis.codes, len(self.axis), who)
            loads = [(one.size, one.first, one.second) for one in holding.facts(self.limits)]
        return frozenset(
            at
            for at, (size, first, second) in enumerate(loads)
            if concentrated(first, second, size, self.limits)
        )

    def hidden(self) -> tuple[frozenset[int], bool, list[Found]]:
        """Withheld groups, whether their total is withheld, and the rules that are broken."""
        records, axis, heavy = self.records, self.axis, self.heavy
        cases = records.cases(axis.codes, len(axis)) if axis.cases is None else axis.cases
        if axis.complete:
            everyone = records.everyone
        else:
            together = np.where(axis.codes >= 0, 0, -1).astype(np.int64)
            everyone = int(records.cases(together, 1)[0])
        hidden, total = counts_to_hide(cases.tolist(), heavy, everyone, self.limits)
        broken = []
        for at in sorted(hidden):
            small = 0 < cases[at] < self.limits.minimum
            rule = "minimum" if small else "weights" if at in heavy else "secondary"
            broken.append(Found(rule, axis.name, f"{axis.name} = {axis.labels[at]}"))
        return hidden, total, broken + [Found("secondary", axis.name, "total")] * total

    @cached_property
    def _alone(self) -> tuple[FloatArray, FloatArray, FloatArray] | None:
        """In large data where each record is another case, all in one go.

        Per group: the sum of weights, the largest and the second largest of a case.
        """
        weights, codes = self._inside
        if self.records.entity is not None or weights.size <= SMALL:
            return None
        from discreet_fire.statistics.large.contributions import of_records

        count = np.zeros(len(self.axis), dtype=np.int64)
        entities = of_records(weights, codes, count, enough=0)
        return entities.size, entities.first, entities.second

    @cached_property
    def _inside(self) -> tuple[FloatArray, IntArray]:
        """Weights and groups of the records that have both."""
        weights, codes = self.records.weights(), self.axis.codes
        assert weights is not None
        if self.axis.complete and self.records.all_weigh:
            return weights, codes
        inside = (codes >= 0) & ~np.isnan(weights)
        return weights[inside], codes[inside]


#: Said where a table withholds more margins than tables of fewer variables do.
MARGINS = Check(
    rule="margins",
    verdict=CheckVerdict.review,
    reason="margins are withheld that a table of one variable shows; do not release both",
)


def _two_way(
    records: MicrodataRecords,
    axes: Sequence[RecordGroups],
    percent: Sequence[str],
    chi2: bool,
    limits: SafeLimits,
) -> SafeResult:
    """The table, as far as it may be shown."""
    down, across = (
        GroupWeights(records=records, axis=axis, limits=limits).hidden()[0] for axis in axes
    )
    counts = count_cells(axes, records)
    before = np.zeros(counts.n.shape, dtype=np.bool_)
    before[sorted(down), -1] = True
    before[-1, sorted(across)] = True
    heavy = _heavy(records, counts, limits)
    hidden, margins = hide_cells(counts, limits, sensitive=heavy, before=before)
    amounts = _amounts(records, counts)
    values = np.where(hidden, np.nan, amounts)
    table = _Table(axes=axes, percent=percent, values=values, digits=limits.digits)
    lines = table.lines()
    stored: dict[str, float] = {}
    if not hidden[-1, -1]:
        stored["N"] = rounded(float(amounts[-1, -1]), limits.digits + 5)
    test: list[Check] = []
    if chi2:
        test = _tested(counts, hidden, lines, stored, limits)
    broken = hidden_counts(counts, hidden, axes, limits)
    checks = [
        *(check for axis in axes for check in axis.checks),
        *checks_of(broken, ["minimum"]),
        *_alike(counts, hidden, axes),
        *test,
        *([MARGINS] if margins else []),
    ]
    return SafeResult(
        command=f"tabulate {axes[0].name} {axes[1].name}",
        shown=closed(lines, bool(hidden.any()), limits.language),
        frame=table.frame(),
        stored=stored,
        checks=checks,
        evidence=OutputEvidence(n=counts.n, cases=counts.cases, hidden=hidden, found=broken),
    )


def _heavy(records: MicrodataRecords, counts: Counts, limits: SafeLimits) -> BoolArray | None:
    """Cells in which one or two entities have nearly all of the weight."""
    weights = records.weights()
    if weights is None:
        return None
    cells = counts.sizes[0] * counts.sizes[1]
    holding = GroupedValues.of(weights, counts.codes, cells, records.entities())
    facts = SumTable(holding=holding, sizes=counts.sizes, limits=limits).facts
    heavy = [concentrated(one.first, one.second, one.size, limits) for one in facts]
    return np.array(heavy).reshape(counts.n.shape)


def _amounts(records: MicrodataRecords, counts: Counts) -> FloatArray:
    """Counts, or sums of weights, with margins."""
    weights = records.weights()
    if weights is None:
        return counts.n.astype(np.float64)
    inside = (counts.codes >= 0) & ~np.isnan(weights)
    cells = counts.sizes[0] * counts.sizes[1]
    inner = sums_of_groups(weights[inside], counts.codes[inside], cells).reshape(counts.sizes)
    full = np.zeros(counts.n.shape)
    full[:-1, :-1] = inner
    full[-1, :-1], full[:-1, -1] = inner.sum(axis=0), inner.sum(axis=1)
    full[-1, -1] = inner.sum()
    return full


@dataclass(frozen=True, kw_only=True, repr=False)
class _Table:
    """What may be shown of a two-way table."""

    axes: Sequence[RecordGroups]
    percent: Sequence[str]
    values: FloatArray
    digits: int

    def lines(self) -> list[str]:
        rows, columns = self.axes
        blocks = []
        for at, label in enumerate([*rows.labels, "Total"]):
            block = [(label, [count_text(x) for x in self.values[at]])]
            block += [("", [fixed(x) for x in self.share(word)[at]]) for word in self.percent]
            blocks.append(block)
        if not self.percent:
            blocks = [[row for block in blocks[:-1] for row in block], blocks[-1]]
        grid = Grid(stub=rows.name, heads=[*columns.labels, "Total"], blocks=blocks, ends=1)
        width = grid.width * len(columns)
        return [f"{'':>12} |{columns.name:^{width}} |".rstrip(), *grid.lines()]

    def share(self, word: str) -> FloatArray:
        """Percentages; NaN where either count is withheld."""
        whole = {
            "row": self.values[:, -1:],
            "column": self.values[-1:, :],
            "cell": self.values[-1:, -1:],
        }[word]
        with np.errstate(invalid="ignore", divide="ignore"):
            return 100 * self.values / whole

    def frame(self) -> pl.DataFrame:
        rows, columns = self.axes
        shares = {word: self.share(word) for word in self.percent}
        floats = ["n", *(f"{word}_percent" for word in shares)]
        names = [column_name(axis.name, floats) for axis in self.axes]
        out: list[dict[str, Any]] = []
        for at, label in enumerate([*rows.labels, "Total"]):
            for across, head in enumerate([*columns.labels, "Total"]):
                cell = {"n": rounded(self.values[at, across], self.digits + 5)}
                for word, share in shares.items():
                    cell[f"{word}_percent"] = rounded(share[at, across], self.digits)
                numbers = {name: None if np.isnan(x) else float(x) for name, x in cell.items()}
                out.append({names[0]: label, names[1]: head, **numbers})
        return pl.DataFrame(out, schema_overrides=dict.fromkeys(floats, pl.Float64))


def _tested(
    counts: Counts,
    hidden: BoolArray,
    lines: list[str],
    stored: dict[str, float],
    limits: SafeLimits,
) -> list[Check]:
    """Pearson's test; it is a function of all counts, so all of them must be shown."""
    if hidden.any():
        lines.append("          Pearson chi2 =        .   Pr = .")
        reason = "a test would be an equation for withheld counts"
        return [Check(rule="test", verdict=CheckVerdict.fail, reason=reason)]
    n = counts.n.astype(np.float64)
    used = n[np.ix_(n[:, -1] > 0, n[-1, :] > 0)]
    expected = used[:-1, -1:] * used[-1:, :-1] / used[-1, -1]
    value = float(np.sort(((used[:-1, :-1] - expected) ** 2 / expected).ravel()).sum())
    freedom = (used.shape[0] - 2) * (used.shape[1] - 2)
    chance = chi2_tail(value, freedom) if freedom else 1.0
    lines.append(f"          Pearson chi2({freedom}) = {value:8.4f}   Pr = {chance:.3f}")
    stored |= {"chi2": rounded(value, limits.digits), "p": rounded(chance, limits.digits)}
    return [Check(rule="test", verdict=CheckVerdict.passed, reason="all counts are shown")]


def places_of(axes: Sequence[RecordGroups]) -> list[str]:
    """The name of each cell and margin of a table."""
    labels = [[f"{axis.name} = {label}" for label in (*axis.labels, "total")] for axis in axes]
    return [", ".join(place) for place in itertools.product(*labels)]


def hidden_counts(
    counts: Counts, hidden: BoolArray, axes: Sequence[RecordGroups], limits: SafeLimits
) -> list[Found]:
    """The rules by which counts of a table are withheld."""
    scope, places = ", ".join(axis.name for axis in axes), places_of(axes)
    small = (counts.cases > 0) & (counts.cases < limits.minimum)
    return [
        Found("minimum" if small.flat[at] else "secondary", scope, places[at])
        for at in np.flatnonzero(hidden).tolist()
    ]


def _alike(counts: Counts, hidden: BoolArray, axes: Sequence[RecordGroups]) -> list[Check]:
    """Rows and columns of which all cases are in one cell: they tell it of everyone."""
    checks = []
    for axis, n, mask in ((0, counts.n, hidden), (1, counts.n.T, hidden.T)):
        groups, other = axes[axis], axes[1 - axis]
        if len(other) < 2:
            continue
        single = ((n[:-1, :-1] > 0).sum(axis=1) == 1) & ~mask[:-1].any(axis=1)
        reason = "all cases of the group have the same value"
        places = [f"{groups.name} = {groups.labels[at]}" for at in np.flatnonzero(single)]
        checks += [
            Check(rule="same", verdict=CheckVerdict.review, reason=reason, where=place)
            for place in places
        ]
    return checks


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
    axes = [group(records, name, limits, missing=missing) for name in names]
    if entity is not None:
        axes = [
            axis
            if axis.cases is not None
            else replace(axis, cases=records.cases(axis.codes, len(axis)))
            for axis in axes
        ]
    if len(axes[0]) == 0:
        checks = checks_of([], ["minimum"])
        shown, stored = "no observations", {"N": 0}
        return SafeResult(command=f"tabulate {row}", shown=shown, stored=stored, checks=checks)
    if column is None:
        return _one_way(records, axes[0], limits)
    shares = [word for word in PERCENT if word in percent]
    return _two_way(records, axes, shares, chi2, limits)


def _check(row: str, column: str | None, percent: Sequence[str], chi2: bool) -> None:
    wrong = [word for word in percent if word not in PERCENT]
    if wrong or (column is None and (percent or chi2)) or row == column:
        raise OutputCheckError(
            "two variables are needed" if row == column or not wrong else "unknown percentage",
            code="tabulate",
            where=wrong[0] if wrong else row,
            hint="tabulate(frame, row, column, percent=['row', 'column', 'cell'])",
        )


def _one_way(records: MicrodataRecords, axis: RecordGroups, limits: SafeLimits) -> SafeResult:
    weighing = GroupWeights(records=records, axis=axis, limits=limits)
    hidden, total_hidden, broken = weighing.hidden()
    amounts = weighing.amounts
    total = float(amounts.sum())
    shown: list[float | None] = [
        None if at in hidden else rounded(float(amount), limits.digits + 5)
        for at, amount in enumerate(amounts)
    ]
    percents: list[float | None] = [None] * len(shown)
    cumulated = percents.copy()
    if total and not total_hidden:
        percents = [x if x is None else rounded(100 * x / total, limits.digits) for x in shown]
        # The cumulated column, where it follows from frequencies that are shown.
        first, last = (min(hidden), max(hidden)) if hidden else (len(shown), -1)
        cumulated = [
            rounded(float(share), limits.digits) if at < first or at >= last else None
            for at, share in enumerate(100 * np.cumsum(amounts) / total)
        ]
    numbers = zip(map(count_text, shown), map(fixed, percents), map(fixed, cumulated), strict=True)
    rows = list(zip(axis.labels, map(list, numbers), strict=True))
    whole = None if total_hidden else rounded(total, limits.digits + 5)
    end = ("Total", [count_text(whole), fixed(None if total_hidden else 100.0)])
    grid = Grid(stub=axis.name, heads=["Freq.", "Percent", "Cum."], blocks=[rows, [end]])
    return SafeResult(
        command=f"tabulate {axis.name}",
        shown=closed(grid.lines(), bool(hidden) or total_hidden, limits.language),
        frame=pl.DataFrame(
            {column_name(axis.name, _COLUMNS): axis.labels}
            | dict(zip(_COLUMNS, (shown, percents, cumulated), strict=True)),
            schema_overrides=dict.fromkeys(_COLUMNS, pl.Float64),
        ),
        stored={} if whole is None else {"N": whole},
        checks=[*axis.checks, *checks_of(broken, ["minimum"])],
        evidence=OutputEvidence(n=amounts, hidden=hidden, found=broken),
    )
