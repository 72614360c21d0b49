"""Every method on small problems of every kind, against trying out every pattern."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from discreet.errors import SuppressionError
from discreet.protection.suppression.methods.cut_program import (
    CutProgram,
    aims_of,
    bridge_cuts,
    lower_bound_of,
    movable_cells,
    quick_lower_bound,
    relation_cuts,
)
from discreet.protection.suppression.methods.registry import find_pattern
from discreet.protection.suppression.problem.system import CellState, SuppressionProblem
from tests.helpers.small_systems import (
    KINDS,
    attack,
    cheapest,
    demand_of,
    drawn_system,
    is_safe,
    reader_of,
)

METHODS: tuple[Any, ...] = ("fast", "auto", "optimal", "modular", "hypercube")
#: With so many cells to choose from, every pattern is tried.
MOST_FREE = 7


def small_problem(kind: str, seed: int) -> SuppressionProblem:
    """Up to three sensitive cells and few free ones; the others are hidden or stay published."""
    problem, _ = drawn_system(kind, seed)
    draw = np.random.default_rng(seed)
    before = draw.random(len(problem)) < (0.7 if kind == "cube" else 0.1)
    state = np.where(before, CellState.secondary, CellState.fixed).astype(np.int8)
    cells = draw.permutation(len(problem))
    few = int(draw.integers(1, 4))
    state[cells[: few + MOST_FREE]] = CellState.free
    state[cells[:few]] = CellState.primary
    sensitive = state == CellState.primary
    levels = {"lower": problem.lower, "upper": problem.upper, "sliding": problem.sliding}
    kept = {name: np.where(sensitive, level, 0) for name, level in levels.items()}
    return replace(problem, state=state, **kept)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "seeds", [range(4), pytest.param(range(4, 12), marks=pytest.mark.exhaustive)]
)
def test_patterns_are_safe_and_bounds_and_costs_hold_the_lowest_one(
    kind: str, seeds: range
) -> None:
    protected = 0
    for seed in seeds:
        problem = small_problem(kind, seed)
        free = problem.state != CellState.fixed
        if not is_safe(problem, free, whole=True):
            for method in METHODS:
                with pytest.raises(SuppressionError) as caught:
                    find_pattern(problem, method)
                assert caught.value.code in ("infeasible", "whole-numbers")
            continue
        protected += 1
        lowest, whole = cheapest(problem), cheapest(problem, whole=True)
        assert lowest is not None
        assert whole is not None
        assert quick_lower_bound(problem) <= lower_bound_of(problem) <= lowest
        for method in METHODS:
            try:
                pattern = find_pattern(problem, method)
            except SuppressionError as error:  # with odd coefficients they may give up
                assert (kind, error.code) == ("odd", "whole-numbers")  # noqa: PT017
                continue
            assert pattern.safe
            assert pattern.complete
            assert is_safe(problem, pattern.hidden, whole=True)
            assert not (problem.hidden & ~pattern.hidden).any()
            assert not pattern.hidden[~free].any()
            assert pattern.cost == problem.cost_of(pattern.hidden) >= whole
            assert pattern.bound is None or pattern.bound <= lowest
            assert pattern.digest() == find_pattern(problem, method).digest()
            if method == "optimal":
                assert pattern.bound == lowest
                assert pattern.optimal == (pattern.cost == lowest)
                assert pattern.optimal or any("only fractions" in note for note in pattern.notes)
    assert protected >= len(seeds) / 4


@pytest.mark.parametrize("kind", KINDS)
def test_patterns_miss_cuts_if_and_only_if_somebody_comes_too_near(kind: str) -> None:
    """The public, and an insider who knows some cells; no cut rules out what is safe."""
    met = missed = 0
    for seed in range(6):
        problem, draw = small_problem(kind, seed), np.random.default_rng([41, seed])
        movable = movable_cells(problem)
        cells, aims = movable.unknowns.cells, aims_of(movable.unknowns)
        his = (draw.random(len(problem)) < 0.2) & (problem.state != CellState.primary)
        for known in (np.zeros(len(problem), dtype=bool), his):
            own = [replace(aim, who=7 * known.any(), still=known[cells]) for aim in aims]
            free = problem.state != CellState.fixed
            if not is_kept(problem, free, known):
                continue
            program = CutProgram(movable, own)
            cuts, safe = [*relation_cuts(movable, own)], [free]
            for share in draw.random(8):
                hidden = problem.hidden | (free & (draw.random(len(problem)) < share))
                found, kept = program.cuts_at(hidden[cells]), is_kept(problem, hidden, known)
                assert kept == (not found)
                met, missed, cuts = met + kept, missed + (not kept), cuts + found
                safe += [hidden] if kept else []
            assert all(
                cut.missing(hidden[cells].astype(float)) < 1e-9 for cut in cuts for hidden in safe
            )
            chosen = program.branch(10**6)
            assert chosen is not None
            assert not bridge_cuts(movable, chosen.astype(float))
    assert met
    assert missed


def is_kept(problem: SuppressionProblem, hidden: np.ndarray, known: np.ndarray) -> bool:
    """Whether the levels of all sensitive cells hold for one who knows some cells."""
    reader = reader_of(problem, hidden & ~known)
    cells = problem.primary.tolist()
    return all(demand_of(problem, cell).met_by(*attack(reader, cell)) for cell in cells)
