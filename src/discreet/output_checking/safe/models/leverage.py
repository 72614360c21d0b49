"""Hat values: which outcomes a model gives away by following them.

The fitted values are Hy. If the part H_S of a few cases S has an eigenvalue 1 with eigenvector
v, then v'y = v'Hy: whoever has the coefficients knows this combination of their outcomes
exactly, for one case the outcome itself. In: a solved model. Out: how near to 1 it comes.
CONFIDENTIAL.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
import numpy.typing as npt

from discreet.output_checking.safe.models.design import Design, Rows
from discreet.output_checking.safe.models.exact import ROWS
from discreet.output_checking.safe.models.solving import Solution
from discreet.output_checking.safe.threads import side_by_side, slices

__all__ = ["Hats", "Reach", "hats", "reach"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

#: Decimals of eigenvalues that are compared with a limit: fewer than depend on row order.
_DECIMALS = 9
#: Cases with less than this share of a direction cannot complete it.
_LEAST = 1e-3
#: Groups this close to the limit, as a share of it, are reported.
NEARLY = 0.9


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Hats:
    """Rows of the orthonormal columns of a model, and their squared lengths. CONFIDENTIAL."""

    design: Design
    solution: Solution
    weights: FloatArray | None
    values: FloatArray

    def rows(self, rows: Rows) -> FloatArray:
        """The rows of Q, where H = Q Q'."""
        return _orthonormal(self.design, self.solution, self.weights, rows)


@dataclass(frozen=True, kw_only=True, repr=False)
class Reach:
    """How near to 1 groups of cases come. CONFIDENTIAL.

    Args:
        single: Largest eigenvalue of one case.
        group: Largest eigenvalue found of a group of fewer cases than are required.
        members: The rows of that group.
    """

    single: float
    group: float
    members: IntArray


def _orthonormal(
    design: Design, solution: Solution, weights: FloatArray | None, rows: Rows
) -> FloatArray:
    block = design.block(rows)
    if len(solution.kept) < block.shape[1]:
        block = block[:, solution.kept]
    found = (block - (solution.means - design.shifts[solution.kept])) @ solution.root
    if solution.constant is not None:
        own = np.full((len(found), 1), 1.0 / np.sqrt(solution.weight))
        found = np.hstack([found, own])
    return found if weights is None else found * np.sqrt(weights[rows])[:, None]


def hats(design: Design, solution: Solution, weights: FloatArray | None) -> Hats:
    """Hat values of all rows."""
    values = np.empty(design.size)

    def inside(part: slice) -> None:
        for start in range(part.start, part.stop, ROWS):
            rows = slice(start, min(start + ROWS, part.stop))
            block = _orthonormal(design, solution, weights, rows)
            values[rows] = np.einsum("ij,ij->i", block, block)

    side_by_side([partial(inside, part) for part in slices(design.size)])
    return Hats(design=design, solution=solution, weights=weights, values=values)


def reach(found: Hats, entities: IntArray | None, minimum: int, limit: float) -> Reach:
    """The eigenvalues nearest to 1 among groups of fewer than `minimum` cases.

    One member of a group of s cases has at least 1/s of its eigenvalue, and the hat values
    sum to the rank: few cases can begin a group. Groups grow by the case that adds most.

    Args:
        found: The hat values.
        entities: Entity of each row; None if every row is a case.
        minimum: Fewest cases behind a number.
        limit: Eigenvalues from here on reveal.
    """
    traces = found.values if entities is None else _traces(entities, found.values)
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
    return Reach(single=round(single, _DECIMALS), group=best, members=members)


def _traces(entities: IntArray, values: FloatArray) -> FloatArray:
    return np.asarray(np.bincount(entities, values), dtype=np.float64)


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
