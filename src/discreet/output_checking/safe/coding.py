"""Whole codes for the values of a grouping variable. CONFIDENTIAL.

In: a column of whole numbers, texts, categories or dates. Out: its values in order, and
for each record the position of its value.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from discreet.errors import OutputCheckError
from discreet.output_checking.safe.threads import side_by_side, slices
from discreet.output_checking.safe.units import SMALL

__all__ = ["coded", "numbered_texts"]

IntArray = npt.NDArray[np.int64]

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
        from discreet.output_checking.safe import compiled_cases

        compiled_cases.gather_codes(np.ascontiguousarray(names), numbers, place)
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
        from discreet.output_checking.safe.numbering import numbered, short_numbered

        short = short_numbered(column, place)
        if short is not None:
            return short[0], column.gather(short[1])
        codes, first = numbered(_hashes(column))
        texts = column.gather(first)
        if _are(column, texts, codes):  # two texts could have the same hash
            return codes, texts
    texts = column.unique()
    numbers = pl.DataFrame({"text": texts, "number": np.arange(len(texts))})
    known = pl.DataFrame({"text": column})
    joined = known.join(numbers, on="text", how="left", nulls_equal=True, maintain_order="left")
    return joined["number"].to_numpy(), texts


def _hashes(column: pl.Series) -> IntArray:
    return column.hash().to_numpy().view(np.int64)


def _are(column: pl.Series, texts: pl.Series, numbers: IntArray) -> bool:
    """Whether a column holds the texts of these numbers."""
    return texts.gather(numbers).equals(column)


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
