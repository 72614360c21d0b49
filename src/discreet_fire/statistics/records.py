"""The columns a safe command needs, in memory, and the groups that variables make. CONFIDENTIAL.

In: any frame narwhals reads, names of columns, a filter, grouping variables. Out: the records
that pass, as numpy columns: numbers with NaN where missing, whole codes of entities, weights; a
whole code of the group for each record, and the values behind the codes in the order of Stata;
how many records and cases there are per code, CONFIDENTIAL until compared with a limit.
Nothing is dropped silently: what a column cannot be used for is an error, and a variable with
nearly as many values as there are records is refused as a grouping variable.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypedDict

import narwhals as nw
import numpy as np
import polars as pl

from discreet.arrays import CellIndex, FloatArray, IntArray
from discreet.errors import DiscreetError, OutputCheckError
from discreet.microdata import (
    eager_columns,
    filter_failed,
    name_list,
    open_frame,
    parse_filter,
    require_columns,
)
from discreet.record_batches import collected
from discreet_fire.statistics.disclosure_rules import counts_to_hide
from discreet_fire.statistics.grouped_values import EntityNumbers, GroupedValues
from discreet_fire.statistics.layout import number_text
from discreet_fire.statistics.limits import SafeLimits, limits_of
from discreet_fire.statistics.results import Check, CheckVerdict

#: Kinds of columns, besides numbers and categories, that can say whom a record is about.
_NAMES = (pl.String, pl.Boolean, pl.Date, pl.Datetime, pl.Time, pl.Null)
#: Numbers beyond this have no place in microdata; Stata's own end at 1e307.
_LARGEST = 1e140


class RecordOptions(TypedDict, total=False):
    """What every safe command takes besides its own arguments."""

    limits: SafeLimits | None  # the rules; those for a first try if None
    entity: str | None  # column of whom a record is about: cases are such entities
    where: str | None  # only these records, as in "age >= 18"


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class MicrodataRecords:
    """The columns that a command needs, of the records that pass, and the rules (confidential).

    The entity is whom a record is about, None if each record is another; `times` is how many
    records each one stands for.
    """

    data: pl.DataFrame
    limits: SafeLimits
    entity: str | None = None
    weight: str | None = None
    times: IntArray | None = None

    def __len__(self) -> int:
        return self.data.height if self.times is None else int(self.times.sum())

    def weighted(self) -> MicrodataRecords:
        """Without records that have no weight, or weight 0: they count for nothing."""
        if self.weights is None or not np.isnan(self.weights).any():
            return self
        return replace(self, data=self.data.filter(pl.Series(~np.isnan(self.weights))))

    def condensed(self) -> MicrodataRecords:
        """Records that are alike as one, with how often there is such a record."""
        if self.weight is not None or self.entity is not None or not self.data.width:
            return self
        alike = self.data.group_by(self.data.columns).agg(pl.len().alias("\0times"))
        times = alike.drop_in_place("\0times").cast(pl.Int64).to_numpy()
        return replace(self, data=alike, times=times)

    def numbers(self, name: str, hint: str = "use tabulate for texts and categories") -> FloatArray:
        """A column as numbers, NaN where missing."""
        column = self.data.get_column(name)
        if self.is_text(name):
            message = "the variable does not hold numbers"
            raise OutputCheckError(message, code="not-numeric", where=name, hint=hint)
        if column.dtype == pl.Boolean:
            column = column.cast(pl.UInt8)
        numbers = column.cast(pl.Float64).fill_null(float("nan")).rechunk().to_numpy()
        if numbers.size and max(-np.fmin.reduce(numbers), np.fmax.reduce(numbers)) > _LARGEST:
            message = "the variable holds infinite or huge values"
            raise OutputCheckError(message, code="value", where=name)
        return numbers

    def without_nan(self, name: str) -> pl.Series:
        """A column in which NaN is a missing value."""
        column = self.data.get_column(name)
        return column.fill_nan(None) if column.dtype.is_float() else column

    def is_text(self, name: str) -> bool:
        """Whether a column cannot be used as numbers."""
        kind = self.data.schema[name]
        return not (kind.is_numeric() or kind in (pl.Boolean, pl.Null))

    @cached_property
    def entities(self) -> IntArray | None:
        """For each record, whom it is about, as whole numbers; None if each is another."""
        if self.entity is None:
            return None
        column = self.named_entities()
        if column.dtype.is_integer() and column.dtype not in (pl.UInt64, pl.Int128):
            return column.cast(pl.Int64).to_numpy()
        return coded(column.cast(pl.String), self.entity)[1]

    def named_entities(self) -> pl.Series:
        """The column of entities: none is missing, and they are numbers, texts or dates."""
        assert self.entity is not None
        column = self.data.get_column(self.entity)
        kind = column.dtype
        if not (kind.is_numeric() or kind in _NAMES or isinstance(kind, pl.Categorical | pl.Enum)):
            message = "records cannot be counted by values of this kind"
            hint = "an entity is a number, a text or a date"
            raise OutputCheckError(message, code="entity", where=self.entity, hint=hint)
        if column.null_count() or (kind.is_float() and column.is_nan().any()):
            message = "the entity of some records is missing"
            hint = "nobody can be counted without it; leave such records out first"
            raise OutputCheckError(message, code="entity", where=self.entity, hint=hint)
        return column

    @cached_property
    def numbering(self) -> EntityNumbers:
        """The entities, numbered."""
        assert self.entities is not None
        return EntityNumbers.of(self.entities)

    def cases(self, codes: IntArray, groups: int) -> IntArray:
        """Number of cases per group; the group of a record may be -1."""
        if self.entity is None:
            return count_of(codes, groups, self.times)
        return self.numbering.cases(codes, groups)

    @cached_property
    def weights(self) -> FloatArray | None:
        """The weights; records without one, or with weight 0, get NaN and are not used."""
        if self.weight is None:
            return None
        weights = self.numbers(self.weight)
        if (weights < 0).any():
            raise OutputCheckError("a weight is negative", code="weights", where=self.weight)
        return np.where(weights == 0, np.nan, weights)

    def grouped(self, name: str, codes: IntArray | None = None, groups: int = 1) -> GroupedValues:
        """The values of a variable in groups, or of all records together."""
        columns = self.entities, self.weights, lambda: self.numbering
        return GroupedValues.of(self.numbers(name), codes, groups, *columns)


def take(
    frame: Any,
    columns: Sequence[str],
    weight: str | None = None,
    /,
    *,
    limits: SafeLimits | None = None,
    entity: str | None = None,
    where: str | None = None,
) -> MicrodataRecords:
    """Read the columns of a command, of the records that pass a filter."""
    extra = [name for name in (entity, weight) if name is not None]
    names, rules = list(dict.fromkeys([*columns, *extra])), limits_of(limits)
    opened = open_frame(frame)
    require_columns(opened, names)
    if where is not None:
        parsed = parse_filter(where)
        schema = opened.collect_schema()
        parsed.check(schema)
        try:
            opened = opened.filter(parsed.to_narwhals(schema))
        except Exception as error:
            raise filter_failed(error) from None
    chosen = opened.select(*names) if names else opened
    data = eager_columns(in_memory(chosen), names)
    return MicrodataRecords(data=data, limits=rules, entity=entity, weight=weight)


def in_memory(opened: nw.DataFrame[Any] | nw.LazyFrame[Any]) -> nw.DataFrame[Any]:
    """A frame whose records are in memory."""
    if isinstance(opened, nw.DataFrame):
        return opened
    try:
        return nw.from_native(collected(opened), eager_only=True)
    except DiscreetError:
        raise
    except Exception:  # an engine's own message could quote values of records
        raise OutputCheckError(
            "the records cannot be read or filtered",
            code="records",
            hint="check the plan of the frame and the types of the columns in the filter",
        ) from None


def names_of(names: str | Sequence[str], what: str) -> list[str]:
    """One or several variables as a list, each once."""
    listed = name_list(names, what)
    if not all(isinstance(name, str) for name in listed):
        raise OutputCheckError("names of variables are texts", code="columns", where=what)
    return listed


#: A variable of so few values can group few cases; the cells are then withheld.
_FEW = 5
#: Whole numbers within a smaller range may be codes of categories.
_CODES = 10
#: The label of rare values that are put together.
OTHER = "(other)"


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class RecordGroups:
    """Group of each record by one variable (confidential).

    Labels are its values as texts, in order, "." for a missing value; the code is -1 for records
    left out.
    """

    name: str
    labels: tuple[str, ...]
    values: tuple[Any, ...]
    codes: IntArray
    checks: tuple[Check, ...] = ()

    def __len__(self) -> int:
        return len(self.labels)


def group(
    records: MicrodataRecords,
    name: str,
    *,
    missing: bool = False,
    together: bool = True,
) -> RecordGroups:
    """The groups along a variable; with `missing`, records without a value are a group of their
    own.

    Rare values that may be amounts or names are put together: the label of a withheld row would
    else tell the largest one, or who is there. The caller withholds them if not `together`.
    """
    column, limits = records.data.get_column(name), records.limits
    if column.dtype.is_decimal() or column.dtype == pl.Int128:
        column = column.cast(pl.Float64)
    if column.dtype.is_float():
        column = column.fill_nan(None)
        if column.is_infinite().any():
            raise OutputCheckError("the variable holds infinite values", code="value", where=name)
    elif column.dtype == pl.Boolean:
        column = column.cast(pl.UInt8)
    values, codes = coded(column, name)
    count = count_of(codes, len(values), records.times)
    # Measurements and identifiers are refused; a person looks at variables of many values.
    fractions = column.dtype.is_float() and any(value != int(value) for value in values)
    many, refused = len(values) > limits.most_levels, ""
    if len(values) * limits.minimum > int(count.sum()) and len(values) > _FEW:
        refused = "nearly every case is a group of its own"
    elif fractions and many:
        refused = "a measurement cannot group"
    elif fractions and len({np.float32(value) for value in values}) < len(values):
        refused = "values of the grouping variable differ only by rounding"
    if refused:
        hint = "make classes first, with whole numbers or texts as codes"
        raise OutputCheckError(refused, code="group", where=name, hint=hint)
    checks: list[Check] = []
    if fractions or many:
        why = "has fractions; is it a measurement" if fractions else "takes many values"
        reason = f"the grouping variable {why}; rare values are put together"
        checks = [Check(rule="grouping", verdict=CheckVerdict.review, reason=reason, where=name)]
    labels = [number_text(value) for value in values]
    # Values that may be amounts or names, not codes: a rare one is somebody's own.
    own = len(values) > _FEW
    if not (kind := column.dtype).is_temporal() and kind not in (pl.String, pl.Categorical):
        wide = kind.is_numeric() and len(values) and values[-1] - values[0] >= _CODES
        own = kind.is_numeric() and (own or bool(wide))
    if checks or (together and own):
        cases = count if records.entity is None else records.cases(codes, len(values))
        # Values of few cases are put together: a rare value is itself what these cases have.
        if rare := counts_to_hide(cases.tolist(), frozenset(), 0, limits)[0]:
            kept = sorted(set(range(len(values))) - rare)
            new = np.full(len(values) + 1, len(kept), dtype=np.int64)
            new[kept] = np.arange(len(kept))
            new[-1] = -1  # records in no group stay there
            labels = [*(labels[at] for at in kept), OTHER]
            values, codes = [*(values[at] for at in kept), OTHER], new[codes]
    if missing and column.null_count():
        codes[codes < 0] = len(values)
        labels, values = [*labels, "."], [*values, None]
    return RecordGroups(
        name=name,
        labels=tuple(labels),
        values=tuple(values),
        codes=codes,
        checks=tuple(checks),
    )


def crossed(
    records: MicrodataRecords, names: Sequence[str], *, missing: bool = False
) -> RecordGroups:
    """The groups along several variables together, as `by a b:` makes them.

    Only combinations that occur are groups.
    """
    parts = [group(records, name, missing=missing) for name in names]
    if len(parts) == 1:
        return parts[0]
    left_out = np.logical_or.reduce([part.codes < 0 for part in parts])
    kept = [part.codes[~left_out] for part in parts]
    numbers, _ = CellIndex.of(parts).joined(kept)
    _, first, inverse = np.unique(numbers, return_index=True, return_inverse=True)
    codes = np.full(len(records), -1, dtype=np.int64)
    codes[~left_out] = inverse
    places = list(zip(*(part[first].tolist() for part in kept), strict=True))
    labels = [[part.labels[at] for part, at in zip(parts, one, strict=True)] for one in places]
    values = [[part.values[at] for part, at in zip(parts, one, strict=True)] for one in places]
    return RecordGroups(
        name=" ".join(names),
        labels=tuple(map(", ".join, labels)),
        values=tuple(map(tuple, values)),
        codes=codes,
        checks=tuple(check for part in parts for check in part.checks),
    )


def count_of(codes: IntArray, groups: int, times: IntArray | None = None) -> IntArray:
    """Number of records per group, without group -1.

    `times` is how many records each one stands for.

    >>> count_of(np.array([0, 1, -1, 1]), 2)
    array([1, 2])
    """
    return np.bincount(codes + 1, times, groups + 1)[1:].astype(np.int64)


def coded(column: pl.Series, name: str) -> tuple[list[Any], IntArray]:
    """Values in order, and for each record the position of its value."""
    kind = column.dtype
    if not (kind.is_numeric() or kind.is_temporal()):
        if kind not in (pl.String, pl.Null) and not isinstance(kind, pl.Categorical | pl.Enum):
            message = "records cannot be grouped by values of this kind"
            hint = "group by numbers, texts or dates"
            raise OutputCheckError(message, code="group", where=name, hint=hint)
        column = column if isinstance(kind, pl.Enum) else column.cast(pl.String)
    values = column.drop_nulls().unique().sort()
    if not len(values):
        return [], np.full(len(column), -1, dtype=np.int64)
    places = pl.Series(np.arange(len(values)))
    codes = column.replace_strict(values, places, default=None, return_dtype=pl.Int64)
    return values.to_list(), codes.fill_null(-1).to_numpy().astype(np.int64)
