"""`Contributions`: what records add to the cells of one value column. CONFIDENTIAL.

In: the largest values, counts, keys and sums of each cell, made in the same pass as
the counts. Out: what the noise of sums and the rules for sensitive cells look at.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from discreet.errors import TableError

__all__ = ["Contributions"]

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Contributions:
    """Per cell of a table, the contributions to one value column (confidential).

    A record without a value contributes nothing and is not counted here; a record
    of value 0 is. Contributions are ordered by absolute unweighted value, then weight,
    then positive before negative, so that their order depends on nothing else.

    Args:
        column: The value column.
        top: Unweighted values of the largest contributions, cells × k; NaN where a
            cell has fewer.
        top_weight: Their weights, of the same shape; None if unweighted.
        count: Number of records with a value.
        nonzero: Number of those whose value is not 0.
        key: Cell key of the records with a value; None without record keys.
        nonzero_key: Cell key of the records whose value is not 0.
        weight: Sum of the weights of the records with a value; None if unweighted.
        total: Sum of value × weight, as in `Table.sums`.
        plain: Sum of the unweighted values; `total` if unweighted.
        absolute: Sum of |value| × weight.
        low: Smallest unweighted value; NaN where there is none.
        high: Largest unweighted value; NaN where there is none.
    """

    column: str
    top: FloatArray
    top_weight: FloatArray | None = None
    count: IntArray
    nonzero: IntArray
    key: IntArray | None = None
    nonzero_key: IntArray | None = None
    weight: FloatArray | None = None
    total: FloatArray
    plain: FloatArray
    absolute: FloatArray
    low: FloatArray
    high: FloatArray

    def __post_init__(self) -> None:
        one_each = [self.count, self.nonzero, self.total, self.plain, self.absolute]
        one_each += [self.low, self.high]
        one_each += [part for part in (self.key, self.nonzero_key, self.weight) if part is not None]
        lengths = {len(part) for part in one_each} | {len(self.top)}
        if len(lengths) > 1 or self.top.ndim != 2:
            raise TableError("the contributions differ in length", code="table", where=self.column)
        if self.top_weight is not None and self.top_weight.shape != self.top.shape:
            raise TableError("weights and contributions differ", code="table", where=self.column)

    @property
    def k(self) -> int:
        """How many of the largest contributions there are."""
        return int(self.top.shape[1])

    def __len__(self) -> int:
        return len(self.count)

    def __repr__(self) -> str:
        return f"<Contributions {self.column} (confidential): {len(self):,} cells>"
