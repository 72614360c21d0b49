"""Rounding all counts together, so that totals are the sums of their parts. CONFIDENTIAL.

In: counts of linked tables, and a base. Out: inner cells below the base rounded so that what they
add up to changes little: only a choice of up or down for each cell is open; it is improved by one
cell and by pairs of cells until neither helps. Or multiples of the base next to each count – next
but some where no others add up – with the least sum of absolute differences; for large tables near
to it; for two-way tables also at random, each right on average.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.arrays import BoolArray, FloatArray, IntArray, ranges, starts
from discreet.errors import CountRoundingError, SuppressionError, raise_all
from discreet.protection.rounding.bases import Rounding
from discreet.protection.suppression import (
    Confidential,
    Relations,
    additive_values,
    compiled,
    compiled_at_once,
    linked_cells,
    make_whole,
    shared_values,
    stacked_relations,
    table_relations,
)
from discreet.solver import column_values, loaded_solver
from discreet.tables import Table

if TYPE_CHECKING:
    from discreet.disclosure import VariableCode

#: Improvements of all cells in turn: they end by themselves, or after so many looks at a figure.
_PASSES, _FEWEST, _LOOKS = 60, 4, 30_000_000
#: So often are cells of a small table turned at random, to leave a choice that no pair improves.
_KICKS, _WORK = 400, 150_000
#: Groups of more cells than this are not searched for pairs.
_PAIRED = 20_000


@dataclass(frozen=True, repr=False, eq=False)
class JointCounts(Confidential):
    """The cells of tables of counts, each of them once (confidential)."""

    cells: tuple[IntArray, ...]  # per table, the number of each of its cells
    count: IntArray  # the count of each number
    relations: Relations  # which add up to which; empty cells stand in none

    @classmethod
    def of(
        cls, tables: Sequence[Table], same: Mapping[VariableCode, VariableCode] | None = None
    ) -> JointCounts:
        """Number the cells of tables; `same` has codes that mean the same.

        Raises:
            CountRoundingError: If totals are not the sums of their parts, or tables disagree.
        """
        linked, counts = linked_cells(tables, same), [table.count for table in tables]
        how: dict[str, Any] = {"rounding": 0, "repair": False, "names": linked.names}
        blocks = [
            (table_relations(table, table.count > 0)[0], cells[table.count > 0])
            for table, cells in zip(tables, linked.cells, strict=True)
        ]
        relations = stacked_relations(linked.number, blocks)
        with counts_refused():
            count = shared_values(linked.number, linked.cells, counts, **how)
            additive_values(relations, count, **how)
        return cls(linked.cells, count, relations)


@contextmanager
def counts_refused() -> Iterator[None]:
    """Counts that contradict each other are an error of rounding."""
    try:
        yield
    except SuppressionError as error:
        hint = "tabulate all tables from the same records, with all parts"
        problems = [replace(problem, hint=hint) for problem in error.problems]
        many = "{} cells contradict each other"
        raise_all(CountRoundingError, problems, code="additivity", many=many)


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class InnerCells(Confidential):
    """Inner cells, and what they add up to (confidential)."""

    count: IntArray  # the count of each inner cell
    #: Published cells × inner cells, column by column: 1 where one is part of the other
    within: Any

    @classmethod
    def of(cls, linked: JointCounts) -> InnerCells:
        """The inner cells of tables.

        Raises:
            CountRoundingError: If there is no one set of inner cells that all totals are sums of.
        """
        from scipy.sparse import csc_array, eye_array

        relations, number = linked.relations, len(linked.count)
        inner = linked.count > 0
        inner[relations.totals] = False
        own = np.flatnonzero(inner)
        total = relations.totals[relations.row]
        part = relations.cell != total
        pairs = np.ones(int(part.sum()), dtype=np.int64), (total[part], relations.cell[part])
        above = csc_array(pairs, shape=(number, number))
        within = level = eye_array(number, dtype=np.int64, format="csc")[:, own]
        while level.nnz:  # what each is part of, what that is part of, and so on
            level = above @ level
            within = within + level
        within.sort_indices()
        within.data[:] = 1
        control = cls(count=linked.count[own], within=within)
        trial = np.arange(own.size, dtype=np.int64) * 7919 % 104_729  # adds up by chance hardly
        for values, wanted in ((control.count, linked.count), (trial, None)):
            sums = control.sums(values)
            if relations.residuals(sums).any() or (wanted is not None and (sums != wanted).any()):
                message = (
                    "totals are sums of different interior cells and cannot be rounded together"
                )
                hint = 'round the tables one by one, or use method="controlled"'
                raise CountRoundingError(message, code="inner-cells", hint=hint)
        return control

    def sums(self, values: IntArray) -> IntArray:
        """Values of the published cells if the inner cells have these values."""
        return np.asarray(self.within @ values)

    def groups(self, chosen: IntArray | slice = slice(None)) -> tuple[IntArray, IntArray]:
        """Starts of the inner cells of each published cell, and these, numbered among some."""
        rows = self.within[:, chosen].tocsr()
        return rows.indptr.astype(np.int64), rows.indices.astype(np.int64)


def rounded_small(inner: InnerCells, base: int, most: int | None = None) -> IntArray:
    """Inner cells, rounded to 0 or the base where they are part of small published counts."""
    most = base - 1 if most is None else most
    truth, value = inner.sums(inner.count), inner.count.copy()
    open_cells = np.zeros(len(value), dtype=np.bool_)
    while True:
        sums = inner.sums(value)
        small = (sums > 0) & (sums <= most) & (sums % base != 0)
        fresh = (inner.within.T @ small.astype(np.int64) > 0) & (inner.count % base != 0)
        fresh &= ~open_cells
        if not fresh.any():
            return value
        open_cells |= fresh
        most = min(most, base - 1)  # of what is new, only counts below the base
        value = fitted(inner, truth, open_cells, base)


def fitted(inner: InnerCells, truth: IntArray, chosen: BoolArray, base: int) -> IntArray:
    """Inner cells with the chosen ones rounded so that sums miss the truth by least squares."""
    floor = np.where(chosen, inner.count // base * base, inner.count)
    cells = np.flatnonzero(chosen).astype(np.int64)
    first, member = inner.groups(cells)
    start, above = (of.astype(np.int64) for of in (inner.within.indptr, inner.within.indices))
    structure = (start, above, first, cells[member], cells)
    passes = min(_PASSES, max(_FEWEST, _LOOKS // max(len(above), 1)))
    kicks = min(_KICKS, _WORK // max(len(member), 1))
    up = chosen & (inner.count - floor >= _halfway(inner.count, base, drawn=not kicks))
    missed = inner.sums(floor + base * up) - truth
    _improve(*structure, up, missed, base, passes, _PAIRED)
    if cells.size > 1 and kicks:
        _kick(*structure, up, missed, base, kicks, truth)
    rounded: IntArray = floor + base * up.astype(np.int64)
    return rounded


def _halfway(count: IntArray, base: int, *, drawn: bool) -> FloatArray:
    """From which rest on a cell starts above: from the half, or drawn anew for each cell.

    Nearest multiples of many cells that are alike miss all in one direction, farther than
    single cells make good. What is drawn is right on average. The counts themselves are the
    seed: equal tables are rounded equally, and readers, who do not know all counts, cannot
    draw it again.
    """
    if not drawn:
        return np.full(len(count), base / 2)
    seed = hashlib.sha256(b"discreet start 1\0" + count.astype("<i8").tobytes()).digest()
    raw = np.random.Philox(key=int.from_bytes(seed[:16])).random_raw(len(count))
    return base * (1.0 - (raw >> np.uint64(11)).astype(np.float64) * 2.0**-53)


@compiled
def _change(start: Any, member: Any, up: Any, missed: Any, base: int, cell: int) -> int:
    """By how much the sum of squares changes if one cell goes the other way."""
    step = -base if up[cell] else base
    change = 0
    for k in range(start[cell], start[cell + 1]):
        change += step * (2 * missed[member[k]] + step)
    return change


@compiled
def _turn(start: Any, member: Any, up: Any, missed: Any, base: int, cell: int) -> None:
    step = -base if up[cell] else base
    up[cell] = not up[cell]
    for k in range(start[cell], start[cell + 1]):
        missed[member[k]] += step


@compiled
def _shared(start: Any, member: Any, one: int, other: int) -> int:
    """How many published cells two inner cells are both part of."""
    i, j, shared = start[one], start[other], 0
    while i < start[one + 1] and j < start[other + 1]:
        if member[i] == member[j]:
            shared += 1
            i += 1
            j += 1
        elif member[i] < member[j]:
            i += 1
        else:
            j += 1
    return shared


@compiled_at_once
def _improve(
    start: Any, member: Any, group_start: Any, group: Any, cells: Any,
    up: Any, missed: Any, base: int, passes: int, paired: int,
) -> None:  # fmt: skip
    """Turn cells, and exchange pairs of a group, as long as the sum of squares falls."""
    for _ in range(passes):
        better = False
        for cell in cells:
            if _change(start, member, up, missed, base, cell) < 0:
                _turn(start, member, up, missed, base, cell)
                better = True
        for total in range(group_start.size - 1):
            first, last = group_start[total], group_start[total + 1]
            if last - first < 2 or last - first > paired:
                continue
            if _exchange(start, member, group[first:last], up, missed, base):
                better = True
        if not better:
            return


@compiled
def _exchange(start: Any, member: Any, cells: Any, up: Any, missed: Any, base: int) -> bool:
    """Exchange the best pair of a group, one down and one up, if that helps."""
    change = np.empty(cells.size, np.int64)
    best_up = best_down = -1
    for k in range(cells.size):
        change[k] = _change(start, member, up, missed, base, cells[k])
        if up[cells[k]] and (best_down < 0 or change[k] < change[best_down]):
            best_down = k
        if not up[cells[k]] and (best_up < 0 or change[k] < change[best_up]):
            best_up = k
    if best_up < 0 or best_down < 0:
        return False
    least, one, other = 0, -1, -1
    whole = cells.size <= 128
    for i in range(cells.size):
        if up[cells[i]] or not (whole or i == best_up):
            continue
        room = 2 * base * base * (start[cells[i] + 1] - start[cells[i]])
        for j in range(cells.size):
            both = change[i] + change[j]
            if up[cells[j]] and (whole or j == best_down) and both - room < least:
                both -= 2 * base * base * _shared(start, member, cells[i], cells[j])
                if both < least:
                    least, one, other = both, i, j
    if one < 0:
        return False
    _turn(start, member, up, missed, base, cells[one])
    _turn(start, member, up, missed, base, cells[other])
    return True


@compiled_at_once
def _kick(
    start: Any, member: Any, group_start: Any, group: Any, cells: Any,
    up: Any, missed: Any, base: int, kicks: int, truth: Any,
) -> None:  # fmt: skip
    """Turn three cells at random and improve anew; keep the smaller squares, maximum, distance."""
    state = 2463534242
    root = np.sqrt(truth)
    least, most = np.sum(missed * missed), np.max(np.abs(missed))
    far = np.sum((np.sqrt(truth + missed) - root) ** 2)
    for _ in range(kicks):
        kept_up, kept_missed = up.copy(), missed.copy()
        for _ in range(3):
            state = (state * 1103515245 + 12345) % 2147483648
            _turn(start, member, up, missed, base, cells[(state >> 8) % cells.size])
        _improve(start, member, group_start, group, cells, up, missed, base, 10, cells.size)
        now, widest = np.sum(missed * missed), np.max(np.abs(missed))
        distance = np.sum((np.sqrt(truth + missed) - root) ** 2)
        if (now, widest, distance) < (least, most, far):
            least, most, far = now, widest, distance
        else:
            up[:] = kept_up
            missed[:] = kept_missed


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
        inner = InnerCells.of(linked)
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
    entries = entry[ranges(first[column], width)]
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
    first, bounds = starts(np.bincount(row, minlength=len(rest))), rest.astype(np.float64)
    solver = loaded_solver(
        (first, column[order], coef[order]), np.zeros(cost.size), most, cost=cost,
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
    make_whole(solver, np.arange(cost.size))
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
