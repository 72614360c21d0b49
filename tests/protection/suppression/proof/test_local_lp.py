"""Work on patches: what is found fits the relations, and nothing is asked of cells beside."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.arrays import FloatArray
from discreet.disclosure import Patch, Reach, farthest_flow
from discreet.protection.suppression.problem.system import unknowns_of
from discreet.protection.suppression.proof.draft_pattern import DraftPattern
from discreet.protection.suppression.proof.local_lp import (
    _work_on,
    flow_for_task,
    reach_by_patches,
    relation_distances,
)
from tests.helpers.squares import square


def whole_patch(draft: DraftPattern) -> Patch:
    seed = draft.at(np.array([4]))
    return draft.patches.around(seed, 10 * len(draft), np.ones(len(draft)))


def fits(patch: Patch, moved: FloatArray) -> bool:
    """Whether a move keeps every relation."""
    row = np.repeat(np.arange(len(patch.start) - 1), np.diff(patch.start))
    sums = np.bincount(row, patch.coef * moved[patch.at], minlength=len(patch.start) - 1)
    return bool(np.abs(sums).max() < 1e-9)


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


@pytest.mark.parametrize("wanted", [3.0, -3.0, 0.5, -0.5])
def test_wishes_of_few_cells_are_met_whatever_the_others(wanted: float) -> None:
    """Cells that nothing is asked of do not count for the size of a wish."""
    draft = DraftPattern(square())
    patch = whole_patch(draft)
    wish = np.zeros(len(draft))
    at = int(draft.at(np.array([4]))[0])
    wish[at] = wanted
    moved = farthest_flow(patch, draft.down, draft.up, np.zeros(len(draft)), wish)
    assert moved is not None
    assert fits(patch, moved)
    assert moved[at] == pytest.approx(wanted, rel=1e-3)
    assert (moved <= draft.up + 1e-9).all()
    assert (moved >= -draft.down - 1e-9).all()
    inner = np.isin(draft.unknowns.cells, [4, 5, 7, 8])
    down, up = np.where(inner, draft.down, 0.0), np.where(inner, draft.up, 0.0)
    turned = farthest_flow(patch, down, up, np.zeros(len(draft)), wish)
    assert turned is not None
    assert turned[at] == pytest.approx(wanted, rel=1e-3)
    assert not turned[~inner].any(), "with fixed totals the others go the other way"
    still = farthest_flow(patch, draft.down, draft.up, np.full(len(draft), 1e6), wish)
    assert still is not None
    assert not still.any(), "what costs more than it is worth is left"


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


@pytest.mark.parametrize("side", [0, 1])
def test_only_what_is_asked_for_is_wished(monkeypatch: pytest.MonkeyPatch, side: int) -> None:
    """Directions that hidden cells cannot prove, or have proven, take no part in the wish."""
    draft = DraftPattern(square())
    draft.hidden[:] = True
    wishes: list[FloatArray] = []

    def refused(patch: Patch, *limits: FloatArray) -> None:
        wishes.append(limits[-1])

    monkeypatch.setattr("discreet.protection.suppression.proof.local_lp.farthest_flow", refused)
    patch, step, price = whole_patch(draft), np.ones(len(draft)), np.zeros(len(draft))
    tasks = np.zeros(2 * len(draft), dtype=np.bool_)
    _work_on(draft, patch, tasks, step, price, np.random.default_rng(1))
    assert not wishes
    cell = int(draft.open[0]) % len(draft)
    tasks[cell + side * len(draft)] = True
    _work_on(draft, patch, tasks, step, price, np.random.default_rng(1))
    assert wishes
    assert all(np.sign(wish[patch.cells == cell]) == 1 - 2 * side for wish in wishes)
    assert all(np.count_nonzero(wish) == 1 for wish in wishes)
