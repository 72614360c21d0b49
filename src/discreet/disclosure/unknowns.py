"""Hidden cells as a system of their own, and attackers on them. CONFIDENTIAL.

`Unknowns` are deviations of hidden cells from their true values, in blocks that share no relation,
and how far each can move at most, relation by relation. A bound too narrow shows that a cell is not
protected; a bound wide enough proves nothing yet. A `DeviationCheck` holds deviations from any
source – exchanges of units, answers of a solver – against all relations and bounds, without
rounding where they are whole or become so. An `Attacker` moves cells by fractions, a
`WholeAttacker` by whole numbers. `Blanks` are hidden cells of published tables from anywhere,
whoever hid them, between the values that anyone can work out: no true value is needed.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
import polars as pl

from discreet.arrays import BoolArray, FloatArray, IntArray, ranges
from discreet.classifications import Classification
from discreet.confidential import Confidential
from discreet.disclosure.named_cells import CellNames, relations_of
from discreet.disclosure.relations import Relations, component_labels, independent_relations
from discreet.disclosure.verdicts import DisclosureVerdict, Gap, Judged
from discreet.errors import SuppressionError
from discreet.kernels import compiled
from discreet.solver import column_values, is_optimal, loaded_solver
from discreet.tables import CellStatus, Dimension, ProtectedTable, Table

#: Levels count as reached when so little is missing, in units.
TOLERANCE = 1e-6
#: Levels of millions also when this share is missing, but never a quarter of a unit.
_SHARE, _QUARTER = 1e-9, 0.25


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Unknowns(Confidential):
    """Hidden cells as deviations from their true values, all 0 in truth (confidential)."""

    cells: IntArray  # their numbers in the problem
    relations: Relations  # the relations among them; right-hand sides are 0
    low: FloatArray  # how far below its true value the attacker can think each cell, at most 0
    high: FloatArray  # how far above, at least 0
    lower: FloatArray  # lower protection level of each cell; 0 where none is asked for
    upper: FloatArray  # upper protection level
    sliding: FloatArray  # sliding protection level
    sensitive: BoolArray  # which cells must be protected

    def __len__(self) -> int:
        return len(self.cells)

    def protected(self, low: Any, high: Any, at: Any = slice(None)) -> BoolArray:
        """Which cells are safe if each, or those `at` some places, can be from `low` to `high`."""
        levels = (self.upper, self.lower, self.sliding)
        upper, lower, sliding = (_enough(item[at]) for item in levels)
        safe: BoolArray = (high >= upper) & (-low >= lower) & (high - low >= sliding)
        return safe

    def part(self, chosen: BoolArray) -> Unknowns:
        """Some of the cells; the others must have nothing to do with them."""
        relations, old = self.relations.among(chosen)
        names = ("cells", "low", "high", "lower", "upper", "sliding", "sensitive")
        columns: dict[str, Any] = {name: getattr(self, name)[old] for name in names}
        return Unknowns(relations=relations, **columns)


def _enough(level: Any) -> Any:
    """From where on a level counts as reached: whole levels never by one unit less."""
    return level - np.clip(_SHARE * level, TOLERANCE, _QUARTER)


def blocks_of(unknowns: Unknowns, wanted: BoolArray | None = None) -> Iterator[Unknowns]:
    """The blocks of cells that hang together and hold a wanted cell, smallest first.

    Wanted are the sensitive cells unless given.
    """
    label = component_labels(unknowns.relations)
    names, sizes = np.unique(label, return_counts=True)
    holding = np.isin(names, label[unknowns.sensitive if wanted is None else wanted])
    order = np.argsort(sizes[holding], kind="stable")
    for block in names[holding][order]:
        yield unknowns.part(label == block)


_ROUNDS = 100


def outer_bounds(unknowns: Unknowns) -> tuple[FloatArray, FloatArray]:
    """Bounds of each cell, tightened until no relation tightens them further."""
    low, high = unknowns.low.copy(), unknowns.high.copy()
    links = unknowns.relations
    _tighten(links.start, links.cell, links.coef.astype(np.float64), low, high, _ROUNDS)
    return np.minimum(low, 0.0), np.maximum(high, 0.0)


def mobile_cells(unknowns: Unknowns) -> BoolArray:
    """Which cells can move as far as their relations, one by one, say."""
    low, high = outer_bounds(unknowns)
    return high - low > TOLERANCE


@compiled
def _tighten(start: Any, cell: Any, coef: Any, low: Any, high: Any, rounds: int) -> None:
    for _ in range(rounds):
        changed = False
        for row in range(start.size - 1):
            least = 0.0
            most = 0.0
            for k in range(start[row], start[row + 1]):
                a, b = coef[k] * low[cell[k]], coef[k] * high[cell[k]]
                least += min(a, b)
                most += max(a, b)
            for k in range(start[row], start[row + 1]):
                at = cell[k]
                a, b = coef[k] * low[at], coef[k] * high[at]
                below = -(most - max(a, b)) / coef[k]
                above = -(least - min(a, b)) / coef[k]
                if coef[k] < 0:
                    below, above = above, below
                if below > low[at]:
                    low[at] = below
                    changed = True
                if above < high[at]:
                    high[at] = above
                    changed = True
        if not changed:
            return


#: Deviations are made whole by multiplying with one of the first so many numbers.
_FACTORS = 12
#: What lies farther from a whole number is none.
_NEAR_WHOLE = 0.005
#: Larger numbers are not exact in doubles.
_EXACT = 2.0**53
#: What a proof may miss a relation by: in units, and relative to its largest move.
_UNITS, _MISSED_SHARE = 1e-6, 1e-8
#: Moves beyond the bounds known beforehand by more than so many units are no proof.
_BEYOND = 1e-6
#: Moves of cells that are looked at together.
_MOVED_AT_ONCE = 2**20


@dataclass(frozen=True, kw_only=True, repr=False)
class Proof(Confidential):
    """By how much which hidden cells, ascending, move so that all relations hold (confidential)."""

    cells: IntArray
    moved: FloatArray


@dataclass(repr=False, eq=False)
class Reach(Confidential):
    """Largest known movements of cells, also in whole numbers (confidential)."""

    low: FloatArray
    high: FloatArray
    whole_low: FloatArray
    whole_high: FloatArray

    @classmethod
    def none(cls, cells: int) -> Reach:
        """No cell was seen to move."""
        return cls(*(np.zeros(cells) for _ in range(4)))

    def see(self, moved: FloatArray, cells: Any = slice(None), *, whole: bool = False) -> None:
        """Note moves of all cells, or of some."""
        for low, high in ((self.low, self.high), (self.whole_low, self.whole_high))[: 1 + whole]:
            np.minimum.at(low, cells, moved)
            np.maximum.at(high, cells, moved)

    def at(self, cells: IntArray) -> Reach:
        """Known movements of some cells."""
        return Reach(*(column[cells] for column in vars(self).values()))

    def put(self, cells: IntArray, other: Reach) -> None:
        """Take what was seen of some cells."""
        for own, column in zip(vars(self).values(), vars(other).values(), strict=True):
            own[cells] = column

    def cap(self, low: FloatArray, high: FloatArray) -> None:
        """Nothing moves beyond bounds that hold for sure, whatever a solver answered."""
        for column in (self.low, self.whole_low):
            np.maximum(column, low, out=column)
        for column in (self.high, self.whole_high):
            np.minimum(column, high, out=column)


class DeviationCheck:
    """Holds deviations against what is published, and notes how far they go."""

    def __init__(self, known: Unknowns, reach: Reach | None = None) -> None:
        self.reach = Reach.none(len(known)) if reach is None else reach
        self._known = known

    def see_all(self, proofs: Sequence[Proof]) -> BoolArray:
        """Which proofs fit, with their cells numbered as here; their reach is noted."""
        sizes = np.array([len(proof.cells) for proof in proofs], dtype=np.int64)
        fits = np.zeros(len(proofs), dtype=np.bool_)
        first = np.flatnonzero(np.diff(np.cumsum(sizes) // _MOVED_AT_ONCE)) + 1
        for some in np.split(np.arange(len(proofs)), first):
            chosen = [proofs[at] for at in some.tolist()]
            proof = np.repeat(np.arange(len(chosen)), sizes[some])
            cells = np.concatenate([np.zeros(0, dtype=np.int64), *(one.cells for one in chosen)])
            moved = np.concatenate([np.zeros(0), *(one.moved for one in chosen)])
            fits[some] = self._see(len(chosen), proof, cells, moved)
        return fits

    def _see(self, size: int, proof: IntArray, cells: IntArray, moved: FloatArray) -> BoolArray:
        """Which of so many deviations fit, with the deviation of each cell that moves."""
        # What is no number is no proof either.
        wrong = (cells < 0) | ~np.isfinite(moved)
        waiting = np.bincount(proof, minlength=size) > 0
        waiting[proof[wrong]] = False
        fits, low, high = np.zeros(size, dtype=np.bool_), self._known.low, self._known.high
        for multiple in range(1, _FACTORS + 1):
            at = np.flatnonzero(waiting[proof])
            if not at.size:
                break
            own, some, far = proof[at], cells[at], multiple * moved[at]
            step = np.rint(far)
            out = (np.abs(far - step) > _NEAR_WHOLE) | (np.abs(step) > _EXACT)
            out |= (step < multiple * low[some]) | (step > multiple * high[some])
            whole = waiting & (np.bincount(own[out], minlength=size) == 0)
            kept = whole[own]
            own, some, step = own[kept], some[kept], step[kept]
            missed, sums = self._missed(own, some, step.astype(np.int64))
            whole[missed[sums != 0]] = False
            kept = whole[own]
            self.reach.see(step[kept] / multiple, some[kept], whole=multiple == 1)
            fits, waiting = fits | whole, waiting & ~whole
        at = np.flatnonzero(waiting[proof])
        own, some, far = proof[at], cells[at], moved[at]
        beyond = np.maximum(np.maximum(low[some] - far, far - high[some]), 0.0)
        missed, short = self._missed(own, some, far)
        short, largest, worst = np.abs(short), np.zeros(size), np.zeros(size)
        np.maximum.at(largest, own, np.abs(far))
        np.maximum.at(worst, own, beyond)
        np.maximum.at(worst, missed, short)
        allowed = _UNITS + _MISSED_SHARE * largest
        waiting[own[beyond > _BEYOND + 0.1 * allowed[own]]] = False
        waiting[missed[short > allowed[missed]]] = False
        off = np.bincount(own, beyond, size) + np.bincount(missed, short, size)
        off = np.where(worst > _UNITS, off, 0.0)[own]
        kept = waiting[own]
        np.minimum.at(self.reach.low, some[kept], (far + off)[kept])
        np.maximum.at(self.reach.high, some[kept], (far - off)[kept])
        return fits | waiting

    def _missed(self, proof: IntArray, cells: IntArray, moved: Any) -> tuple[IntArray, Any]:
        """By how much deviations miss each relation of their cells, with the deviation of each."""
        links = self._known.relations
        first, order = links.by_cell
        width = first[cells + 1] - first[cells]
        entry = order[ranges(first[cells], width)]
        keys, place = np.unique(
            np.repeat(proof, width) * max(len(links), 1) + links.row[entry], return_inverse=True
        )
        sums = np.zeros(len(keys), dtype=moved.dtype)
        np.add.at(sums, place, links.coef[entry] * np.repeat(moved, width))
        return keys // max(len(links), 1), sums


def sure_moves(known: Unknowns, moved: FloatArray) -> tuple[FloatArray, bool, bool]:
    """Guaranteed deviations of all hidden cells; whether there are any, and all whole."""
    check = DeviationCheck(known)
    fits = check.see_all([Proof(cells=np.arange(len(known), dtype=np.int64), moved=moved)])
    reach = check.reach
    sure = reach.low + reach.high
    return sure, bool(fits[0]), bool(fits[0] and (reach.whole_low + reach.whole_high == sure).all())


#: The solver's name for the primal simplex method.
_PRIMAL = 4
#: The solver's tolerance, in numbers near one.
_FINE = 1e-9


class Attacker:
    """All hidden cells of a block as variables of one linear program.

    Bounds stand in for those of the unknowns, if tighter ones are known; no cell is moved
    farther than `most`.
    """

    def __init__(
        self,
        unknowns: Unknowns,
        low: FloatArray | None = None,
        high: FloatArray | None = None,
        most: float = np.inf,
    ) -> None:
        self.unknowns = unknowns
        self.solved = 0
        low = unknowns.low if low is None else low
        high = unknowns.high if high is None else high
        self.low, self.high = np.maximum(low, -most), np.minimum(high, most)
        #: Whether some cell could move farther than it is allowed to here.
        self.narrowed = bool((low < -most).any() or (high > most).any())
        #: Whether the last answer is a proof, and one in whole numbers.
        self.proven = self.whole = False
        widest = float(max(np.abs(self.low).max(initial=1), np.abs(self.high).max(initial=1)))
        #: Numbers are kept near one, where the solver's tolerances make sense.
        self.scale = 2.0 ** np.ceil(np.log2(max(widest, 1.0) / 2**20)) if widest > 2**20 else 1.0
        self._solver = loaded_solver(
            independent_relations(unknowns.relations).matrix,
            self.low / self.scale,
            self.high / self.scale,
            primal_feasibility_tolerance=_FINE,
        )
        self._cost = np.zeros(len(unknowns))

    def ask(self, wish: FloatArray) -> FloatArray:
        """The solution that makes the sum of wish × deviation largest; what is sure of it.

        The answer of the solver is put right in whole numbers, or cut by what it misses.
        """
        changed = np.flatnonzero(wish != self._cost).astype(np.int32)
        if changed.size:
            self._solver.changeColsCost(changed.size, changed, -wish[changed])
            self._cost = wish.copy()
        self._solver.run()
        if not self.solved:
            self._solver.setOptionValue("simplex_strategy", _PRIMAL)
        self.solved += 1
        if not is_optimal(self._solver):
            # Going on from the last solution may lead nowhere by rounding.
            self._solver.clearSolver()
            self._solver.run()
        if not is_optimal(self._solver):
            message = "the solver found no answer to an attack"
            hint = "report this: true values always fit what is published"
            raise SuppressionError(message, code="solver", hint=hint)
        moves = column_values(self._solver) * self.scale
        sure, self.proven, self.whole = sure_moves(self.unknowns, moves)
        return sure

    def farthest(self, at: int, side: float) -> FloatArray:
        """A solution with the largest value of one cell, the smallest if the side is negative."""
        wish = np.zeros(len(self.unknowns))
        wish[at] = side
        return self.ask(wish)


#: An integer program ends after so many branchings: then nothing is known.
_NODES = 2_000
#: Cells move by at most so many levels.
_FAR = 1024.0
#: With more cells it is not even asked for networks.
_ASKED = 20_000
#: A larger coefficient makes it hard to find the farthest whole number.
LARGE = 100


class WholeAttacker:
    """The hidden cells of a block as whole numbers in one program."""

    def __init__(self, block: Unknowns, low: FloatArray, high: FloatArray) -> None:
        self.block = block
        levels = np.maximum.reduce([block.lower, block.upper, block.sliding])
        self.widest = int(np.abs(block.relations.coef).max(initial=1))
        far = _FAR * max(float(levels[block.sensitive].max(initial=0.0)), 1.0) * self.widest
        self.low = np.ceil(np.maximum(low, -far) - TOLERANCE)
        self.high = np.floor(np.minimum(high, far) + TOLERANCE)
        self.network = len(block) <= _ASKED and is_network(independent_relations(block.relations))
        self._solver: Any = None

    def reached(self, at: int) -> tuple[float, float, bool] | None:
        """Movement of one cell down and up, and whether it is enough; None if unknown."""
        up, down = self._farthest(at, 1.0), self._farthest(at, -1.0)
        if up is None or down is None:
            return None
        return -down, up, bool(self.block.protected(-down, up, at))

    def _farthest(self, at: int, side: float) -> float | None:
        """How far a cell moves to a side in whole numbers.

        With large coefficients it is enough to know that it moves as far as it must.
        """
        if self._solver is None:
            matrix = self.block.relations.matrix
            self._solver = loaded_solver(
                matrix, self.low, self.high, mip_max_nodes=_NODES, mip_rel_gap=0.0
            )
            make_whole(self._solver, np.arange(len(self.block)))
        block, low, high = self.block, self.low[at], self.high[at]
        if self.widest > LARGE:
            most = np.ceil(max(block.lower[at], block.upper[at], block.sliding[at]))
            self._solver.changeColBounds(at, max(low, -most), min(high, most))
        self._solver.changeColCost(at, -side)
        for presolve in ("off", "choose") if self.widest > LARGE else ("choose",):
            self._solver.setOptionValue("presolve", presolve)
            self._solver.run()
            if is_optimal(self._solver):
                break
        known, moved = is_optimal(self._solver), np.rint(column_values(self._solver))
        if self.widest > LARGE:
            _balance(block.relations, moved)
        self._solver.changeColCost(at, 0.0)
        self._solver.changeColBounds(at, low, high)
        moved, _, whole = sure_moves(self.block, moved) if known else (moved, False, False)
        return abs(float(moved[at])) if whole else None


def _balance(links: Relations, moved: FloatArray) -> None:
    """Let cells that stand in one relation only take what rounding left over there, the last."""
    first, order = links.by_cell
    once = order[first[:-1][np.diff(first) == 1]][::-1]
    once = once[np.abs(links.coef[once]) == 1]
    rows, at = np.unique(links.row[once], return_index=True)
    entry = once[at]
    missed = links.residuals(moved.astype(np.int64))[rows]
    moved[links.cell[entry]] -= links.coef[entry] * missed


def make_whole(solver: Any, columns: IntArray) -> None:
    """Let some columns be whole numbers only."""
    import highspy

    kinds = np.full(columns.size, int(highspy.HighsVarType.kInteger), dtype=np.uint8)
    solver.changeColsIntegrality(columns.size, columns.astype(np.int32), kinds)


def is_network(relations: Relations) -> bool:
    """Whether each cell stands in two relations at most, on opposite sides once signs are turned.

    Whatever such relations allow with whole bounds, whole numbers do as well.

    >>> rows = [[(0, 1), (1, 1)], [(2, 1), (3, 1)], [(0, 1), (2, 1)], [(1, 1), (3, 1)]]
    >>> is_network(Relations.of(4, rows))
    True
    >>> is_network(Relations.of(3, [[(0, 1), (1, 1)], [(1, 1), (2, 1)], [(0, 1), (2, 1)]]))
    False
    """
    if not len(relations) or (np.abs(relations.coef) != 1).any():
        return not len(relations)
    first, by_cell = relations.by_cell
    width = np.diff(first)
    if width.max() > 2:
        return False
    twice = np.flatnonzero(width == 2)
    one, other = by_cell[first[twice]], by_cell[first[twice] + 1]
    # Rows on two sides: apart where a cell has one sign in both, else together.
    size, row = len(relations), relations.row
    turned = np.where(relations.coef[one] == relations.coef[other], size, 0)
    sides = [[row[one], row[other] + turned], [row[one] + size, row[other] + size - turned]]
    label = component_labels(Relations.of_pairs(2 * size, np.concatenate(sides, axis=1).T))
    return not bool((label[:size] == label[size:]).any())


#: Whether zeros may be hidden, too ("partners"), or not.
KnownZeros: TypeAlias = Literal["fixed", "partners"]

#: Kind of the remark that zeros may be hidden among the others.
ZEROS_HIDDEN = "hidden-zeros"


def zeros_of(published: Sequence[ProtectedTable]) -> KnownZeros:
    """Whether published tables say that zeros may be hidden ("partners") or not ("fixed")."""
    hidden = any(note.kind == ZEROS_HIDDEN for table in published for note in table.notes)
    return "partners" if hidden else "fixed"


#: Bounds so near to a whole unit are that unit.
_NEAR = 1e-3

#: Bounds no farther than this from a solution are worked out anew from there, in units.
_CLOSE = 2.0**20

#: The solver's tolerance for what is worked out anew.
_COARSE = 1e-7


def published_intervals(
    relations: Relations,
    value: IntArray,
    hidden: BoolArray,
    *,
    negative: bool | BoolArray = False,
    rounding: float = 0.0,
    smallest: float = 0.0,
) -> tuple[FloatArray, FloatArray]:
    """Intervals of hidden cells that everyone can compute from the others.

    Values of hidden cells are not looked at. A published value may be off by so many units:
    0.5 where each was rounded on its own, 0 where totals are sums of what is printed. It is
    off by the same in all its relations. No hidden value is below `smallest` where none is
    negative: 1 unit where zeros are shown. Gives the lowest and highest value of each hidden
    cell in whole units, rounded outwards, infinite where nothing bounds them.

    >>> sums = Relations.of(4, [[(0, -1), (1, 1), (2, 1), (3, 1)]])
    >>> shown, hidden = np.array([10, 4, 0, 0]), np.array([False, False, True, True])
    >>> published_intervals(sums, shown, hidden)
    (array([0., 0.]), array([6., 6.]))
    """
    known = ~hidden[relations.cell]
    rest = relations.rhs.astype(np.float64)
    np.add.at(rest, relations.row[known], -(relations.coef * value[relations.cell])[known])
    # Hidden cells as values, and, where these were rounded, shown ones as what they are off by.
    least = np.where(hidden, smallest, -np.minimum(rounding, np.maximum(value, 0)))
    least = np.where(negative, np.where(hidden, -np.inf, -rounding), least)
    most = np.where(hidden, np.inf, rounding)
    unknown = np.ones(len(hidden), dtype=np.bool_) if rounding else hidden
    among, cells = relations.among(unknown)
    touched = np.bincount(relations.row[unknown[relations.cell]], minlength=len(relations)) > 0
    rest, least, most, wanted = rest[touched], least[cells], most[cells], hidden[cells]
    low, high = least.copy(), most.copy()
    label = component_labels(among)
    for block in np.unique(label[among.cell[wanted[among.cell]]]):
        mine = label == block
        rows = mine[among.cell[among.start[:-1]]]
        part, at = among.among(mine)
        chosen = np.flatnonzero(wanted[at])
        bounds = _bounded(part, rest[rows], (least[at], most[at]), chosen)
        low[at[chosen]], high[at[chosen]] = bounds
    return np.floor(low[wanted] + _NEAR), np.ceil(high[wanted] - _NEAR)


def _bounded(
    relations: Relations, rest: FloatArray, bounds: tuple[FloatArray, FloatArray], chosen: IntArray
) -> tuple[FloatArray, FloatArray]:
    """Two linear programs for each of some cells of a block; two more where numbers are large."""
    large = np.abs(rest).max(initial=0.0) > _CLOSE
    size = float(max(1.0, np.median(np.abs(rest)))) if large else 1.0
    low, high, some = _extremes(relations, rest, bounds, chosen, size)
    if some is None or max(np.abs(rest).max(initial=0.0), np.abs(some).max()) <= _CLOSE:
        return low, high
    # One unit beside a million of millions is lost to the solver: look from near by.
    some = np.rint(some)
    left = rest - np.bincount(
        relations.row, relations.coef * some[relations.cell], minlength=len(relations)
    )
    near = (np.maximum(bounds[0] - some, -_CLOSE), np.minimum(bounds[1] - some, _CLOSE))
    down, up, _ = _extremes(relations, left, near, chosen, 1.0)
    start = some[chosen]
    low = np.where(down > -_CLOSE / 2, start + down, low)
    return low, np.where(up < _CLOSE / 2, start + up, high)


def _extremes(
    relations: Relations,
    rest: FloatArray,
    bounds: tuple[FloatArray, FloatArray],
    chosen: IntArray,
    size: float,
) -> tuple[FloatArray, FloatArray, FloatArray | None]:
    """Smallest and largest value of some cells, and a solution if one is at hand.

    All numbers are divided by a size.
    """
    import highspy

    solver = loaded_solver(
        relations.matrix, bounds[0] / size, bounds[1] / size, rows=(rest / size, rest / size),
        primal_feasibility_tolerance=_FINE if size == 1.0 else _COARSE,
    )  # fmt: skip
    status = highspy.HighsModelStatus
    ends, some = np.empty((2, chosen.size)), None
    for side, sense in enumerate((1.0, -1.0)):
        for place, cell in enumerate(chosen.tolist()):
            solver.changeColCost(cell, sense)
            solver.run()
            answer = solver.getModelStatus()
            if answer == status.kUnknown:  # by rounding, from where the last one ended
                solver.clearSolver()
                solver.run()
                answer = solver.getModelStatus()
            finite = answer == status.kOptimal
            unbounded = answer in (status.kUnbounded, status.kUnboundedOrInfeasible)
            if finite:
                ends[side, place] = solver.getInfo().objective_function_value * sense * size
                some = column_values(solver) * size
            solver.changeColCost(cell, 0.0)
            if unbounded:  # unless nothing fits at all, which a run without a wish tells
                ends[side, place] = -sense * np.inf
                solver.run()
                unbounded = solver.getModelStatus() != status.kInfeasible
            if not finite and not unbounded:
                message = "no values of the suppressed cells fit the published ones"
                hint = "say how far values are rounded, or whether they can be negative"
                raise SuppressionError(message, code="additivity", hint=hint)
    return ends[0], ends[1], some


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Blanks(Judged):
    """The hidden cells of a published table, each with its interval.

    Its verdict is never "safe": a published table does not say which cells are sensitive.

    Args:
        dimensions: The spanning variables.
        index: Per spanning variable, the position of each hidden cell's code.
        low: The smallest value that fits everything published.
        high: The largest; infinite where nothing bounds it.
        exact: Cells that anyone can compute.
        seconds: How long it took.
    """

    dimensions: tuple[Dimension, ...]
    index: tuple[npt.NDArray[np.int32], ...]
    low: FloatArray
    high: FloatArray
    exact: BoolArray
    seconds: float

    def __len__(self) -> int:
        return len(self.low)

    @property
    def judgement(self) -> DisclosureVerdict:
        """Findings on hidden cells, with gaps that the table alone leaves."""
        several = [one.name for one in self.dimensions if len(one.classifications) > 1]
        gaps = [Gap("levels", number=len(self))]
        if several:
            gaps.append(Gap("breakdowns", ", ".join(several), len(several)))
        return DisclosureVerdict.of(self.names(), gaps)

    def names(self) -> list[str]:
        """Names of the cells that anyone can compute."""
        variables = [(own.name, own.codes) for own in self.dimensions]
        nothing = np.zeros(len(self), dtype=np.int32)
        name = CellNames(variables, [nothing, *self.index], [("", "")])
        return [name(at) for at in np.flatnonzero(self.exact).tolist()]

    def to_polars(self) -> pl.DataFrame:
        """The hidden cells: codes, low, high, exact; no bound is null."""
        columns: dict[str, Any] = {
            dimension.name: pl.Series(dimension.codes, dtype=pl.String).gather(part)
            for dimension, part in zip(self.dimensions, self.index, strict=True)
        }
        for name, bound in (("low", self.low), ("high", self.high)):
            columns[name] = pl.Series(np.where(np.isfinite(bound), bound, np.nan)).fill_nan(None)
        return pl.DataFrame({**columns, "exact": self.exact})

    def described(self) -> dict[str, Any]:
        """The verdict as plain values, for JSON."""
        return {
            "hidden": len(self),
            "exact": int(self.exact.sum()),
            "exact_cells": self.names(),
            "seconds": round(self.seconds, 3),
            **self.judgement.described(),
        }

    def text(self) -> str:
        """The verdict in words."""
        lines = [
            f"{len(self):,} cells are suppressed; readers can compute {int(self.exact.sum()):,}."
        ]
        lines += [f"  {name}" for name in self.names()[:20]]
        return "\n".join([*lines, *self.judgement.lines()])

    def __repr__(self) -> str:
        return f"<Blanks: {len(self):,} hidden cells>"


def audit_published(
    published: Any,
    by: Sequence[str | Classification | Sequence[Classification]] | None = None,
    *,
    value: str = "value",
    decimals: int = 0,
    negative: bool = False,
    rounding: float = 0.0,
    zero_cells: KnownZeros = "fixed",
) -> Blanks:
    """Work out between which values the hidden cells of a published table lie.

    Args:
        published: A `ProtectedTable`, or a frame with one row per cell, null in the hidden
            ones. Cells that are not listed are zero.
        by: The spanning variables of a frame: names or classifications.
        value: Its column of values.
        decimals: Digits after the decimal point that are published.
        negative: Whether values may be below 0.
        rounding: By how many units of the last digit a published value may be off: 0.5
            where each was rounded on its own.
        zero_cells: "partners" if zeros may be hidden as well; else a hidden value is taken
            to be one unit or more, unless the table itself says or shows otherwise.

    >>> import polars as pl
    >>> frame = pl.DataFrame({"sex": ["Total", "m", "w", "d"], "value": [18, 9, 7, None]})
    >>> audit_published(frame, ["sex"]).to_polars().rows()
    [('d', 2.0, 2.0, True)]
    """
    began = time.monotonic()
    if isinstance(published, ProtectedTable):
        if published.several_figures or any(not figure.summed for figure in published.figures):
            message = "only counts and sums add up; this table has other figures"
            raise SuppressionError(message, code="figures", where=published.name)
        places, shown, status = published.cells()
        units = np.rint(shown * 10.0**decimals).astype(np.int64)
        cells: _CellArrays = (
            published.dimensions, places, units, status == CellStatus.suppressed,
        )  # fmt: skip
    else:
        cells = _of_frame(published, by, value, decimals)
    dimensions, index, units, hidden = cells
    relations = relations_of(dimensions, index)
    zeros = zeros_of([published]) if isinstance(published, ProtectedTable) else zero_cells
    smallest = 0.0 if "partners" in (zeros, zero_cells) else max(0.0, 1.0 - rounding)
    how: dict[str, Any] = {"negative": negative, "rounding": rounding}
    try:
        low, high = published_intervals(relations, units, hidden, smallest=smallest, **how)
    except SuppressionError:
        if negative or not smallest:
            raise
        # Some hidden cell must be zero for the published ones to add up.
        low, high = published_intervals(relations, units, hidden, **how)
    scale = 10.0**decimals
    return Blanks(
        dimensions=tuple(dimensions),
        index=tuple(part[hidden] for part in index),
        low=low / scale,
        high=high / scale,
        exact=low == high,
        seconds=time.monotonic() - began,
    )


_CellArrays = tuple[Sequence[Dimension], Sequence[npt.NDArray[np.int32]], IntArray, BoolArray]


def _of_frame(frame: Any, by: Any, value: str, decimals: int) -> _CellArrays:
    """Cells of a frame; a count stands in for the values while codes are read."""
    from discreet.tables import to_polars

    cells = to_polars(frame)
    if by is None or value not in cells.columns:
        message = "name the spanning variables and the column of values"
        hint = f"columns found: {', '.join(cells.columns)}"
        raise SuppressionError(message, code="missing-column", where=value, hint=hint)
    if not cells[value].dtype.is_numeric():
        message = "the column of values is not numeric; suppressed cells are null"
        raise SuppressionError(message, code="values", where=value)
    ordered = cells.with_row_index("discreet row", offset=1)
    table = Table.from_cells(ordered, by=by, count="discreet row")
    numbers = cells[value].cast(pl.Float64).gather(table.count - 1)
    hidden = numbers.is_null().to_numpy()
    units = np.rint(numbers.fill_null(0.0).to_numpy() * 10.0**decimals).astype(np.int64)
    return table.dimensions, table.index, units, hidden
