"""How many records and cases there are per group. CONFIDENTIAL until compared with a limit.

In: the group, the entity and the weight of each record. Out: counts and sums per group.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import polars as pl

from discreet.output_checking.safe.sums import group_sums
from discreet.output_checking.safe.threads import side_by_side, slices
from discreet.output_checking.safe.units import SMALL

if TYPE_CHECKING:
    from discreet.output_checking.safe.contributions import Numbering

__all__ = ["cases_of", "count_of", "sums_of_groups"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]


def count_of(codes: IntArray, groups: int, times: IntArray | None) -> IntArray:
    """How many records there are per group; those of group -1 are left out.

    >>> count_of(np.array([0, 1, -1, 1]), 2, None)
    array([1, 2])
    """
    if times is None and codes.size > SMALL:
        return _count_of_many(np.ascontiguousarray(codes), groups)
    if codes.size and int(codes.min()) < 0:
        inside = codes >= 0
        codes = codes[inside]
        times = None if times is None else times[inside]
    if times is None:
        return np.bincount(codes, minlength=groups).astype(np.int64)
    total = np.zeros(groups, dtype=np.int64)
    np.add.at(total, codes, times)
    return total


def _count_of_many(codes: IntArray, groups: int) -> IntArray:
    from discreet.output_checking.safe import compiled_cases

    def inside(part: slice) -> IntArray:
        count = np.zeros(groups, dtype=np.int64)
        compiled_cases.count_codes(codes[part], count)
        return count

    parts = [partial(inside, part) for part in slices(codes.size)]
    return np.asarray(np.sum(side_by_side(parts), axis=0))


def cases_of(
    codes: IntArray,
    groups: int,
    entities: IntArray | None,
    times: IntArray | None = None,
    *,
    numbering: Numbering | None = None,
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
        from discreet.output_checking.safe.contributions import Numbering

        numbering = Numbering.of(entities) if numbering is None else numbering
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
    from discreet.output_checking.safe.large_sums import exact_sums

    return exact_sums(values, codes, groups)
