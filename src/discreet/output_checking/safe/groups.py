"""`Groups`: the groups of records that one or several variables make. CONFIDENTIAL.

In: records and grouping variables. Out: a whole code for each record, and the values
behind the codes in the order of Stata. A variable that takes nearly as many values as
there are records, as measurements do, is refused as a grouping variable.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from discreet.errors import OutputCheckError
from discreet.output_checking.safe.limits import SafeLimits
from discreet.output_checking.safe.numbers import number_text
from discreet.output_checking.safe.records import IntArray, Records
from discreet.output_checking.safe.results import Check, Verdict

__all__ = ["Groups", "cases_of", "count_of", "crossed", "group"]

#: Whole numbers within such a range need no search for their codes.
_DIRECT = 2**16
#: A variable of so few values can group few cases; the cells are then withheld.
_FEW = 5
#: Whole numbers within a smaller range may be codes of categories.
_CODES = 10
#: The label of rare values that are put together.
_OTHER = "(other)"


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Groups:
    """What group each record is in, along one variable (confidential).

    Args:
        name: The variable.
        labels: Its values as texts, in order; a missing value is ".".
        values: The values themselves.
        codes: For each record the position of its value, -1 for records left out.
        checks: What was found about the variable.
    """

    name: str
    labels: tuple[str, ...]
    values: tuple[Any, ...]
    codes: IntArray
    checks: tuple[Check, ...] = ()

    def __len__(self) -> int:
        return len(self.labels)

    def __repr__(self) -> str:
        return "<Groups: confidential>"


def group(
    records: Records,
    name: str,
    limits: SafeLimits,
    *,
    missing: bool = False,
    together: bool = True,
) -> Groups:
    """The groups along a variable.

    Args:
        records: The records.
        name: The grouping variable.
        limits: How many values make a person look at it.
        missing: Whether records without a value are a group of their own.
        together: Whether rare numbers that may be amounts are put together: the label of a
            withheld row would else tell the largest one. The caller withholds them if not.
    """
    column = records.data.get_column(name)
    if column.dtype.is_decimal() or column.dtype == pl.Int128:
        column = column.cast(pl.Float64)
    if column.dtype.is_float():
        column = column.fill_nan(None)
    elif column.dtype == pl.Boolean:
        column = column.cast(pl.UInt8)
    values, codes = _coded(column, name)
    count = int(count_of(codes, 1, records.times, whole=True)[0])
    checks = _checked(count, column, values, name, limits)
    labels = [number_text(value) for value in values]
    if checks or (together and _quantity(column, values)):
        labels, values, codes = _without_rare(labels, values, codes, records, limits)
    if missing and column.null_count():
        codes[codes < 0] = len(values)
        labels, values = [*labels, "."], [*values, None]
    return Groups(
        name=name,
        labels=tuple(labels),
        values=tuple(values),
        codes=codes,
        checks=tuple(checks),
    )


def _coded(column: pl.Series, name: str) -> tuple[list[Any], IntArray]:
    """Values in order, and for each record the position of its value."""
    kind = column.dtype
    if kind.is_integer() and kind not in (pl.UInt64, pl.Int128) and len(column):
        low, high = column.min(), column.max()
        if isinstance(low, int) and isinstance(high, int) and high - low < _DIRECT:
            return _direct(column, low, high)
    if not (kind.is_numeric() or kind.is_temporal()):
        if kind not in (pl.String, pl.Null) and not isinstance(kind, pl.Categorical | pl.Enum):
            raise OutputCheckError(
                "records cannot be grouped by values of this kind",
                code="group",
                where=name,
                hint="group by numbers, texts or dates",
            )
        if isinstance(kind, pl.Enum):
            return _coded_categories(column, kind)
        column = column.cast(pl.String)
    if column.dtype == pl.String:
        return _coded_texts(column)
    values = column.unique().drop_nulls().sort()
    if not len(values):
        return [], np.full(len(column), -1, dtype=np.int64)
    found = np.searchsorted(values.to_physical().to_numpy(), _physical(column, values))
    codes = np.asarray(found, dtype=np.int64)
    if column.null_count():
        codes = codes.copy()
        codes[column.is_null().to_numpy()] = -1
    return values.to_list(), codes


def _coded_categories(column: pl.Series, kind: pl.Enum) -> tuple[list[Any], IntArray]:
    """Codes of categories that have an order of their own."""
    there = column.is_not_null().to_numpy()
    place = column.to_physical().fill_null(0).cast(pl.Int64).to_numpy()
    used = np.bincount(place[there], minlength=len(kind.categories)) > 0
    codes = (np.cumsum(used) - 1)[place]
    codes[~there] = -1
    texts = kind.categories.to_list()
    return [texts[at] for at in np.flatnonzero(used)], codes.astype(np.int64)


def _coded_texts(column: pl.Series) -> tuple[list[Any], IntArray]:
    """Codes of texts: numbers depend on the order of records, the ranks of texts do not."""
    there = column.is_not_null().to_numpy()
    number = column.fill_null("").cast(pl.Categorical).to_physical().to_numpy().astype(np.int64)
    where = np.full(int(number.max(initial=-1)) + 1, -1, dtype=np.int64)
    at = np.arange(number.size) if there.all() else np.flatnonzero(there)
    where[number if there.all() else number[there]] = at  # any record with the text will do
    used = np.flatnonzero(where >= 0)
    texts = column.gather(where[used])
    order = texts.arg_sort().to_numpy()
    rank = np.full(where.size, -1, dtype=np.int64)
    rank[used[order]] = np.arange(used.size)
    codes = rank[number]
    codes[~there] = -1
    return texts.gather(order).to_list(), codes


def _physical(column: pl.Series, values: pl.Series) -> Any:
    return column.fill_null(values[0]).to_physical().to_numpy()


def _direct(column: pl.Series, low: int, high: int) -> tuple[list[Any], IntArray]:
    """Codes of whole numbers within a small range."""
    there = column.is_not_null().to_numpy()
    whole = column.fill_null(low).cast(pl.Int64).to_numpy() - low
    used = np.bincount(whole[there] if not there.all() else whole, minlength=high - low + 1) > 0
    rank = np.cumsum(used) - 1
    codes: IntArray = rank[whole] if not used.all() else np.array(whole)
    if not there.all():
        codes[~there] = -1
    return (np.flatnonzero(used) + low).tolist(), codes.astype(np.int64, copy=False)


def _checked(
    count: int, column: pl.Series, values: Sequence[Any], name: str, limits: SafeLimits
) -> list[Check]:
    """Refuse measurements and identifiers; let a person look at variables of many values."""
    fractions = column.dtype.is_float() and any(value != int(value) for value in values)
    many = len(values) > limits.most_levels
    if len(values) * limits.minimum > count and len(values) > _FEW:
        raise _refused("nearly every case is a group of its own", name)
    if fractions and many:
        raise _refused("a measurement cannot group", name)
    if fractions and len({np.float32(value) for value in values}) < len(values):
        raise _refused("values of the grouping variable differ only by rounding", name)
    what = "has fractions; is it a measurement" if fractions else "takes many values"
    if fractions or many:
        reason = f"the grouping variable {what}; rare values are put together"
        return [Check(rule="grouping", verdict=Verdict.review, reason=reason, where=name)]
    return []


def _refused(what: str, name: str) -> OutputCheckError:
    hint = "make classes first, with whole numbers or texts as codes"
    return OutputCheckError(what, code="group", where=name, hint=hint)


def _quantity(column: pl.Series, values: Sequence[Any]) -> bool:
    """Whether the values may be amounts, not codes: then a rare one is what somebody has."""
    if not column.dtype.is_numeric() or not len(values):
        return False
    return bool(len(values) > _FEW or values[-1] - values[0] >= _CODES)


def _without_rare(
    labels: list[str], values: list[Any], codes: IntArray, records: Records, limits: SafeLimits
) -> tuple[list[str], list[Any], IntArray]:
    """Put values of few cases together: a rare value is itself what these cases have."""
    cases = cases_of(codes, len(values), records.entities(), records.times)
    order = sorted(range(len(values)), key=lambda at: (int(cases[at]), at))
    rare = [at for at in order if cases[at] < limits.minimum]
    if not rare:
        return labels, values, codes
    left = order[len(rare) :]
    while left and (len(rare) < 2 or int(cases[rare].sum()) < limits.minimum + len(rare) - 1):
        rare.append(left.pop(0))
    kept = [at for at in range(len(values)) if at not in set(rare)]
    new = np.full(len(values) + 1, len(kept), dtype=np.int64)
    new[kept] = np.arange(len(kept))
    new[-1] = -1  # records in no group stay there
    return (
        [*(labels[at] for at in kept), _OTHER],
        [*(values[at] for at in kept), _OTHER],
        new[codes],
    )


def count_of(
    codes: IntArray, groups: int, times: IntArray | None, *, whole: bool = False
) -> IntArray:
    """How many records there are per group, or in all groups together.

    >>> count_of(np.array([0, 1, -1, 1]), 2, None)
    array([1, 2])
    """
    if codes.size and int(codes.min()) < 0:
        inside = codes >= 0
        codes = codes[inside]
        times = None if times is None else times[inside]
    if whole:
        return np.array([codes.size if times is None else int(times.sum())])
    if times is None:
        return np.bincount(codes, minlength=groups).astype(np.int64)
    total = np.zeros(groups, dtype=np.int64)
    np.add.at(total, codes, times)
    return total


def cases_of(
    codes: IntArray, groups: int, entities: IntArray | None, times: IntArray | None = None
) -> IntArray:
    """How many entities – or records, where each is another – there are per group."""
    if entities is None:
        return count_of(codes, groups, times)
    inside = codes >= 0
    pairs = pl.DataFrame({"group": codes[inside], "entity": entities[inside]}).unique()
    return np.bincount(pairs["group"].to_numpy(), minlength=groups).astype(np.int64)


def crossed(
    records: Records, names: Sequence[str], limits: SafeLimits, *, missing: bool = False
) -> Groups:
    """The groups along several variables together, as `by a b:` makes them.

    Only combinations that occur are groups.
    """
    parts = [group(records, name, limits, missing=missing) for name in names]
    if len(parts) == 1:
        return parts[0]
    codes = np.zeros(len(records), dtype=np.int64)
    left_out = np.zeros(len(records), dtype=np.bool_)
    for part in parts:
        codes = codes * max(len(part), 1) + part.codes
        left_out |= part.codes < 0
    codes[left_out] = -1
    seen, inverse = np.unique(codes[~left_out], return_inverse=True)
    codes[~left_out] = inverse
    places = []
    for code in seen.tolist():
        place = []
        for part in reversed(parts):
            code, at = divmod(code, len(part))
            place.append(at)
        places.append(tuple(reversed(place)))
    return Groups(
        name=" ".join(names),
        labels=tuple(
            ", ".join(part.labels[at] for part, at in zip(parts, place, strict=True))
            for place in places
        ),
        values=tuple(
            tuple(part.values[at] for part, at in zip(parts, place, strict=True))
            for place in places
        ),
        codes=codes,
        checks=tuple(check for part in parts for check in part.checks),
    )
