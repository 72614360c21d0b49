"""Findings about linked tables: what follows from what, and what to withhold besides.

In: the tables of counts of a program (CONFIDENTIAL) and the smallest safe number of cases. Out:
`Finding`s in sentences, one for each cause, without a figure of the data.

A withheld cell is open where all tables together tell its number, or tell of a small one that it
is small or nearly how large. What to withhold besides is a pattern of cell suppression over all
tables as one problem, proven against whoever knows all that is shown.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from discreet.arrays import BoolArray, IntArray
from discreet.errors import SuppressionError
from discreet_fire.findings import Finding, Severity
from discreet_fire.linked_tables.attack import CellRange, LinkedAttack
from discreet_fire.linked_tables.shown_counts import ShownCounts
from discreet_fire.linked_tables.system import LinkedSystem, systems_of

#: The rule of findings on tables that were not looked at, or not all of them together.
LEFT = "linked-tables-left"
_UNBOUNDED = 2**53
#: Atoms of cells times withheld cells that are asked about, in all.
_WORK = 4_000_000
#: So many sentences, systems, cells named to withhold, and cells named in one sentence.
_FINDINGS, _SYSTEMS, _NAMED, _TERMS = 5, 2, 8, 6
_NEAR = 1e-6


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class _SafeRange:
    """How far below and above its true value each cell must seem possible (confidential)."""

    small: BoolArray
    lower: IntArray
    upper: IntArray

    @classmethod
    def of(cls, system: LinkedSystem, minimum: int) -> _SafeRange:
        """As within one table: from the smallest possible number to a safe one."""
        n = system.counts
        small = system.hidden & (system.cases > 0) & (system.cases < minimum)
        share = np.where(n < minimum, 0, np.ceil(0.3 * n)).astype(np.int64)
        lower = np.minimum(n - system.least, np.maximum(minimum, share))
        upper = np.maximum(minimum - n, np.maximum(share, 1))
        return cls(small=small, lower=lower * small, upper=upper * small)

    def is_open(self, system: LinkedSystem, found: CellRange) -> bool:
        """Whether a cell is less uncertain than it must be."""
        at, n = found.cell, int(system.counts[found.cell])
        if not self.small[at]:
            return found.determined
        far = found.high < n + self.upper[at] - _NEAR or found.low > n - self.lower[at] + _NEAR
        return bool(far)


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class _Opened:
    """The withheld cells of a system that are open (confidential), and why."""

    system: LinkedSystem
    attack: LinkedAttack
    ranges: list[CellRange]


def linked_findings(tables: Sequence[ShownCounts], *, minimum: int) -> tuple[Finding, ...]:
    """What tables of a program tell about withheld cells, if they are taken together.

    Args:
        tables: The tables, in the order of the program.
        minimum: Fewest cases that may stand behind a number.

    >>> linked_findings([], minimum=3)
    ()
    """
    found: list[_Opened] = []
    work, left, apart = _WORK, 0, False
    for system in systems_of(tables):
        apart |= system.apart
        asked = np.flatnonzero(system.hidden & (system.counts > 0))
        work -= int(system.entries * asked.size)
        if work < 0:
            left += 1
            continue
        opened = _opened(system, asked.tolist(), _SafeRange.of(system, minimum))
        found += [] if opened is None else [opened]
    return (*_told(found, minimum), *_not_told(left, apart))


def _opened(system: LinkedSystem, asked: Sequence[int], wanted: _SafeRange) -> _Opened | None:
    attack = LinkedAttack(system)
    ranges = [one for one in map(attack.range_of, asked) if wanted.is_open(system, one)]
    ranges.sort(key=lambda one: (not wanted.small[one.cell], not one.determined, one.cell))
    return _Opened(system=system, attack=attack, ranges=ranges) if ranges else None


def _told(found: Sequence[_Opened], minimum: int) -> Iterator[Finding]:
    """A sentence for some of the open cells, and what helps, for some of the systems."""
    named: set[str] = set()
    for one in found:
        for each in one.ranges:
            name = one.system.name(each.cell)
            if len(named) < _FINDINGS and name not in named:
                yield _finding(_sentence(one.system, each, one.attack.reason(each)), "")
            named.add(name)
    for one in found[:_SYSTEMS]:
        what = f"the tables give withheld cells away, taken together: {_titles(one.system)}"
        yield _finding(what, _advice(one.system, minimum))
    more, cells = max(len(found) - _SYSTEMS, 0), max(len(named) - _FINDINGS, 0)
    if more or cells:
        yield _finding(f"{cells} more withheld cells are open, and {more} more sets of tables", "")


def _not_told(left: int, apart: bool) -> Iterator[Finding]:
    if left:
        what = f"{left} sets of tables were not held against each other: they are too large"
        hint = "show fewer tables in one program, or coarser ones"
        yield replace(_finding(what, hint), rule=LEFT)
    if apart:
        what = "so many tables are linked that they were held against each other by twos only"
        hint = "show fewer tables in one program"
        yield replace(_finding(what, hint, Severity.INFO), rule=LEFT)


def _sentence(system: LinkedSystem, one: CellRange, because: Sequence[tuple[int, float]]) -> str:
    """What follows from what."""
    told = "follows from" if one.determined else "is nearly told by"
    plus = [at for at, by in because if by > 0]
    minus = [at for at, by in because if by < 0]
    if not plus:
        return f"{system.name(one.cell)} {told} other cells of the tables"
    text = _listed(system, plus)
    if minus:
        text += f", less {_others(system, one.cell, minus) or _listed(system, minus)}"
    return f"{system.name(one.cell)} {told} {text}"


def _others(system: LinkedSystem, cell: int, minus: Sequence[int]) -> str:
    """Neighbours of a cell along one variable, where all of `minus` are such."""
    if len(minus) < 3 or {system.table(at) for at in minus} != {system.table(cell)}:
        return ""
    table = system.tables[system.table(cell)]
    own = np.unravel_index(system.place(cell), table.hidden.shape)
    places = np.unravel_index([system.place(at) for at in minus], table.hidden.shape)
    differ = [
        at for at, (one, many) in enumerate(zip(own, places, strict=True)) if (many != one).any()
    ]
    if len(differ) != 1 or (places[differ[0]] == table.sizes[differ[0]]).any():
        return ""
    axis = table.axes[differ[0]]
    labels = ", ".join(axis.labels[at] for at in places[differ[0]].tolist()[:_TERMS])
    more = f" and {len(minus) - _TERMS} more" if len(minus) > _TERMS else ""
    return f"{axis.name} = {labels}{more} of the same table"


def _listed(system: LinkedSystem, cells: Sequence[int]) -> str:
    names = [system.name(at) for at in cells[:_TERMS]]
    if len(cells) > _TERMS:
        names.append(f"{len(cells) - _TERMS} more cells")
    return "; ".join(names)


def _titles(system: LinkedSystem) -> str:
    return "; ".join(table.name for table in system.tables)


def _advice(system: LinkedSystem, minimum: int) -> str:
    """What to withhold besides."""
    for exact, words in ((False, ""), (True, "; sizes of small cells are then still nearly told")):
        try:
            more = cells_to_withhold(system, minimum, exact=exact)
        except SuppressionError:
            continue
        names = [system.name(int(at)) for at in more[:_NAMED]]
        if more.size > _NAMED:
            names.append(f"{more.size - _NAMED} more cells")
        if names:
            return f"withhold besides: {'; '.join(names)}{words}"
    return "leave out one of the tables, or use coarser groups"


def cells_to_withhold(system: LinkedSystem, minimum: int, *, exact: bool = False) -> IntArray:
    """The cells of a pattern that protects all withheld ones, beyond these.

    Args:
        system: The tables.
        minimum: Fewest cases that may stand behind a number.
        exact: Whether cells are protected against exact numbers only.
    """
    from discreet.protection.suppression.methods.registry import find_pattern
    from discreet.protection.suppression.problem.system import (
        CellState,
        Relations,
        SuppressionProblem,
    )

    wanted = _SafeRange.of(system, minimum)
    bare = system.hidden & (exact | ~wanted.small)
    atoms, cells = len(system.atoms), system.cells
    n, hidden = system.counts, system.hidden
    state = np.full(cells, int(CellState.free), dtype=np.int8)
    state[n == 0] = CellState.fixed
    state[hidden & (n > 0)] = CellState.primary
    empty = np.zeros(atoms, dtype=np.bool_)
    for at in np.flatnonzero((n == 0) & ~hidden).tolist():
        empty[system.members[at]] = True
    of_atoms = np.where(empty, int(CellState.fixed), int(CellState.secondary)).astype(np.int8)
    nothing = np.zeros(atoms, dtype=np.int64)
    cost = n + 1 + system.margins * int(n.max(initial=0))
    rows = [
        [(atoms + at, -1), *((int(one), 1) for one in members)]
        for at, members in enumerate(system.members)
        if members.size
    ]
    total = atoms + cells
    problem = SuppressionProblem(
        value=np.concatenate([system.atoms, n]),
        cost=np.concatenate([nothing, cost]),
        state=np.concatenate([of_atoms, state]),
        low=np.concatenate([nothing, np.where(hidden, system.least, 0)]),
        high=np.full(total, _UNBOUNDED, dtype=np.int64),
        lower=np.concatenate([nothing, np.where(bare, 0, wanted.lower)]),
        upper=np.concatenate([nothing, np.where(bare, 0, wanted.upper)]),
        sliding=np.concatenate([nothing, bare.astype(np.int64)]),
        relations=Relations.of(total, rows),
        name=lambda at: "a group of records" if at < atoms else system.name(at - atoms),
        title="linked tables",
    )
    found = find_pattern(problem, "fast").hidden[atoms:]
    return np.flatnonzero(found & ~hidden).astype(np.int64)


def _finding(what: str, hint: str, severity: Severity = Severity.REVIEW) -> Finding:
    return Finding(
        rule="linked-tables",
        severity=severity,
        what=what,
        line=0,
        column=1,
        start=0,
        end=0,
        hint=hint,
    )
