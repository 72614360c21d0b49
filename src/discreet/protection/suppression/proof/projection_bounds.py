"""Bounds by projection: deviations of leaves that keep every published sum. CONFIDENTIAL.

In: the published sums of leaves, how far each leaf can move, and which cells are to be
moved how far. Out: deviations of all cells at once (joint moves) that keep every sum:
each proves that all cells that it moves far enough are protected. Cells are pushed, leaves
brought back to their bounds, and the whole is projected onto the published sums by
conjugate gradients, in turn; results do not depend on the number of threads. Far cheaper
than linear programs where a hundred thousand cells are hidden.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.arrays import BoolArray, FloatArray, IntArray, PositionArray
from discreet.protection.suppression.problem.kernels import compiled_at_once
from discreet.protection.suppression.problem.system import SuppressionProblem
from discreet.protection.suppression.problem.unknowns import TOLERANCE, Unknowns
from discreet.protection.suppression.proof.leaves import Leaves, leaves_of

#: Deviations that are worked on together.
BAND = 4
_THREADS = 2


@dataclass
class ProjectionEffort:
    """How much work was done: entries of sums gone through, the same on every machine."""

    spent: float = 0.0


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class LeafSums:
    """Sums of leaves that are known (confidential)."""

    cells: IntArray  # the published cells that they come from
    start: IntArray  # where the leaves of each sum begin in `at`
    at: PositionArray  # the leaves
    first: IntArray  # where the sums of each leaf begin in `of`
    of: PositionArray  # the sums
    #: For each cell of the problem, the relation that was followed down; -1 for leaves
    way: IntArray
    effort: ProjectionEffort  # counts what working with them took

    def __len__(self) -> int:
        return len(self.cells)


def leaf_sums(leaves: Leaves, known: BoolArray, effort: ProjectionEffort) -> LeafSums:
    """What known cells say about leaves, each with known sums below it taken away."""
    cells = np.flatnonzero(known).astype(np.int64)
    ways = leaves.ways(known)
    start, at = leaves.remaining(cells, known, ways)
    filled = np.diff(start) > 0
    start = np.concatenate([start[:-1][filled], start[-1:]])
    first, of = _transposed(start, at, len(leaves))
    return LeafSums(
        cells=cells[filled], start=start, at=at, first=first, of=of, way=ways[0], effort=effort
    )


def projected(
    sums: LeafSums, moved: FloatArray, free: BoolArray, most: int, fine: float
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The nearest deviations that change no sum, by how much each misses one at most, and weights.

    The weight of each sum in the change says how much it holds deviations back.

    There are one deviation per column, in a multiple of `BAND` columns, and at most so many
    steps; these end when no more than `fine` units are missing. Leaves not `free` stay.
    """

    def work(column: int) -> tuple[FloatArray, FloatArray, FloatArray, int]:
        part = np.ascontiguousarray(moved[:, column : column + BAND])
        mobile = np.ascontiguousarray(free[:, column : column + BAND]).astype(np.float64)
        taken = np.zeros((len(sums), BAND))
        miss, steps = _project(
            sums.start, sums.at, sums.first, sums.of, part, mobile, taken, most, fine
        )
        return part, miss, taken, steps

    with ThreadPoolExecutor(_THREADS) as pool:
        done = list(pool.map(work, range(0, moved.shape[1], BAND)))
    parts, misses, weights, steps = zip(*done, strict=True)
    sums.effort.spent += float(sums.at.size) * sum(steps)
    return np.hstack(parts), np.concatenate(misses), np.hstack(weights)


@compiled_at_once
def _transposed(start: Any, at: Any, leaves: int) -> Any:
    first = np.zeros(leaves + 1, dtype=np.int64)
    for k in range(at.size):
        first[at[k] + 1] += 1
    for i in range(leaves):
        first[i + 1] += first[i]
    filled = first[:-1].copy()
    of = np.empty(at.size, dtype=np.int32)
    for r in range(start.size - 1):
        for k in range(start[r], start[r + 1]):
            of[filled[at[k]]] = r
            filled[at[k]] += 1
    return first, of


@compiled_at_once
def _summed(start: Any, at: Any, weight: Any, values: Any, out: Any) -> None:
    """Weighted sums over lists, four columns at once."""
    for r in range(start.size - 1):
        a = b = c = d = values.dtype.type(0)
        for k in range(start[r], start[r + 1]):
            i = at[k]
            a += values[i, 0]
            b += values[i, 1]
            c += values[i, 2]
            d += values[i, 3]
        out[r, 0] = a * weight[r, 0]
        out[r, 1] = b * weight[r, 1]
        out[r, 2] = c * weight[r, 2]
        out[r, 3] = d * weight[r, 3]


