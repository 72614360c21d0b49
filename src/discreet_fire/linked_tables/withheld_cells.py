"""What to withhold besides, so that linked tables give no withheld cell away.

In: a `LinkedSystem` (CONFIDENTIAL). Out: cells, and tables to leave out. A pattern of cell
suppression over all tables as one problem, proven against whoever knows all that is shown; where
there is none, tables are left out until nothing is open.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from discreet.arrays import BoolArray, IntArray
from discreet.errors import SuppressionError
from discreet_fire.linked_tables.attack import LinkedAttack, TimeOverError
from discreet_fire.linked_tables.system import LinkedSystem

_UNBOUNDED = 2**53
#: So long a pattern is looked for.
_SECONDS = 30.0
#: Sums become whole numbers: so many for each of the parts that they are counted in.
_WHOLE = 2**20


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class MoreWithheld:
    """What is withheld besides (confidential)."""

    cells: IntArray  # single cells
    tables: tuple[int, ...]  # whole tables
    nearly: bool  # whether small numbers are then still nearly told

    def hidden(self, system: LinkedSystem) -> BoolArray:
        """All that is not shown then."""
        mask = system.hidden.copy()
        mask[self.cells] = True
        for table in self.tables:
            mask[system.cells_of(table)] = True
        return mask


def more_withheld(system: LinkedSystem, until: float | None = None) -> MoreWithheld | None:
    """What leaves no withheld cell open; None if the time is over before that is known."""
    for exact in (False, True):
        left = _SECONDS if until is None else min(until - time.monotonic(), _SECONDS)
        if left <= 0:
            return None
        try:
            return MoreWithheld(cells=_pattern(system, exact, left), tables=(), nearly=exact)
        except SuppressionError:
            continue
    try:
        return MoreWithheld(
            cells=np.zeros(0, dtype=np.int64), tables=_left_out(system, until), nearly=False
        )
    except TimeOverError:
        return None


def _left_out(system: LinkedSystem, until: float | None) -> tuple[int, ...]:
    """Tables without which nothing is open, each the one that helps most."""
    gone: list[int] = []
    nothing = np.zeros(0, dtype=np.int64)
    while True:
        tries = []
        for table in range(len(system.tables)):
            if table in gone:
                continue
            tables = (*gone, table)
            hidden = MoreWithheld(cells=nothing, tables=tables, nearly=False).hidden(system)
            attack = LinkedAttack(system, hidden=hidden, until=until)
            opened = len(attack.opened(np.flatnonzero(system.asked).tolist()))
            tries.append((opened, -table))
        opened, table = min(tries)
        gone.append(-table)
        if not opened or len(gone) == len(system.tables):
            return tuple(sorted(gone))


def _pattern(system: LinkedSystem, exact: bool, seconds: float) -> IntArray:
    """The cells of a pattern that protects all withheld ones, beyond these.

    If it is to be `exact`, against exact numbers only.
    """
    from discreet.protection.suppression import (
        CellState,
        Relations,
        SuppressionProblem,
        find_pattern,
    )

    numbers, n, hidden = system.numbers, system.counts, system.hidden
    unit = 1 if numbers.whole else _WHOLE
    bare = system.asked & (exact | ~numbers.small)
    atoms, cells = len(system.atoms), system.cells
    of_atoms = np.rint(numbers.atoms * unit).astype(np.int64)
    of_cells = np.array([of_atoms[one].sum() for one in system.members], dtype=np.int64)
    state = np.full(cells, int(CellState.free), dtype=np.int8)
    state[n == 0] = CellState.fixed
    state[hidden & (n > 0)] = CellState.secondary
    state[system.asked] = CellState.primary
    empty = np.zeros(atoms, dtype=np.bool_)
    for at in np.flatnonzero((n == 0) & ~hidden).tolist():
        empty[system.members[at]] = True
    states = np.where(empty, int(CellState.fixed), int(CellState.secondary)).astype(np.int8)
    nothing = np.zeros(atoms, dtype=np.int64)
    floor = np.full(atoms, -_UNBOUNDED if numbers.signed else 0, dtype=np.int64)
    cost = n + 1 + system.margins() * int(n.max(initial=0))
    rows = [
        [(atoms + at, -1), *((int(one), 1) for one in members)]
        for at, members in enumerate(system.members)
        if members.size
    ]
    total = atoms + cells
    low = np.where(hidden, np.maximum(numbers.floor, -_UNBOUNDED / unit), 0) * unit
    low = np.where(numbers.signed, -_UNBOUNDED, low).astype(np.int64)
    room = np.maximum(of_cells - low, 0)
    # Of sums, what is not known exactly is so in what is shown.
    sliding = bare * (1 if numbers.whole else int((numbers.rounding + 1e-3) * unit))
    problem = SuppressionProblem(
        value=np.concatenate([of_atoms, of_cells]),
        cost=np.concatenate([nothing, cost]),
        state=np.concatenate([states, state]),
        low=np.concatenate([floor, low]),
        high=np.full(total, _UNBOUNDED, dtype=np.int64),
        lower=np.concatenate([nothing, np.minimum(_levels(numbers.lower, unit, bare), room)]),
        upper=np.concatenate([nothing, _levels(numbers.upper, unit, bare)]),
        sliding=np.concatenate([nothing, sliding.astype(np.int64)]),
        relations=Relations.of(total, rows),
        name=lambda at: "a group of records" if at < atoms else system.name(at - atoms),
        title="linked tables",
    )
    pattern = find_pattern(problem, "fast", time_limit=seconds).hidden[atoms:]
    return np.flatnonzero(pattern & ~hidden).astype(np.int64)


def _levels(wanted: object, unit: int, bare: BoolArray) -> IntArray:
    levels = np.ceil(np.asarray(wanted, dtype=np.float64) * unit).astype(np.int64)
    return np.where(bare, 0, levels)
