"""In how many variables made-up records agree with records that few share. CONFIDENTIAL.

In: made-up records and original ones, their values as numbers. Out: for each made-up record, the
largest number of variables whose values together are those of at least one, and fewer than a
threshold of, original units. Missing values agree with nothing.
"""

from __future__ import annotations

from collections.abc import Collection

import numba
import numpy as np
import polars as pl

from discreet.arrays import IntArray, PositionArray, UintArray
from discreet.compiled import compiled

_NOTHING = -1


def rare_agreement(
    made: pl.DataFrame,
    original: pl.DataFrame,
    units: pl.Series | None,
    threshold: int,
    public: Collection[str] = (),
) -> IntArray:
    """The largest rare agreement of each made-up record, in variables; 0 if there is none.

    One in public variables alone is none.

    >>> made = pl.DataFrame({"sex": ["f", "m"], "age": [30, 40]})
    >>> people = pl.DataFrame({"sex": ["f", "f", "m"], "age": [30, 31, 50]})
    >>> rare_agreement(made, people, None, 2).tolist()
    [2, 1]
    """
    rows = original.height
    if units is None:
        order, owner = np.arange(rows), np.arange(rows)
    else:
        owner = units.rank("dense").fill_null(0).to_numpy().astype(np.int64)
        order = np.argsort(owner, kind="stable")
    names = [name for name in made.columns if original[name].n_unique() > 1]
    names.sort(key=lambda name: name in public)
    private = sum(name not in public for name in names)
    ours = np.empty((made.height, len(names)), dtype=np.int32)
    theirs = np.empty((len(names), rows), dtype=np.int32)
    for at, name in enumerate(names):
        values = made.select(name).unique().drop_nulls().sort(name).with_row_index("\0at")
        for frame, places in ((made, ours[:, at]), (original, theirs[at])):
            joined = frame.select(name).join(values, on=name, how="left", maintain_order="left")
            places[:] = joined["\0at"].cast(pl.Int32).fill_null(_NOTHING).to_numpy()
    marks = np.random.default_rng(0).integers(0, 2**63, len(names), dtype=np.uint64)
    found_in: IntArray = _largest(
        ours, np.ascontiguousarray(theirs[:, order]), owner[order], marks, private, threshold
    )
    return found_in


@compiled(parallel=True)
def _largest(
    synthetic: PositionArray,
    original: PositionArray,
    owner: IntArray,
    marks: UintArray,
    private: int,
    threshold: int,
) -> IntArray:
    result = np.zeros(len(synthetic), np.int64)
    for row in numba.prange(len(synthetic)):
        result[row] = _largest_of(synthetic[row], original, owner, marks, private, threshold)
    return result


@compiled()
def _largest_of(
    record: PositionArray,
    original: PositionArray,
    owner: IntArray,
    marks: UintArray,
    private: int,
    threshold: int,
) -> int:
    """From the largest agreement on: is there a set of variables that few units agree in?"""
    rows = original.shape[1]
    agreed = np.zeros(rows, np.int16)
    for at in range(len(record)):
        code = record[at]
        if code < 0:
            continue
        column = original[at]
        for other in range(rows):
            agreed[other] += column[other] == code and (at < private or agreed[other] > 0)
    for size in range(agreed.max() if rows else 0, 0, -1):
        alike = np.flatnonzero(agreed == size)
        sets = np.zeros(len(alike), np.uint64)
        for at in range(len(record)):
            if record[at] >= 0:
                for place in range(len(alike)):
                    if original[at, alike[place]] == record[at]:
                        sets[place] ^= marks[at]
        if _few_in_one(sets, owner[alike], threshold):
            return size
    return 0


@compiled()
def _few_in_one(sets: UintArray, owner: IntArray, threshold: int) -> bool:
    """Whether a set of variables is that of fewer units than the threshold."""
    order = np.argsort(sets, kind="mergesort")  # rows stay in the order of their units
    units, last = 0, np.int64(-1)
    for step in range(len(order)):
        place = order[step]
        if step and sets[place] != sets[order[step - 1]]:
            if units < threshold:
                return True
            units, last = 0, np.int64(-1)
        if owner[place] != last:
            units, last = units + 1, owner[place]
    return 0 < units < threshold
