"""How good perturbed counts are: `expected_quality` and `actual_quality`.

In: a perturbation table with a distribution of counts, or a table before and after
protection. Out: `Quality`. CONFIDENTIAL: it tells about true counts and secret
parameters. Only `Quality.statement` is coarse enough to be published.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from discreet.arrays import FloatArray, IntArray
from discreet.assessment.figure_pairs import places_in, published_or_zero
from discreet.assessment.probabilities import NoiseChances, distribution, exact_sum
from discreet.assessment.words import number, percent, words_of
from discreet.errors import PerturbationError, TableError
from discreet.protection.noise import PerturbationTable
from discreet.tables import CellStatus, ProtectedTable, Table

if TYPE_CHECKING:
    import polars as pl

_CHUNK = 1 << 16
#: Shares of cells, by how far they are changed.
_SHARES: Mapping[str, Callable[[IntArray], npt.NDArray[np.bool_]]] = {
    "unchanged": lambda size: size == 0,
    "at_most_1": lambda size: size <= 1,
    "at_least_3": lambda size: size >= 3,
    "at_least_4": lambda size: size >= 4,
}


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Quality:
    """Effect of the noise on cells with records. CONFIDENTIAL.

    Args:
        kind: "expected" before, "actual" after drawing.
        cells: Number of cells with records (or their total weight).
        mean_absolute_deviation: Mean of |published - true|.
        unchanged: Share of cells with no change.
        at_most_1: Share changed by at most 1.
        at_least_3: Share changed by 3 or more.
        at_least_4: Share changed by 4 or more.
        bias: Mean of published - true.
        bias_of_means: Mean relative error of sum / published count in place of
            sum / true count, over cells not published as zero.
        by_count: Per original count: `count`, `cells`, `mean_absolute_deviation`,
            `relative_error` (that, divided by the count), `bias`, `bias_of_mean`.
        left_out: Number of suppressed and official cells, which are not assessed.
    """

    kind: Literal["expected", "actual"]
    cells: float
    mean_absolute_deviation: float
    unchanged: float
    at_most_1: float
    at_least_3: float
    at_least_4: float
    bias: float
    bias_of_means: float
    by_count: pl.DataFrame
    left_out: int = 0

    def text(self, language: str = "en") -> str:
        """All figures in plain words, for use inside the house. CONFIDENTIAL."""
        words = words_of("quality", language)
        shares = ("unchanged", "at_most_1", "at_least_3", "at_least_4", "bias_of_means")

        def signed(share: float) -> str:
            sign = "-" if share < 0 else ""
            return "–" if math.isnan(share) else sign + percent(abs(share), language)

        sentence = words[self.kind].format(
            cells=number(self.cells, language),
            mean=number(self.mean_absolute_deviation, language, 3),
            bias=number(self.bias, language, 4),
            **{name: signed(getattr(self, name)) for name in shares},
        )
        return sentence + (words["left out"].format(number=self.left_out) if self.left_out else "")

    def statement(self, language: str = "en") -> str:
        """A statement that can be published: rounded to the safe side, in steps of 5 %.

        Shares are rounded down where more is better and up where less is, but never to all
        or nothing, since "0 % by 4 or more" would tell the maximum noise; the mean
        deviation is given as the half above it.
        """
        words = words_of("quality", language)
        return words["statement"].format(
            mean=number(math.floor(2 * self.mean_absolute_deviation) / 2 + 0.5, language),
            one=min(math.floor(20 * self.at_most_1 + 1e-9) * 5, 95),
            three=max(math.ceil(20 * self.at_least_3 - 1e-9) * 5, 5),
            four=max(math.ceil(20 * self.at_least_4 - 1e-9) * 5, 5),
        )

    def described(self) -> dict[str, float | str]:
        """The figures by name, without those by count. CONFIDENTIAL."""
        names = [name for name in self.__dataclass_fields__ if name != "by_count"]
        return {name: getattr(self, name) for name in names}

    def __repr__(self) -> str:
        return f"<Quality {self.kind}: confidential>"


def expected_quality(ptable: PerturbationTable, counts: Any) -> Quality:
    """The quality to be expected when `counts` are perturbed. CONFIDENTIAL.

    Cells without records are left out: they would make every figure look better.

    Args:
        ptable: The perturbation table.
        counts: A `Table`, a list of true counts, or a mapping from count to number of
            cells (or their share).

    >>> ptable = PerturbationTable.from_rows({0: {0: 1}, 1: {-1: 0.25, 0: 0.5, 1: 0.25}})
    >>> expected_quality(ptable, {1: 10, 7: 30}).unchanged
    0.5
    """
    count, cells = distribution(counts)
    if not count.any():
        raise PerturbationError("no cell has records", code="counts", where="counts")
    count, cells = count[count > 0], cells[count > 0]
    chances = NoiseChances.of(ptable)
    row = chances.rows_of(count)
    size = np.abs(chances.noise)
    total = math.fsum(cells.tolist())

    def share(wanted: npt.NDArray[np.bool_]) -> float:
        per_row = chances.units[:, wanted].sum(axis=1) / chances.scale
        return math.fsum((cells * per_row[row]).tolist()) / total

    deviation = np.asarray((chances.units * size).sum(axis=1) / chances.scale)
    bias = np.asarray((chances.units * chances.noise).sum(axis=1) / chances.scale)
    of_mean = _expected_bias_of_means(chances, count, row)
    shares: dict[str, Any] = {name: share(changed(size)) for name, changed in _SHARES.items()}
    return Quality(
        kind="expected",
        cells=total,
        mean_absolute_deviation=math.fsum((cells * deviation[row]).tolist()) / total,
        **shares,
        bias=math.fsum((cells * bias[row]).tolist()) / total,
        bias_of_means=_mean_where_known(of_mean, cells),
        by_count=_by_count(count, cells, deviation[row], bias[row], of_mean),
    )


def actual_quality(table: Table, protected: ProtectedTable) -> Quality:
    """Effect of the drawn noise on cells with records. CONFIDENTIAL.

    Suppressed and official cells are not assessed; their number is given.

    Args:
        table: The true table, unweighted.
        protected: The same table, protected.

    >>> import polars as pl
    >>> from discreet.protection.noise import perturb
    >>> cells = pl.DataFrame({"sex": ["Total", "m", "w"], "n": [5, 3, 2], "key": [0.8, 0.5, 0.9]})
    >>> table = Table.from_cells(cells, by=["sex"], count="n", cell_key="key")
    >>> ptable = PerturbationTable.from_rows({0: {0: 1}, 1: {-1: 0.25, 0: 0.5, 1: 0.25}})
    >>> quality = actual_quality(table, perturb(table, ptable))
    >>> quality.cells, quality.at_most_1
    (3, 1.0)
    """
    where = table.name
    if table.weight is not None:
        raise TableError("quality is assessed on unweighted counts", code="quality", where=where)
    value, status = published_values(table, protected)
    if value.dtype.kind != "i":
        raise TableError("the protected table does not hold counts", code="quality", where=where)
    assessed = (status != CellStatus.suppressed) & (status != CellStatus.official)
    assessed &= table.count > 0
    left_out = int(((table.count > 0) & ~assessed).sum())
    count, value = table.count[assessed], value[assessed]
    if not count.size:
        raise TableError("no cell with records is left to assess", code="quality", where=where)
    noise = value - count
    size = np.abs(noise)
    ratio = np.divide(count, value, out=np.full(len(count), np.nan), where=value > 0) - 1
    values, at, numbers = np.unique(count, return_inverse=True, return_counts=True)
    means = []
    for part in (size, noise, ratio):  # whole numbers below 2^53: exact
        known = ~np.isnan(part)
        sums = np.bincount(at[known], part[known], minlength=len(values))
        summed = np.bincount(at[known], minlength=len(values))
        means.append(np.divide(sums, summed, out=np.full(len(values), np.nan), where=summed > 0))
    shares: dict[str, Any] = {
        name: float(changed(size).mean()) for name, changed in _SHARES.items()
    }
    return Quality(
        kind="actual",
        cells=len(count),
        mean_absolute_deviation=exact_sum(size) / len(count),
        **shares,
        bias=exact_sum(noise) / len(count),
        bias_of_means=_mean_where_known(ratio, np.ones(len(count))),
        by_count=_by_count(values, numbers.astype(np.float64), *means),
        left_out=left_out,
    )


def _expected_bias_of_means(chances: NoiseChances, count: IntArray, row: IntArray) -> FloatArray:
    """E[n / (n + v)] - 1 over noise that leaves n + v above zero; NaN where none does."""
    bias = np.empty(len(count), dtype=np.float64)
    for first in range(0, len(count), _CHUNK):
        piece = slice(first, first + _CHUNK)
        true = count[piece, None]
        published = true + chances.noise
        share = np.where(published > 0, chances.share[row[piece]], 0.0)
        ratio = np.divide(true, published, out=np.zeros_like(share), where=published > 0)
        known = share.sum(axis=1)
        at = np.full(len(known), np.nan)
        bias[piece] = np.divide((share * ratio).sum(axis=1), known, out=at, where=known > 0) - 1
    return bias


def _mean_where_known(values: FloatArray, weight: FloatArray) -> float:
    known = ~np.isnan(values)
    total = math.fsum(weight[known].tolist())
    return math.fsum((weight[known] * values[known]).tolist()) / total if total else math.nan


def _by_count(
    count: IntArray,
    cells: FloatArray,
    deviation: FloatArray,
    bias: FloatArray,
    bias_of_mean: FloatArray,
) -> pl.DataFrame:
    import polars as pl

    return pl.DataFrame(
        {
            "count": count,
            "cells": cells,
            "mean_absolute_deviation": deviation,
            "relative_error": deviation / count,
            "bias": bias,
            "bias_of_mean": bias_of_mean,
        }
    ).with_columns(pl.col("bias_of_mean").fill_nan(None))


def published_values(
    table: Table, protected: ProtectedTable
) -> tuple[IntArray, npt.NDArray[np.int8]]:
    """Value and status of the cells of `table` as published; cells not stored are zero."""
    listed, places = places_in(table.dimensions, table.index, protected.dimensions, table.name)
    return published_or_zero(protected, places, listed)