@compiled_at_once
def _project(
    start: Any, at: Any, first: Any, of: Any, moved: Any, free: Any, taken: Any, most: int,
    fine: float,
) -> Any:  # fmt: skip
    """Change `moved` to the nearest without effect on sums; returns what is missing, and steps.

    `taken`, zero before, holds the weight of each sum in the change afterwards.
    """
    rows = start.size - 1
    ones = np.ones((rows, BAND), dtype=moved.dtype)
    weight = np.empty_like(ones)
    _summed(start, at, ones, free, weight)
    for r in range(rows):
        for j in range(BAND):
            weight[r, j] = 1.0 / np.sqrt(max(weight[r, j], 1.0))
    rest = np.empty_like(ones)
    _summed(start, at, weight, moved, rest)
    way = rest.copy()
    scaled = np.empty_like(ones)
    image = np.empty_like(ones)
    shift = np.empty_like(moved)
    size = _squares(rest)
    steps = 0
    while steps < most:
        if _largest(rest, weight).max() <= fine:
            break
        np.multiply(way, weight, scaled)
        _summed(first, of, free, scaled, shift)
        _summed(start, at, weight, shift, image)
        size = _step(way, image, taken, rest, size)
        steps += 1
    np.multiply(taken, weight, taken)
    _summed(first, of, free, taken, shift)
    for i in range(len(moved)):
        for j in range(BAND):
            moved[i, j] -= shift[i, j]
    _summed(start, at, ones, moved, rest)
    return _largest(rest, ones), steps


@compiled_at_once
def _step(way: Any, image: Any, taken: Any, rest: Any, size: Any) -> Any:
    """One step of conjugate gradients; returns the new squares of what is left."""
    bend = np.zeros(BAND)
    for r in range(len(way)):
        for j in range(BAND):
            bend[j] += way[r, j] * image[r, j]
    far = np.zeros_like(way[:1])[0]
    for j in range(BAND):
        if bend[j] > 1e-100:
            far[j] = size[j] / bend[j]
    for r in range(len(way)):
        for j in range(BAND):
            taken[r, j] += far[j] * way[r, j]
            rest[r, j] -= far[j] * image[r, j]
    fresh = _squares(rest)
    turn = np.zeros_like(far)
    for j in range(BAND):
        if size[j] > 1e-100:
            turn[j] = fresh[j] / size[j]
    for r in range(len(way)):
        for j in range(BAND):
            way[r, j] = rest[r, j] + turn[j] * way[r, j]
    return fresh


@compiled_at_once
def _squares(rest: Any) -> Any:
    out = np.zeros(BAND)
    for r in range(len(rest)):
        for j in range(BAND):
            out[j] += rest[r, j] * rest[r, j]
    return out


@compiled_at_once
def _largest(rest: Any, weight: Any) -> Any:
    out = np.zeros(BAND)
    for r in range(len(rest)):
        for j in range(BAND):
            out[j] = max(out[j], abs(rest[r, j]) / weight[r, j])
    return out


#: Joint moves that are made at once.
JOINT_MOVES = 2 * BAND
#: Cells are pushed a little farther than they must go; leaves stay a little within bounds.
_FARTHER, _WITHIN = 1.2, 0.95
#: So far is far enough before joint moves are made exact.
_ENOUGH = 1.05
#: Cells that moved less than this share are not pushed any more after some rounds.
_STUCK, _TRIES = 0.05, 2
_ROUNDS, _STEPS, _ROUGH = 10, 60, 1e-2
#: How joint moves are brought within bounds: rounds, steps in each, what may be missing.
_BOUND_ROUNDS, _BOUND_STEPS, _FINE = 8, 150, 1e-3
#: How they are made exact.
_EXACT_ROUNDS, _EXACT_STEPS, _EXACT = 5, 5_000, 1e-10
#: Joint moves that miss a sum by more are no joint moves.
_MISSED, _EXACTLY_MISSED = 1e-2, 1e-8
#: These are units of counts; where joint moves are higher, this share of their height.
_HEIGHT = 1e-3
#: What is beyond a bound by a smaller share is brought back by making the joint move smaller.
_BEYOND = 1e-6


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class MoveTargets:
    """How far which cells are to be moved (confidential)."""

    cells: IntArray  # the cells, numbers in the problem
    start: IntArray  # where the leaves of each begin in `at`
    at: PositionArray  # the leaves
    #: How far each is to be moved, up in one joint move and down in its mirror image
    want: FloatArray
    room: FloatArray  # how far each leaf can move to either side

    def __len__(self) -> int:
        return len(self.cells)


