"""`DraftPattern`: what it says of a table before anything is proven."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import product

import numpy as np

from discreet.disclosure import DeviationCheck, Proof, Relations
from discreet.protection.suppression.problem.system import (
    CellState,
    SuppressionProblem,
    unknowns_of,
)
from discreet.protection.suppression.proof.draft_pattern import DraftPattern
from tests.helpers.rows import for_all_rows
from tests.helpers.squares import square


def table(variables: int) -> SuppressionProblem:
    """A table of variables with two codes and a total each."""
    shape = (3,) * variables
    number = np.arange(math.prod(shape)).reshape(shape)
    value = np.array([math.prod(2 if not at else 1 for at in place) for place in np.ndindex(shape)])
    rows = []
    for axis in range(variables):
        for place in product(range(3), repeat=variables - 1):
            line = [int(number[(*place[:axis], code, *place[axis:])]) for code in range(3)]
            rows.append([(line[0], -1), (line[1], 1), (line[2], 1)])
    none = np.zeros(number.size, dtype=np.int64)
    return SuppressionProblem(
        value=value,
        cost=value,
        state=np.full(number.size, CellState.free, dtype=np.int8),
        low=none,
        high=np.full(number.size, 100),
        lower=none,
        upper=none,
        sliding=none,
        relations=Relations.of(number.size, rows),
    )


def sensitive_table() -> SuppressionProblem:
    """Two by two with totals; the first inner cell asks for 2 downwards and 4 upwards."""
    problem = table(2)
    state = problem.state.copy()
    state[4] = CellState.primary
    lower, upper = np.zeros(9, dtype=np.int64), np.zeros(9, dtype=np.int64)
    lower[4], upper[4] = 1, 4
    return replace(problem, state=state, lower=lower, upper=upper)


def test_more_is_asked_of_cells_that_ask_for_something_only() -> None:
    """A cell that needs no protection must not get cells hidden for it."""
    draft = DraftPattern(sensitive_table())
    before = draft.target.copy()
    assert before[before > 0].tolist() == [4, 1]
    draft.raise_targets(np.arange(len(draft)))
    assert np.array_equal(draft.target > 0, before > 0)
    assert (draft.target[before > 0] > before[before > 0]).any()
    assert (draft.target >= before).all()
    room = np.concatenate([draft.up, draft.down])
    assert (draft.target <= np.maximum(room, before)).all()


def test_tasks_are_a_cell_and_a_direction() -> None:
    draft = DraftPattern(sensitive_table())
    up, down = draft.open.tolist()
    assert draft.distance(up) == (up, 4.0)
    assert draft.distance(down) == (up, -1.0)
    assert down == up + len(draft)


def test_a_proof_is_good_for_the_tasks_it_reaches() -> None:
    """Taking a solution hides its cells; publishing one of them takes the proof away."""
    draft = DraftPattern(sensitive_table())
    up, down = draft.open.tolist()
    cells = draft.at(np.array([4, 5, 7, 8]))
    moved = np.array([4.0, -4.0, -4.0, 4.0])
    short = np.array([3.9, -3.9, -3.9, 3.9])
    assert draft.tasks_done(cells, short).tolist() == []
    assert draft.tasks_done(cells, -short).tolist() == [down]
    new, fresh = draft.take(cells, moved)
    assert fresh.tolist() == [up]
    assert sorted(new.tolist()) == cells[1:].tolist(), "the sensitive one is hidden anyway"
    assert draft.hidden[cells].all()
    assert draft.hidden.sum() == 4
    assert draft.open.tolist() == [down]
    assert draft.spent == draft.cost[cells[1:]].sum()
    gone = np.zeros(len(draft), dtype=np.bool_)
    gone[cells[3]] = True
    other = draft.without(gone)
    assert sorted(other.open.tolist()) == [up, down]
    assert other.hidden.sum() == 3
    assert draft.open.tolist() == [down], "the first one stays as it was"
    other_cell = np.zeros(len(draft), dtype=np.bool_)
    other_cell[draft.at(np.array([0]))] = True
    assert draft.without(other_cell).open.tolist() == [down]


def test_a_sliding_level_is_asked_upwards_as_far_as_there_is_room() -> None:
    problem = sensitive_table()
    sliding = np.zeros(9, dtype=np.int64)
    sliding[4] = 9
    draft = DraftPattern(replace(problem, sliding=sliding))
    above, below = draft.target[draft.target > 0].tolist()
    assert above + below == 9
    assert above >= 4
    assert below >= 1
    at = draft.at(np.array([4]))
    draft.shift_downwards(at, np.array([6.0]))
    assert draft.target[at[0]] == 6
    assert draft.target[at[0] + len(draft)] == 3
    draft.shift_downwards(at, np.array([2.0]))
    assert draft.target[at[0]] == 4, "never less than the level upwards"
    assert draft.target[at[0] + len(draft)] == 5


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


def test_variants_reach_the_bounds_and_no_further() -> None:
    draft = DraftPattern(sensitive_table())
    cells = draft.at(np.array([4, 5, 7, 8]))
    moved = np.array([0.5, -0.5, -0.5, 0.5])
    found = draft.variants(cells, moved)
    assert any(np.array_equal(one, -moved) for one in found)
    for one in found:
        assert (one <= draft.up[cells] + 1e-9).all()
        assert (one >= -draft.down[cells] - 1e-9).all()
    room = [np.isclose(one, draft.up[cells]) | np.isclose(-one, draft.down[cells]) for one in found]
    assert sum(bool(each.any()) for each in room) >= 2
