"""The method `optimal` against trying out every pattern, with a checker written apart."""

from __future__ import annotations

from itertools import combinations

import highspy
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import SuppressionError
from discreet.protection.suppression.methods.cuts import aims_of, capacity_cut, movable_cells
from discreet.protection.suppression.methods.optimal import protect_optimal
from discreet.protection.suppression.methods.relaxation import Relaxation
from discreet.protection.suppression.problem.system import CellState, Relations, SuppressionProblem

MOST_FREE = 9


def two_way(rows: int, columns: int) -> list[list[tuple[int, int]]]:
    """Relations of a table with totals; cell (r, c) has number r × (columns + 1) + c."""
    width = columns + 1
    along = [
        [(r * width, -1), *((r * width + c, 1) for c in range(1, width))] for r in range(rows + 1)
    ]
    down = [[(c, -1), *((r * width + c, 1) for r in range(1, rows + 1))] for c in range(width)]
    return along + down


def interval(problem: SuppressionProblem, hidden: np.ndarray, cell: int) -> tuple[float, float]:
    """What an attacker can think of a cell: values of all cells, published ones as they are."""
    ends = []
    for sense in (highspy.ObjSense.kMinimize, highspy.ObjSense.kMaximize):
        solver = highspy.Highs()
        solver.setOptionValue("output_flag", False)
        for at in range(len(problem)):
            low, high = (
                (problem.low[at], problem.high[at])
                if hidden[at]
                else (problem.value[at], problem.value[at])
            )
            solver.addVar(float(low), float(high))
        links = problem.relations
        for row in range(len(links)):
            first, last = links.start[row : row + 2]
            cells = links.cell[first:last].astype(np.int32)
            right = float(links.rhs[row])
            solver.addRow(right, right, cells.size, cells, links.coef[first:last].astype(float))
        solver.changeColCost(cell, 1.0)
        solver.changeObjectiveSense(sense)
        solver.run()
        ends.append(solver.getInfo().objective_function_value)
    return ends[0], ends[1]


def is_safe(problem: SuppressionProblem, hidden: np.ndarray) -> bool:
    for cell in problem.primary:
        low, high = interval(problem, hidden, int(cell))
        value, upper, lower = problem.value[cell], problem.upper[cell], problem.lower[cell]
        width = max(int(problem.sliding[cell]), int(upper == lower == problem.sliding[cell] == 0))
        if high < value + upper - 1e-6 or low > value - lower + 1e-6 or high - low < width - 1e-6:
            return False
    return True


def cheapest(problem: SuppressionProblem) -> int | None:
    """Cost of the cheapest safe pattern, by trying them all in the order of cost."""
    free = np.flatnonzero(problem.state == CellState.free)
    already = problem.hidden
    patterns = [p for k in range(free.size + 1) for p in combinations(free.tolist(), k)]
    for pattern in sorted(patterns, key=lambda cells: int(problem.cost[list(cells)].sum())):
        hidden = already.copy()
        hidden[list(pattern)] = True
        if is_safe(problem, hidden):
            return problem.cost_of(hidden)
    return None


@st.composite
def tables(draw: st.DrawFn) -> SuppressionProblem:
    """Small tables: negative values, linked sums, bounds, levels of every kind."""
    rows, columns = draw(st.sampled_from([(2, 2), (2, 3), (3, 2), (3, 3)]))
    width, size = columns + 1, (rows + 1) * (columns + 1)
    numbers = st.integers(-5 if draw(st.booleans()) else 0, 30)
    inner = np.array(draw(st.lists(numbers, min_size=rows * columns, max_size=rows * columns)))
    value = np.zeros((rows + 1, width), dtype=np.int64)
    value[1:, 1:] = inner.reshape(rows, columns)
    value[0, 1:] = value[1:, 1:].sum(axis=0)
    value[:, 0] = value[:, 1:].sum(axis=1)
    links, flat = two_way(rows, columns), value.ravel()
    if draw(st.booleans()):
        # A cell of another table: the sum of the first two inner cells of a diagonal.
        links.append([(size, -1), (width + 1, 1), (2 * width + 2, 1)])
        flat = np.append(flat, flat[width + 1] + flat[2 * width + 2])
    size = len(flat)
    state = np.full(size, CellState.fixed, dtype=np.int8)
    free = draw(st.permutations(range(size)))
    primaries = draw(st.integers(1, 3))
    state[free[:primaries]] = CellState.primary
    state[free[primaries : primaries + MOST_FREE]] = CellState.free
    if draw(st.booleans()):
        state[free[primaries]] = CellState.secondary
    few = st.integers(0, 4)
    levels = np.array(draw(st.lists(st.tuples(few, few, few), min_size=size, max_size=size)))
    levels[state != CellState.primary] = 0
    room = np.array(draw(st.lists(st.integers(1, 40), min_size=size, max_size=size)))
    cost = draw(st.lists(st.integers(0, 9), min_size=size, max_size=size))
    return SuppressionProblem(
        value=flat,
        cost=np.array(cost, dtype=np.int64),
        state=state,
        low=flat - room,
        high=flat + room,
        lower=levels[:, 0],
        upper=levels[:, 1],
        sliding=levels[:, 0] + levels[:, 2],
        relations=Relations.of(size, links),
    )


@given(problem=tables())
def test_no_pattern_is_cheaper(problem: SuppressionProblem) -> None:
    everything = problem.state != CellState.fixed
    if not is_safe(problem, everything):
        with pytest.raises(SuppressionError, match="cannot be protected"):
            protect_optimal(problem)
        return
    pattern = protect_optimal(problem)
    assert pattern.optimal
    assert pattern.complete
    assert is_safe(problem, pattern.hidden)
    assert pattern.cost == pattern.bound == cheapest(problem)


@given(problem=tables(), data=st.data())
def test_any_multipliers_give_a_cut_that_safe_patterns_fulfil(
    problem: SuppressionProblem, data: st.DataObject
) -> None:
    everything = problem.state != CellState.fixed
    if not is_safe(problem, everything):
        return
    movable = movable_cells(problem)
    aims = aims_of(movable.unknowns)
    number = len(movable.unknowns.relations)
    some = st.floats(-2, 2, allow_nan=False)
    for at in range(len(aims)):
        multipliers = tuple(
            np.array(data.draw(st.lists(some, min_size=number, max_size=number)))
            for _ in aims.sides(at)
        )
        cut = capacity_cut(movable, aims, at, multipliers)
        hidden = protect_optimal(problem).hidden[movable.unknowns.cells]
        assert cut is None or cut.missing(hidden.astype(float)) <= 1e-6


@given(problem=tables())
@settings(max_examples=15)
def test_the_bound_of_the_relaxation_never_exceeds_the_optimum(problem: SuppressionProblem) -> None:
    if not is_safe(problem, problem.state != CellState.fixed):
        return
    relaxation = Relaxation(problem)
    bounds = [relaxation.bound]
    while not relaxation.complete:
        relaxation.round()
        bounds.append(relaxation.bound)
    assert bounds == sorted(bounds)
    assert bounds[-1] <= protect_optimal(problem).cost
