"""`DraftPattern`: a pattern in the making, with the proofs found so far. CONFIDENTIAL.

It knows what is hidden so far; for each sensitive cell how far it must be moved up and down and
which moves are proven; and the proofs: deviations of hidden cells that are held against all
relations and bounds. `fast` and `auto` work on this object: hidden cells alone prove what they can
by small linear programs; then each open task gets the cheapest flow through a patch around it.

In sparse counts few leaves can go down: whoever sees zeros printed knows that every hidden count is
1 at least. A sensitive cell moves by a unit if one leaf under it gives it to, or takes it from, a
leaf outside that stands in the same published cells: nothing published changes. Cells are published
in order of their cost, the dearest first, as long as every task has such a pair of leaves.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from copy import copy
from functools import cached_property

import numpy as np

from discreet.arrays import BoolArray, FloatArray, IntArray
from discreet.confidential import Confidential
from discreet.disclosure import (
    TOLERANCE,
    DeviationCheck,
    Exchanges,
    Leaves,
    Patch,
    Patches,
    Proof,
    Reach,
    Unknowns,
    farthest_flow,
    least_flow,
    leaves_of,
    moves_of,
    outer_bounds,
)
from discreet.protection.suppression.problem.system import (
    CellState,
    SuppressionProblem,
    unknowns_of,
)

#: How much more is asked for, in units and relatively, when an audit found a cell open.
_MORE = 1e-3
#: Solutions are stretched to at most so many times their size.
_STRETCH = 1e4


class DraftPattern(Confidential):
    """Which cells are hidden and what is proven (confidential).

    Cells are numbered among those that may move. A task is a cell and a direction:
    number of the cell for up, that plus the number of cells for down.
    """

    def __init__(self, problem: SuppressionProblem, unknowns: Unknowns | None = None) -> None:
        self.problem = problem
        free = problem.state != CellState.fixed
        self.unknowns = unknowns_of(problem, free) if unknowns is None else unknowns
        low, high = outer_bounds(self.unknowns)
        self.down, self.up = -low, high
        self.cost = problem.cost[self.unknowns.cells].astype(np.float64)
        all_cells = np.ones(len(self), dtype=np.bool_)
        self.must = problem.hidden[self.unknowns.cells] if unknowns is None else all_cells
        self.hidden = self.must.copy()
        self.target = self.targets(self.unknowns)
        self.proofs: list[Proof] = []
        self.proven = np.full(2 * len(self), -1, dtype=np.int64)
        self.solved = 0
        self.patches = Patches(self.unknowns.relations, (high - low) > TOLERANCE)

    def __len__(self) -> int:
        return len(self.unknowns)

    @cached_property
    def median_cost(self) -> float:
        """The median of what hiding costs, at least 1."""
        return max(float(np.median(self.cost)), 1.0) if len(self) else 1.0

    def targets(self, known: Unknowns) -> FloatArray:
        """Required movement of each sensitive cell: its levels, and the rest of the sliding one.

        What the sliding level asks beyond the other two goes upwards as far as there is
        room for it, and downwards otherwise.
        """
        rest = np.maximum(known.sliding - known.upper - known.lower, 0.0)
        above = np.minimum(known.upper + rest, np.maximum(self.up, known.upper))
        below = np.maximum(known.lower, known.sliding - above)
        watched = known.sensitive
        return np.concatenate([np.where(watched, above, 0.0), np.where(watched, below, 0.0)])

    def shift_downwards(self, cells: IntArray, reach_up: FloatArray) -> None:
        """Ask for less upwards and more downwards where a cell cannot go up so far."""
        known = self.unknowns
        above = np.maximum(known.upper[cells], np.minimum(self.target[cells], reach_up))
        below = np.maximum(known.lower[cells], known.sliding[cells] - above)
        self.target[cells], self.target[cells + len(self)] = above, below

    def halve(self) -> None:
        """Ask for half of each sliding level upwards and half downwards, where there is room."""
        cells = np.flatnonzero(self.unknowns.sensitive).astype(np.int64)
        room = np.minimum(self.up[cells], self.down[cells])
        half = 0.5 * self.unknowns.sliding[cells]
        fits = half <= room
        self.shift_downwards(cells[fits], half[fits])

    @property
    def open(self) -> IntArray:
        """Tasks that are not proven yet."""
        return np.flatnonzero((self.target > TOLERANCE) & (self.proven < 0)).astype(np.int64)

    def distance(self, task: int) -> tuple[int, float]:
        """The cell of a task and how far it must move; negative for down."""
        size = float(self.target[task])
        return (task, size) if task < len(self) else (task - len(self), -size)

    @property
    def effort(self) -> float:
        """Work of linear programs so far, including those of copies."""
        return self.patches.effort.steps

    def tasks_done(self, cells: IntArray, moved: FloatArray) -> IntArray:
        """The tasks that a solution proves."""
        enough = TOLERANCE
        above = cells[(self.target[cells] > enough) & (moved >= self.target[cells] - enough)]
        twins = cells + len(self)
        below = twins[(self.target[twins] > enough) & (-moved >= self.target[twins] - enough)]
        return np.concatenate([above, below])

    def take(self, cells: IntArray, moved: FloatArray) -> tuple[IntArray, IntArray]:
        """Hide cells, all of which move; note what they prove that was open.

        Returns:
            The cells that were not hidden before, and the tasks that were open.
        """
        done = self.tasks_done(cells, moved)
        fresh = done[self.proven[done] < 0]
        if fresh.size:
            self.proven[fresh] = len(self.proofs)
            self.proofs.append(Proof(cells=cells, moved=moved))
        new = cells[~self.hidden[cells]]
        self.hidden[new] = True
        return new, fresh

    def variants(self, cells: IntArray, moved: FloatArray) -> list[FloatArray]:
        """The mirror image of a solution, and both stretched to the bounds, as far as they fit."""
        down, up = self.down[cells], self.up[cells]
        variants = []
        for sign in (1.0, -1.0):
            turned = sign * moved
            room = np.where(turned > 0, up, down)
            far = np.abs(turned)
            most = float(np.min(room[far > 0] / far[far > 0], initial=_STRETCH))
            variants += [turned] if sign < 0 and most >= 1.0 else []
            variants += [most * turned] if most > 0 and most != 1.0 else []
        return variants

    def take_all(self, cells: IntArray, moved: FloatArray) -> tuple[IntArray, IntArray]:
        """As `take`, and note what the variants of the solution prove as well."""
        at = np.flatnonzero(moved)
        cells, moved = cells[at], moved[at]
        new, fresh = self.take(cells, moved)
        more = [self.take(cells, other)[1] for other in self.variants(cells, moved)]
        return new, np.concatenate([fresh, *more])

    def without(self, cells: BoolArray) -> DraftPattern:
        """A copy with some secondaries published, and the proofs that do not need them."""
        other = copy(self)
        gone = cells & ~self.must
        other.hidden = self.hidden & ~gone
        other.target = self.target.copy()
        other.proofs = list(self.proofs)
        lost = np.array([bool(gone[proof.cells].any()) for proof in self.proofs] + [True])
        other.proven = np.where(lost[self.proven], -1, self.proven)
        return other

    def raise_targets(self, cells: IntArray) -> None:
        """Ask a little more of some cells, where there is room, and prove them anew."""
        for tasks, room in ((cells, self.up), (cells + len(self), self.down)):
            targets = self.target[tasks]
            more = np.minimum(targets * (1 + _MORE) + _MORE, np.maximum(room[cells], targets))
            self.target[tasks] = np.where(targets > 0, more, 0.0)
            self.proven[tasks] = -1

    @property
    def spent(self) -> float:
        """Cost of the secondary suppressions."""
        return float(self.cost[self.hidden & ~self.unknowns.sensitive].sum())

    def mask(self, hidden: BoolArray | None = None) -> BoolArray:
        """The hidden cells among all cells of the problem."""
        full = np.zeros(len(self.problem), dtype=np.bool_)
        full[self.unknowns.cells[self.hidden if hidden is None else hidden]] = True
        return full

    def at(self, cells: IntArray) -> IntArray:
        """The numbers here of cells of the problem."""
        return np.searchsorted(self.unknowns.cells, cells).astype(np.int64)

    def checked(self, proofs: Sequence[Proof]) -> tuple[Unknowns, DeviationCheck, BoolArray]:
        """The cells hidden now, what proofs show of them, and which of these fit.

        A proof fits if it moves hidden cells only, within their bounds, and all relations hold.
        """
        known = unknowns_of(self.problem, self.mask())
        number = np.full(len(self.problem), -1, dtype=np.int64)
        number[known.cells] = np.arange(len(known))
        check = DeviationCheck(known)
        fits = check.see_all(
            [Proof(cells=number[self.unknowns.cells[p.cells]], moved=p.moved) for p in proofs]
        )
        return known, check, fits


#: How far it is to a hidden cell, and to another one per share of the median cost.
_STEP_HIDDEN, _STEP_COST = 0.5, 0.1
#: Cells of the first patch that is tried around a cell.
PATCH_SIZE = 600
#: Cells of a patch when many tasks are to be proven at once.
_PROOF_PATCH = 800
#: A patch is left after so many goes that proved less than this share of what is open.
_PATIENCE, _WORTH = 2, 0.05
_TELL = 256


def never() -> bool:
    """For work that nothing stops."""
    return False


def relation_distances(draft: DraftPattern) -> FloatArray:
    """Distances of cells to others in a common relation."""
    return np.where(draft.hidden, _STEP_HIDDEN, 1.0 + _STEP_COST * draft.cost / draft.median_cost)


def flow_for_task(
    draft: DraftPattern,
    task: int,
    step: FloatArray,
    price: FloatArray,
    size: int = PATCH_SIZE,
    largest: int | None = None,
    distance: float | None = None,
) -> tuple[IntArray, FloatArray] | None:
    """The cheapest way to do one task: cells and how far each moves; None if there is none.

    A `distance` stands for that of the task, which is then the number of a cell.

    Patches grow from `size` cells, to `largest` if given, until one of them can do it. The step to
    a cell is infinite if it must stay; its price per unit is 0 where hidden.
    """
    cell, distance = draft.distance(task) if distance is None else (task, distance)
    room = draft.up[cell] if distance > 0 else draft.down[cell]
    if room < abs(distance) - TOLERANCE:
        return None
    seed = np.array([cell], dtype=np.int64)
    while True:
        patch = draft.patches.around(seed, size, step)
        cells = patch.cells
        at = int(np.searchsorted(cells, cell))
        if at < len(cells) and cells[at] == cell:
            draft.solved += 1
            moved = least_flow(
                patch, draft.down[cells], draft.up[cells], price[cells], at, distance
            )
            if moved is not None:
                return cells, moved
        if patch.whole or size >= (math.inf if largest is None else largest):
            return None
        size *= 2


def cover_tasks(
    draft: DraftPattern,
    tasks: IntArray,
    over: Callable[[], bool],
    tell: Callable[[float], None] | None = None,
    allowed: BoolArray | None = None,
    factor: FloatArray | None = None,
) -> list[int]:
    """Protect cells, task by task in the order given; gives the tasks that cannot be done.

    `over` is asked before each task; `tell` is told now and then which share is done. Only
    cells `allowed` are hidden or moved, at prices multiplied with `factor`.
    """
    step = relation_distances(draft)
    if allowed is not None:
        step[~allowed] = np.inf
    price = np.where(draft.hidden, 0.0, np.maximum(draft.cost, 1e-6))
    price /= draft.median_cost
    if factor is not None:
        price *= factor
    failed = []
    for at, task in enumerate(tasks):
        if tell is not None and at % _TELL == 0:
            tell(at / len(tasks))
        if draft.proven[task] >= 0:
            continue
        if over():
            break
        flow = flow_for_task(draft, int(task), step, price)
        if flow is None:
            failed.append(int(task))
            continue
        new, _ = draft.take_all(*flow)
        step[new], price[new] = _STEP_HIDDEN, 0.0
    return failed


def prove_by_hidden_cells(draft: DraftPattern, over: Callable[[], bool], seed: int = 0) -> None:
    """Prove open tasks with moves of cells that are hidden already.

    Around each cell in turn, hidden cells near by are moved, each to a side drawn at
    random among those it has tasks for, until nothing new is proven. What is not proven
    then may still be possible.
    """
    step, price = np.where(draft.hidden, 1.0, np.inf), np.zeros(len(draft))
    number, at = len(draft), np.flatnonzero(draft.hidden)
    # Tasks that bounds do not rule out when only hidden cells move.
    reach = np.zeros(2 * number)
    low, reach[at] = outer_bounds(draft.unknowns.part(draft.hidden))
    reach[at + number] = -low
    tasks = (draft.target > TOLERANCE) & (reach >= draft.target - TOLERANCE)
    draw = np.random.default_rng([seed, 1])
    tried = np.zeros(number, dtype=np.bool_)
    for task in draft.open[tasks[draft.open]]:
        cell = int(task) % number
        if draft.proven[task] >= 0 or tried[cell]:
            continue
        if over():
            return
        seeds = np.array([cell], dtype=np.int64)
        patch = draft.patches.around(seeds, _PROOF_PATCH, step)
        tried[patch.cells] = True
        tried[cell] = True
        if patch.cells.size:
            _work_on(draft, patch, tasks, step, price, draw)


def _work_on(
    draft: DraftPattern, patch: Patch, tasks: BoolArray, step: FloatArray, price: FloatArray,
    draw: np.random.Generator,
) -> None:  # fmt: skip
    cells, number = patch.cells, len(draft)
    down, up = draft.down[cells], draft.up[cells]
    above, below = draft.target[cells], draft.target[cells + number]
    idle = 0
    while idle < _PATIENCE:
        rise = (draft.proven[cells] < 0) & tasks[cells]
        fall = (draft.proven[cells + number] < 0) & tasks[cells + number]
        rise &= ~fall | (draw.random(cells.size) < 0.5)
        wish = np.where(rise, above, np.where(fall, -below, 0.0))
        if not wish.any():
            return
        draft.solved += 1
        moved = farthest_flow(patch, down, up, price[cells], wish)
        done = 0
        if moved is not None:
            new, fresh = draft.take_all(cells, moved)
            step[new], price[new] = _STEP_HIDDEN, 0.0
            done = fresh.size
        idle = 0 if done > _WORTH * np.count_nonzero(wish) else idle + 1


#: The largest patch.
_LARGEST_PATCH = 8 * PATCH_SIZE


def reach_by_patches(problem: SuppressionProblem, unknowns: Unknowns, reach: Reach) -> None:
    """See how far hidden cells move by work on patches."""
    draft = DraftPattern(problem, unknowns)
    draft.halve()
    # Moves by whole numbers hold against readers who know that values are whole, too.
    draft.target = np.ceil(draft.target - TOLERANCE)
    safe = unknowns.protected(reach.low, reach.high)
    draft.target[np.concatenate([safe, safe])] = 0.0
    seen = np.concatenate([reach.high, -reach.low])
    draft.target[seen >= draft.target - 0.5 * TOLERANCE] = 0.0
    prove_by_hidden_cells(draft, never)
    check = DeviationCheck(unknowns, reach)

    def see(proofs: list[Proof]) -> None:
        check.see_all(proofs)
        check.see_all([Proof(cells=one.cells, moved=np.rint(one.moved)) for one in proofs])

    see(draft.proofs)
    step, price, number = np.ones(len(draft)), np.zeros(len(draft)), len(draft.proofs)
    for task in np.flatnonzero(draft.target > TOLERANCE).tolist():
        cell, far = draft.distance(task)
        seen = reach.whole_high[cell] if far > 0 else -reach.whole_low[cell]
        if draft.proven[task] < 0 or seen < abs(far) - TOLERANCE:
            largest = _LARGEST_PATCH if draft.proven[task] < 0 else PATCH_SIZE
            flow = flow_for_task(draft, task, step, price, largest=largest)
            if flow is not None:
                at = np.flatnonzero(flow[1])
                see([Proof(cells=flow[0][at], moved=flow[1][at])])
                draft.take_all(*flow)
    see(draft.proofs[number:])


#: With fewer tasks, or a smaller share of sensitive cells, single flows hide less.
_LEAST, _SHARE = 1_000, 0.4
#: With a smaller share of sensitive leaves that cannot move both ways, joint moves do more.
_ONE_WAY = 0.01
#: If fewer tasks have a pair of leaves though everything is hidden, this is not the way.
_PAIRED = 0.9
#: Cells that are tried between two looks at the clock.
_BATCH = 2_000
#: Proofs that are made together.
_TOGETHER = 20_000


def released_by_exchange(
    draft: DraftPattern, over: Callable[[], bool], *, always: bool = False
) -> bool:
    """Hide everything, then publish what exchanges of units allow; whether most tasks have one.

    The draft comes without any work done; it stays as it is where that is not so. `always`:
    with few sensitive cells, too.
    """
    tasks, problem = draft.open, draft.problem
    few = tasks.size < _LEAST or draft.unknowns.sensitive.sum() < _SHARE * len(draft)
    if (few and not always) or not tasks.size or not _units_suffice(draft):
        return False
    leaves = leaves_of(problem.relations, problem.state != CellState.fixed)
    if leaves is None or not _one_way(draft, leaves):
        return False
    work, paired = _paired(draft, tasks, leaves)
    if paired.sum() < _PAIRED * tasks.size:
        return False
    cells = draft.unknowns.cells
    down = np.zeros(len(problem))
    down[cells] = draft.down + TOLERANCE
    free = np.flatnonzero((problem.state == CellState.free) & (down >= 1.0))
    order = free[np.argsort(-problem.cost[free], kind="stable")].astype(np.int64)
    published = np.zeros(len(problem), dtype=np.bool_)
    for at in range(0, order.size, _BATCH):
        if over():
            break
        some = order[at : at + _BATCH]
        published[some[work.publish(some)]] = True
    draft.hidden = draft.must | ~published[cells]
    _store(draft, np.flatnonzero(paired), tasks, work)
    return True


def prove_by_exchange(draft: DraftPattern) -> None:
    """Prove open tasks of a large pattern by exchanges of units among its hidden cells."""
    tasks = draft.open
    if tasks.size >= _LEAST and _units_suffice(draft):
        problem = draft.problem
        leaves = leaves_of(problem.relations, problem.state != CellState.fixed)
        if leaves is not None:
            work, paired = _paired(draft, tasks, leaves)
            _store(draft, np.flatnonzero(paired), tasks, work)


def _units_suffice(draft: DraftPattern) -> bool:
    return not bool((draft.target > 1.0 + TOLERANCE).any())


def _paired(draft: DraftPattern, tasks: IntArray, leaves: Leaves) -> tuple[Exchanges, BoolArray]:
    """Pairs of leaves for tasks, where only cells of the draft move; which tasks have one."""
    cells, number = draft.unknowns.cells, len(draft)
    down, up = np.zeros(len(draft.problem)), np.zeros(len(draft.problem))
    down[cells], up[cells] = draft.down + TOLERANCE, draft.up + TOLERANCE
    work = Exchanges(
        leaves=leaves,
        asked=cells[tasks % number],
        rises=tasks < number,
        gives=down[leaves.cells] >= 1.0,
        takes=up[leaves.cells] >= 1.0,
    )
    # A total that cannot rise counts as known: leaves below it give to each other.
    total = (leaves.number < 0) & (np.diff(leaves.first) > 0)
    return work, work.start(np.flatnonzero((up < 1.0) & total))


def _one_way(draft: DraftPattern, leaves: Leaves) -> bool:
    """Whether sensitive leaves can move to one side only."""
    number = leaves.number[draft.unknowns.cells] >= 0
    sensitive = number & draft.unknowns.sensitive
    stuck = np.minimum(draft.down, draft.up) < 1.0 - TOLERANCE
    return bool((sensitive & stuck).sum() > _ONE_WAY * sensitive.sum())


def _store(draft: DraftPattern, paired: IntArray, tasks: IntArray, work: Exchanges) -> None:
    """Keep the exchanges of the tasks that have one as proofs."""
    number = np.full(len(draft.problem), -1, dtype=np.int64)
    number[draft.unknowns.cells] = np.arange(len(draft))
    for at in range(0, paired.size, _TOGETHER):
        some = paired[at : at + _TOGETHER]
        ends, cells, moved = moves_of(work.pair[some], work.leaves, number)
        draft.proven[tasks[some]] = len(draft.proofs) + np.arange(len(ends) - 1)
        draft.proofs += [
            Proof(cells=cells[a:b], moved=moved[a:b])
            for a, b in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True)
        ]
