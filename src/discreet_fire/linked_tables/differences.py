"""Differences: figures of fewer units than the minimum that tables give, taken together.

In: the tables of a submission and of others (CONFIDENTIAL). Out: findings that name the tables, and
what to change: which categories to merge, which variable or table to leave out. Only what can be
worked out from figures that are shown is a finding; each advice was tried.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from discreet.arrays import BoolArray, IntArray
from discreet.disclosure import ShownSets, TooManySetsError
from discreet_fire.findings import Finding, Severity
from discreet_fire.linked_tables.small_counts import ShownCounts, ShownSums, ShownTable
from discreet_fire.linked_tables.system import LinkedSystem, sum_systems_of, systems_of
from discreet_fire.statistics import SafeLimits

#: The rule of findings on differences.
DIFFERENCE = "difference"
#: How a finding begins, after a number, that says of more than are told.
MORE = "more groups of fewer units than the minimum can be derived from"
#: So many findings of one system are told, tables named in one, and categories tried in advice.
_TOLD, _NAMED, _TRIED = 5, 4, 6


def difference_findings(
    tables: Sequence[ShownTable],
    *,
    limits: SafeLimits,
    earlier: Sequence[ShownTable] = (),
    until: float | None = None,
) -> tuple[list[Finding], bool]:
    """Figures of few units that tables give, with others or alone; whether all are known."""
    every = [*earlier, *tables]
    own = {id(one.table) for one in tables}
    counts = [one for one in every if isinstance(one, ShownCounts)]
    sums = [one for one in every if isinstance(one, ShownSums) and not one.weighted]
    findings: dict[str, Finding] = {}
    known: set[bytes] = set()
    complete = True
    for system in itertools.chain(
        systems_of(counts, limits, every=True), sum_systems_of(sums, limits, every=True)
    ):
        if until is not None and time.monotonic() > until:
            return list(findings.values()), False
        try:
            differences = _Differences(system, own, limits.minimum)
            figures = differences.fresh()
        except TooManySetsError:
            complete = False
            continue
        complete &= differences.complete and not system.apart
        fresh = [one for one in figures if differences.records(one) not in known]
        known |= set(map(differences.records, fresh))
        for what in map(differences.sentence, fresh[:_TOLD]):
            findings.setdefault(what, _finding(what, ""))
        if len(fresh) > _TOLD:
            more = f"{len(fresh) - _TOLD} {MORE} {_listed([one.name for one in system.tables])}"
            findings.setdefault(more, _finding(more, ""))
        if fresh:
            last = list(findings)[-1]
            findings[last] = replace(findings[last], hint=differences.advice(np.array(fresh)))
    return list(findings.values()), complete


@dataclass(frozen=True, repr=False, eq=False)
class _CellSets:
    """The cells of a table as unions of atoms; categories may be merged (confidential)."""

    table: int
    members: list[IntArray]  # of the cells that are shown
    places: list[int]  # and their places in the table


class _Differences:
    """A system of which some tables are new (confidential)."""

    def __init__(self, system: LinkedSystem, own: set[int], least: int) -> None:
        self.system, self.least = system, least
        self.new = frozenset(at for at, table in enumerate(system.tables) if id(table) in own)
        owners = np.arange(len(system.records)).astype(np.int64)
        for table in system.tables:
            if table.owners is not None:
                owners[np.searchsorted(system.records, table.records)] = table.owners
        self._owners = np.unique(owners, return_inverse=True)[1].ravel().astype(np.int64)
        self._cells = [self._shown(at) for at in range(len(system.tables))]
        self._sets = self._shown_sets(self._cells)
        self._before = self._shown_sets([one for one in self._cells if one.table not in self.new])

    def _shown(self, table: int) -> _CellSets:
        system = self.system
        cells = system.cells_of(table)
        shown = cells[~system.hidden[cells]].tolist()
        members = [system.members[at] for at in shown]
        return _CellSets(table, members, [system.place(at) for at in shown])

    def _shown_sets(self, cells: Sequence[_CellSets]) -> ShownSets:
        members = [one for own in cells for one in own.members]
        system = self.system
        return ShownSets(members, system.atom_of, self._owners, len(system.atoms))

    @property
    def complete(self) -> bool:
        """Whether all combinations of what is shown were looked at."""
        return not self.new or not len(self._sets.shown) or self._sets.eliminated

    def fresh(self, sets: ShownSets | None = None) -> BoolArray:
        """Figures of few units that are not known of other tables alone."""
        sets = sets or self._sets
        if not self.new or not len(sets.shown):
            return np.zeros((0, len(self.system.atoms)), dtype=np.bool_)
        figures = sets.few(self.least, signed=not self.system.numbers.whole)
        return figures[~self._before.follows(figures)] if len(self._before.shown) else figures

    def records(self, figure: BoolArray) -> bytes:
        """The records that a figure is about, as far as two systems may tell the same."""
        return self.system.records[figure[self.system.atom_of]].tobytes()

    def _used(self, figure: BoolArray) -> list[tuple[int, int, float]]:
        """The cells that a figure is worked out from, new ones first: table, place, factor."""
        number = [(own.table, place) for own in self._cells for place in own.places]
        used = [(*number[at], by) for at, by in self._sets.reason(figure)]
        return sorted(used, key=lambda one: (one[0] not in self.new, one[:2]))

    def sentence(self, figure: BoolArray) -> str:
        """Which cells differ by few units."""
        names: tuple[list[str], list[str]] = ([], [])
        for table, place, by in self._used(figure):
            first, where = self.system.tables[table].name, self.system.tables[table].place(place)
            names[int(by < 0)].append(first if where == "all" else f"{first}: {where}")
        plus, minus = names
        of = f"{self.system.numbers.variable} of " if self.system.numbers.variable else ""
        few = "fewer units than the minimum"
        if not plus or not minus:
            every = [self.system.tables[at].name for at in sorted(self.new)]
            others = [one.name for at, one in enumerate(self.system.tables) if at not in self.new]
            return f"{of}{few} can be derived from {_listed(plus or every + others)}"
        verb = "differs" if len(plus) == 1 else "together differ"
        together = " together" if len(minus) > 1 else ""
        return f"{of}{_listed(plus)} {verb} from {_listed(minus)}{together} by {few}"

    def advice(self, figures: BoolArray) -> str:
        """The smallest change with which nothing of this follows."""
        used = {table for one in figures[:_TOLD] for table, _, _ in self._used(one)} & self.new
        for table in sorted(used or self.new):
            others = [one for one in self._cells if one.table != table]
            for words, changed in self._changes(table, figures, self._cells[table]):
                if not len(self.fresh(self._shown_sets([*others, changed]))):
                    return words
        names = dict.fromkeys(self.system.tables[at].name for at in sorted(used or self.new))
        return f"leave out {_listed(list(names))}"

    def _changes(
        self, table: int, figures: BoolArray, cells: _CellSets
    ) -> Iterator[tuple[str, _CellSets]]:
        """What could be done about a table: two categories merged, a variable left out."""
        shown = self.system.tables[table]
        inside = np.flatnonzero(figures.any(axis=0))
        tried = 0
        for at, axis in enumerate(shown.axes):
            for label in range(len(axis.labels)):
                own = [
                    members
                    for members, place in zip(cells.members, cells.places, strict=True)
                    if self._label(shown, place, at) == label
                ]
                if tried < _TRIED and any(np.isin(inside, one).any() for one in own):
                    tried += 1
                    other = label + 1 if label + 1 < len(axis.labels) else label - 1
                    if other >= 0:
                        pair = f"{axis.labels[min(label, other)]} with "
                        pair += axis.labels[max(label, other)]
                        merged = self._merged(shown, cells, at, (label, other))
                        yield f"merge {axis.name} {pair} in {shown.name}", merged
        for at, axis in enumerate(shown.axes):
            total = [
                (members, place)
                for members, place in zip(cells.members, cells.places, strict=True)
                if self._label(shown, place, at) == len(axis.labels)
            ]
            words = f"leave out {axis.name} in {shown.name}"
            yield words, _CellSets(table, [one for one, _ in total], [place for _, place in total])

    @staticmethod
    def _label(shown: ShownCounts, place: int, axis: int) -> int:
        return int(np.unravel_index(place, shown.hidden.shape)[axis]) if shown.axes else 0

    @staticmethod
    def _merged(
        shown: ShownCounts, cells: _CellSets, axis: int, pair: tuple[int, int]
    ) -> _CellSets:
        """The cells with two categories as one; what is hidden of one of them is so of both."""
        of = dict(zip(cells.places, cells.members, strict=True))
        members: list[IntArray] = []
        for place, own in of.items():
            where = list(np.unravel_index(place, shown.hidden.shape))
            if where[axis] not in pair:
                members.append(own)
            elif where[axis] == pair[0]:
                where[axis] = np.intp(pair[1])
                other = int(np.ravel_multi_index(tuple(where), shown.hidden.shape))
                members += [np.union1d(own, of[other])] if other in of else []
        return _CellSets(cells.table, members, [0] * len(members))

    def __repr__(self) -> str:
        return "<_Differences (confidential)>"


def _listed(names: Sequence[str]) -> str:
    text = "; ".join(names[:_NAMED])
    return f"{text}; {len(names) - _NAMED} more" if len(names) > _NAMED else text


def _finding(what: str, hint: str) -> Finding:
    return Finding(rule=DIFFERENCE, severity=Severity.REVIEW, what=what, hint=hint)
