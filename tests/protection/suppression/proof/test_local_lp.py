"""Work on patches: what is found fits the relations, and nothing is asked of cells beside."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.protection.suppression.problem.unknowns import unknowns_of
from discreet.protection.suppression.proof.circuits import Reach
from discreet.protection.suppression.proof.draft_pattern import DraftPattern
from discreet.protection.suppression.proof.local_lp import (
    flow_for_task,
    reach_by_patches,
    relation_distances,
)
from tests.helpers.squares import square


def test_hidden_cells_are_near_and_dear_ones_far() -> None:
    draft = DraftPattern(square())
    found = relation_distances(draft)
    assert found[draft.hidden].tolist() == [0.5]
    dear = draft.cost[~draft.hidden] > np.median(draft.cost)
    assert found[~draft.hidden][dear].min() > found[~draft.hidden][~dear].max()
    assert found[~draft.hidden] == pytest.approx(
        1 + 0.1 * draft.cost[~draft.hidden] / np.median(draft.cost)
    )


def test_what_there_is_no_room_for_is_not_tried() -> None:
    draft = DraftPattern(square())
    task = int(draft.open[0])
    draft.up[draft.distance(task)[0]] = 4.9
    before = draft.solved
    assert flow_for_task(draft, task, np.ones(len(draft)), draft.cost) is None
    assert draft.solved == before
    draft.up[draft.distance(task)[0]] = 5.0
    assert flow_for_task(draft, task, np.ones(len(draft)), draft.cost) is not None


def test_a_patch_without_the_cell_moves_no_other_one_instead() -> None:
    """What another cell can do proves nothing of this one."""
    draft = DraftPattern(square())
    task, alone = int(draft.open[0]), np.full(len(draft), np.inf)
    assert flow_for_task(draft, task, np.ones(len(draft)), draft.cost) is not None
    assert flow_for_task(draft, task, alone, draft.cost) is None


def test_bounds_of_hidden_cells_are_what_they_can_do() -> None:
    """Four inner cells move together; nothing is seen that they cannot do."""
    problem = square()
    hidden = np.zeros(9, dtype=np.bool_)
    hidden[[4, 5, 7, 8]] = True
    known = unknowns_of(problem, hidden)
    reach = Reach.none(len(known))
    solved = reach_by_patches(problem, known, reach)
    low, high = reach.low.copy(), reach.high.copy()
    at = int(np.searchsorted(known.cells, 4))
    assert high[at] >= 5 - 1e-6
    assert low[at] <= -5 + 1e-6
    assert (high <= 10 + 1e-6).all()
    assert (low >= -10 - 1e-6).all()
    assert solved >= 1
    assert reach_by_patches(problem, known, reach) == 0, "what is proven is not worked on"
    assert np.array_equal(reach.low, low)
    assert np.array_equal(reach.high, high)
