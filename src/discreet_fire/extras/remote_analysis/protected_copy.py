"""Protected copies of microdata, made by exchanging values between records.

In: records (confidential), a secret, which variable is what. Out: the same records, with
numbers exchanged between neighbours in rank and categories exchanged between a share of
the records. Each variable keeps its values and missing values; what goes together changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl

from discreet.errors import OutputCheckError, Problem
from discreet.microdata import Secret, eager_columns, name_list, open_frame, require_columns
from discreet.pretabular import permute, rank_swap
from discreet_fire.statistics import in_memory

#: Fewest records among which a number is exchanged.
_NEIGHBOURS = 5


def records_in_memory(frame: Any) -> pl.DataFrame:
    """All records of a frame that narwhals reads."""
    whole = in_memory(open_frame(frame))
    return eager_columns(whole, whole.columns)


def protect(
    frame: Any,
    *,
    id: str | Sequence[str],  # noqa: A002 - the word users know
    secret: Secret,
    numeric: Sequence[str] = (),
    categorical: Sequence[str] = (),
    keep: Sequence[str] = (),
    distance: float = 0.02,
    share: float = 0.15,
) -> pl.DataFrame:
    """A protected copy of microdata. Every column is named in exactly one role.

    The same records and secret give the same copy in any order of rows.

    Args:
        frame: Records; any frame narwhals reads.
        id: Column, or columns, that identify a record; they stay.
        secret: What makes the exchange unpredictable.
        numeric: Numbers, exchanged between neighbours in rank.
        categorical: Categories, exchanged between some of the records.
        keep: Columns that stay as they are: weights, times.
        distance: How far neighbours lie apart at most, as a share of the records; at least
            five records.
        share: The share of records that give their category to another one.

    >>> people = pl.DataFrame({"pid": range(100), "pay": range(100)})
    >>> copy = protect(people, id="pid", secret=Secret.of("a long, dull line"), numeric=["pay"])
    >>> moved = (copy["pay"] - people["pay"]).abs()
    >>> bool(moved.max() < 9), sorted(copy["pay"].to_list()) == people["pay"].to_list()
    (True, True)
    """
    data = records_in_memory(frame)
    ids = name_list(id, "id")
    require_columns(open_frame(data), ids)
    _check_roles(data, ids, {"numeric": numeric, "categorical": categorical, "keep": keep})
    for name, value in (("distance", distance), ("share", share)):
        if not 0 < value <= 1:
            message = "is a share above 0 and at most 1"
            raise OutputCheckError(message, code="protect", where=name)
    held = Secret(secret.derive("discreet: protected microdata"))
    for name in (*numeric, *categorical):
        column = data.get_column(name)
        known = column.is_not_null()
        if column.dtype.is_float():
            known &= column.is_not_nan().fill_null(False)
        some = data.filter(known).select(*ids, name)
        if some.is_empty():
            continue
        if name in numeric:
            window = min(1.0, max(distance, _NEIGHBOURS / some.height))
            exchanged = rank_swap(some, name, window=window, id=ids, secret=held).records
        else:
            exchanged = permute(some, name, share=share, id=ids, secret=held).records
        data = data.with_columns(column.scatter(known.arg_true(), exchanged[name]))
    return data


def _check_roles(data: pl.DataFrame, ids: list[str], roles: dict[str, Sequence[str]]) -> None:
    problems, named = [], [*ids]
    for role, names in roles.items():
        if isinstance(names, str):
            raise OutputCheckError("is a list of names", code="protect", where=role)
        named += names
    for name in dict.fromkeys(named):
        if name not in data.columns:
            problems.append(Problem("column not found", name))
        elif named.count(name) > 1:
            problems.append(Problem("the column is named twice", name))
    for name in data.columns:
        if name not in named:
            hint = "name it as numeric, as categorical or to keep"
            problems.append(Problem("nothing is said about the column", name, hint))
    problems += [
        Problem("the column does not hold numbers", name)
        for name in roles["numeric"]
        if name in data.columns and not data.schema[name].is_numeric()
    ]
    if problems:
        message = "columns and their roles do not fit"
        raise OutputCheckError(message, code="protect", problems=problems)
