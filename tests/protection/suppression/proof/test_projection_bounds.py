"""Joint moves: how far cells are pushed, and what is left of moves that miss their sums."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.protection.suppression.proof import projection_bounds
from discreet.protection.suppression.proof.projection_bounds import (
    BAND,
    LeafSums,
    MoveTargets,
    ProjectionEffort,
    distances_reached,
    projected,
)


def sums_of(leaves: int, *sums: list[int]) -> LeafSums:
    """Known sums of leaves."""
    at = np.array([leaf for one in sums for leaf in one], dtype=np.int32)
    start = np.cumsum([0, *map(len, sums)])
    of = [[r for r, one in enumerate(sums) if leaf in one] for leaf in range(leaves)]
    return LeafSums(
        cells=np.arange(len(sums)),
        start=start,
        at=at,
        first=np.cumsum([0, *map(len, of)]),
        of=np.array([r for one in of for r in one], dtype=np.int32),
        way=np.full(leaves, -1),
        effort=ProjectionEffort(),
    )


def aims_of(*aims: tuple[list[int], float], leaves: int) -> MoveTargets:
    """Cells that are sums of leaves, each to be moved so far."""
    return MoveTargets(
        cells=np.arange(len(aims)),
        start=np.cumsum([0, *(len(at) for at, _ in aims)]),
        at=np.array([leaf for at, _ in aims for leaf in at], dtype=np.int32),
        want=np.array([want for _, want in aims]),
        room=np.full(leaves, 100.0),
    )


def pushed(aims: MoveTargets, wished: np.ndarray, moved: np.ndarray, stuck: float) -> np.ndarray:
    """What pushing makes of deviations, goals a half farther than what is wanted."""
    after = moved.copy()
    projection_bounds._push(aims.start, aims.at, aims.want, wished, after, 1.5, stuck)
    return after


def test_each_aim_is_pushed_to_its_goal_on_the_side_where_it_is() -> None:
    """Cells of one, two and no leaves; goals of 6, 12 and 3, shared by the leaves alike."""
    aims = aims_of(([0], 4.0), ([1, 2], 8.0), ([], 2.0), leaves=4)
    moved = np.array([[1.0, -1.0], [1.0, -1.0], [3.0, -3.0], [5.0, 5.0]])
    wished = np.ones((3, 2), dtype=np.bool_)
    after = pushed(aims, wished, moved, 0.0)
    np.testing.assert_array_equal(after, [[6.0, -6.0], [5.0, -5.0], [7.0, -7.0], [5.0, 5.0]])
    assert distances_reached(aims, after).tolist() == [[6.0, 6.0], [12.0, 12.0], [0.0, 0.0]]
    still = np.zeros((1, 2))
    alone = aims_of(([0], 4.0), leaves=1)
    assert pushed(alone, wished[:1], still, 0.0).tolist() == [[6.0, 6.0]], "from 0 it goes up"


def test_only_what_is_wished_and_neither_far_enough_nor_stuck_is_pushed() -> None:
    aims = aims_of(([0], 4.0), ([1], 4.0), leaves=2)
    moved = np.array([[1.0, 1.0], [1.0, 1.0]])
    wished = np.array([[True, False], [False, True]])
    assert pushed(aims, wished, moved, 0.0).tolist() == [[6.0, 1.0], [1.0, 6.0]]
    every = np.ones((2, 2), dtype=np.bool_)
    reached = np.array([[6.0, -6.0], [7.0, -7.0]])
    assert pushed(aims, every, reached, 0.0).tolist() == reached.tolist()
    assert pushed(aims, every, moved, 0.25).tolist() == [[6.0, 6.0], [6.0, 6.0]]
    assert pushed(aims, every, moved, 0.3).tolist() == moved.tolist(), "1 is less than 0.3 of 4"


def test_a_joint_move_is_the_nearest_that_changes_no_sum() -> None:
    """Of two leaves with a known sum both take half of what is too much; the third is in none."""
    sums = sums_of(3, [0, 1])
    moved = np.zeros((3, BAND))
    moved[:, 0], moved[:, 1] = (3.0, 1.0, 5.0), (1.0, -1.0, 2.0)
    free = np.ones(moved.shape, dtype=np.bool_)
    found, miss, weight = projected(sums, moved.copy(), free, 10, 1e-12)
    np.testing.assert_allclose(found[:, 0], [1.0, -1.0, 5.0], atol=1e-12)
    np.testing.assert_allclose(found[:, 1], [1.0, -1.0, 2.0], atol=1e-12)
    np.testing.assert_allclose(weight, [[2.0, 0.0, 0.0, 0.0]], atol=1e-12)
    assert miss.max() < 1e-12
    assert sums.effort.spent == 2.0, "one step over two entries"
    free[0] = False
    held, miss, _ = projected(sums, moved, free, 10, 1e-12)
    np.testing.assert_allclose(held[:, 0], [3.0, -3.0, 5.0], atol=1e-12)
    assert miss.max() < 1e-12


@pytest.mark.parametrize(("allowed", "kept"), [(1.5, False), (2.0, True), (2.5, True)])
def test_a_move_within_bounds_may_miss_as_much_as_is_allowed(allowed: float, kept: bool) -> None:
    """Without any step the sum of two leaves is missed by what they do together.

    Held at their bounds they miss it by 2. Where that is too much, the move is tried again
    without bounds; it misses by 4 and is given up.
    """
    sums, room = sums_of(2, [0, 1]), np.array([1.0, 1.0])
    moved = np.zeros((2, BAND))
    moved[:, 0], moved[:, 1] = 2.0, (0.5, -0.5)
    found = projection_bounds._within(sums, room, moved, (1, 0, 0.0, allowed))
    assert found[:, 0].tolist() == ([1.0, 1.0] if kept else [0.0, 0.0])
    assert found[:, 1].tolist() == [0.5, -0.5], "what misses nothing stays"


@pytest.mark.parametrize(("allowed", "kept"), [(0.5, False), (1.0, True), (1.5, True)])
def test_a_move_that_only_fits_without_bounds_is_kept_if_it_fits(
    allowed: float, kept: bool
) -> None:
    """Held at its bound a leaf misses a known sum by 2, free by 1."""
    sums, room = sums_of(2, [0, 1]), np.array([1.0, 5.0])
    moved = np.zeros((2, BAND))
    moved[:, 0] = 4.0, -3.0
    found = projection_bounds._within(sums, room, moved, (1, 0, 0.0, allowed))
    assert found[:, 0].tolist() == ([4.0, -3.0] if kept else [0.0, 0.0])
