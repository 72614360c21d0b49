"""Findings about linked tables: what follows from what, and what to withhold or change.

In: the tables of a program and of others (CONFIDENTIAL), and the rules of output checking. Out:
`Finding`s in sentences, one for each cause, without a figure of the data: on withheld cells, and on
differences, which are figures of fewer units than the minimum that tables give, taken together.

A withheld cell is open where all tables together tell its number, or tell of a small one that it
is small or nearly how large. All tables are one problem of cell suppression, with its proofs and
its patterns; where there is no pattern, tables are left out until nothing is open. Sums of
variables may add up: where all are withheld in the same cells, each is as uncertain as it is alone;
anything else between that and an open cell is not examined, and said.
Only what can be worked out from figures that are shown is a difference, and each advice was tried.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import chain
from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from discreet.arrays import BoolArray, FloatArray, IntArray
from discreet.disclosure import ShownSets, TooManySetsError
from discreet.errors import SuppressionError
from discreet.tables import (
    COUNT,
    NEAR,
    ValueRelation,
    found_relations,
    near_relations,
    pairs_apart,
)
from discreet_fire.findings import Finding, Severity
from discreet_fire.linked_tables.small_counts import ShownCounts, ShownSums, ShownTable
from discreet_fire.linked_tables.system import LinkedSystem, same_values, sum_systems_of, systems_of
from discreet_fire.statistics import SafeLimits

if TYPE_CHECKING:
    from discreet.protection.suppression import SuppressionProblem


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class RelatedSums:
    """Sums of the same cells that a relation ties together (confidential)."""

    relation: ValueRelation
    #: For each variable all that shows its sums; empty where their cells are other ones
    sums: tuple[tuple[ShownSums, ...], ...]

    @property
    def hidden(self) -> BoolArray:
        """By variable and cell, whether nothing shows its sum."""
        return self._everywhere([[one.place.hidden for one in own] for own in self.sums])

    @property
    def alike(self) -> bool:
        """Whether all are withheld in the same cells."""
        return len(self.sums) > 0 and bool((self.hidden == self.hidden[:1]).all())

    def opened(self) -> list[list[int]]:
        """Withheld sums that are the only one of their relation in a cell: variable and cell."""
        withheld = self._everywhere([[one.place.withheld for one in own] for own in self.sums])
        alone: list[list[int]] = np.argwhere(withheld & (self.hidden.sum(axis=0) == 1)).tolist()
        return alone

    def _everywhere(self, masks: Sequence[Sequence[BoolArray]]) -> BoolArray:
        every = [np.all(own, axis=0).ravel() for own in masks]
        return np.array(every, dtype=np.bool_).reshape(len(masks), -1 if masks else 0)

    def __repr__(self) -> str:
        return f"<RelatedSums (confidential): {len(self.sums)}>"


def related_sums(tables: Sequence[ShownSums]) -> list[RelatedSums]:
    """Sums with relations between them, of which any is withheld."""
    groups = same_values([one for one in tables if not one.weighted])
    if len(groups) < 2 or not any(one.place.withheld.any() for own in groups for one in own):
        return []
    names = [f"{own[0].variable} {at}" for at, own in enumerate(groups)]
    known = [_values_of(own) for own in groups]
    common = reduce(np.intersect1d, [records for records, _ in known])
    columns = {
        name: values[np.searchsorted(records, common)]
        for name, (records, values) in zip(names, known, strict=True)
    }
    columns[COUNT] = np.ones(len(common))
    relations = found_relations(columns, repeated=True)
    relations += pairs_apart(near_relations(columns, NEAR), relations)
    related = []
    for relation in relations:
        own = [at for at, name in enumerate(names) if name in relation.values]
        if len(own) > 1 and any(one.place.withheld.any() for at in own for one in groups[at]):
            called = dict(zip(names, (each[0].variable for each in groups), strict=True))
            told = ValueRelation(
                tuple((called.get(name, name), factor) for name, factor in relation.coefs),
                each=relation.each,
                share=relation.share,
            )
            related += _in_cells(told, [groups[at] for at in own])
    return related


def _values_of(own: Sequence[ShownSums]) -> tuple[IntArray, FloatArray]:
    """The records of a variable, and the value of each."""
    records, first = np.unique(
        np.concatenate([one.place.records for one in own]), return_index=True
    )
    return records, np.concatenate([one.values for one in own])[first]


def _in_cells(relation: ValueRelation, groups: Sequence[Sequence[ShownSums]]) -> list[RelatedSums]:
    """The sums of a relation, cells by cells."""
    by_cells: dict[tuple[bytes, bytes], dict[int, list[ShownSums]]] = {}
    for at, own in enumerate(groups):
        for one in own:
            order = np.argsort(one.place.records, kind="stable")
            key = one.place.records[order].tobytes(), one.place.cells[order].tobytes()
            by_cells.setdefault(key, {}).setdefault(at, []).append(one)
    every, loose = [], False
    for found in by_cells.values():
        listed = tuple(tuple(own) for own in found.values())
        if len(listed) == len(groups):
            every.append(RelatedSums(relation=relation, sums=listed))
        else:
            loose |= any(one.place.withheld.any() for own in listed for one in own)
    return [*every, RelatedSums(relation=relation, sums=())] if loose or not every else every


_UNBOUNDED = 2**53
#: So long a pattern is looked for.
_SECONDS = 30.0
#: Sums become whole numbers: so many for each of the parts that they are counted in.
_WHOLE = 2**20


def opened_cells(system: LinkedSystem, more: MoreWithheld | None = None) -> dict[int, bool]:
    """The withheld cells that all tables together tell, or tell of a small one how large it is.

    Args:
        system: All tables.
        more: What is withheld besides.

    Returns:
        For each, whether only one number is left, up to how it would be shown.
    """
    from discreet.protection.suppression import CellState, certify

    problem = _problem(system, more)
    unknown = np.isin(problem.state, (int(CellState.primary), int(CellState.secondary)))
    certificate = certify(problem, unknown)
    first, exact = len(system.atoms), set(certificate.exact.tolist())
    return {at - first: at in exact for at in certificate.unprotected.tolist()}


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class MoreWithheld:
    """Additionally withheld cells (confidential)."""

    cells: IntArray  # all of them
    tables: tuple[int, ...] = ()  # whole tables, if these are their cells
    nearly: bool = False  # whether small numbers are then still nearly told

    def hidden(self, system: LinkedSystem) -> BoolArray:
        """All that is not shown then."""
        mask = system.hidden.copy()
        mask[self.cells] = True
        return mask


def more_withheld(system: LinkedSystem, until: float | None = None) -> MoreWithheld | None:
    """Cells to withhold so that none is open; None if the time ends before they are known.

    Where no pattern of cells helps, tables are left out, each the one that helps most.
    """
    from discreet.protection.suppression import find_pattern

    for exact in (False, True):
        left = _SECONDS if until is None else min(until - time.monotonic(), _SECONDS)
        if left <= 0:
            return None
        problem = _problem(system, exact=exact)
        try:
            hidden = find_pattern(problem, "fast", time_limit=left).hidden[len(system.atoms) :]
        except SuppressionError:
            continue
        return MoreWithheld(cells=np.flatnonzero(hidden & ~system.hidden), nearly=exact)
    more, opened = MoreWithheld(cells=np.zeros(0, dtype=np.int64)), 1
    while opened and len(more.tables) < len(system.tables):
        tries = []
        for table in reversed(range(len(system.tables))):
            if table in more.tables:
                continue
            if until is not None and time.monotonic() > until:
                return None
            cells = np.union1d(more.cells, system.cells_of(table))
            fewer = MoreWithheld(cells=cells, tables=(*more.tables, table))
            tries.append((len(opened_cells(system, fewer)), fewer))
        opened, more = min(tries, key=itemgetter(0))
    return more


def _problem(
    system: LinkedSystem, more: MoreWithheld | None = None, *, exact: bool = False
) -> SuppressionProblem:
    """All tables as one problem: withheld cells are sensitive, atoms are cells that nobody sees.

    If it is to be `exact`, exact numbers only are to be protected.
    """
    from discreet.protection.suppression import CellState, Relations, SuppressionProblem

    n = system.counts
    hidden = system.hidden if more is None else more.hidden(system)
    unit = 1 if system.whole else _WHOLE
    bare = system.asked & (exact | ~system.small)
    atoms, cells = len(system.atoms), system.cells
    of_atoms = np.rint(system.of_atoms * unit).astype(np.int64)
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
    floor = np.full(atoms, -_UNBOUNDED if system.signed else 0, dtype=np.int64)
    cost = n + 1 + system.margins() * int(n.max(initial=0))
    rows = [
        [(atoms + at, -1), *((int(one), 1) for one in members)]
        for at, members in enumerate(system.members)
        if members.size
    ]
    total = atoms + cells
    low, high = system.floor.copy(), system.ceiling.copy()
    for table in () if more is None else more.tables:
        if system.tables[table].cuts is not None:  # quantiles that are left out bound nothing
            low[system.cells_of(table)], high[system.cells_of(table)] = 0.0, np.inf
    low = np.where(system.signed, -_UNBOUNDED, np.maximum(low * unit, -_UNBOUNDED))
    low, high = low.astype(np.int64), np.minimum(high * unit, _UNBOUNDED).astype(np.int64)
    room = np.maximum(of_cells - low, 0)
    # Of sums, what is not known exactly is so in what is shown.
    sliding = bare * (1 if system.whole else int((system.rounding + 1e-3) * unit))
    return SuppressionProblem(
        value=np.concatenate([of_atoms, of_cells]),
        cost=np.concatenate([nothing, cost]),
        state=np.concatenate([states, state]),
        low=np.concatenate([floor, low]),
        high=np.concatenate([np.full(atoms, _UNBOUNDED, dtype=np.int64), high]),
        lower=np.concatenate([nothing, np.minimum(_levels(system.lower, unit, bare), room)]),
        upper=np.concatenate([nothing, _levels(system.upper, unit, bare)]),
        sliding=np.concatenate([nothing, sliding.astype(np.int64)]),
        relations=Relations.of(total, rows),
        name=lambda at: "a group of records" if at < atoms else system.name(at - atoms),
        title="linked tables",
    )


def _levels(wanted: object, unit: int, bare: BoolArray) -> IntArray:
    levels = np.ceil(np.asarray(wanted, dtype=np.float64) * unit).astype(np.int64)
    return np.where(bare, 0, levels)


#: The rule of findings on tables that were not looked at, or not all of them together.
LEFT = "linked-tables-left"
#: Atoms of cells times withheld cells that are asked about, in all.
_WORK = 40_000_000
#: So many sentences, systems, cells named to withhold, and cells named in one sentence.
_FINDINGS, _SYSTEMS, _NAMED, _TERMS = 5, 2, 8, 6


#: Systems with the withheld cells that are open there, and whether these are known exactly.
_Opened = tuple[LinkedSystem, dict[int, bool]]


def linked_findings(
    tables: Sequence[ShownTable],
    *,
    limits: SafeLimits,
    earlier: Sequence[ShownTable] = (),
    until: float | None = None,
) -> tuple[Finding, ...]:
    """Findings on withheld cells from all tables together.

    >>> linked_findings([], limits=SafeLimits())
    ()
    """
    opened, left = _opened([*tables, *earlier], limits, until)
    related = [*_related([*tables, *earlier])]
    mixed = _mixed([*tables, *earlier])
    known: dict[str, bool] = {}  # which cells either tells alone, and whether exactly
    for some in (earlier, tables) if earlier else ():
        for system, cells in _opened(some, limits, until)[0] if opened else ():
            for cell, exact in cells.items():
                known[system.name(cell)] = exact or known.get(system.name(cell), False)
        before = {one.what for one in _related(some)}
        related = [one for one in related if one.what not in before]
    news = [
        (system, {at: exact for at, exact in cells.items()
                  if exact > known.get(system.name(at), -1)})
        for system, cells in opened
    ]  # fmt: skip
    return (*_told([one for one in news if one[1]], until), *related, *left, *mixed)


def _related(tables: Sequence[ShownTable]) -> Iterator[Finding]:
    """Sums that add up to a withheld one, and relations that were not followed further."""
    left: dict[str, None] = {}
    named: dict[str, str] = {}
    for related in related_sums([one for one in tables if isinstance(one, ShownSums)]):
        opened = related.opened()
        first = [own[0] for own in related.sums]
        for at, cell in opened:
            others = ", ".join(
                f"{one.variable} of {one.place.name}" for one in first if one is not first[at]
            )
            place = f"{first[at].place.name}: {first[at].variable} of {first[at].place.place(cell)}"
            named.setdefault(f"{place} follows from {others}", related.relation.text)
        if not opened and not related.alike:
            left[related.relation.text] = None
    for what, text in list(named.items())[:_FINDINGS]:
        yield _finding(f"{what}: {text}", "withhold the same cells of all these variables")
    if len(named) > _FINDINGS:
        yield _finding(f"{len(named) - _FINDINGS} more withheld sums follow from others", "")
    if left:
        message = f"sums that add up were not compared with each other: {'; '.join(left)}"
        hint = "withhold the same cells of all these variables, or leave one of them out"
        yield _finding(message, hint, LEFT)


def _mixed(tables: Sequence[ShownTable]) -> Iterator[Finding]:
    """Weights make sums of counts, which are not one problem with counts."""
    counts = [one for one in tables if isinstance(one, ShownCounts)]
    weighted = [one.place for one in tables if isinstance(one, ShownSums) and one.weighted]
    if counts and weighted and any(one.withheld.any() for one in [*counts, *weighted]):
        message = "tables with weights were not compared with those without"
        named = "; ".join(dict.fromkeys(one.name for one in weighted[:_TERMS]))
        hint = "check whether both together disclose what one of them withholds"
        yield _finding(f"{message}: {named}", hint, LEFT)


def _opened(
    tables: Sequence[ShownTable], limits: SafeLimits, until: float | None
) -> tuple[list[_Opened], list[Finding]]:
    """What all tables tell: counts, and sums of each variable; and what was not looked at, which
    an officer must know, as anything may be there.
    """
    opened, work, large, late, apart = list[_Opened](), _WORK, 0, False, False
    counts = [one for one in tables if isinstance(one, ShownCounts)]
    sums = [one for one in tables if isinstance(one, ShownSums)]
    if len(tables) < 2:
        return [], []
    for system in chain(systems_of(counts, limits), sum_systems_of(sums, limits)):
        if late := until is not None and time.monotonic() >= until:
            break
        apart |= system.apart
        work -= int(system.entries * np.count_nonzero(system.asked))
        try:
            cells = opened_cells(system) if work >= 0 else None
        except SuppressionError:  # numbers are too far apart: nothing is known
            cells = None
        large += cells is None
        if cells:
            small = system.small
            ordered = sorted(cells, key=lambda at: (not small[at], not cells[at], at))
            opened.append((system, {at: cells[at] for at in ordered}))
    left = []
    if large:
        many = f"{large} sets of tables were not compared with each other"
        message = f"{many}: they are too large, or could not be solved"
        hint = "show fewer tables in one program, or coarser ones"
        left.append(_finding(message, hint, LEFT))
    if late:
        message = "not all tables were compared with each other: the time of the run was over"
        left.append(_finding(message, "allow more time, or show fewer tables", LEFT))
    if apart:
        message = "so many tables are linked that they were compared in pairs only"
        left.append(_finding(message, "show fewer tables in one program", LEFT))
    return opened, left


def _told(opened: Sequence[_Opened], until: float | None) -> Iterator[Finding]:
    """A sentence for some of the open cells, and what helps, for some of the systems."""
    named: set[str] = set()
    for system, cells in opened:
        for cell, exact in cells.items():
            name = system.name(cell)
            if len(named) < _FINDINGS and name not in named:
                yield _finding(_sentence(system, cell, exact=exact), "")
            named.add(name)
    for system, _ in opened[:_SYSTEMS]:
        titles = "; ".join(table.name for table in system.tables)
        message = f"taken together, the tables disclose withheld cells: {titles}"
        yield _finding(message, _advice(system, until))
    more, left = max(len(opened) - _SYSTEMS, 0), max(len(named) - _FINDINGS, 0)
    if more or left:
        yield _finding(f"{left} more withheld cells are open, and {more} more sets of tables", "")


def _sentence(system: LinkedSystem, cell: int, *, exact: bool) -> str:
    """What follows from what."""
    because = _reason(system, cell)
    verb = "follows from" if exact else "nearly follows from"
    plus = [at for at, by in because if by > 0]
    minus = [at for at, by in because if by < 0]
    if not plus:
        return f"{system.name(cell)} {verb} other cells of the tables"
    text = _listed(system, plus)
    if minus:
        text += f", less {_others(system, cell, minus) or _listed(system, minus)}"
    return f"{system.name(cell)} {verb} {text}"


def _reason(system: LinkedSystem, cell: int) -> list[tuple[int, float]]:
    """The shown cells from which a withheld one follows, and by what each counts."""
    shown = np.flatnonzero(~system.hidden)
    members = [system.members[at] for at in shown.tolist()]
    atoms, owners = len(system.atoms), np.arange(len(system.records))
    try:
        sets = ShownSets(members, system.atom_of, owners, atoms)
    except TooManySetsError:
        return []
    reason = sets.reason(np.isin(np.arange(atoms), system.members[cell]))
    return [(int(shown[at]), by) for at, by in reason]


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


def _advice(system: LinkedSystem, until: float | None) -> str:
    """What to withhold besides."""
    more = more_withheld(system, until)
    if more is None:
        return "leave out one of the tables, or use coarser groups"
    if more.tables:
        return f"leave out: {'; '.join(system.tables[at].name for at in sorted(more.tables))}"
    names = [system.name(int(at)) for at in more.cells[:_NAMED]]
    if more.cells.size > _NAMED:
        names.append(f"{more.cells.size - _NAMED} more cells")
    nearly = "; the sizes of small cells then remain nearly disclosed" if more.nearly else ""
    return f"also withhold: {'; '.join(names)}{nearly}"


# --- differences --------------------------------------------------------------------------------

#: The rule of findings on differences.
DIFFERENCE = "difference"
#: How a finding begins, after a number, that says of more than are told.
MORE = "more groups of fewer units than the minimum can be derived from"
#: So many findings of one system are told, tables named in one, and categories tried in advice.
_TOLD, _TABLES, _TRIED = 5, 4, 6


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
    for system in chain(
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
            findings.setdefault(what, _finding(what, "", DIFFERENCE))
        if len(fresh) > _TOLD:
            more = f"{len(fresh) - _TOLD} {MORE} {_titles([one.name for one in system.tables])}"
            findings.setdefault(more, _finding(more, "", DIFFERENCE))
        if fresh:
            last = list(findings)[-1]
            findings[last] = replace(findings[last], hint=differences.advice(np.array(fresh)))
    return list(findings.values()), complete


class _ShownCell(NamedTuple):
    """A cell that is shown, as a union of atoms; categories may be merged (confidential)."""

    table: int
    place: int  # in the table
    members: IntArray


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
        self._cells = [
            _ShownCell(system.table(at), system.place(at), system.members[at])
            for at in np.flatnonzero(~system.hidden).tolist()
        ]
        self._sets = self._shown_sets(self._cells)
        self._before = self._shown_sets([one for one in self._cells if one.table not in self.new])

    def _shown_sets(self, cells: Sequence[_ShownCell]) -> ShownSets:
        members = [one.members for one in cells]
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
        figures = sets.few(self.least, signed=not self.system.whole)
        return figures[~self._before.follows(figures)] if len(self._before.shown) else figures

    def records(self, figure: BoolArray) -> bytes:
        """The records that a figure is about, as far as two systems may tell the same."""
        return self.system.records[figure[self.system.atom_of]].tobytes()

    def _used(self, figure: BoolArray) -> list[tuple[int, int, float]]:
        """The cells that a figure is worked out from, new ones first: table, place, factor."""
        used = [(*self._cells[at][:2], by) for at, by in self._sets.reason(figure)]
        return sorted(used, key=lambda one: (one[0] not in self.new, one[:2]))

    def sentence(self, figure: BoolArray) -> str:
        """Which cells differ by few units."""
        names: tuple[list[str], list[str]] = ([], [])
        for table, place, by in self._used(figure):
            first, where = self.system.tables[table].name, self.system.tables[table].place(place)
            names[int(by < 0)].append(first if where == "all" else f"{first}: {where}")
        plus, minus = names
        of = f"{self.system.variable} of " if self.system.variable else ""
        few = "fewer units than the minimum"
        if not plus or not minus:
            every = [self.system.tables[at].name for at in sorted(self.new)]
            others = [one.name for at, one in enumerate(self.system.tables) if at not in self.new]
            return f"{of}{few} can be derived from {_titles(plus or every + others)}"
        verb = "differs" if len(plus) == 1 else "together differ"
        together = " together" if len(minus) > 1 else ""
        return f"{of}{_titles(plus)} {verb} from {_titles(minus)}{together} by {few}"

    def advice(self, figures: BoolArray) -> str:
        """The smallest change with which nothing of this follows."""
        used = {table for one in figures[:_TOLD] for table, _, _ in self._used(one)} & self.new
        for table in sorted(used or self.new):
            others = [one for one in self._cells if one.table != table]
            own = [one for one in self._cells if one.table == table]
            for words, changed in self._changes(self.system.tables[table], figures, own):
                if not len(self.fresh(self._shown_sets([*others, *changed]))):
                    return words
        names = dict.fromkeys(self.system.tables[at].name for at in sorted(used or self.new))
        return f"leave out {_titles(list(names))}"

    @staticmethod
    def _changes(
        shown: ShownCounts, figures: BoolArray, cells: Sequence[_ShownCell]
    ) -> Iterator[tuple[str, list[_ShownCell]]]:
        """What could be done about a table: two categories merged, a variable left out; or one
        quantile left out.
        """
        if shown.cuts is not None:
            for cell in cells:
                words = f"leave out {shown.place(cell.place)} in {shown.name}"
                yield words, [one for one in cells if one is not cell]
            return
        inside = np.flatnonzero(figures.any(axis=0))
        places = np.array([one.place for one in cells], dtype=np.int64)
        of = {one.place: one for one in cells}
        where = np.unravel_index(places, shown.hidden.shape) if shown.axes else ()
        tried = 0
        for at, (axis, codes) in enumerate(zip(shown.axes, where, strict=True)):
            step = math.prod(shown.hidden.shape[at + 1 :])
            for label in range(len(axis.labels)):
                own = [cells[one] for one in np.flatnonzero(codes == label).tolist()]
                other = label + 1 if label + 1 < len(axis.labels) else label - 1
                if tried < _TRIED and any(np.isin(inside, one.members).any() for one in own):
                    tried += 1
                    if other < 0:
                        continue
                    # What is hidden of one of both is so of both together.
                    merged = [
                        one._replace(members=np.union1d(one.members, of[near].members))
                        for one in own
                        if (near := one.place + (other - label) * step) in of
                    ]
                    rest = np.flatnonzero((codes != label) & (codes != other)).tolist()
                    first, second = (axis.labels[one] for one in sorted((label, other)))
                    words = f"merge {axis.name} {first} with {second} in {shown.name}"
                    yield words, [*merged, *(cells[one] for one in rest)]
        for axis, codes in zip(shown.axes, where, strict=True):
            total = np.flatnonzero(codes == len(axis.labels)).tolist()
            yield f"leave out {axis.name} in {shown.name}", [cells[one] for one in total]


def _titles(names: Sequence[str]) -> str:
    text = "; ".join(names[:_TABLES])
    return f"{text}; {len(names) - _TABLES} more" if len(names) > _TABLES else text


#: So many outputs are named in one finding.
_PLACES = 8


def uncompared(message: str, outputs: Sequence[str], hint: str) -> Finding:
    """A finding on outputs that were not compared with others, by their names.

    >>> print(uncompared("not compared", ["line 1", "line 1"], ""))
    0:1 review [linked-tables-left] not compared: line 1
    """
    names = list(dict.fromkeys(outputs))
    places = "; ".join(names[:_PLACES])
    places += f" and {len(names) - _PLACES} more" if len(names) > _PLACES else ""
    return _finding(f"{message}: {places}", hint, LEFT)


def _finding(message: str, hint: str, rule: str = "linked-tables") -> Finding:
    return Finding(rule=rule, severity=Severity.REVIEW, what=message, hint=hint)
