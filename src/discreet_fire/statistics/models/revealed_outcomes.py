"""Which outcomes a model gives away: totals of groups of cases, and hat values. CONFIDENTIAL.

The residuals of least squares sum to 0 in every group with an indicator of its own, so the total
of the outcome there follows from the coefficients: the rules of tables of means apply. The fitted
values are Hy: if the part H_S of a few cases S has an eigenvalue 1 with eigenvector v, then
v'y = v'Hy, and whoever has the coefficients knows this combination of their outcomes exactly, for
one case the outcome itself. In: sample and design, a solved model. Out: for each way of grouping,
how many cases are in each cell, which cells two cases dominate, which are all alike; how near to
1 the eigenvalues come.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from discreet.arrays import FloatArray, IntArray
from discreet_fire.statistics.limits import SafeLimits
from discreet_fire.statistics.models.design import ModelDesign, Partition, Rows
from discreet_fire.statistics.models.least_squares import ROWS, LeastSquaresSolution
from discreet_fire.statistics.models.sample import Sample
from discreet_fire.statistics.parallel import SMALL, in_parts, slices


def patterns(design: ModelDesign) -> Partition:
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
        from discreet_fire.statistics.large.kernels import majority

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


#: Decimals of eigenvalues that are compared with a limit: fewer than depend on row order.
_DECIMALS = 9
#: Cases with less than this share of a direction cannot complete it.
_LEAST = 1e-3
#: Groups this close to the limit, as a share of it, are reported.
NEARLY = 0.9


@dataclass(frozen=True, repr=False, eq=False)
class Hats:
    """Rows of the orthonormal columns of a model, and their squared lengths. CONFIDENTIAL."""

    design: ModelDesign
    solution: LeastSquaresSolution
    weights: FloatArray | None

    def rows(self, rows: Rows) -> FloatArray:
        """The rows of Q, where H = Q Q'."""
        solution, block = self.solution, self.design.block(rows)
        if len(solution.kept) < block.shape[1]:
            block = block[:, solution.kept]
        found = (block - (solution.means - self.design.shifts[solution.kept])) @ solution.root
        if solution.constant is not None:
            own = np.full((len(found), 1), 1.0 / np.sqrt(solution.weight))
            found = np.hstack([found, own])
        return found if self.weights is None else found * np.sqrt(self.weights[rows])[:, None]

    @cached_property
    def values(self) -> FloatArray:
        """Hat values of all rows."""
        values = np.empty(self.design.size)

        def inside(part: slice) -> None:
            for start in range(part.start, part.stop, ROWS):
                rows = slice(start, min(start + ROWS, part.stop))
                block = self.rows(rows)
                values[rows] = np.einsum("ij,ij->i", block, block)

        in_parts(inside, slices(self.design.size))
        return values


def reach(
    found: Hats, entities: IntArray | None, minimum: int, limit: float
) -> tuple[float, float, IntArray]:
    """The eigenvalues nearest to 1 among groups of fewer than `minimum` cases.

    One member of a group of s cases has at least 1/s of its eigenvalue, and the hat values
    sum to the rank: few cases can begin a group. Groups grow by the case that adds most.

    Args:
        found: The hat values.
        entities: Entity of each row; None if every row is a case.
        minimum: Fewest cases behind a number.
        limit: Eigenvalues from here on reveal.

    Returns:
        The largest eigenvalue of one case, the largest found of a group, the rows of that group.
    """
    traces: FloatArray = found.values
    if entities is not None:
        traces = np.bincount(entities, traces).astype(np.float64)
    most = max(1, minimum - 1)
    finder = _Finder(found, entities, traces)
    begin = np.flatnonzero(np.round(traces, _DECIMALS) >= min(0.5, NEARLY * limit / most))
    single, best, members = float(min(1.0, traces.max())), 0.0, np.zeros(0, np.int64)
    if entities is not None:
        single = max((finder.eigenvalue([int(case)]) for case in begin), default=min(single, 0.5))
    for case in begin[np.argsort(-traces[begin], kind="stable")]:
        value, group = finder.grown(int(case), most, limit)
        if value > best:
            best, members = value, finder.rows_of(group)
        if best >= limit:
            break
    return round(single, _DECIMALS), best, members


class _Finder:
    """Grows groups of cases."""

    def __init__(self, found: Hats, entities: IntArray | None, traces: FloatArray) -> None:
        self._found, self._entities, self._traces = found, entities, traces
        self._factors: dict[int, FloatArray] = {}

    @cached_property
    def _order(self) -> IntArray:
        assert self._entities is not None
        return np.argsort(self._entities, kind="stable")

    @cached_property
    def _starts(self) -> IntArray:
        assert self._entities is not None
        return np.concatenate([[0], np.cumsum(np.bincount(self._entities))])

    def rows_of(self, group: list[int]) -> IntArray:
        """The rows of some cases."""
        if self._entities is None:
            return np.array(group, dtype=np.int64)
        parts = [self._order[self._starts[case] : self._starts[case + 1]] for case in group]
        return np.concatenate(parts)

    def _factor(self, case: int) -> FloatArray:
        """A matrix R with R'R equal to what the case has in Q'Q."""
        if case not in self._factors:
            rows = self._found.rows(self.rows_of([case]))
            short = len(rows) <= rows.shape[1]
            self._factors[case] = rows if short else np.asarray(np.linalg.qr(rows, mode="r"))
        return self._factors[case]

    def eigenvalue(self, group: list[int]) -> float:
        """The largest eigenvalue of the part of H of some cases."""
        rows = np.vstack([self._factor(case) for case in group])
        return round(float(np.linalg.norm(rows, 2)) ** 2, _DECIMALS)

    def grown(self, case: int, most: int, limit: float) -> tuple[float, list[int]]:
        """The group that grows out of a case, and its eigenvalue."""
        group, value = [case], self.eigenvalue([case])
        while len(group) < most and value < limit:
            missing = max((limit - value) / (most - len(group)), _LEAST)
            others = np.flatnonzero(self._traces >= missing * NEARLY)
            others = others[~np.isin(others, group)]
            if not len(others):
                break
            values = self._with_each(group, others)
            place = int(np.argmax(values))
            if values[place] <= value:
                break
            group, value = [*group, int(others[place])], float(values[place])
        return value, group

    def _with_each(self, group: list[int], others: IntArray) -> FloatArray:
        """Eigenvalues of a group with each one of the others."""
        if self._entities is not None:
            return np.array([self.eigenvalue([*group, int(other)]) for other in others])
        own = np.vstack([self._factor(case) for case in group])
        rows = self._found.rows(others)
        matrices = np.empty((len(others), len(own) + 1, len(own) + 1))
        matrices[:, :-1, :-1] = own @ own.T
        matrices[:, -1, :-1] = matrices[:, :-1, -1] = rows @ own.T
        matrices[:, -1, -1] = np.einsum("ij,ij->i", rows, rows)
        return np.round(np.linalg.eigvalsh(matrices)[:, -1], _DECIMALS)