def move_targets(leaves: Leaves, cells: IntArray, want: FloatArray) -> MoveTargets:
    """Aims for some cells of a problem."""
    start, at = leaves.under(cells)
    return MoveTargets(
        cells=cells, start=start, at=at, want=want, room=np.minimum(leaves.down, leaves.up)
    )


def distances_reached(aims: MoveTargets, moved: FloatArray) -> FloatArray:
    """How far each aim is moved in each column."""
    out = np.empty((len(aims), moved.shape[1]))
    _gathered(aims.start, aims.at, moved, out)
    return np.abs(out)


def joint_moves(
    sums: LeafSums, aims: MoveTargets, wished: BoolArray, moved: FloatArray
) -> FloatArray:
    """Joint moves that do what is wished, as far as they can; nearly exact.

    `wished` says for each aim in which columns it is to be moved; `moved`, a multiple of `BAND`
    columns, where to start.
    """
    room = aims.room[:, None]
    free = np.broadcast_to(room > 0, moved.shape)
    most = _most(aims)[:, None]
    any_wished: BoolArray = np.logical_or.reduce(wished, axis=1)
    moved = np.clip(moved, -room, room)
    for turn in range(_ROUNDS):
        stuck = _STUCK if turn >= _TRIES else 0.0
        _push(aims.start, aims.at, aims.want, wished, moved, _FARTHER, stuck)
        moved = np.clip(moved, -most, most)
        moved, _, _ = projected(sums, moved, free, _STEPS, _ROUGH * _unit(moved))
        if turn >= _TRIES and _settled(aims, any_wished, moved):
            break
    moved = _within(sums, aims.room, moved, (_BOUND_ROUNDS, _BOUND_STEPS, _FINE, _MISSED))
    return moved * _largest_multiple(aims.room, moved)


def _most(aims: MoveTargets) -> FloatArray:
    """How far leaves are moved: not to their bounds, unless they must."""
    most = _WITHIN * aims.room
    want = np.repeat(aims.want, np.diff(aims.start))
    np.maximum.at(most, aims.at, np.minimum(want, aims.room[aims.at]))
    return most


def _settled(aims: MoveTargets, wished: BoolArray, moved: FloatArray) -> bool:
    """Whether joint moves reach all wished aims that move at all, and none leaves its bounds."""
    far = distances_reached(aims, moved)[wished].max(axis=1)
    want = aims.want[wished]
    done = (far >= _ENOUGH * want) | (far < _STUCK * want)
    return bool(done.all()) and bool((np.abs(moved) <= aims.room[:, None]).all())


def exact_joint_moves(sums: LeafSums, aims: MoveTargets, moved: FloatArray) -> FloatArray:
    """The same joint moves so exact that they are proofs; what cannot be made exact is 0."""
    how = (_EXACT_ROUNDS, _EXACT_STEPS, _EXACT, _EXACTLY_MISSED)
    moved = _within(sums, aims.room, moved, how)
    return moved * np.minimum(_largest_multiple(aims.room, moved), 1.0)


def _within(
    sums: LeafSums, room: FloatArray, moved: FloatArray, how: tuple[int, int, float, float]
) -> FloatArray:
    """Hold leaves that are beyond their bounds there, and project the others."""
    rounds, steps, fine, missed = how
    unit = _unit(moved)
    fine, missed = fine * unit, missed * unit
    limit = room[:, None]
    held = np.abs(moved) >= limit
    start = moved
    miss = np.zeros(moved.shape[1])
    for _ in range(rounds):
        moved, miss, _ = projected(sums, np.clip(moved, -limit, limit), ~held, steps, fine)
        beyond = np.abs(moved) > limit * (1 + _BEYOND)
        if not beyond.any():
            break
        held |= beyond
    lost = miss > missed
    if lost.any():
        again, miss, _ = projected(
            sums, start, np.broadcast_to(limit > 0, moved.shape), steps, fine
        )
        moved = np.where(lost, again, moved)
        moved[:, lost & (miss > missed)] = 0.0
    return moved


def _unit(moved: FloatArray) -> float:
    """What counts as one unit for joint moves of this height: they are proofs up to 1e-8 of it."""
    return max(1.0, _HEIGHT * float(np.abs(moved).max(initial=0.0)))


