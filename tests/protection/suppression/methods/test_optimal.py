"""The method `optimal`: known optima of published tables, bounds, limits, bad input."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from discreet.errors import SuppressionError
from discreet.protection.suppression.methods.branch_and_cut import protect_auto, protect_optimal
from discreet.protection.suppression.methods.cut_program import CutProgram, aims_of, movable_cells
from discreet.protection.suppression.methods.fast import protect_fast
from discreet.protection.suppression.methods.worktime import WorkTime
from discreet.protection.suppression.problem.system import CellState, SuppressionProblem
from discreet.protection.suppression.proof.certificate import certify
from discreet_argus.jj import read_jj
from tests.helpers.small_systems import problem_of, square


def published(reference: Path, name: str) -> SuppressionProblem:
    return read_jj(reference / "suppression" / f"{name}.jj.gz")


def capped(problem: SuppressionProblem) -> SuppressionProblem:
    """With bounds of 10 times the largest protection level, as the known optima have them."""
    room = 10 * problem.upper.max()
    return replace(
        problem,
        low=np.maximum(problem.low, problem.value - room),
        high=np.minimum(problem.high, problem.value + room),
    )


@pytest.mark.parametrize(
    ("name", "cost"), [("tau_SizeReg_P10", 621), ("tau_YearSizeReg_P10", 4508)]
)
def test_business_tables_reach_the_known_optimum(reference: Path, name: str, cost: int) -> None:
    problem = published(reference, name)
    pattern = protect_optimal(problem)
    assert (pattern.cost, pattern.bound, pattern.optimal) == (cost, cost, True)
    assert not len(certify(problem, pattern.hidden).unprotected)


@pytest.mark.parametrize(
    ("name", "cost"),
    [("targus", 2_033_155), pytest.param("table8", 103, marks=pytest.mark.exhaustive)],
)
def test_classic_instances_reach_the_known_optimum(reference: Path, name: str, cost: int) -> None:
    pattern = protect_optimal(capped(published(reference, name)))
    assert (pattern.cost, pattern.bound, pattern.safe) == (cost, cost, True)


def test_a_time_limit_gives_a_safe_pattern_and_a_bound(reference: Path) -> None:
    problem = capped(published(reference, "table7"))
    pattern = protect_optimal(problem, WorkTime(0.5))
    assert pattern.safe
    assert not pattern.complete
    assert not pattern.optimal
    assert pattern.bound is not None
    assert 0 <= pattern.bound < pattern.cost


def test_progress_is_told_in_whole_costs(reference: Path) -> None:
    lines: list[str] = []
    protect_optimal(published(reference, "tau_SizeReg_P10"), WorkTime(progress=lines.append))
    assert lines[-2].startswith("best 621, bound 621, ")


def program_of(problem: SuppressionProblem) -> CutProgram:
    movable = movable_cells(problem)
    return CutProgram(movable, aims_of(movable.unknowns))


def twice() -> SuppressionProblem:
    """Cells p, q, a, s with p = q - s and a = p + q: if s is published, a moves twice as far.

    Cell q is known too well to let the sensitive cell p move by its level alone.
    """
    value, room = np.array([50, 80, 130, 30]), np.array([50, 3, 50, 50])
    rows = [[(0, 1), (1, -1), (3, 1)], [(0, 1), (1, 1), (2, -1)]]
    first = np.array([1, 0, 0, 0])
    columns = {"state": first * CellState.primary, "lower": 5 * first, "upper": 5 * first}
    ends = {"low": value - room, "high": value + room}
    return problem_of(value, rows, cost=np.array([0, 1, 1, 10]), **columns, **ends)


def test_cells_may_move_further_than_the_level() -> None:
    assert protect_optimal(twice()).cost == 11
    wide = replace(twice(), low=np.zeros(4, dtype=np.int64), high=np.full(4, 200))
    assert protect_optimal(wide).cost == 2


def test_cells_that_cannot_be_protected_are_named() -> None:
    state = np.full(9, CellState.fixed, dtype=np.int8)
    state[[0, 4]] = CellState.primary
    with pytest.raises(SuppressionError, match="2 sensitive cells cannot be protected") as caught:
        protect_optimal(square(state=state, name=lambda at: f"place={at}"))
    assert caught.value.code == "infeasible"
    told = [(problem.where, problem.what) for problem in caught.value.problems]
    reason = "cells that must be published leave no safe pattern"
    assert told == [("place=0", reason), ("place=4", reason)]


def test_bounds_that_are_too_tight_are_given_as_the_reason() -> None:
    problem = square()
    problem.high[4] = 11
    for protect in (protect_fast, protect_auto, protect_optimal):
        with pytest.raises(SuppressionError, match=r"cell 4: .* is said to know .* is narrower"):
            protect(problem)


def test_nothing_shows_values() -> None:
    program = program_of(square())
    shown = f"{program} {program.movable} {program.separator.aims}"
    shown = re.sub(r" at 0x[0-9a-f]+", "", shown)
    assert "20" not in shown
    assert "confidential" in shown
