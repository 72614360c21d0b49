"""Attackers who know that values are whole numbers: fractions are no protection from them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from discreet.disclosure import Relations
from discreet.errors import SuppressionError
from discreet.protection.suppression.methods.registry import find_pattern
from discreet.protection.suppression.problem.system import CellState, SuppressionProblem
from discreet.protection.suppression.proof import certificate
from discreet.protection.suppression.proof.audit import audit_problem
from discreet.protection.suppression.proof.certificate import (
    certify,
    held_in_whole_numbers,
    untested_gaps,
)
from tests.helpers.small_systems import intervals, is_safe

#: The only way in which the hidden cells of a table of 3 x 3 x 3 can move, in multiples.
_MOVES = np.array(
    [
        [[1, 0, -1], [-1, 1, 0], [0, -1, 1]],
        [[0, 1, -1], [0, -1, 1], [0, 0, 0]],
        [[-1, -1, 2], [1, 0, -1], [0, 1, -1]],
    ]
)


def cube_problem(shape: tuple[int, int, int] = (3, 3, 3), **changed: Any) -> SuppressionProblem:
    """A table of three variables with the totals over one of them; all inner cells are 1."""
    inner = np.arange(np.prod(shape)).reshape(shape)
    rows, totals = [], inner.size
    value = [1] * inner.size
    for axis in range(3):
        for line in np.moveaxis(inner, axis, 2).reshape(-1, shape[axis]):
            rows.append([(totals, -1), *((int(cell), 1) for cell in line)])
            value.append(len(line))
            totals += 1
    values = np.array(value)
    state = np.full(totals, CellState.fixed, dtype=np.int8)
    nothing = np.zeros(totals, dtype=np.int64)
    return SuppressionProblem(
        value=values, cost=values, state=state, low=nothing, high=2 * values, lower=nothing,
        upper=nothing, sliding=nothing, relations=Relations.of(totals, rows), **changed,
    )  # fmt: skip


def moving_cube(state: CellState) -> tuple[SuppressionProblem, np.ndarray]:
    """Its first cell is sensitive; cells that do not move are free or fixed."""
    problem = cube_problem()
    hidden = np.zeros(len(problem), dtype=np.bool_)
    hidden[:27] = _MOVES.ravel() != 0
    states = problem.state.copy()
    states[:27] = state
    states[hidden] = CellState.secondary
    states[0] = CellState.primary
    return replace(problem, state=states), hidden


def test_a_cell_that_only_fractions_protect_is_open() -> None:
    """The programme over fractions says 0.5 to 1.5, and there is one solution in whole numbers."""
    problem, hidden = moving_cube(CellState.fixed)
    fractions = certify(problem, hidden)
    assert fractions.protected.tolist() == [True]
    assert fractions.high[0] - fractions.low[0] == 1
    assert intervals(problem, hidden, whole=True)[0] == (1, 1)
    found = audit_problem(problem, hidden)
    assert not found.safe
    assert found.exact == ("cell 0",)
    for method in ("fast", "auto", "optimal"):
        with pytest.raises(SuppressionError) as refused:
            find_pattern(problem, method)  # type: ignore[arg-type]
        assert refused.value.code == "whole-numbers"
        assert "cell 0" in str(refused.value)


@pytest.mark.parametrize("method", ["fast", "auto", "optimal"])
def test_more_is_hidden_until_whole_numbers_protect(method: Any) -> None:
    problem, hidden = moving_cube(CellState.free)
    pattern = find_pattern(problem, method)
    assert pattern.safe
    assert (pattern.hidden & hidden).sum() == hidden.sum() < pattern.hidden.sum()
    assert is_safe(problem, pattern.hidden, whole=True)
    # What `fast` hides beyond the cheapest pattern is enough by chance.
    told = any("only fractions protected" in note for note in pattern.notes)
    assert told == (method != "fast")


def test_large_blocks_move_near_a_cell_and_what_is_left_is_a_gap(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    problem = cube_problem((5, 5, 5))
    hidden = np.zeros(len(problem), dtype=np.bool_)
    hidden[:125] = True
    state = np.where(hidden, CellState.secondary, CellState.fixed).astype(np.int8)
    state[:9] = CellState.primary
    problem = replace(problem, state=state)
    fractions = certify(problem, hidden)
    unseen = replace(fractions, whole=np.zeros_like(fractions.whole))
    near = held_in_whole_numbers(problem, hidden, unseen)
    assert near.whole.all()
    assert not untested_gaps(near)
    monkeypatch.setattr(certificate, "_SEARCHED", 2)
    left = held_in_whole_numbers(problem, hidden, unseen)
    assert left.untested == 7
    assert left.protected.all()
    (gap,) = untested_gaps(left)
    assert gap.text() == "whole numbers in large blocks (7 sensitive cells)"
    found = audit_problem(problem, hidden)
    assert found.safe  # attacks alone move them in whole numbers
    assert replace(found, certificate=left).verdict == "not examined"
    assert replace(found, certificate=left, accept=(gap.name,)).safe


def test_more_cells_around_move_where_few_leave_a_cell_open(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    draw = np.random.default_rng(13)
    problem = cube_problem((13, 13, 13))
    inner, number = draw.poisson(3, (13, 13, 13)) + 1, 13**3
    totals = [np.moveaxis(inner, axis, 2).sum(axis=2).ravel() for axis in range(3)]
    value = np.concatenate([inner.ravel(), *totals])
    hidden = np.zeros(len(problem), dtype=np.bool_)
    hidden[:number] = draw.random(number) < 0.5
    state = np.where(hidden, CellState.secondary, CellState.fixed).astype(np.int8)
    sensitive = np.flatnonzero(hidden & (value <= 2))[1:2]
    state[sensitive] = CellState.primary
    level = np.zeros(len(problem), dtype=np.int64)
    level[sensitive] = 1
    problem = replace(
        problem,
        value=value,
        cost=value,
        state=state,
        high=4 * value + 5,
        lower=level,
        upper=2 * level,
    )
    fractions = certify(problem, hidden)
    assert fractions.protected.all()
    unseen = replace(fractions, whole=np.zeros_like(fractions.whole))
    assert held_in_whole_numbers(problem, hidden, unseen).untested == 0
    monkeypatch.setattr(certificate, "_AROUND", (100, 300))
    assert held_in_whole_numbers(problem, hidden, unseen).untested == 1
