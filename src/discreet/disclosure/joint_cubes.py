"""`JointAttacker`: how far cells move while no combination of codes is negative. CONFIDENTIAL.

The combinations are those of cyclic cores, published or not: A x B, A x C and B x C bound
A x B x C.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from discreet.arrays import BoolArray, FloatArray, IntArray
from discreet.disclosure.attackers import make_whole
from discreet.disclosure.relations import Relations, component_labels
from discreet.disclosure.unknowns import TOLERANCE, Unknowns
from discreet.solver import column_values, is_optimal, loaded_solver
from discreet.tables import Table

if TYPE_CHECKING:
    from discreet.disclosure.cores import Combinations, Core
    from discreet.disclosure.partitions import Partitions

#: An integer program ends after so many branchings: then nothing is known.
_NODES = 2_000
#: Random wishes in a row that prove nothing more before cells are attacked one by one.
_PATIENCE, _SEED = 4, 20

#: An integer program over combinations ends after fewer branchings in large blocks.
_WORK = 1_000_000

#: Bounds beyond this are none.
_ENDLESS = 1e12


class JointBlock(NamedTuple):
    """Hidden cells and combinations that hang together, as columns of one program."""

    unknowns: Unknowns  # its hidden cells come first
    atoms: int  # how many combinations follow
    relations: Relations  # over both
    sums: FloatArray  # right-hand sides
    slack: FloatArray  # by how much rounded sums may miss them
    watched: IntArray  # columns of the sensitive cells that nobody knows exactly so far
    cells: IntArray  # their numbers among all cells


class JointAttacker:
    """The program of one block: how far cells move while no combination is negative."""

    def __init__(self, block: JointBlock, *, whole: bool, slack: FloatArray) -> None:
        self.block, self.whole = block, whole
        known = block.unknowns
        self.low = np.concatenate([known.low, np.zeros(block.atoms)])
        far = np.where(known.high < _ENDLESS, known.high, np.inf)
        self.high = np.concatenate([far, np.full(block.atoms, np.inf)])
        self._rows = block.sums - slack, block.sums + slack
        self.seen_low, self.seen_high = np.zeros(len(known)), np.zeros(len(known))
        self.feasible = True
        self._lp = self._program()
        draw, idle, missing = np.random.default_rng(_SEED), 0, -1
        while idle < _PATIENCE and self.feasible:
            enough = known.protected(self.seen_low, self.seen_high)
            wanted = block.watched[~enough[block.watched]]
            if not wanted.size:
                break
            idle = idle + 1 if wanted.size == missing else 0
            missing = wanted.size
            wish = np.zeros(len(self.low))
            wish[wanted] = draw.uniform(-1.0, 1.0, wanted.size)
            self._ask(self._lp, wish)

    def _program(self, **options: Any) -> Any:
        matrix = self.block.relations.matrix
        return loaded_solver(matrix, self.low, self.high, rows=self._rows, **options)

    @cached_property
    def _mip(self) -> Any:
        nodes = min(_NODES, _WORK // self.block.atoms)
        program = self._program(mip_max_nodes=nodes, mip_rel_gap=0.0)
        program.setOptionValue("presolve", "choose")
        make_whole(program, np.arange(len(self.low)))
        return program

    def _ask(self, solver: Any, wish: FloatArray) -> FloatArray | None:
        """Move cells as wished, and note what is seen; None if there is no answer."""
        solver.changeColsCost(len(wish), np.arange(len(wish), dtype=np.int32), -wish)
        solver.run()
        if not is_optimal(solver):
            self.feasible = False
            return None
        answer = column_values(solver)
        size = len(self.seen_low)
        if not self.whole or np.abs(answer - np.rint(answer)).max() < TOLERANCE:
            np.minimum(self.seen_low, answer[:size], out=self.seen_low)
            np.maximum(self.seen_high, answer[:size], out=self.seen_high)
        return answer

    def moves(self, cell: int) -> bool:
        """Whether a cell was seen to have several values."""
        return bool(self.seen_high[cell] - self.seen_low[cell] > TOLERANCE)

    def reached(self, cell: int) -> tuple[float, float, bool] | None:
        """Movement of one cell, and whether it is enough; None if unknown.

        Counts move by whole numbers, and so do all combinations.
        """
        seen = float(self.seen_low[cell]), float(self.seen_high[cell])
        if self._enough(cell, *seen):
            return *seen, True
        ends = self._ends(self._lp, cell)
        if ends is None:
            return None
        low, high = ends
        if self.whole:
            low, high = float(np.ceil(low - TOLERANCE)), float(np.floor(high + TOLERANCE))
            seen = float(self.seen_low[cell]), float(self.seen_high[cell])
            if self._enough(cell, low, high) and not self._enough(cell, *seen):
                ends = self._ends(self._mip, cell)
                if ends is None:
                    return None
                low, high = ends
        return low, high, self._enough(cell, low, high)

    def _enough(self, cell: int, low: float, high: float) -> bool:
        """Whether it is enough that one cell lies between these ends."""
        return bool(self.block.unknowns.protected(low, high, cell))

    def _ends(self, solver: Any, cell: int) -> tuple[float, float] | None:
        wish = np.zeros(len(self.low))
        wish[cell] = -1.0
        lowest, highest = self._ask(solver, wish), self._ask(solver, -wish)
        if lowest is None or highest is None:
            return None
        return float(lowest[cell]), float(highest[cell])


class LinkedTable(NamedTuple):
    """A table with the numbers of its cells in the problem; -1 for empty cells."""

    table: Table
    cells: IntArray
    value: str | None  # what it shows: None for counts
    records: Partitions | None = None  # what its records say; None: variables are known by name


def cores_of(
    value: IntArray, low: IntArray, hidden: BoolArray, tables: Sequence[LinkedTable]
) -> list[Core]:
    """The cyclic cores of tables; none where values may be negative, for nothing follows then.

    Given are true values, and the lowest that readers reckon with.
    """
    if (low[hidden] < 0).any() or (value < 0).any():
        return []
    from discreet.disclosure.cores import cyclic_cores, layers_of

    there = hidden | (value > 0)
    cores = []
    for records, unit in dict.fromkeys((own.records, own.table.unit) for own in tables):
        # Tables of other records hang together with all others of their units by name.
        own = [t for t in tables if t.records is records or records is None]
        own = [linked for linked in own if linked.table.unit == unit]
        numbers = [
            np.where((table.cells >= 0) & there[np.maximum(table.cells, 0)], table.cells, -1)
            for table in own
        ]
        layers = layers_of([table.table for table in own], numbers, records)
        cores += cyclic_cores(layers, records)
    return [core for core in cores if any(hidden[layer.cells].any() for layer in core.layers)]


def joint_blocks(
    known: Unknowns, value: IntArray, wanted: IntArray, joint: Combinations
) -> list[JointBlock]:
    """The programs of a core, by what hangs together; those with a wanted cell."""
    number, links = len(known) + joint.number, known.relations
    column = np.full(len(value), -1, dtype=np.int64)
    column[known.cells] = np.arange(len(known))
    mine, below = column[joint.cell] >= 0, len(links)
    rows = below + joint.sums
    sums, parts = np.zeros(rows), np.zeros(rows)
    np.add.at(sums, below + joint.cell_row, value[joint.cell])
    np.add.at(parts, below + joint.cell_row, 1)
    every = Relations.of_entries(
        number,
        rows,
        np.concatenate([links.row, below + joint.row, below + joint.cell_row[mine]]),
        np.concatenate([links.cell, len(known) + joint.atom, column[joint.cell[mine]]]),
        np.concatenate([links.coef, np.ones(len(joint.row)), np.full(int(mine.sum()), -1)]),
        sums.astype(np.int64),
    )
    label = component_labels(every)
    labels = label[column[wanted]]
    filled = np.diff(every.start) > 0
    row_label = np.full(rows, -1, dtype=np.int64)
    row_label[filled] = label[every.cell[every.start[:-1][filled]]]
    blocks = []
    for one in np.unique(labels).tolist():
        chosen = np.flatnonzero(label == one)
        atoms = int((chosen >= len(known)).sum())
        if not atoms:
            continue
        inside = np.zeros(number, dtype=np.bool_)
        inside[chosen] = True
        place = np.cumsum(inside) - 1
        kept = row_label == one
        watched = wanted[labels == one]
        blocks.append(
            JointBlock(
                unknowns=known.part(inside[: len(known)]),
                atoms=atoms,
                relations=every.rows(kept).renumbered(place, len(chosen)),
                sums=sums[kept],
                slack=parts[kept] / 2,
                watched=place[column[watched]],
                cells=watched,
            )
        )
    return blocks
