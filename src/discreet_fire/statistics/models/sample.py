"""The estimation sample: rows without missing values, as arrays. CONFIDENTIAL.

In: columns of records. Out: `Sample` with one array per variable and what was left out; columns
as numbers, as weights and as levels, with errors where they cannot be such.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import polars as pl

from discreet.arrays import BoolArray, FloatArray, IntArray
from discreet.errors import OutputCheckError
from discreet_fire.statistics.contributions import EntityNumbers, numbered
from discreet_fire.statistics.records import coded

Weight = Literal["aweight", "fweight", "pweight"]
_EXACT = 2.0**53
#: Larger numbers are refused, since their squares could leave the range of floats.
_FARTHEST = 1e100


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class SampleTrace:
    """What is kept of a sample. CONFIDENTIAL: a digest of the entity of each row, or of all its
    values, and the columns that these are made of.
    """

    traces: npt.NDArray[np.uint64]
    traced: tuple[str, ...]

    def apart(self, other: SampleTrace) -> int:
        """How many cases only one of the two has, at least."""
        if self.traced != other.traced:
            return abs(len(self.traces) - len(other.traces))
        sign = np.repeat([1, -1], [len(self.traces), len(other.traces)])
        _, places = np.unique(np.concatenate([self.traces, other.traces]), return_inverse=True)
        return int(np.count_nonzero(np.bincount(places, sign)))


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Sample:
    """Rows that enter the estimation. CONFIDENTIAL.

    Numbers are variables taken as such, groups those taken as codes of levels, which are sorted.
    Entities and clusters are numbered from 0; without entities every row is a case. Of `left_out`
    cases at least one row was left out.
    """

    outcome: FloatArray
    numbers: Mapping[str, FloatArray]
    groups: Mapping[str, IntArray]
    levels: Mapping[str, tuple[Any, ...]]
    entities: IntArray | None
    weights: FloatArray | None
    clusters: IntArray | None
    left_out: int
    trace: SampleTrace

    def __len__(self) -> int:
        return len(self.outcome)

    @property
    def cases(self) -> int:
        """Entities, or rows if every row is a case."""
        return len(self) if self.entities is None else int(self.entities.max(initial=-1)) + 1

    def only(self, rows: BoolArray) -> Sample:
        """A part of the sample; levels that do not occur in it are gone."""
        places = {
            name: np.unique(codes[rows], return_inverse=True) for name, codes in self.groups.items()
        }
        return replace(
            self,
            outcome=self.outcome[rows],
            numbers={name: values[rows] for name, values in self.numbers.items()},
            groups={name: codes.astype(np.int64) for name, (_, codes) in places.items()},
            levels={
                name: tuple(self.levels[name][place] for place in kept)
                for name, (kept, _) in places.items()
            },
            entities=None if self.entities is None else numbered(self.entities[rows]),
            weights=None if self.weights is None else self.weights[rows],
            clusters=None if self.clusters is None else numbered(self.clusters[rows]),
            trace=replace(self.trace, traces=self.trace.traces[rows]),
        )

    @cached_property
    def numbering(self) -> EntityNumbers:
        """The entities, numbered."""
        assert self.entities is not None
        return EntityNumbers.of(self.entities)

    def cases_where(self, rows: BoolArray) -> int:
        """Cases with at least one of these rows."""
        if self.entities is None:
            return int(rows.sum())
        there = np.zeros(self.cases, dtype=np.bool_)
        there[self.entities[rows]] = True
        return int(there.sum())


def without_nan(series: pl.Series) -> pl.Series:
    """NaN is a missing value."""
    return series.fill_nan(None) if series.dtype.is_float() else series


def numbers_of(series: pl.Series) -> pl.Series:
    """Numbers as floats; NaN is missing. Text, dates and what floats cannot hold are refused."""
    kind = series.dtype
    if not (kind.is_numeric() or kind in (pl.Boolean, pl.Null)):
        message = f"numbers are needed, but the column has type {kind}"
        raise _wrong(message, "type", series, f"write i.{series.name} to take its values as levels")
    if kind.is_integer() and series.len() and _largest(series) > _EXACT:
        raise _wrong("whole numbers are too large", "values", series)
    numbers = series.cast(pl.Float64).fill_nan(None)
    if numbers.is_infinite().any():
        raise _wrong("there are infinite values", "values", series)
    if _largest(numbers) > _FARTHEST:
        raise _wrong("the values are too large", "values", series)
    return numbers


def _wrong(message: str, part: str, series: pl.Series, hint: str = "") -> OutputCheckError:
    return OutputCheckError(message, code=f"column-{part}", where=series.name, hint=hint)


def _largest(series: pl.Series) -> float:
    low, high = series.min(), series.max()
    return max(abs(float(value)) for value in (low or 0, high or 0))  # type: ignore[arg-type]


def weights_of(series: pl.Series, kind: Weight) -> pl.Series:
    """Weights as numbers."""
    weights = numbers_of(series)
    if (weights < 0).any():
        raise OutputCheckError("there are negative weights", code="weights", where=series.name)
    if kind == "fweight" and (weights != weights.round()).any():
        message = "frequency weights are whole numbers"
        raise OutputCheckError(message, code="weights", where=series.name)
    return weights


def levels_of(series: pl.Series) -> tuple[tuple[Any, ...], IntArray]:
    """Levels in order, and codes from 0 for them."""
    kind = series.dtype
    if kind.is_float() or kind == pl.Boolean or kind.is_decimal():
        whole = series.cast(pl.Float64)
        if ((whole != whole.round()) | whole.is_infinite()).any():
            message = "factor variables may not contain values that are not whole numbers"
            hint = f"write c.{series.name} to take them as numbers"
            raise OutputCheckError(message, code="factor-values", where=series.name, hint=hint)
        series = whole.cast(pl.Int64)
    elif kind in (pl.Categorical, pl.Enum):
        series = series.cast(pl.String)
    elif kind in (pl.UInt64, pl.Int128):
        if len(series) and _largest(series) > _EXACT:
            raise _wrong("whole numbers are too large", "values", series)
        series = series.cast(pl.Int64)
    elif not (kind.is_integer() or kind == pl.String):
        raise _wrong(f"type {kind} cannot be a factor variable", "type", series)
    if series.dtype != pl.String and (series < 0).any():
        message = "factor variables may not contain negative values"
        raise OutputCheckError(message, code="factor-values", where=series.name)
    levels, codes = coded(series, series.name)
    return tuple(levels), codes
