"""Whole codes for the values of a grouping variable, and records and cases per code. CONFIDENTIAL.

In: a column of whole numbers, texts, categories or dates; the group, the entity and the weight
of each record. Out: the values in order and for each record the position of its value; counts
and sums per group, CONFIDENTIAL until compared with a limit.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from discreet.arrays import FloatArray, IntArray
from discreet.errors import OutputCheckError
from discreet_fire.statistics.parallel import SMALL, filled, side_by_side, slices
from discreet_fire.statistics.sums import group_sums

if TYPE_CHECKING:
    from discreet_fire.statistics.large.contributions import EntityNumbers


def count_of(codes: IntArray, groups: int, times: IntArray | None) -> IntArray:
    """How many records there are per group; those of group -1 are left out.

    >>> count_of(np.array([0, 1, -1, 1]), 2, None)
    array([1, 2])
    """
    if times is None and codes.size > SMALL:
        from discreet_fire.statistics.large import kernels

        whole = np.ascontiguousarray(codes)
        parts = (whole[part] for part in slices(whole.size))
        return np.asarray(filled(kernels.count_codes, parts, groups).sum(axis=0))
    if codes.size and int(codes.min()) < 0:
        inside = codes >= 0
        codes = codes[inside]
        times = None if times is None else times[inside]
    if times is None:
        return np.bincount(codes, minlength=groups).astype(np.int64)
    total = np.zeros(groups, dtype=np.int64)
    np.add.at(total, codes, times)
    return total


def cases_of(
    codes: IntArray,
    groups: int,
    entities: IntArray | None,
    times: IntArray | None = None,
    *,
    numbering: EntityNumbers | None = None,
) -> IntArray:
    """How many entities – or records, where each is another – there are per group.

    Args:
        codes: The group of each record, -1 for none.
        groups: How many groups there are.
        entities: Whom each record is about.
        times: How many records each one stands for.
        numbering: The entities numbered, if that was done already.

    >>> cases_of(np.array([0, 1, -1, 1]), 2, np.array([7, 7, 7, 7]))
    array([1, 1])
    """
    if entities is None:
        return count_of(codes, groups, times)
    if codes.size > SMALL:
        from discreet_fire.statistics.large.contributions import EntityNumbers

        numbering = EntityNumbers.of(entities) if numbering is None else numbering
        return numbering.cases(codes, groups)
    inside = codes >= 0
    pairs = pl.DataFrame({"group": codes[inside], "entity": entities[inside]}).unique()
    return np.bincount(pairs["group"].to_numpy(), minlength=groups).astype(np.int64)


def sums_of_groups(values: FloatArray, codes: IntArray, groups: int) -> FloatArray:
    """As `group_sums`, in large data faster and each group as exact as if it were alone.

    >>> sums_of_groups(np.array([1.0, 2.5, 4.0]), np.array([0, 1, 0]), 2)
    array([5. , 2.5])
    """
    if values.size <= SMALL:
        return group_sums(values, codes, groups)
    from discreet_fire.statistics.large.contributions import exact_sums

    return exact_sums(values, codes, groups)


#: Whole numbers within such a range need no search for their codes.
_DIRECT = 2**16


def coded(column: pl.Series, name: str) -> tuple[list[Any], IntArray]:
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
    physical = column.fill_null(values[0]).to_physical().to_numpy()
    found = np.searchsorted(values.to_physical().to_numpy(), physical)
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
    parts, codes = slices(len(column)), np.empty(len(column), dtype=np.int64)
    places = [codes[part] for part in parts]
    pieces = [column.slice(part.start, part.stop - part.start) for part in parts]
    jobs = zip(pieces, places, strict=True)
    found = side_by_side([partial(numbered_texts, *pair) for pair in jobs])
    every = pl.concat([texts for _, texts in found])
    rank = every.rank("dense").cast(pl.Int64).fill_null(0).to_numpy() - 1
    ranks = np.split(rank, np.cumsum([len(texts) for _, texts in found])[:-1])
    side_by_side(
        [
            partial(_renamed, mine, number, place)
            for mine, (number, _), place in zip(ranks, found, places, strict=True)
        ]
    )
    return every.drop_nulls().unique().sort().to_list(), codes


def _renamed(names: IntArray, numbers: IntArray, place: IntArray) -> None:
    """Put the name of each number in its place, which may be that of the number."""
    if numbers.size > SMALL:
        from discreet_fire.statistics.large import kernels

        kernels.gather(np.ascontiguousarray(names), numbers, place)
    else:
        place[:] = names[numbers]


def numbered_texts(column: pl.Series, place: IntArray | None = None) -> tuple[IntArray, pl.Series]:
    """A number for each record, the same for equal texts, and the text of each number.

    Args:
        column: The texts.
        place: Room for the numbers, which may be used for them.

    >>> numbers, texts = numbered_texts(pl.Series(["b", None, "b"]))
    >>> texts.gather(numbers).to_list()
    ['b', None, 'b']
    """
    if len(column) > SMALL:
        from discreet_fire.statistics.large.contributions import numbered, short_numbered

        short = short_numbered(column, place)
        if short is not None:
            return short[0], column.gather(short[1])
        codes, first = numbered(column.hash().to_numpy().view(np.int64))
        texts = column.gather(first)
        if texts.gather(codes).equals(column):  # two texts could have the same hash
            return codes, texts
    texts = column.unique()
    numbers = pl.DataFrame({"text": texts, "number": np.arange(len(texts))})
    known = pl.DataFrame({"text": column})
    joined = known.join(numbers, on="text", how="left", nulls_equal=True, maintain_order="left")
    return joined["number"].to_numpy(), texts


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
