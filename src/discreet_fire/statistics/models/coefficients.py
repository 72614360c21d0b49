"""Tables of coefficients: rows, joint tests, covariances, and the layout of Stata.

In: a solved model and a covariance matrix around the means, also one that does not trust equal
variances (robust, by clusters). Out: coefficients, standard errors, test statistics,
probabilities, confidence intervals; lines of text and the same numbers as a frame, the same
whatever the order of the rows.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import polars as pl

from discreet.arrays import FloatArray
from discreet_fire.statistics.layout import abbreviated, fixed, general, rounded
from discreet_fire.statistics.models.design import Column, ModelDesign
from discreet_fire.statistics.models.distributions import (
    normal_two_sided,
    t_quantile,
    t_two_sided,
    z_quantile,
)
from discreet_fire.statistics.models.least_squares import (
    LeastSquaresSolution,
    exact_gram,
    exact_group_sums,
    powers_of,
    product,
    symmetric_inverse,
)
from discreet_fire.statistics.models.sample import Sample, Weight
from discreet_fire.statistics.parallel import in_parts


class CoefficientRow(NamedTuple):
    """One coefficient with what is said of it."""

    value: float
    error: float
    statistic: float
    probability: float
    low: float
    high: float


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Coefficients:
    """All coefficients of a model, the constant last.

    Degrees of freedom are of t, None for normal; the level of confidence intervals is a share.
    """

    values: FloatArray
    covariance: FloatArray
    df: float | None
    level: float

    @classmethod
    def of(
        cls, solution: LeastSquaresSolution, central: FloatArray, df: float | None, level: float
    ) -> Coefficients:
        """From the covariance of the slopes and, last, of the mean of the outcome (`central`)."""
        if solution.constant is None:
            return cls(values=solution.slopes, covariance=central, df=df, level=level)
        turn = np.eye(len(central))
        turn[-1, :-1] = -solution.means
        covariance = product(product(turn, central), turn.T)
        values = np.append(solution.slopes, solution.constant)
        return cls(values=values, covariance=covariance, df=df, level=level)

    def rows(self, digits: int) -> list[CoefficientRow]:
        """The rows of the table, with so many significant digits."""
        errors = np.sqrt(np.maximum(np.diag(self.covariance), 0.0)).tolist()
        factor = z_quantile(self.level) if self.df is None else t_quantile(self.level, self.df)
        rows = []
        for value, error in zip(self.values.tolist(), errors, strict=True):
            known = error if error > 0.0 else math.nan
            statistic = value / known
            if math.isnan(statistic):
                chance = math.nan
            elif self.df is None:
                chance = normal_two_sided(statistic)
            else:
                chance = t_two_sided(statistic, self.df)
            ends = value - factor * error, value + factor * error
            numbers = (rounded(x, digits) for x in (value, known, statistic, chance, *ends))
            rows.append(CoefficientRow(*numbers))
        return rows


def bread(solution: LeastSquaresSolution) -> FloatArray:
    """Inverse of the cross products of the columns around their means, and of the constant."""
    if solution.constant is None:
        return solution.inverse
    size = len(solution.inverse)
    matrix = np.zeros((size + 1, size + 1))
    matrix[:size, :size] = solution.inverse
    matrix[size, size] = 1.0 / solution.weight
    return matrix


def joint_wald(slopes: FloatArray, central: FloatArray) -> float | None:
    """b'V⁻¹b of all slopes together; None if V has no inverse."""
    size = len(slopes)
    inverse = symmetric_inverse(central[:size, :size])
    if inverse is None:
        return None
    column = slopes.reshape(-1, 1)
    return float(product(product(column.T, inverse), column)[0, 0])


def sandwich(
    sample: Sample,
    design: ModelDesign,
    solution: LeastSquaresSolution,
    scores: FloatArray,
    kind: Weight,
) -> FloatArray:
    """Inverse × cross products of scores × inverse; scores are added within clusters.

    The inverse is that of the weighted cross products, scores are what the columns of each row are
    multiplied by, without weights.
    """
    outer, clusters, weights = bread(solution), sample.clusters, sample.weights
    if weights is not None:
        alone = clusters is None and kind == "fweight"
        scores = scores * (np.sqrt(weights) if alone else weights)
    rows, width = design.size, len(outer)

    def column(place: int) -> FloatArray:
        if place == len(solution.kept):
            return scores
        values = design.estimated[solution.kept[place]].values(slice(0, rows))
        scaled: FloatArray = (values - solution.means[place]) * scores
        return scaled

    if clusters is None:
        table = np.empty((rows, width), order="F")

        def fill(place: int) -> None:
            table[:, place] = column(place)

        in_parts(fill, range(width))
    else:
        number = int(clusters.max()) + 1

        def added(place: int) -> FloatArray:
            values = column(place)
            return exact_group_sums(values, clusters, number, _largest(values) or 1.0)

        table = np.column_stack(in_parts(added, range(width)))
    largest = np.array(in_parts(_largest, table.T))
    largest[largest == 0.0] = 1.0
    scale = powers_of(largest, np.zeros(width, dtype=bool), slices=2)
    middle = exact_gram(lambda a, b: table[a:b], len(table), scale).floats()
    return product(product(outer, middle), outer)


def _largest(values: FloatArray) -> float:
    return max(-float(values.min()), float(values.max()))


_WIDTH = 78


