"""`Groups`: the groups of records that one or several variables make. CONFIDENTIAL.

In: records and grouping variables. Out: a whole code for each record, and the values
behind the codes in the order of Stata. A variable that takes nearly as many values as
there are records, as measurements do, is refused as a grouping variable.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from discreet.errors import OutputCheckError
from discreet.output_checking.safe.cases import count_of
from discreet.output_checking.safe.coding import coded
from discreet.output_checking.safe.limits import SafeLimits
from discreet.output_checking.safe.numbers import number_text
from discreet.output_checking.safe.records import IntArray, Records
from discreet.output_checking.safe.results import Check, Verdict

__all__ = ["Groups", "crossed", "group"]

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
        cases: How many cases there are in each group, if that was asked already.
    """

    name: str
    labels: tuple[str, ...]
    values: tuple[Any, ...]
    codes: IntArray
    checks: tuple[Check, ...] = ()
    cases: IntArray | None = None

    def __len__(self) -> int:
        return len(self.labels)

    @cached_property
    def complete(self) -> bool:
        """Whether every record is in a group."""
        return not self.codes.size or int(self.codes.min()) >= 0

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
        together: Whether rare values that may be amounts or names are put together: the label
            of a withheld row would else tell the largest one, or who is there. The caller
            withholds them if not.
    """
    column = records.data.get_column(name)
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
    checks = _checked(int(count.sum()), column, values, name, limits)
    labels = [number_text(value) for value in values]
    cases = count if records.entity is None else None
    if checks or (together and _own(column, values)):
        cases = records.cases(codes, len(values)) if cases is None else cases
        if (cases < limits.minimum).any():
            labels, values, codes = _without_rare(labels, values, codes, cases, limits)
            cases = None
    if missing and column.null_count():
        codes[codes < 0] = len(values)
        labels, values, cases = [*labels, "."], [*values, None], None
    return Groups(
        name=name,
        labels=tuple(labels),
        values=tuple(values),
        codes=codes,
        checks=tuple(checks),
        cases=cases,
    )


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


def _own(column: pl.Series, values: Sequence[Any]) -> bool:
    """Whether the values may be amounts or names, not codes: a rare one is somebody's own."""
    if column.dtype in (pl.String, pl.Categorical) or column.dtype.is_temporal():
        return len(values) > _FEW
    if not column.dtype.is_numeric() or not len(values):
        return False
    return bool(len(values) > _FEW or values[-1] - values[0] >= _CODES)


def _without_rare(
    labels: list[str], values: list[Any], codes: IntArray, cases: IntArray, limits: SafeLimits
) -> tuple[list[str], list[Any], IntArray]:
    """Put values of few cases together: a rare value is itself what these cases have."""
    order = sorted(range(len(values)), key=lambda at: (int(cases[at]), at))
    rare = [at for at in order if cases[at] < limits.minimum]
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
