"""`Relations`: which cells add up to which, and what follows from that by elimination.

A relation alone is public; values of cells are not. Rows are sparse: cells and coefficients. Sparse
elimination modulo a prime says which relations follow from the others, in which ways cells can move
together, and what two contributors compute together, whether or not their cells share a relation: a
cell is computed if its entries in all moves of hidden cells follow from those of known cells; a few
random moves tell. CONFIDENTIAL where the cells are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.arrays import BoolArray, IntArray, PositionArray, mixed, ranges, set_sums, starts
from discreet.errors import TableError
from discreet.kernels import compiled


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Relations:
    """Linear relations: the sum of coefficient × value over a row is its right-hand side.

    >>> sums = Relations.of(3, [[(0, -1), (1, 1), (2, 1)]])
    >>> sums.residuals(np.array([5, 2, 3]))
    array([0])
    """

    cells: int  # number of cells
    start: IntArray  # where each row begins in `cell` and `coef`; one more than there are rows
    cell: PositionArray  # number of the cell of each entry
    coef: IntArray  # its coefficient, usually 1 for parts and -1 for their total
    rhs: IntArray  # right-hand side of each row, in units; usually 0

    def __post_init__(self) -> None:
        if len(self.start) != len(self.rhs) + 1 or len(self.cell) != len(self.coef):
            raise TableError("the rows of the relations differ in length", code="relations")
        if self.cell.size and not 0 <= int(self.cell.min()) <= int(self.cell.max()) < self.cells:
            raise TableError("a relation names a cell that does not exist", code="relations")

    @classmethod
    def of(
        cls, cells: int, rows: Sequence[Sequence[tuple[int, int]]], rhs: Sequence[int] | None = None
    ) -> Relations:
        """From rows of (cell, coefficient)."""
        entries = [(row, *entry) for row, own in enumerate(rows) for entry in own]
        row, cell, coef = np.array(entries, dtype=np.int64).reshape(-1, 3).T
        right = None if rhs is None else np.array(rhs, dtype=np.int64)
        return cls.of_entries(cells, len(rows), row, cell, coef, right)

    @classmethod
    def of_entries(
        cls, cells: int, rows: int, row: IntArray, cell: Any, coef: Any, rhs: IntArray | None = None
    ) -> Relations:
        """From entries with the row of each; those of one row keep their order."""
        order = np.argsort(row, kind="stable")
        return cls(
            cells=cells,
            start=starts(np.bincount(row, minlength=rows)),
            cell=cell[order].astype(np.int32),
            coef=coef[order].astype(np.int64),
            rhs=np.zeros(rows, dtype=np.int64) if rhs is None else rhs,
        )

    @classmethod
    def of_pairs(cls, cells: int, pairs: IntArray) -> Relations:
        """Rows of two cells each, one per line."""
        row = np.repeat(np.arange(len(pairs)), 2)
        return cls.of_entries(cells, len(pairs), row, pairs.ravel(), np.ones(2 * len(pairs)))

    def __len__(self) -> int:
        return len(self.rhs)

    @cached_property
    def row(self) -> IntArray:
        """The row of each entry."""
        return np.repeat(np.arange(len(self), dtype=np.int64), np.diff(self.start))

    @cached_property
    def heaviest(self) -> int:
        """The largest sum of absolute coefficients of a row, at least 1."""
        weight = np.bincount(self.row, np.abs(self.coef), minlength=len(self))
        return int(weight.max(initial=1.0))

    @cached_property
    def by_cell(self) -> tuple[IntArray, IntArray]:
        """Starts of the entries of each cell, and the entries sorted by cell."""
        order = np.argsort(self.cell, kind="stable").astype(np.int64)
        return starts(np.bincount(self.cell, minlength=self.cells)), order

    @cached_property
    def totals(self) -> IntArray:
        """The cell that each row gives a negative coefficient, its total; -1 for none."""
        totals = np.full(len(self), -1, dtype=np.int64)
        negative = self.coef < 0
        totals[self.row[negative]] = self.cell[negative]
        return totals

    @property
    def matrix(self) -> tuple[IntArray, PositionArray, IntArray]:
        """Row starts, cells and coefficients, as in compressed sparse rows."""
        return self.start, self.cell, self.coef

    def residuals(self, value: IntArray) -> IntArray:
        """Per row, by how much the values miss it. CONFIDENTIAL where the values are."""
        total = np.zeros(len(self), dtype=np.int64)
        np.add.at(total, self.row, self.coef * value[self.cell])
        return total - self.rhs

    def among(self, chosen: BoolArray) -> tuple[Relations, IntArray]:
        """The relations among the chosen cells, numbered anew, when all others are known.

        Right-hand sides are 0: unknowns are deviations from the true values. Rows without a chosen
        cell are left out. Gives the old numbers of the cells, too.
        """
        old = np.flatnonzero(chosen).astype(np.int64)
        new = np.full(self.cells, -1, dtype=np.int64)
        new[old] = np.arange(old.size)
        kept = chosen[self.cell]
        width = np.bincount(self.row[kept], minlength=len(self))
        rows = np.flatnonzero(width)
        among = Relations(
            cells=old.size,
            start=starts(width[rows]),
            cell=new[self.cell[kept]].astype(np.int32),
            coef=self.coef[kept],
            rhs=np.zeros(rows.size, dtype=np.int64),
        )
        return among, old

    def rows(self, kept: BoolArray) -> Relations:
        """Some of the relations, over the same cells."""
        entries = kept[self.row]
        return replace(
            self,
            start=starts(np.diff(self.start)[kept]),
            cell=self.cell[entries],
            coef=self.coef[entries],
            rhs=self.rhs[kept],
        )

    def renumbered(self, numbers: npt.NDArray[Any], cells: int) -> Relations:
        """These relations with other cell numbers, and perhaps more cells."""
        return replace(self, cells=cells, cell=numbers[self.cell].astype(np.int32))

    def joined(self, other: Relations) -> Relations:
        """These relations and others over the same cells."""
        if other.cells != self.cells:
            raise TableError("the relations concern different cells", code="relations")
        return Relations(
            cells=self.cells,
            start=np.concatenate([self.start, other.start[1:] + self.start[-1]]),
            cell=np.concatenate([self.cell, other.cell]),
            coef=np.concatenate([self.coef, other.coef]),
            rhs=np.concatenate([self.rhs, other.rhs]),
        )

    def dense(self) -> npt.NDArray[Any]:
        """The matrix in full; for small systems."""
        matrix = np.zeros((len(self), self.cells), dtype=np.int64)
        np.add.at(matrix, (self.row, self.cell), self.coef)
        return matrix

    def __repr__(self) -> str:
        return f"<Relations: {len(self):,} over {self.cells:,} cells>"


def component_labels(relations: Relations) -> IntArray:
    """For each cell, the smallest cell that it hangs together with by relations."""
    label = np.arange(relations.cells, dtype=np.int64)
    if not relations.cell.size:
        return label
    starts = relations.start[:-1]
    filled = np.flatnonzero(np.diff(relations.start))
    while True:
        least = np.full(len(relations), relations.cells, dtype=np.int64)
        least[filled] = np.minimum.reduceat(label[relations.cell], starts[filled])
        fresh = label.copy()
        np.minimum.at(fresh, relations.cell, least[relations.row])
        fresh = fresh[fresh]
        if np.array_equal(fresh, label):
            return label
        label = fresh


def stacked_relations(cells: int, blocks: Sequence[tuple[Relations, IntArray]]) -> Relations:
    """The relations of several tables, each with the numbers of its cells, as one system."""
    result = Relations.of(cells, [])
    for relations, numbers in blocks:
        result = result.joined(relations.renumbered(numbers, cells))
    return tidied_relations(result)


def tidied_relations(relations: Relations) -> Relations:
    """Each cell once in a row, each row once, no empty rows.

    >>> rows = [[(0, -1), (1, 1), (0, 1)], [(0, -1), (2, 1)], [(2, 1), (0, -1)]]
    >>> tidied_relations(Relations.of(3, rows))
    <Relations: 2 over 3 cells>
    """
    order = np.lexsort((relations.cell, relations.row))
    row, cell = relations.row[order], relations.cell[order]
    if not row.size:
        return relations.rows(relations.rhs != 0)
    fresh = np.ones(row.size, dtype=np.bool_)
    fresh[1:] = (row[1:] != row[:-1]) | (cell[1:] != cell[:-1])
    begin = np.flatnonzero(fresh)
    coef = np.add.reduceat(relations.coef[order], begin)
    row, cell = row[begin], cell[begin]
    row, cell, coef = row[coef != 0], cell[coef != 0], coef[coef != 0]
    start = starts(np.bincount(row, minlength=len(relations)))
    merged = replace(relations, start=start, cell=cell, coef=coef)
    filled = np.diff(start) > 0
    return merged.rows((filled | (relations.rhs != 0)) & ~_repeated(merged, row))


def _repeated(relations: Relations, row: IntArray) -> BoolArray:
    """Rows that an earlier one says already. Equal sums of mixed numbers only suggest it."""
    start, cell, coef = relations.matrix
    rhs, width = relations.rhs, np.diff(start)
    entries = cell.astype(np.uint64) * np.uint64(2**20) + coef.astype(np.uint64)
    marks = set_sums(row, mixed(entries + np.uint64(1)), len(rhs))
    marks += mixed(rhs.astype(np.uint64))
    _, first, group = np.unique(marks, return_index=True, return_inverse=True)
    earlier = first[group]
    suspects = np.flatnonzero((earlier < np.arange(len(rhs))) & (width > 0))
    like = earlier[suspects]
    alike = (width[suspects] == width[like]) & (rhs[suspects] == rhs[like])
    suspects, like = suspects[alike], like[alike]
    sizes = width[suspects]
    one, other = ranges(start[suspects], sizes), ranges(start[like], sizes)
    differs = (cell[one] != cell[other]) | (coef[one] != coef[other])
    wrong = np.bincount(
        np.repeat(np.arange(suspects.size), sizes)[differs], minlength=suspects.size
    )
    repeated = np.zeros(len(rhs), dtype=np.bool_)
    repeated[suspects[wrong == 0]] = True
    return repeated


def with_equal_cells_merged(relations: Relations) -> tuple[IntArray, Relations]:
    """Make one cell of a total and its single part, and of all that equal each other so.

    Gives for each cell its number after folding, and the relations over the new cells.

    >>> chain = Relations.of(4, [[(0, -1), (1, 1)], [(1, -1), (2, 1), (3, 1)]])
    >>> with_equal_cells_merged(chain)
    (array([0, 0, 1, 2]), <Relations: 1 over 3 cells>)
    """
    numbers = np.arange(relations.cells, dtype=np.int64)
    while True:
        width = np.diff(relations.start)
        balanced = np.zeros(len(relations), dtype=np.int64)
        np.add.at(balanced, relations.row, relations.coef)
        pairs = (width == 2) & (balanced == 0) & (relations.rhs == 0)
        if not pairs.any():
            return numbers, relations
        equal = relations.rows(pairs)
        _, fresh = np.unique(component_labels(equal), return_inverse=True)
        numbers = fresh[numbers]
        relations = tidied_relations(relations.renumbered(fresh, int(fresh.max()) + 1))


#: All numbers are remainders modulo this prime; products of two fit into 64 bits.
PRIME = 2**31 - 1
#: Work stops at so many products, and so many numbers to keep, for each column and for
#: some columns more: where systems fill up, there are better ways than elimination.
_PRODUCTS, _NUMBERS, _MORE = 200, 200, 1_000


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Elimination:
    """Eliminated columns, in order of their elimination."""

    cells: IntArray  # the cells, in that order
    rank: IntArray  # for each, its number among those that follow from no earlier one, or -1
    start: IntArray  # where the numbers of each begin in `base` and `share`
    base: IntArray  # ranks of earlier cells
    share: IntArray  # how much of what is left of each of them was taken off
    whole: bool  # whether all cells were looked at; the work is cut short where it fills up


def elimination_of(relations: Relations, order: IntArray) -> Elimination:
    """Take cells one by one, those to be kept apart first: which ones follow from earlier ones.

    >>> sums = Relations.of(3, [[(0, -1), (1, 1), (2, 1)]])
    >>> elimination_of(sums, np.array([2, 0, 1])).rank
    array([ 0, -1, -1])
    """
    first, by_cell = relations.by_cell
    width, size = np.diff(relations.start), len(order) + _MORE
    rank, start, base, share, taken = _taken_off(
        order, first, relations.row[by_cell], relations.coef[by_cell], width,
        _PRODUCTS * size, _NUMBERS * size,
    )  # fmt: skip
    return Elimination(
        cells=order[:taken],
        rank=rank[:taken],
        start=start,
        base=base,
        share=share,
        whole=bool(taken == len(order)),
    )


def independent_relations(relations: Relations) -> Relations:
    """Relations that say all, without those that follow from the others.

    >>> twice = Relations.of(3, [[(0, -1), (1, 1)], [(1, -1), (2, 1)], [(0, 1), (2, -1)]])
    >>> independent_relations(twice)
    <Relations: 2 over 3 cells>
    """
    first, by_cell = relations.by_cell
    row = relations.row[by_cell]
    cell = np.repeat(np.arange(relations.cells), np.diff(first))
    turned = Relations.of_entries(
        len(relations), relations.cells, cell, row, relations.coef[by_cell]
    )
    # Short ones first: they leave less to do.
    done = elimination_of(turned, np.argsort(np.diff(relations.start), kind="stable"))
    kept = np.ones(len(relations), dtype=np.bool_)
    kept[done.cells[done.rank < 0]] = False
    return relations.rows(kept)


@compiled
def _taken_off(
    order: Any, first: Any, row: Any, coef: Any, width: Any, products: int, numbers: int
) -> Any:
    """Eliminate column by column; pivots in rows with few cells keep the numbers few."""
    rows = width.size
    column_of = np.full(rows, -1, dtype=np.int64)
    left, mark = np.zeros(rows, dtype=np.int64), np.zeros(rows, dtype=np.int64)
    stack, place = np.empty(rows, dtype=np.int64), np.empty(rows, dtype=np.int64)
    passed, fresh = np.empty(rows, dtype=np.int64), np.empty(rows, dtype=np.int64)
    below_start, start = [0], [0]
    below_row, below, base, share = [rows], [rows], [rows], [rows]
    below_row.pop(), below.pop(), base.pop(), share.pop()  # empty, and known to be of integers
    inverses = np.empty(rows, dtype=np.int64)
    rank = np.full(order.size, -1, dtype=np.int64)
    ranks, work, taken = 0, 0, 0
    for number in range(order.size):
        if work > products or len(below) + len(base) > numbers:
            break
        cell = order[number]
        behind, ahead = 0, 0
        for entry in range(first[cell], first[cell + 1]):
            left[row[entry]] = (left[row[entry]] + coef[entry]) % PRIME
            if mark[row[entry]] != number + 1:
                behind, ahead = _search_from(
                    row[entry], number + 1, column_of, below_start, below_row, mark, stack, place,
                    passed, fresh, behind, ahead,
                )  # fmt: skip
        for t in range(behind - 1, -1, -1):
            value, k = left[passed[t]], column_of[passed[t]]
            left[passed[t]] = 0
            if value != 0:
                value = value * inverses[k] % PRIME
                base.append(k)
                share.append(value)
                work += below_start[k + 1] - below_start[k]
                for p in range(below_start[k], below_start[k + 1]):
                    at = below_row[p]
                    left[at] = (left[at] - value * below[p]) % PRIME
        start.append(len(base))
        best = _pivot(left, fresh[:ahead], width)
        if best >= 0:
            column_of[best], rank[number] = ranks, ranks
            inverses[ranks] = _inverse(left[best])
            ranks += 1
            for at in fresh[:ahead]:
                if at != best and left[at] != 0:
                    below_row.append(at)
                    below.append(left[at])
            below_start.append(len(below))
        left[fresh[:ahead]] = 0
        taken = number + 1
    whole = np.int64
    starts_at, of = np.array(start, whole), np.array(base, whole)
    return rank, starts_at, of, np.array(share, whole), taken


@compiled
def _search_from(
    root: int, stamp: int, column_of: Any, below_start: Any, below_row: Any, mark: Any,
    stack: Any, place: Any, passed: Any, fresh: Any, behind: int, ahead: int,
) -> Any:  # fmt: skip
    """Rows that a column reaches by way of pivots: pivot rows in reverse order, and the others."""
    depth = 0
    stack[0], mark[root] = root, stamp
    place[0] = below_start[column_of[root]] if column_of[root] >= 0 else 0
    while depth >= 0:
        at = stack[depth]
        k = column_of[at]
        deeper = False
        if k >= 0:
            while place[depth] < below_start[k + 1]:
                other = below_row[place[depth]]
                place[depth] += 1
                if mark[other] != stamp:
                    mark[other] = stamp
                    depth += 1
                    stack[depth] = other
                    place[depth] = below_start[column_of[other]] if column_of[other] >= 0 else 0
                    deeper = True
                    break
        if deeper:
            continue
        depth -= 1
        if k >= 0:
            passed[behind] = at
            behind += 1
        else:
            fresh[ahead] = at
            ahead += 1
    return behind, ahead


@compiled
def _pivot(left: Any, rows: Any, width: Any) -> int:
    """The row with fewest cells among those where something is left; -1 if there is none."""
    best = -1
    for at in rows:
        if left[at] != 0 and (best < 0 or width[at] < width[best]):
            best = at
    return best


@compiled
def _inverse(number: int) -> int:
    """What a number must be multiplied with to give 1."""
    power, result, left = number % PRIME, 1, PRIME - 2
    while left > 0:
        if left & 1:
            result = result * power % PRIME
        power = power * power % PRIME
        left >>= 1
    return result


#: Random moves beyond the cells of two contributors: a cell seems to follow by chance with
#: probability 1 / PRIME ** 2 at most.
_MORE_MOVES = 3

#: Contributors with more cells of their own are not examined in pairs.
_MOST_OWN = 12

#: So many entries are compared at most.
_WORK = 2 * 10**9

_SEED = 20


def opened_by_pairs(
    relations: Relations, hidden: BoolArray, known: Sequence[IntArray]
) -> tuple[BoolArray, int]:
    """The cells that two contributors open together; how many pairs were not examined.

    `known` are the cells of each contributor who stands alone behind hidden ones.

    >>> rows = [[(0, -1), (1, 1), (2, 1), (3, 1)], [(0, -1), (3, 1), (4, 1), (5, 1)]]
    >>> sums, hidden = Relations.of(6, rows), np.array([False, True, True, True, True, True])
    >>> opened_by_pairs(sums, hidden, [np.array([1]), np.array([2])])[0]
    array([False, False, False,  True, False, False])
    """
    opened = np.zeros(len(hidden), dtype=np.bool_)
    among, cells = relations.among(hidden)
    place = np.full(len(hidden), -1, dtype=np.int64)
    place[cells] = np.arange(len(cells))
    owned = [place[own][place[own] >= 0] for own in known]
    few = [own for own in owned if len(own) <= _MOST_OWN]
    pairs = len(owned) * (len(owned) - 1) // 2
    if pairs == 0:
        return opened, 0
    width = np.diff(among.by_cell[0])
    done = elimination_of(among, np.argsort(-width, kind="stable").astype(np.int64))
    size = 2 * max((len(own) for own in few), default=1) + _MORE_MOVES
    if not done.whole or len(few) * len(cells) * size > _WORK:
        return opened, pairs
    moves = _random_moves(done, len(cells), size)
    free = moves.any(axis=1)
    alone = _numbered(_lines(moves))
    single = np.array([own[0] for own in few if len(own) == 1], dtype=np.int64)
    several = [at for at, own in enumerate(few) if len(own) > 1]
    left = pairs - len(few) * (len(few) - 1) // 2
    for at, own in enumerate(few):
        rest = _without(moves, own)
        alive: BoolArray = np.logical_and(free, rest.any(axis=1))
        # The other one computes what is now proportional to his own cell, and was not before.
        group = _numbered(_lines(rest))
        others = single[alive[single] & ~np.isin(single, own)]
        both = _numbered(np.stack([group, alone], axis=1))
        times, same = (np.bincount(x[others], minlength=len(rest)) for x in (group, both))
        found: BoolArray = alive & (times[group] > same[both])
        found[own] = False
        opened[cells[found]] = True
        for other in several:
            if other != at:
                found = alive & ~_without(rest, few[other]).any(axis=1)
                found &= _without(moves, few[other]).any(axis=1)
                opened[cells[found]] = True
    return opened, left


def _random_moves(done: Elimination, cells: int, size: int) -> IntArray:
    """Random ways in which cells can move together so that all relations hold, modulo the prime."""
    draw = np.random.default_rng(_SEED)
    moves = np.zeros((cells, size), dtype=np.int64)
    sums = np.zeros((int((done.rank >= 0).sum()), size), dtype=np.int64)
    for number in range(len(done.cells) - 1, -1, -1):
        rank = int(done.rank[number])
        own = draw.integers(1, PRIME, size) if rank < 0 else (-sums[rank]) % PRIME
        moves[done.cells[number]] = own
        inside = slice(done.start[number], done.start[number + 1])
        base, share = done.base[inside], done.share[inside]
        sums[base] = (sums[base] + share[:, None] * own[None, :]) % PRIME
    return moves


def _without(moves: IntArray, known: IntArray) -> IntArray:
    """What is left of all entries once some cells are known: these do not move."""
    rest = moves.copy()
    for cell in known.tolist():
        filled = np.flatnonzero(rest[cell])
        if filled.size:
            at = int(filled[0])
            line = rest[cell] * pow(int(rest[cell, at]), PRIME - 2, PRIME) % PRIME
            rest = (rest - rest[:, at][:, None] * line[None, :] % PRIME) % PRIME
    return rest


def _numbered(lines: IntArray) -> IntArray:
    """The same number for equal lines."""
    numbers: IntArray = np.unique(lines, axis=0, return_inverse=True)[1].ravel()
    return numbers


def _lines(moves: IntArray) -> IntArray:
    """Entries in multiples of the first that is not zero: the same for proportional ones."""
    lead = moves[np.arange(len(moves)), (moves != 0).argmax(axis=1)]
    inverse, power, left = np.ones_like(lead), lead % PRIME, PRIME - 2
    while left:
        if left & 1:
            inverse = inverse * power % PRIME
        power, left = power * power % PRIME, left >> 1
    lines: IntArray = moves * inverse[:, None] % PRIME
    return lines
