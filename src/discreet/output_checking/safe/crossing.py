"""Two-way tables of counts: pattern, percentages, layout.

In: records (confidential) and two variables. Out: a `SafeResult`. A percentage is shown
only where both counts that it is made of are shown, a test only where all of them are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from discreet.output_checking.safe.cases import sums_of_groups
from discreet.output_checking.safe.grid import BoolArray, Counts, count_cells, hide_cells
from discreet.output_checking.safe.groups import Groups
from discreet.output_checking.safe.holding import Holding
from discreet.output_checking.safe.judging import Found, checks_of, concentrated
from discreet.output_checking.safe.layout import Grid, closed, column_name
from discreet.output_checking.safe.limits import SafeLimits
from discreet.output_checking.safe.models.distributions import chi2_tail
from discreet.output_checking.safe.numbers import count_text, fixed, rounded
from discreet.output_checking.safe.records import FloatArray, Records
from discreet.output_checking.safe.results import Check, Evidence, SafeResult, Verdict
from discreet.output_checking.safe.sums_pattern import SumTable

__all__ = ["MARGINS", "Cross", "two_way"]


#: Said where a table withholds more margins than tables of fewer variables do.
MARGINS = Check(
    rule="margins",
    verdict=Verdict.review,
    reason="margins are withheld that a table of one variable shows; do not release both",
)


@dataclass(frozen=True, kw_only=True)
class Cross:
    """What a two-way table is asked to show.

    Args:
        axes: The variables down and across.
        margins: Withheld groups of each, as one-way tables withhold them.
        percent: Which percentages.
        chi2: Whether independence is tested.
    """

    axes: tuple[Groups, Groups]
    margins: tuple[frozenset[int], frozenset[int]]
    percent: tuple[str, ...]
    chi2: bool


def two_way(records: Records, cross: Cross, limits: SafeLimits) -> SafeResult:
    """The table, as far as it may be shown."""
    counts = count_cells(cross.axes, records)
    before = np.zeros(counts.n.shape, dtype=np.bool_)
    before[sorted(cross.margins[0]), -1] = True
    before[-1, sorted(cross.margins[1])] = True
    heavy = _heavy(records, counts, limits)
    hidden, margins = hide_cells(counts, limits, sensitive=heavy, before=before)
    amounts = _amounts(records, counts)
    values = np.where(hidden, np.nan, amounts)
    table = _Table(cross=cross, values=values, digits=limits.digits)
    lines = table.lines()
    stored: dict[str, float] = {}
    if not hidden[-1, -1]:
        stored["N"] = rounded(float(amounts[-1, -1]), limits.digits + 5)
    test: list[Check] = []
    if cross.chi2:
        test = _tested(counts, hidden, lines, stored, limits)
    found = _found(counts, hidden, cross, limits)
    checks = [
        *(check for axis in cross.axes for check in axis.checks),
        *checks_of(found, ["minimum"]),
        *_alike(counts, hidden, cross),
        *test,
        *([MARGINS] if margins else []),
    ]
    row, column = (axis.name for axis in cross.axes)
    return SafeResult(
        command=f"tabulate {row} {column}",
        shown=closed(lines, bool(hidden.any()), limits.language),
        frame=table.frame(),
        stored=stored,
        checks=checks,
        evidence=Evidence(n=counts.n, cases=counts.cases, hidden=hidden, found=found),
    )


def _heavy(records: Records, counts: Counts, limits: SafeLimits) -> BoolArray | None:
    """Cells in which one or two entities have nearly all of the weight."""
    weights = records.weights()
    if weights is None:
        return None
    cells = counts.sizes[0] * counts.sizes[1]
    holding = Holding.of(weights, counts.codes, cells, records.entities())
    facts = SumTable(holding=holding, sizes=counts.sizes, limits=limits).facts
    found = [concentrated(one.first, one.second, one.size, limits) for one in facts]
    return np.array(found).reshape(counts.n.shape)


def _amounts(records: Records, counts: Counts) -> FloatArray:
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

    cross: Cross
    values: FloatArray
    digits: int

    def lines(self) -> list[str]:
        rows, columns = self.cross.axes
        blocks = []
        labels = [*rows.labels, "Total"]
        for at, label in enumerate(labels):
            block = [(label, [count_text(x) for x in self.values[at]])]
            shares = [self.share(word)[at] for word in self.cross.percent]
            block += [("", [fixed(x) for x in share]) for share in shares]
            blocks.append(block)
        if not self.cross.percent:
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
        rows, columns = self.cross.axes
        shares = {word: self.share(word) for word in self.cross.percent}
        floats = ["n", *(f"{word}_percent" for word in shares)]
        names = [column_name(axis.name, floats) for axis in self.cross.axes]
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
        return [Check(rule="test", verdict=Verdict.fail, reason=reason)]
    n = counts.n.astype(np.float64)
    used = n[np.ix_(n[:, -1] > 0, n[-1, :] > 0)]
    expected = used[:-1, -1:] * used[-1:, :-1] / used[-1, -1]
    value = float(np.sort(((used[:-1, :-1] - expected) ** 2 / expected).ravel()).sum())
    freedom = (used.shape[0] - 2) * (used.shape[1] - 2)
    chance = chi2_tail(value, freedom) if freedom else 1.0
    lines.append(f"          Pearson chi2({freedom}) = {value:8.4f}   Pr = {chance:.3f}")
    stored |= {"chi2": rounded(value, limits.digits), "p": rounded(chance, limits.digits)}
    return [Check(rule="test", verdict=Verdict.passed, reason="all counts are shown")]


def _found(counts: Counts, hidden: BoolArray, cross: Cross, limits: SafeLimits) -> list[Found]:
    labels: list[Sequence[str]] = [[*axis.labels, "total"] for axis in cross.axes]
    names = [axis.name for axis in cross.axes]
    found = []
    for row, column in np.argwhere(hidden).tolist():
        small = 0 < counts.cases[row, column] < limits.minimum
        place = f"{names[0]} = {labels[0][row]}, {names[1]} = {labels[1][column]}"
        found.append(Found("minimum" if small else "secondary", ", ".join(names), place))
    return found


def _alike(counts: Counts, hidden: BoolArray, cross: Cross) -> list[Check]:
    """Rows and columns of which all cases are in one cell: they tell it of everyone."""
    checks = []
    for axis, n, mask in ((0, counts.n, hidden), (1, counts.n.T, hidden.T)):
        groups, other = cross.axes[axis], cross.axes[1 - axis]
        if len(other) < 2:
            continue
        single = ((n[:-1, :-1] > 0).sum(axis=1) == 1) & ~mask[:-1].any(axis=1)
        reason = "all cases of the group have the same value"
        places = [f"{groups.name} = {groups.labels[at]}" for at in np.flatnonzero(single)]
        checks += [
            Check(rule="same", verdict=Verdict.review, reason=reason, where=place)
            for place in places
        ]
    return checks
