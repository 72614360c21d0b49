"""Weights and values of records in memory: checked, and set out for a pass.

In: columns of a frame (records). Out: arrays of floats for the kernels, in which NaN
stands for a missing value (confidential).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl

from discreet.errors import MicrodataError
from discreet.tables.table import FloatArray, IntArray
from discreet.tabulation.kernels import Part, Values
from discreet.tabulation.layout import Layout, Share
from discreet.tabulation.limbs import LIMIT

__all__ = ["Amounts", "read_numbers", "unusable_numbers"]


@dataclass(frozen=True, repr=False)
class Amounts:
    """What a pass adds up and compares (confidential).

    Args:
        weights: The weights, if any.
        sums: Per value column, values times weights; 0 where a value is missing.
        raw: Per column of contributions, the values as they are.
    """

    weights: FloatArray | None
    sums: Mapping[str, FloatArray]
    raw: Mapping[str, FloatArray]

    @classmethod
    def of(cls, layout: Layout, numbers: Mapping[str, FloatArray]) -> Amounts:
        """The amounts a layout needs, from columns read by `read_numbers`."""
        weights = None if layout.weight is None else numbers[layout.weight]
        if weights is not None:
            _refuse_bad_weights(weights, str(layout.weight))
        sums = {}
        for name in layout.values:
            values = _filled(numbers[name])
            sums[name] = values if weights is None else _within(values * weights, name)
        return cls(weights, sums, {name: numbers[name] for name in layout.largest})

    def chosen(self, records: IntArray) -> Amounts:
        """Those of some records."""
        return Amounts(
            None if self.weights is None else self.weights[records],
            {name: part[records] for name, part in self.sums.items()},
            {name: part[records] for name, part in self.raw.items()},
        )

    def occurring(self, layout: Layout) -> list[Share]:
        """The shares of the records that occur and so need measures of their own."""
        return [
            share
            for share in layout.possible
            if share.of == "plain" or _any(share.of, self.raw[share.column])
        ]

    @property
    def in_order(self) -> list[FloatArray]:
        """The arrays to sum, as a layout has them."""
        return [*([] if self.weights is None else [self.weights]), *self.sums.values()]

    def parts(self, layout: Layout) -> list[Part]:
        """The shares of the records as arrays: what decides, and what is summed."""
        return [self._part(layout, share) for share in layout.shares]

    def _part(self, layout: Layout, share: Share) -> Part:
        values = self.raw[share.column]
        summed: FloatArray | None = None
        if layout.sums_of(share):
            if share.of == "missing":
                summed = self.weights
            else:
                summed = self.sums[share.column] if share.of == "negative" else _filled(values)
        return Part(share.of, values, share.counted, summed)

    def largest(self, layout: Layout) -> dict[str, Values]:
        """The columns whose largest contributions are wanted."""
        return {name: Values(k, self.raw[name], self.weights) for name, k in layout.largest.items()}


def _any(of: str, values: FloatArray) -> bool:
    if of == "missing":
        return bool(np.isnan(values).any())
    return bool((values == 0 if of == "zero" else values < 0).any())


def _filled(values: FloatArray) -> FloatArray:
    """Values with 0 for what is missing."""
    missing = np.isnan(values)
    return np.where(missing, 0.0, values) if bool(missing.any()) else values


def read_numbers(series: pl.Series, name: str) -> FloatArray:
    """A column of weights or values as floats, NaN for missing."""
    if not (series.dtype.is_numeric() or series.dtype == pl.Boolean):
        raise MicrodataError(
            f"numbers are needed, the column is of type {series.dtype}",
            code="column-type",
            where=name,
        )
    floats = series.cast(pl.Float64)
    infinite = int(floats.is_infinite().sum())
    if infinite:
        raise unusable_numbers("infinite", infinite, name)
    return _within(floats.fill_null(float("nan")).to_numpy(), name)


def _within(values: FloatArray, name: str) -> FloatArray:
    with np.errstate(invalid="ignore"):
        large = int((np.abs(values) >= LIMIT).sum())
    if large:
        raise unusable_numbers("too large", large, name)
    return values


def _refuse_bad_weights(weights: FloatArray, name: str) -> None:
    missing = int(np.isnan(weights).sum())
    if missing:
        raise unusable_numbers("missing", missing, name)
    negative = int((weights < 0).sum())
    if negative:
        raise unusable_numbers("negative", negative, name)


def unusable_numbers(kind: str, number: int, name: str) -> MicrodataError:
    """The error for weights or values that cannot be summed."""
    hints = {
        "missing": "give every record a weight",
        "negative": "weights are at least 0",
        "too large": "values up to 10^14 can be summed exactly; change the unit",
        "infinite": "remove or correct these records first",
    }
    return MicrodataError(
        f"{number:,} {'record has' if number == 1 else 'records have'} a value that is {kind}",
        code="values",
        where=name,
        hint=hints[kind],
    )