@dataclass(frozen=True, kw_only=True)
class CoefficientTable:
    """The table of coefficients of "t" or "z", its level in percent, what stands above it."""

    outcome: str
    statistic: str
    level: float
    robust: bool
    title: str

    def lines(
        self, design: ModelDesign, rows: Sequence[CoefficientRow | None], omitted: Sequence[Column]
    ) -> list[str]:
        """The lines of a table that is shown; rows without numbers have a word instead."""
        body: list[str] = []
        for place, term in enumerate(design.terms):
            listed = [
                (column, row)
                for column, row in zip(design.columns, rows, strict=False)
                if column.term == place
            ]
            if not any(part.levels for part in term.factors):
                body += [_line(term.text, row, column in omitted) for column, row in listed]
                continue
            head = "#".join(p.name if p.levels else f"c.{p.name}" for p in term.factors)
            body += [_label(""), _label(head)]
            body += [
                _line(column.row, row, column in omitted, column.state)
                for column, row in listed
                if column.state != "base"
            ]
            if place < len(design.terms) - 1 or design.constant:
                body.append(_label(""))
        if design.constant:
            body.append(_line("_cons", rows[-1], False))
        return self._framed(_without_doubles(body))

    def withheld(self, names: Sequence[str]) -> list[str]:
        """The lines of a table of which nothing may be shown but the terms asked for."""
        return self._framed([_line(name, None, False) for name in names])

    def _framed(self, body: Sequence[str]) -> list[str]:
        interval = f"[{self.level:g}% conf. interval]"
        head = f"{abbreviated(self.outcome, 12):>12} | Coefficient"
        head += "  std. err." if self.robust else "  Std. err."
        head += f"      {self.statistic}    P>|{self.statistic}|     {interval}"
        lines = ["-" * _WIDTH]
        if self.robust:
            lines.append(f"{'':>12} |{'Robust':>21}")
        lines += [head, "-" * 13 + "+" + "-" * (_WIDTH - 14), *body, "-" * _WIDTH]
        return lines


def _label(label: str) -> str:
    return f"{abbreviated(label, 12):>12} |"


def _line(label: str, row: CoefficientRow | None, omitted: bool, state: str = "estimated") -> str:
    begin = _label(label)
    if state == "empty" or omitted:
        return f"{begin}{'(empty)' if state == 'empty' else '(omitted)':>11}"
    if row is None:
        return f"{begin}{'.':>11}{'.':>11}{'.':>9}{'.':>8}{'.':>13}{'.':>12}"
    return (
        f"{begin}{general(row.value):>11}{general(row.error):>11}"
        f"{fixed(row.statistic):>9}{fixed(row.probability, 3):>8}"
        f"{general(row.low):>13}{general(row.high):>12}"
    )


def _without_doubles(lines: Sequence[str]) -> list[str]:
    """Blank lines do not follow each other, and none comes first."""
    kept: list[str] = []
    for line in lines:
        if line != _label("") or (kept and kept[-1] != _label("")):
            kept.append(line)
    return kept


def beside(left: Sequence[str], right: Sequence[tuple[str, str]]) -> list[str]:
    """Lines on the left with named numbers on the right."""
    lines = []
    for number in range(max(len(left), len(right))):
        start = left[number] if number < len(left) else ""
        if number < len(right):
            name, value = right[number]
            start = f"{start:<51}" + f"{name:<16}={value:>10}"
        lines.append(start.rstrip())
    return lines


def rows_by_column(
    design: ModelDesign, solution: LeastSquaresSolution, rows: Sequence[CoefficientRow]
) -> list[CoefficientRow | None]:
    """The row of each column of the design, and of the constant; None where there is none."""
    places = {design.estimated[place]: row for place, row in zip(solution.kept, rows, strict=False)}
    ordered = [places.get(column) for column in design.columns]
    return [*ordered, rows[-1]] if design.constant else ordered


def omitted_columns(design: ModelDesign, solution: LeastSquaresSolution) -> list[Column]:
    """Columns that follow from earlier ones."""
    left = np.setdiff1d(np.arange(len(design.estimated)), solution.kept)
    return [design.estimated[place] for place in left]


def frame_of(
    design: ModelDesign, rows: Sequence[CoefficientRow | None], omitted: Sequence[Column]
) -> pl.DataFrame:
    """The table as a frame."""
    records: list[Mapping[str, object]] = []
    names = [(c.label, "omitted" if c in omitted else c.state) for c in design.columns]
    if design.constant:
        names.append(("_cons", "estimated"))
    for (name, state), row in zip(names, rows, strict=True):
        numbers = [None] * len(_NUMBERS) if row is None else row
        shown = [None if value is None or math.isnan(value) else value for value in numbers]
        records.append({"term": name, "state": state, **dict(zip(_NUMBERS, shown, strict=True))})
    return pl.DataFrame(records, schema=_SCHEMA)


def withheld_frame(names: Sequence[str]) -> pl.DataFrame:
    """The frame of a table of which nothing may be shown."""
    records = [{"term": name, "state": "withheld"} for name in names]
    return pl.DataFrame(records, schema=_SCHEMA)


_NUMBERS = ("coefficient", "std_err", "statistic", "p", "low", "high")
_SCHEMA: dict[str, type[pl.DataType]] = {"term": pl.String, "state": pl.String}
_SCHEMA |= dict.fromkeys(_NUMBERS, pl.Float64)
