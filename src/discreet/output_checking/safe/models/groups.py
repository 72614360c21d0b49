"""Groups of cases whose totals a model gives away, and rules for them. CONFIDENTIAL.

The residuals of least squares sum to 0 in every group with an indicator of its own, so the
total of the outcome there follows from the coefficients: the rules of tables of means apply.
In: sample and design. Out: for each way of grouping, how many cases are in each cell, which
cells two cases dominate, which are all alike.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from discreet.output_checking.safe.limits import SafeLimits
from discreet.output_checking.safe.models.design import Design, Partition
from discreet.output_checking.safe.models.sample import Sample
from discreet.output_checking.safe.units import SMALL

__all__ = ["all_alike", "case_counts", "dominated", "few_apart", "patterns", "whole_sample"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]


def whole_sample(sample: Sample) -> Partition:
    """All cases as one cell, whose total the constant gives."""
    return Partition(text="_cons", codes=np.zeros(len(sample), np.int64), cells=1)


def patterns(design: Design) -> Partition:
    """Rows that no column tells apart, if all columns are indicators."""
    codes = np.zeros(design.size, dtype=np.int64)
    cells = 1
    for partition in design.partitions:
        known, codes = np.unique(codes * partition.cells + partition.codes, return_inverse=True)
        cells = len(known)
    text = " ".join(partition.text for partition in design.partitions)
    return Partition(text=text or "_cons", codes=codes.astype(np.int64), cells=cells)


def case_counts(partition: Partition, sample: Sample, enough: int) -> IntArray:
    """Cases in each cell; of cells that have more than enough, perhaps fewer than there are."""
    rows = np.bincount(partition.codes, minlength=partition.cells)
    if sample.entities is None:
        return rows
    # No entity has more rows than this.
    counts = -(-rows // int(sample.rows_of_cases.max()))
    doubtful = (rows > 0) & (counts < enough)
    if doubtful.any():
        looked_at = doubtful[partition.codes]
        number = sample.cases
        pairs = partition.codes[looked_at] * number + sample.entities[looked_at]
        exact = np.bincount(np.unique(pairs) // number, minlength=partition.cells)
        counts = np.where(doubtful, exact, counts)
    return counts


def few_apart(values: FloatArray, sample: Sample, minimum: int) -> bool:
    """Whether fewer cases than required differ from the value that all others have."""
    return any(_few_from(value, values, sample, minimum) for value in _common(values))


def _common(values: FloatArray) -> set[float]:
    """The value that at least half have is among these."""
    if len(values) > SMALL:
        from discreet.output_checking.safe.compiled_cases import majority

        found = np.zeros(1)
        if majority(np.ascontiguousarray(values), found):
            return {float(found[0])}
    # It is the median; one that just half have is one of the two in the middle.
    middle = sorted({(len(values) - 1) // 2, len(values) // 2})
    return set(np.partition(values, middle)[middle].tolist())


def _few_from(value: float, values: FloatArray, sample: Sample, minimum: int) -> bool:
    """Whether fewer cases than required differ from a value of at least half."""
    apart = values != value
    rows = int(np.count_nonzero(apart))
    return 0 < rows <= len(values) // 2 and sample.cases_where(apart) < minimum


def all_alike(partition: Partition, outcome: FloatArray) -> npt.NDArray[np.bool_]:
    """Cells in which all outcomes are the same."""
    high = np.full(partition.cells, -math.inf)
    low = np.full(partition.cells, math.inf)
    np.maximum.at(high, partition.codes, outcome)
    np.minimum.at(low, partition.codes, outcome)
    found: npt.NDArray[np.bool_] = high == low
    return found


def dominated(partition: Partition, sample: Sample, limits: SafeLimits) -> npt.NDArray[np.bool_]:
    """Cells of which two cases have too large a share, or the second could estimate the first."""
    values = sample.outcome if sample.weights is None else sample.outcome * sample.weights
    codes, entities = partition.codes, sample.entities
    sizes = np.abs(values)
    # No case has more in any cell than in all; the contributions add up to at least the total.
    own = sizes if entities is None else np.bincount(entities, sizes)
    low = sizes if entities is None else values
    totals = np.abs(np.bincount(codes, low, minlength=partition.cells))
    k, p = limits.dominance / 100.0, limits.closeness / 100.0
    top = np.sort(np.partition(own, -2)[-2:]) if len(own) > 1 else own
    safe = max(float(top.sum()) / k, float(top.sum()) + p * float(top[-1])) * 1.000001
    occupied = np.bincount(codes, minlength=partition.cells) > 0
    found = np.zeros(partition.cells, dtype=bool)
    for cell in np.flatnonzero(occupied & (totals < safe)):
        rows = codes == cell
        parts = sizes[rows]
        if entities is not None:
            _, places = np.unique(entities[rows], return_inverse=True)
            parts = np.abs(np.bincount(places, values[rows]))
        found[cell] = _dominated(parts, k, p)
    return found


def _dominated(parts: FloatArray, k: float, p: float) -> bool:
    """Whether the contributions of one cell, all at least 0, are too unequal."""
    total = math.fsum(parts)
    largest = np.sort(np.partition(parts, -2)[-2:] if len(parts) > 1 else parts)
    top, slack = math.fsum(largest), 1e-12 * total
    return top > k * total + slack or total - top < p * float(largest[-1]) - slack
