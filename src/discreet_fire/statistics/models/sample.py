"""The estimation sample: rows without missing values, as arrays. CONFIDENTIAL.

In: any frame narwhals knows, the names of outcome, variables, weights, entities and clusters.
Out: `Sample` with one array per variable and what was left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import polars as pl

from discreet.arrays import FloatArray, IntArray
from discreet.errors import OutputCheckError
from discreet_fire.statistics.records import take

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
        known = np.concatenate([self.traces, other.traces])
        sign = np.repeat([1, -1], [len(self.traces), len(other.traces)])
        names, places = np.unique(known, return_inverse=True)
        counts = np.bincount(places, sign, minlength=len(names))
        return int(np.count_nonzero(counts))


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

    def only(self, rows: npt.NDArray[np.bool_]) -> Sample:
        """A part of the sample; levels that do not occur in it are gone."""
        groups: dict[str, tuple[IntArray, tuple[Any, ...]]] = {}
        for name, codes in self.groups.items():
            places, part = np.unique(codes[rows], return_inverse=True)
            levels = tuple(self.levels[name][place] for place in places)
            groups[name] = part.astype(np.int64), levels
        return replace(
            self,
            outcome=self.outcome[rows],
            numbers={name: values[rows] for name, values in self.numbers.items()},
            groups={name: codes for name, (codes, _) in groups.items()},
            levels={name: levels for name, (_, levels) in groups.items()},
            entities=None if self.entities is None else _renumbered(self.entities[rows]),
            weights=None if self.weights is None else self.weights[rows],
            clusters=None if self.clusters is None else _renumbered(self.clusters[rows]),
            trace=replace(self.trace, traces=self.trace.traces[rows]),
        )

    @cached_property
    def rows_of_cases(self) -> IntArray:
        """How many rows each entity has."""
        assert self.entities is not None
        return np.bincount(self.entities)

    def cases_where(self, rows: npt.NDArray[np.bool_]) -> int:
        """Cases with at least one of these rows."""
        if self.entities is None:
            return int(rows.sum())
        return len(np.unique(self.entities[rows]))


def sample_of(
    frame: Any,
    *,
    outcome: str,
    numbers: Sequence[str],
    groups: Sequence[str],
    entity: str | None = None,
    weights: str | None = None,
    kind: Weight = "aweight",
    cluster: str | None = None,
    where: str | None = None,
) -> Sample:
    """Take the columns out of a frame, without rows that have a missing value.

    Numbers are variables taken as such, groups those taken as levels.
    """
    more = [name for name in (weights, cluster, entity) if name is not None]
    needed = list(dict.fromkeys([outcome, *numbers, *groups, *more]))
    records = take(frame, needed, where=where, entity=entity)
    data = records.data
    columns: dict[str, pl.Series] = {
        name: _numbers(data[name]) for name in dict.fromkeys([outcome, *numbers])
    }
    weight = _weights(data[weights], kind) if weights else None
    grouping = {name: _no_nan(data[name]) for name in groups}
    filled = [series.is_not_null() for series in [*columns.values(), *grouping.values()]]
    if weight is not None:
        filled.append(weight.is_not_null() & (weight != 0).fill_null(False))
    if cluster:
        filled.append(_no_nan(data[cluster]).is_not_null())
    used = np.logical_and.reduce([part.to_numpy() for part in filled])
    if not used.any():
        raise OutputCheckError("no observations", code="no-observations", where=outcome)
    entities = _codes(records.named_entities()) if entity else None
    keep = pl.Series(used)
    traced = (entity,) if entity else tuple(sorted(needed))
    coded = {name: _levels(series.filter(keep)) for name, series in grouping.items()}
    return Sample(
        outcome=columns[outcome].filter(keep).to_numpy(),
        numbers={name: columns[name].filter(keep).to_numpy() for name in numbers},
        groups={name: codes for name, (codes, _) in coded.items()},
        levels={name: levels for name, (_, levels) in coded.items()},
        entities=None if entities is None else _renumbered(entities[used]),
        weights=None if weight is None else weight.filter(keep).to_numpy(),
        clusters=_codes(data[cluster].filter(keep)) if cluster else None,
        left_out=int((~used).sum()) if entities is None else len(np.unique(entities[~used])),
        trace=SampleTrace(
            traces=data.select(traced).filter(keep).hash_rows(seed=1).to_numpy(), traced=traced
        ),
    )


def _no_nan(series: pl.Series) -> pl.Series:
    return series.fill_nan(None) if series.dtype.is_float() else series


def _numbers(series: pl.Series) -> pl.Series:
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


def _weights(series: pl.Series, kind: Weight) -> pl.Series:
    weights = _numbers(series)
    if (weights < 0).any():
        raise OutputCheckError("there are negative weights", code="weights", where=series.name)
    if kind == "fweight" and (weights != weights.round()).any():
        message = "frequency weights are whole numbers"
        raise OutputCheckError(message, code="weights", where=series.name)
    return weights


def _levels(series: pl.Series) -> tuple[IntArray, tuple[Any, ...]]:
    """Codes from 0 in the order of the levels."""
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
    levels = series.unique().sort()
    if levels.dtype == pl.String:
        codes = series.cast(pl.Enum(levels)).to_physical().cast(pl.Int64).to_numpy()
    else:
        codes = np.searchsorted(levels.to_numpy(), series.to_numpy()).astype(np.int64)
    return codes, tuple(levels.to_list())


def _codes(series: pl.Series) -> IntArray:
    """Any values as numbers from 0."""
    known = _no_nan(series)
    if known.dtype == pl.Object:
        raise _wrong("values of this kind cannot be told apart", "type", series)
    if known.dtype in (pl.Categorical, pl.Enum, pl.Boolean):
        known = known.cast(pl.String)
    if known.dtype.is_signed_integer() and not known.null_count():
        return _renumbered(known.cast(pl.Int64).to_numpy())
    return _renumbered(known.rank("dense").cast(pl.Int64).to_numpy())


def _renumbered(codes: IntArray) -> IntArray:
    if not len(codes):
        return codes
    low, high = int(codes.min()), int(codes.max())
    if high - low <= 4 * len(codes):
        # Numbers that lie close together need no sorting.
        places = np.cumsum(np.bincount(codes - low) > 0) - 1
        return np.asarray(places[codes - low], dtype=np.int64)
    _, renumbered = np.unique(codes, return_inverse=True)
    return renumbered.astype(np.int64)
