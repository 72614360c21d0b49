"""Controlled rounding: all figures together, so that totals are the sums of their parts.

In: linked counts and a base. Out: multiples of the base next to each count – next but some where
no others add up – with the least sum of absolute differences; for large tables near to it; for
two-way tables also at random, each right on average. CONFIDENTIAL until published.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from discreet.arrays import BoolArray, FloatArray, IntArray
from discreet.errors import CountRoundingError
from discreet.protection.rounding.bases import Rounding
from discreet.protection.rounding.small_counts import InnerCells, JointCounts, fitted
from discreet.protection.suppression import Relations, compiled
from discreet.solver import column_values, loaded_solver
from discreet.tables import Table

#: More cells to be decided than this are not decided by the solver.
MOST_SOLVED = 60_000
#: Where figures are no network, the solver searches for the optimum of up to so many.
_SEARCHED = 1_500
#: Branches that the solver tries; the same on every machine, as a time limit would not be.
_NODES = 2_000
#: Larger tables are improved slice by slice, at most so many times.
_BLOCKS = 600
_WHOLE = 1e-5


def controlled_counts(linked: JointCounts, rounding: Rounding, tables: Sequence[Table]) -> IntArray:
    """The rounded value of each cell.

    Raises:
        CountRoundingError: If nothing within the steps allowed adds up.
    """
    if rounding.unbiased:
        return _at_random(linked, rounding, tables)
    base, count = rounding.base, linked.count
    if int((count % base > 0).sum()) > MOST_SOLVED:
        inner, _ = InnerCells.of(linked)
        chosen = inner.count % base > 0
        return inner.sums(fitted(inner, count, chosen, base))
    for steps in range(rounding.steps + 1):
        rounded, optimal = _multiples(linked.relations, count, base, steps)
        if rounded is not None:
            return rounded if optimal or steps else _improved(linked, tables, base, rounded)
    message = f"no additive multiples of {base} within {rounding.steps} steps of all counts"
    raise CountRoundingError(
        message, code="controlled", hint="allow more steps, or round fewer tables"
    )


def nearest_multiples(
    relations: Relations,
    count: IntArray,
    base: int,
    steps: int = 0,
    fixed: BoolArray | None = None,
) -> IntArray | None:
    """Multiples that add up with the least sum of absolute differences; None if there are none.

    >>> sums = Relations.of(3, [[(0, -1), (1, 1), (2, 1)]])
    >>> nearest_multiples(sums, np.array([7, 4, 3]), 3).tolist()
    [6, 3, 3]
    """
    return _multiples(relations, count, base, steps, fixed=fixed)[0]


def _multiples(
    relations: Relations,
    count: IntArray,
    base: int,
    steps: int = 0,
    known: tuple[IntArray, BoolArray] | None = None,
    fixed: BoolArray | None = None,
) -> tuple[IntArray | None, bool]:
    """The same, and whether it is the optimum; of `known` figures, only those marked may change."""
    rest = count % base
    floor = count - rest
    open_cells = rest > 0
    if known is not None:
        floor = np.where(known[1], floor, known[0])
        open_cells &= known[1]
    up = np.flatnonzero(open_cells).astype(np.int64)
    cells, sign, cost, most = [up], [np.ones(up.size)], [base - 2.0 * rest[up]], [np.ones(up.size)]
    if steps:
        able = count > 0 if fixed is None else (count > 0) & ~fixed
        moved = np.flatnonzero(able).astype(np.int64)
        below = np.minimum(count[moved] // base, steps)
        cells += [moved, moved]
        sign += [np.ones(moved.size), -np.ones(moved.size)]
        cost += [np.full(2 * moved.size, float(base))]
        most += [np.full(moved.size, float(steps)), below.astype(np.float64)]
    column, factor = np.concatenate(cells), np.concatenate(sign)
    lacking = -relations.residuals(floor)
    first, entry = relations.by_cell
    width = np.diff(first)[column]
    within = np.arange(int(width.sum())) - np.repeat(np.cumsum(width) - width, width)
    entries = entry[np.repeat(first[column], width) + within]
    touched, row = np.unique(relations.row[entries], return_inverse=True)
    place = np.repeat(np.arange(column.size), width)
    coef = (relations.coef[entries] * np.repeat(factor, width)).astype(np.float64)
    if np.count_nonzero(lacking[touched]) < np.count_nonzero(lacking):
        return None, True  # nothing that may change stands in these relations
    solution, optimal = _solved(
        (row, place, coef), lacking[touched] // base, np.concatenate(cost), np.concatenate(most)
    )
    if solution is None:
        return None, optimal
    value = floor.copy()
    np.add.at(value, column, (base * factor * solution).astype(np.int64))
    if relations.residuals(value).any() or (value < 0).any():
        message = "the answer of the solver does not add up"
        raise CountRoundingError(
            message, code="solver", hint="report this: the numbers differ too much in size"
        )
    return value, optimal


def _improved(linked: JointCounts, tables: Sequence[Table], base: int, value: IntArray) -> IntArray:
    """Figures that add up, nearer to the counts: slices of a table are decided in turn."""
    missed = int(np.abs(value - linked.count).sum())
    for number, block in enumerate(_slices(linked, tables)):
        if number >= _BLOCKS:
            break
        better, _ = _multiples(linked.relations, linked.count, base, known=(value, block))
        if better is not None and (now := int(np.abs(better - linked.count).sum())) < missed:
            value, missed = better, now
    return value


def _slices(linked: JointCounts, tables: Sequence[Table]) -> Iterator[BoolArray]:
    """The cells of two or three codes of a variable and of their total, neighbours first."""
    for width, shift in ((2, 1), (2, 3), (3, 1), (3, 2), (3, 5)):
        for table, cells in zip(tables, linked.cells, strict=True):
            for dimension, part in zip(table.dimensions, table.index, strict=True):
                for code in range(1, len(dimension) - shift * (width - 1)):
                    codes = np.arange(width) * shift + code
                    above = np.unique(dimension.parents[codes])
                    if above.size == 1:
                        block = np.zeros(len(linked.count), dtype=np.bool_)
                        block[cells[np.isin(part, [*codes, *above])]] = True
                        yield block


def _solved(
    matrix: tuple[IntArray, IntArray, FloatArray],
    rest: IntArray,
    cost: FloatArray,
    most: FloatArray,
) -> tuple[FloatArray | None, bool]:
    """Whole numbers from 0 to `most` at least cost, None if there are none; if they are optimal."""
    import highspy

    row, column, coef = matrix
    if not cost.size:
        return (np.zeros(0), True) if not rest.any() else (None, True)
    order = np.lexsort((column, row))
    start = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=len(rest)))])
    bounds = rest.astype(np.float64)
    solver = loaded_solver(
        (start, column[order], coef[order]), np.zeros(cost.size), most, cost=cost,
        rows=(bounds, bounds), mip_rel_gap=0.0, mip_abs_gap=0.999, mip_max_nodes=_NODES,
    )  # fmt: skip
    solver.setOptionValue("presolve", "on")
    solver.run()
    status = highspy.HighsModelStatus
    if solver.getModelStatus() in (status.kInfeasible, status.kUnboundedOrInfeasible):
        return None, True
    values = column_values(solver)
    if np.abs(values - np.rint(values)).max() <= _WHOLE:
        return np.rint(values), True
    kinds = np.full(cost.size, int(highspy.HighsVarType.kInteger), dtype=np.uint8)
    solver.changeColsIntegrality(cost.size, np.arange(cost.size, dtype=np.int32), kinds)
    if cost.size > _SEARCHED:  # any will do; it is improved slice by slice
        solver.setOptionValue("mip_max_improving_sols", 1)
    solver.run()
    known = solver.getInfo().primal_solution_status
    if known != int(highspy.SolutionStatus.kSolutionStatusFeasible):
        return None, bool(solver.getModelStatus() == status.kInfeasible)
    values = column_values(solver)
    return np.rint(values), bool(solver.getModelStatus() == status.kOptimal)


# -- at random, right on average -----------------------------------------------------------


def _at_random(linked: JointCounts, rounding: Rounding, tables: Sequence[Table]) -> IntArray:
    """Every figure up or down so that it is right on average, and totals are sums.

    Figures are edges between relations; a cycle of figures that are no multiples is moved, up
    and down in turn, until one of them is a multiple: to either side with the probability that
    keeps the average. Each figure must stand in at most two relations.
    """
    relations, base = linked.relations, rounding.base
    first, entry = relations.by_cell
    if np.diff(first).max(initial=0) > 2 or len(tables) > 1:
        message = "unbiased controlled rounding needs one table of one or two variables"
        hint = (
            "remove levels between total and categories, if there are two variables; or "
            "remove unbiased"
        )
        raise CountRoundingError(message, code="unbiased", hint=hint)
    (table,), (cells,) = tables, linked.cells
    draws = np.zeros(len(linked.count), dtype=np.uint64)
    draws[cells] = rounding.draws(table)
    none = len(relations)  # what a figure belongs to that stands in one relation only
    ends = np.full((len(linked.count), 2), none, dtype=np.int64)
    sides = np.ones((len(linked.count), 2), dtype=np.int64)
    width = np.diff(first)
    for side in (0, 1):
        has = np.flatnonzero(width > side)
        at = entry[first[has] + side]
        ends[has, side], sides[has, side] = relations.row[at], relations.coef[at]
    rest = linked.count % base
    order = np.argsort(ends.ravel(), kind="stable").astype(np.int64)
    begin = np.searchsorted(ends.ravel()[order], np.arange(none + 2)).astype(np.int64)
    sound = _walk(begin, order // 2, ends, sides, rest, (draws >> np.uint64(1)).astype(np.int64),
                  base, none)  # fmt: skip
    value: IntArray = linked.count // base * base + rest
    if not sound or (rest % base).any() or relations.residuals(value).any():
        message = "these relations are not a network: values cannot be rounded without bias"
        raise CountRoundingError(message, code="unbiased", hint="remove unbiased")
    return value


@compiled
def _walk(
    begin: Any, edges: Any, ends: Any, sides: Any, rest: Any, draws: Any, base: int, none: int
) -> bool:
    """Move cycles until every rest is 0 or the base; False if a cycle does not close."""
    here = begin.copy()  # where to look for the next open figure of each relation
    path = np.empty(rest.size + 1, np.int64)
    signs = np.empty(rest.size + 1, np.int64)
    nodes = np.empty(rest.size + 2, np.int64)
    seen = np.full(none + 1, -1, np.int64)
    for cell in range(rest.size):
        while 0 < rest[cell] < base:
            length = _cycle(begin, edges, ends, sides, rest, base, none, cell, here,
                            path, signs, nodes, seen)  # fmt: skip
            if length == 0:
                return False
            first = length >> 32
            last = length & 0xFFFFFFFF
            ahead = back = base
            for k in range(first, last):
                r, s = rest[path[k]], signs[k]
                ahead = min(ahead, base - r if s > 0 else r)
                back = min(back, r if s > 0 else base - r)
            draw = draws[path[first]]
            draws[path[first]] = (draw * 1103515245 + 12345) & 0x3FFFFFFFFFFFFFFF
            step = ahead if (draw >> 20) % (ahead + back) < back else -back
            for k in range(first, last):
                rest[path[k]] += signs[k] * step
    return True


@compiled
def _cycle(
    begin: Any, edges: Any, ends: Any, sides: Any, rest: Any, base: int, none: int, cell: int,
    here: Any, path: Any, signs: Any, nodes: Any, seen: Any,
) -> int:  # fmt: skip
    """A cycle of open figures that begins near a cell: where on the path it begins and ends."""
    node, length, sign = ends[cell, 0], 0, 1
    nodes[0], seen[node] = node, 0
    edge = cell
    cycle = 0
    while cycle == 0:
        path[length], signs[length] = edge, sign
        length += 1
        side = 1 if ends[edge, 0] == node else 0
        moved = sign * sides[edge, side]
        node = ends[edge, side]
        nodes[length] = node
        if seen[node] >= 0:
            first = seen[node]
            entered = signs[first] * sides[path[first], 0 if ends[path[first], 0] == node else 1]
            if node != none and moved + entered != 0:
                break
            cycle = (first << 32) | length
            break
        seen[node] = length
        k = here[node]
        while k < begin[node + 1] and not 0 < rest[edges[k]] < base:
            k += 1
        here[node] = k
        while k < begin[node + 1] and (edges[k] == edge or not 0 < rest[edges[k]] < base):
            k += 1
        if k == begin[node + 1]:
            break
        edge = edges[k]
        sign = -moved * sides[edge, 0 if ends[edge, 0] == node else 1]
    for k in range(length + 1):
        seen[nodes[k]] = -1
    return cycle