def _largest_multiple(room: FloatArray, moved: FloatArray) -> FloatArray:
    """What each joint move can be multiplied with to reach a bound."""
    used = room > 0
    share = (np.abs(moved[used]) / room[used, None]).max(axis=0, initial=0.0)
    moves: FloatArray = np.where(share > _BEYOND, 1.0 / np.maximum(share, _BEYOND), 0.0)
    return moves


@compiled_at_once
def _gathered(start: Any, at: Any, moved: Any, out: Any) -> None:
    for s in range(start.size - 1):
        for j in range(moved.shape[1]):
            out[s, j] = 0.0
        for k in range(start[s], start[s + 1]):
            for j in range(moved.shape[1]):
                out[s, j] += moved[at[k], j]


@compiled_at_once
def _push(
    start: Any, at: Any, want: Any, wished: Any, moved: Any, farther: float, stuck: float
) -> None:
    """Push each aim that is not far enough to the side on which it is."""
    for s in range(start.size - 1):
        size = start[s + 1] - start[s]
        goal = want[s] * farther
        for j in range(moved.shape[1]):
            if not wished[s, j] or size == 0:
                continue
            far = 0.0
            for k in range(start[s], start[s + 1]):
                far += moved[at[k], j]
            if abs(far) >= goal or abs(far) < stuck * want[s]:
                continue
            more = ((goal if far >= 0.0 else -goal) - far) / size
            for k in range(start[s], start[s + 1]):
                moved[at[k], j] += more


_SEED = 21
#: Which share of the cells each first joint move is to move, and how often the rest is tried.
_WISHED, _TURNS = 0.35, 6
#: Smaller moves are none, in units; a joint move that misses a relation by more proves nothing.
_NO_MOVE, _PROOF_MISSED = 1e-9, 1e-6


def bounds_by_projection(
    problem: SuppressionProblem, hidden: BoolArray, unknowns: Unknowns
) -> tuple[FloatArray, FloatArray, int] | None:
    """Move as many sensitive cells as joint moves can; None where totals are no sums of leaves.

    Gives how far the hidden cells were seen to move down and up, and by how many joint moves.
    """
    leaves = leaves_of(problem)
    watched = np.flatnonzero(unknowns.sensitive)
    if leaves is None or not len(leaves) or not watched.size:
        return None
    low, high = np.zeros(len(unknowns)), np.zeros(len(unknowns))
    levels = np.maximum(unknowns.lower, unknowns.upper)
    aims = move_targets(
        leaves, unknowns.cells[watched], np.maximum(levels, 0.5 * unknowns.sliding)[watched]
    )
    sums = leaf_sums(leaves, ~hidden, ProjectionEffort())
    draw = np.random.default_rng(_SEED)
    still = np.ones(len(aims), dtype=np.bool_)
    rounds, columns = 0, JOINT_MOVES
    wished = draw.random((len(aims), columns)) < _WISHED
    near = 0.9
    for _ in range(_TURNS):
        start = draw.uniform(-near, near, (len(leaves), columns)) * aims.room[:, None]
        moved = exact_joint_moves(sums, aims, joint_moves(sums, aims, wished, start))
        far = distances_reached(aims, moved) >= aims.want[:, None] - TOLERANCE
        for column in moved.T:
            size = _proven_size(unknowns, leaves, column)
            if size is not None:
                rounds += 1
                np.minimum(low, -size, out=low)
                np.maximum(high, size, out=high)
        before = int(still.sum())
        still &= ~np.logical_or.reduce(far, axis=1)
        if not still.any() or int(still.sum()) == before:
            break
        columns, near = BAND, 0.1
        wished = np.repeat(still[:, None], columns, axis=1)
    return low, high, rounds


def _proven_size(unknowns: Unknowns, leaves: Leaves, column: FloatArray) -> FloatArray | None:
    """How far a joint move and its mirror image go; None if they do not fit what is published."""
    moved = leaves.moves(column)[unknowns.cells]
    moved[np.abs(moved) < _NO_MOVE] = 0.0
    room = np.minimum(-unknowns.low, unknowns.high)
    far = np.abs(moved) > room
    moved *= np.min(room[far] / np.abs(moved[far]), initial=1.0)
    links = unknowns.relations
    miss = np.bincount(links.row, links.coef * moved[links.cell], len(links))
    fits = np.abs(miss).max(initial=0.0) <= _PROOF_MISSED  # no number is no proof either
    return np.abs(moved) if fits else None
