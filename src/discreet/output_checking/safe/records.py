"""`Records`: the columns a safe command needs, in memory. CONFIDENTIAL.

In: any frame narwhals reads, names of columns, a filter. Out: the records that pass, as
numpy columns: numbers with NaN where missing, whole codes of entities, weights. Nothing
is dropped silently: what a column cannot be used for is an error.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np
import numpy.typing as npt
import polars as pl

from discreet.errors import DiscreetError, OutputCheckError
from discreet.microdata.frames import eager_columns, name_list, open_frame, require_columns
from discreet.output_checking.safe.cases import cases_of
from discreet.output_checking.safe.coding import numbered_texts
from discreet.output_checking.safe.sums import ends_of
from discreet.output_checking.safe.units import SMALL
from discreet.tabulation.filters import filter_failed, parse_filter

if TYPE_CHECKING:
    from discreet.output_checking.safe.contributions import Numbering

__all__ = ["FloatArray", "IntArray", "Records", "names_of", "take"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

#: Kinds of columns, besides numbers and categories, that can say whom a record is about.
_NAMES = (pl.String, pl.Boolean, pl.Date, pl.Datetime, pl.Time, pl.Null)
#: Numbers beyond this have no place in microdata; Stata's own end at 1e307.
_LARGEST = 1e140


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Records:
    """Records of one command (confidential).

    Args:
        data: The columns that are needed, of the records that pass.
        before: How many records there were before the filter.
        entity: Column of whom a record is about; None if each record is another.
        weight: Column of weights.
        times: How many records each one stands for; None if each is one.
    """

    data: pl.DataFrame
    before: int
    entity: str | None = None
    weight: str | None = None
    times: IntArray | None = None

    def __len__(self) -> int:
        return self.data.height if self.times is None else int(self.times.sum())

    def weighted(self) -> Records:
        """Without records that have no weight, or weight 0: they count for nothing."""
        weights = self.weights()
        if weights is None or self.all_weigh:
            return self
        return replace(self, data=self.data.filter(pl.Series(~np.isnan(weights))))

    def condensed(self) -> Records:
        """Records that are alike as one, with how often there is such a record."""
        if self.weight is not None or not self.data.width:
            return self
        if self.entity is not None and self.data.height > SMALL:
            return self  # hardly any two are alike
        alike = self.data.group_by(self.data.columns).agg(pl.len().alias("\0times"))
        times = alike.drop_in_place("\0times").cast(pl.Int64).to_numpy()
        return replace(self, data=alike, times=times)

    def numbers(self, name: str) -> FloatArray:
        """A column as numbers, NaN where missing."""
        return self.numbers_with_ends(name)[0]

    def numbers_with_ends(self, name: str) -> tuple[FloatArray, tuple[float, float]]:
        """A column as numbers, and the smallest and the largest; NaN if one is missing."""
        column = self.data.get_column(name)
        if column.dtype == pl.Boolean:
            column = column.cast(pl.UInt8)
        if not (column.dtype.is_numeric() or column.dtype == pl.Null):
            raise OutputCheckError(
                "the variable does not hold numbers",
                code="not-numeric",
                where=name,
                hint="use tabulate for texts and categories",
            )
        values = column.cast(pl.Float64)
        if values.null_count():
            values = values.fill_null(float("nan"))
        numbers = values.rechunk().to_numpy()
        ends = ends_of(numbers) if numbers.size else (0.0, 0.0)
        if _too_large(numbers, ends):
            what = "the variable holds infinite or huge values"
            raise OutputCheckError(what, code="value", where=name)
        return numbers, ends

    def is_text(self, name: str) -> bool:
        """Whether a column cannot be used as numbers."""
        kind = self.data.schema[name]
        return not (kind.is_numeric() or kind in (pl.Boolean, pl.Null))

    def entities(self) -> IntArray | None:
        """For each record, whom it is about, as whole numbers; None if each is another."""
        if self.entity is None:
            return None
        return self._who

    def named_entities(self) -> pl.Series:
        """The column of entities: none is missing, and they are numbers, texts or dates."""
        assert self.entity is not None
        column = self.data.get_column(self.entity)
        kind = column.dtype
        if not (kind.is_numeric() or kind in _NAMES or isinstance(kind, pl.Categorical | pl.Enum)):
            raise OutputCheckError(
                "records cannot be counted by values of this kind",
                code="entity",
                where=self.entity,
                hint="an entity is a number, a text or a date",
            )
        if column.null_count() or (kind.is_float() and column.is_nan().any()):
            raise OutputCheckError(
                "the entity of some records is missing",
                code="entity",
                where=self.entity,
                hint="nobody can be counted without it; leave such records out first",
            )
        return column

    @cached_property
    def _who(self) -> IntArray:
        column = self.named_entities()
        if column.dtype.is_integer() and column.dtype not in (pl.UInt64, pl.Int128):
            return column.cast(pl.Int64).to_numpy()
        return numbered_texts(column.cast(pl.String))[0]

    @cached_property
    def _numbering(self) -> Numbering:
        from discreet.output_checking.safe.contributions import Numbering

        return Numbering.of(self._who)

    @property
    def everyone(self) -> int:
        """How many cases there are."""
        if self.entity is None:
            return len(self)
        if self.data.height > SMALL:
            return self._numbering.there
        return self.data.get_column(self.entity).n_unique()

    def numbering(self) -> Numbering:
        """The entities, numbered."""
        return self._numbering

    def cases(self, codes: IntArray, groups: int) -> IntArray:
        """How many cases there are per group, with the group of each record or -1."""
        if self.entity is None or self.data.height <= SMALL:
            return cases_of(codes, groups, self.entities(), self.times)
        return cases_of(codes, groups, self._who, numbering=self._numbering)

    def union_cases(
        self, codes: IntArray, unions: Sequence[tuple[IntArray, int]]
    ) -> list[IntArray]:
        """How many entities there are in unions of groups.

        Args:
            codes: The group of each record, -1 for none.
            unions: Several times the union each group is in, with -1 at the end, and how
                many unions there are.
        """
        if self.data.height <= SMALL:
            return [cases_of(union[codes], many, self._who) for union, many in unions]
        return [self._numbering.cases(_in_union(codes, union), many) for union, many in unions]

    def weights(self) -> FloatArray | None:
        """The weights; records without one, or with weight 0, get NaN and are not used."""
        return None if self.weight is None else self._weights[0]

    @property
    def all_weigh(self) -> bool:
        """Whether every record has a weight; without weights each counts once."""
        return self.weight is None or self._weights[1]

    @cached_property
    def _weights(self) -> tuple[FloatArray, bool]:
        assert self.weight is not None
        weights, (low, _) = self.numbers_with_ends(self.weight)
        if low > 0 or not weights.size:
            return weights, True
        if bool((weights < 0).any()):
            raise OutputCheckError("a weight is negative", code="weights", where=self.weight)
        return np.where(weights == 0, np.nan, weights), False

    def __repr__(self) -> str:
        return "<Records: confidential>"


def _in_union(codes: IntArray, union: IntArray) -> IntArray:
    """The union of each record, from that of its group."""
    alone = bool((union[:-1] == np.arange(union.size - 1)).all())
    return codes if alone else union[codes]


def _too_large(numbers: FloatArray, ends: tuple[float, float]) -> bool:
    """Whether squares and sums of the numbers could leave the range of numbers."""
    low, high = ends
    if math.isnan(low):
        return bool((np.abs(numbers) > _LARGEST).any())
    return max(-low, high) > _LARGEST


def take(
    frame: Any,
    columns: Sequence[str],
    *,
    where: str | None = None,
    entity: str | None = None,
    weights: str | None = None,
) -> Records:
    """Read the columns of a command, of the records that pass a filter.

    Args:
        frame: Any frame narwhals reads, eager or lazy.
        columns: Variables of the command.
        where: Filter, as in ``"age >= 18"``.
        entity: Column of whom a record is about.
        weights: Column of weights.
    """
    extra = [name for name in (entity, weights) if name is not None]
    names = list(dict.fromkeys([*columns, *extra]))
    if where is None and isinstance(frame, pl.DataFrame) and set(names) <= set(frame.columns):
        data = frame.select(names)
        return Records(data=data, before=data.height, entity=entity, weight=weights)
    opened = open_frame(frame)
    require_columns(opened, names)
    before = None
    if where is not None:
        before = _length(opened)
        parsed = parse_filter(where)
        schema = opened.collect_schema()
        parsed.check(schema)
        try:
            opened = opened.filter(parsed.to_narwhals(schema))
        except Exception as error:
            raise filter_failed(error) from None
    chosen = opened.select(*names) if names else opened
    eager = _collected(chosen)
    data = eager_columns(eager, names)
    return Records(
        data=data, before=len(data) if before is None else before, entity=entity, weight=weights
    )


def _collected(chosen: nw.DataFrame[Any] | nw.LazyFrame[Any]) -> nw.DataFrame[Any]:
    if isinstance(chosen, nw.DataFrame):
        return chosen
    try:
        return chosen.collect(backend="polars")
    except DiscreetError:
        raise
    except Exception:  # an engine's own message could quote values of records
        raise OutputCheckError(
            "the records cannot be read or filtered",
            code="records",
            hint="check the plan of the frame and the types of the columns in the filter",
        ) from None


def _length(opened: nw.DataFrame[Any] | nw.LazyFrame[Any]) -> int:
    """How many records there are."""
    if isinstance(opened, nw.DataFrame):
        return opened.shape[0]
    return int(_collected(opened.select(nw.len())).item())


def names_of(names: str | Sequence[str], what: str) -> list[str]:
    """One or several variables as a list, each once."""
    listed = name_list(names, what)
    if not all(isinstance(name, str) for name in listed):
        raise OutputCheckError("names of variables are texts", code="columns", where=what)
    return listed
