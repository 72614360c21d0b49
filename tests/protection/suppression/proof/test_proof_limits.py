"""What the proof proves next to its limits: bounds far apart, and levels missed by one unit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from discreet.disclosure import UNBOUNDED, DeviationCheck, Proof, Relations
from discreet.errors import SuppressionError
from discreet.protection.suppression.methods.registry import find_pattern
from discreet.protection.suppression.problem.system import (
    CellState,
    SuppressionProblem,
    unknowns_of,
)
from discreet.protection.suppression.proof.certificate import certificate_from_proofs, certify
from discreet.protection.suppression.proof.draft_pattern import DraftPattern
from tests.helpers.rows import for_all_rows
from tests.helpers.small_systems import square

_WIDE = UNBOUNDED
#: Cell 0 moves only as far as cell 1 does: next to it, or around cells that move freely.
_BESIDE = (3, [[(0, 1), (1, 1)], [(1, 1), (2, 1), (3, -1)]])
_AROUND = (4, [[(0, 1), (2, -1), (3, -1)], [(2, 1), (4, 1)], [(3, 1), (4, -1), (1, -1)]])


def problem_of(
    rows: Sequence[Sequence[tuple[int, int]]], cells: int, reach: int, level: int
) -> SuppressionProblem:
    """Cell 0 is sensitive and moves by 100, cell 1 by `reach`, all others by 2^53."""
    low, high = np.full(cells, -_WIDE), np.full(cells, _WIDE)
    low[:2], high[:2] = (-100, -reach), (100, reach)
    state = np.full(cells, CellState.secondary, dtype=np.int8)
    state[0] = CellState.primary
    levels = np.where(np.arange(cells) == 0, level, 0)
    nothing = np.zeros(cells, dtype=np.int64)
    return SuppressionProblem(
        value=nothing, cost=nothing + 1, state=state, low=low, high=high, lower=levels,
        upper=levels, sliding=nothing, relations=Relations.of(cells, rows),
    )  # fmt: skip


@for_all_rows("far", [_BESIDE, _AROUND])
@for_all_rows(("level", "safe"), [(42, True), (43, True), (44, False)])
def test_a_level_is_not_reached_by_one_unit_less(far: Any, level: int, safe: bool) -> None:
    """Whatever a solver takes for rounding errors beside bounds of 2^53."""
    last, rows = far
    problem = problem_of(rows, last + 1, 43, level)
    found = certify(problem, np.ones(last + 1, dtype=np.bool_))
    assert found.protected.tolist() == [safe]
    assert found.high.tolist() == [43]
    assert found.low.tolist() == [-43]


@pytest.mark.parametrize("side", [3, 5])
def test_wide_bounds_prove_no_more_than_those_that_a_solver_can_tell(side: int) -> None:
    """Nothing has to move farther than 5,000 for a level of 44 in squares of so few cells."""
    draw = np.random.default_rng(side)
    index = np.arange(side**2).reshape(side, side)
    rows = [[(int(cell), 1) for cell in line] for line in (*index, *index.T)]
    every = np.ones(side**2, dtype=np.bool_)
    for _ in range(10):
        problem = problem_of(rows, side**2, 43, 44)
        tight, size = draw.random(side**2) < 0.5, draw.integers(1, 60, side**2)
        low = np.where(tight, np.maximum(-size, problem.low), problem.low)
        high = np.where(tight, np.minimum(size, problem.high), problem.high)
        wide = replace(problem, low=low, high=high)
        near = replace(problem, low=np.maximum(low, -5_000), high=np.minimum(high, 5_000))
        found = certify(wide, every).protected
        assert found.tolist() == certify(near, every).protected.tolist()


def test_ranges_beyond_which_nothing_is_guaranteed_are_refused() -> None:
    high = np.full(9, 7 * 10**15)
    wide = square(value=np.zeros(9, dtype=np.int64), high=high)
    with pytest.raises(SuppressionError, match="no verdict is guaranteed") as refused:
        find_pattern(wide, "fast")
    assert "tighter bounds" in str(refused.value)
    with pytest.raises(SuppressionError, match="no verdict is guaranteed") as refused:
        certify(wide, np.ones(9, np.bool_))
    assert refused.value.code == "range"
    certify(square(high=np.full(9, 10**15)), np.ones(9, np.bool_))
    endless = certify(square(high=np.full(9, _WIDE)), np.ones(9, np.bool_))
    assert endless.protected.all()


def test_a_pattern_without_proofs_is_not_certified() -> None:
    """What is not shown to be protected counts as unprotected; a wrong proof shows nothing."""
    draft = DraftPattern(square())
    cells = draft.at(np.array([4, 5, 7, 8]))
    assert certificate_from_proofs(draft).unprotected.tolist() == [4]
    draft.take(cells, np.array([5.0, -5.0, -5.0, 5.0]))
    assert certificate_from_proofs(draft).unprotected.tolist() == [4], "upwards only"
    draft.take(cells, np.array([-5.0, 5.0, 5.0, -5.0]))
    assert not len(certificate_from_proofs(draft).unprotected)
    wrong = DraftPattern(square())
    wrong.take(cells, np.array([5.0, -5.0, -5.0, 5.0]))
    wrong.take(cells, np.array([-5.0, 5.0, 5.0, -4.0]))
    assert certificate_from_proofs(wrong).unprotected.tolist() == [4]


def test_nothing_confidential_is_shown() -> None:
    hidden = np.zeros(9, dtype=np.bool_)
    hidden[[4, 5, 7, 8]] = True
    assert repr(certify(square(), hidden)) == "<Certificate (confidential): 1 cells, 0 open>"


MOVES = {
    "fits": ([4, 5, 7, 8], [1.0, -1.0, -1.0, 1.0], True),
    "turned": ([4, 5, 7, 8], [-1.0, 1.0, 1.0, -1.0], True),
    "above a bound": ([4, 5, 7, 8], [5.0, -5.0, -5.0, 5.0], False),
    "below a bound": ([4, 5, 7, 8], [-9.5, 2.5, 2.5, -2.5], False),
    "breaks a total": ([4, 5, 7, 8], [1.0, -1.0, -1.0, 2.0], False),
    "no number": ([4, 5, 7, 8], [np.nan, -1.0, -1.0, 1.0], False),
    "endless": ([4, 5, 7, 8], [np.inf, -np.inf, -np.inf, np.inf], False),
    "nothing": ([], [], False),
}


@for_all_rows("case", MOVES)
def test_only_moves_within_all_bounds_and_totals_prove_something(case: str) -> None:
    """What an attacker knows to be impossible protects nobody."""
    cells, moved, fits = MOVES[case]
    high = np.array([100, 100, 100, 100, 12, 12, 100, 12, 12])
    hidden = np.zeros(9, dtype=np.bool_)
    hidden[[4, 5, 7, 8]] = True
    known = unknowns_of(square(high=high), hidden)
    at = np.searchsorted(known.cells, np.array(cells, dtype=np.int64)).astype(np.int64)
    proof = Proof(cells=at, moved=np.array(moved, dtype=np.float64))
    check = DeviationCheck(known)
    assert list(check.see_all([proof])) == [fits]
    assert (check.reach.low.any() or check.reach.high.any()) == fits
