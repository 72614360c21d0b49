"""What linked tables tell of withheld cells, and what to withhold besides so that they do not.

In: a `LinkedSystem` (CONFIDENTIAL). Out: cells that are less uncertain than they must be, for
whoever knows all that is shown; cells to withhold, and tables to leave out. All tables are one
problem of cell suppression, with its proofs and its patterns; where there is no pattern, tables
are left out until nothing is open.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from discreet.arrays import BoolArray, IntArray
from discreet.errors import SuppressionError
from discreet_fire.linked_tables.system import LinkedSystem

if TYPE_CHECKING:
    from discreet.protection.suppression import SuppressionProblem

_UNBOUNDED = 2**53
#: So long a pattern is looked for.
_SECONDS = 30.0
#: Sums become whole numbers: so many for each of the parts that they are counted in.
_WHOLE = 2**20


@dataclass(frozen=True, kw_only=True, repr=False)
class OpenCell:
    """A withheld cell that is less uncertain than it must be (confidential)."""

    cell: int  # its number
    determined: bool  # whether only one number is left, up to how it would be shown

    def __repr__(self) -> str:
        return f"<OpenCell {self.cell} (confidential)>"


def opened_cells(system: LinkedSystem, hidden: BoolArray | None = None) -> list[OpenCell]:
    """The withheld cells that all tables together tell, or tell of a small one how large it is."""
    from discreet.protection.suppression import CellState, certify

    problem = _problem(system, system.hidden if hidden is None else hidden)
    unknown = np.isin(problem.state, (int(CellState.primary), int(CellState.secondary)))
    certificate = certify(problem, unknown)
    first, exact = len(system.atoms), set(certificate.exact.tolist())
    return [
        OpenCell(cell=at - first, determined=at in exact) for at in certificate.unprotected.tolist()
    ]


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
    from discreet.protection.suppression import find_pattern

    for exact in (False, True):
        left = _SECONDS if until is None else min(until - time.monotonic(), _SECONDS)
        if left <= 0:
            return None
        problem = _problem(system, system.hidden, exact)
        try:
            hidden = find_pattern(problem, "fast", time_limit=left).hidden[len(system.atoms) :]
        except SuppressionError:
            continue
        cells = np.flatnonzero(hidden & ~system.hidden).astype(np.int64)
        return MoreWithheld(cells=cells, tables=(), nearly=exact)
    tables = _left_out(system, until)
    nothing = np.zeros(0, dtype=np.int64)
    return None if tables is None else MoreWithheld(cells=nothing, tables=tables, nearly=False)


def _left_out(system: LinkedSystem, until: float | None) -> tuple[int, ...] | None:
    """Tables without which nothing is open, each the one that helps most."""
    gone: list[int] = []
    nothing = np.zeros(0, dtype=np.int64)
    while len(gone) < len(system.tables):
        tries = []
        for table in set(range(len(system.tables))) - set(gone):
            if until is not None and time.monotonic() > until:
                return None
            more = MoreWithheld(cells=nothing, tables=(*gone, table), nearly=False)
            tries.append((len(opened_cells(system, more.hidden(system))), -table))
        opened, table = min(tries)
        gone.append(-table)
        if not opened:
            break
    return tuple(sorted(gone))


def _problem(system: LinkedSystem, hidden: BoolArray, exact: bool = False) -> SuppressionProblem:
    """All tables as one problem: withheld cells are sensitive, atoms are cells that nobody sees.

    If it is to be `exact`, exact numbers only are to be protected.
    """
    from discreet.protection.suppression import CellState, Relations, SuppressionProblem

    numbers, n = system.numbers, system.counts
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
    return SuppressionProblem(
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


def _levels(wanted: object, unit: int, bare: BoolArray) -> IntArray:
    levels = np.ceil(np.asarray(wanted, dtype=np.float64) * unit).astype(np.int64)
    return np.where(bare, 0, levels)
