"""Findings about linked tables: what follows from what, and what to withhold besides.

In: the tables of a program and of others (CONFIDENTIAL), and the rules of output checking. Out:
`Finding`s in sentences, one for each cause, without a figure of the data.

A withheld cell is open where all tables together tell its number, or tell of a small one that it
is small or nearly how large.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from discreet.disclosure import ShownSets, TooManySetsError
from discreet.errors import SuppressionError
from discreet_fire.findings import Finding, Severity
from discreet_fire.linked_tables.outputs import ShownTable
from discreet_fire.linked_tables.small_counts import ShownCounts, ShownSums
from discreet_fire.linked_tables.sum_relations import related_sums
from discreet_fire.linked_tables.system import LinkedSystem, sum_systems_of, systems_of
from discreet_fire.linked_tables.withheld_cells import OpenCell, more_withheld, opened_cells
from discreet_fire.statistics import SafeLimits

#: The rule of findings on tables that were not looked at, or not all of them together.
LEFT = "linked-tables-left"
#: Atoms of cells times withheld cells that are asked about, in all.
_WORK = 40_000_000
#: So many sentences, systems, cells named to withhold, and cells named in one sentence.
_FINDINGS, _SYSTEMS, _NAMED, _TERMS = 5, 2, 8, 6


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class _Opened:
    """The withheld cells of a system that are open (confidential), and why."""

    system: LinkedSystem
    cells: list[OpenCell]


@dataclass(kw_only=True, repr=False)
class _Looked:
    """What was looked at, and what was not (confidential)."""

    found: list[_Opened] = field(default_factory=list)
    large: int = 0
    late: int = 0
    apart: bool = False


def linked_findings(
    tables: Sequence[ShownTable],
    *,
    limits: SafeLimits,
    earlier: Sequence[ShownTable] = (),
    until: float | None = None,
) -> tuple[Finding, ...]:
    """What tables tell about withheld cells, if they are taken together.

    >>> linked_findings([], limits=SafeLimits())
    ()
    """
    known = _looked(earlier, limits, until) if earlier else _Looked()
    names = {one.system.name(item.cell) for one in known.found for item in one.cells}
    looked = _looked([*tables, *earlier], limits, until)
    news = []
    for one in looked.found:
        cells = [item for item in one.cells if one.system.name(item.cell) not in names]
        news += [replace(one, cells=cells)] if cells else []
    mixed = _mixed([*tables, *earlier])
    before = {finding.what for finding in _related(earlier)}
    related = [one for one in _related([*tables, *earlier]) if one.what not in before]
    return (*_told(news, until), *related, *_not_told(looked), *mixed)


def _related(tables: Sequence[ShownTable]) -> Iterator[Finding]:
    """Sums that add up to a withheld one, and relations that were not followed further."""
    left: dict[str, None] = {}
    named: dict[str, str] = {}
    for related in related_sums([one for one in tables if isinstance(one, ShownSums)]):
        opened = list(related.opened())
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
        message = f"sums that add up were not held against each other: {'; '.join(left)}"
        hint = "withhold the same cells of all these variables, or leave one of them out"
        yield replace(_finding(message, hint), rule=LEFT)


def _mixed(tables: Sequence[ShownTable]) -> Iterator[Finding]:
    """Weights make sums of counts, which are not one problem with counts."""
    counts = [one for one in tables if isinstance(one, ShownCounts)]
    weighted = [one.place for one in tables if isinstance(one, ShownSums) and one.weighted]
    if counts and weighted and any(one.withheld.any() for one in [*counts, *weighted]):
        message = "tables with weights were not held against those without"
        named = "; ".join(dict.fromkeys(one.name for one in weighted[:_TERMS]))
        hint = "check whether both together disclose what one of them withholds"
        yield replace(_finding(f"{message}: {named}", hint), rule=LEFT)


def _looked(tables: Sequence[ShownTable], limits: SafeLimits, until: float | None) -> _Looked:
    """What all tables tell: counts, and sums of each variable."""
    looked, work = _Looked(), _WORK
    counts = [one for one in tables if isinstance(one, ShownCounts)]
    sums = [one for one in tables if isinstance(one, ShownSums)]
    if len(tables) < 2:
        return looked
    for systems in (systems_of(counts, limits), sum_systems_of(sums, limits)):
        for system in _in_time(systems, looked, until):
            looked.apart |= system.apart
            rows = np.flatnonzero(system.asked)
            work -= int(system.entries * rows.size)
            if work < 0:
                looked.large += 1
                continue
            try:
                opened = opened_cells(system)
            except SuppressionError:  # numbers are too far apart: nothing is known
                looked.large += 1
                continue
            small = system.numbers.small
            opened.sort(key=lambda one: (not small[one.cell], not one.determined, one.cell))
            looked.found += [_Opened(system=system, cells=opened)] if opened else []
    return looked


def _in_time(
    systems: Iterator[LinkedSystem], looked: _Looked, until: float | None
) -> Iterator[LinkedSystem]:
    """The systems, until the time is over; whether any is left is then not known."""
    while until is None or time.monotonic() < until:
        system = next(systems, None)
        if system is None:
            return
        yield system
    looked.late += 1


def _told(opened: Sequence[_Opened], until: float | None) -> Iterator[Finding]:
    """A sentence for some of the open cells, and what helps, for some of the systems."""
    named: set[str] = set()
    for one in opened:
        for item in one.cells:
            name = one.system.name(item.cell)
            if len(named) < _FINDINGS and name not in named:
                yield _finding(_sentence(one, item), "")
            named.add(name)
    for one in opened[:_SYSTEMS]:
        message = f"taken together, the tables disclose withheld cells: {_titles(one.system)}"
        yield _finding(message, _advice(one.system, until))
    more, cells = max(len(opened) - _SYSTEMS, 0), max(len(named) - _FINDINGS, 0)
    if more or cells:
        yield _finding(f"{cells} more withheld cells are open, and {more} more sets of tables", "")


def _not_told(looked: _Looked) -> Iterator[Finding]:
    """What was not looked at; an officer must know, as anything may be there."""
    if looked.large:
        many = f"{looked.large} sets of tables were not held against each other"
        message = f"{many}: they are too large, or could not be solved"
        yield replace(
            _finding(message, "show fewer tables in one program, or coarser ones"), rule=LEFT
        )
    if looked.late:
        message = "not all tables were held against each other: the time of the run was over"
        yield replace(_finding(message, "allow more time, or show fewer tables"), rule=LEFT)
    if looked.apart:
        message = "so many tables are linked that they were held against each other by twos only"
        yield replace(_finding(message, "show fewer tables in one program"), rule=LEFT)


def _sentence(opened: _Opened, one: OpenCell) -> str:
    """What follows from what."""
    system = opened.system
    because = _reason(system, one.cell)
    verb = "follows from" if one.determined else "nearly follows from"
    plus = [at for at, by in because if by > 0]
    minus = [at for at, by in because if by < 0]
    if not plus:
        return f"{system.name(one.cell)} {verb} other cells of the tables"
    text = _listed(system, plus)
    if minus:
        text += f", less {_others(system, one.cell, minus) or _listed(system, minus)}"
    return f"{system.name(one.cell)} {verb} {text}"


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


def _titles(system: LinkedSystem) -> str:
    return "; ".join(table.name for table in system.tables)


def _advice(system: LinkedSystem, until: float | None) -> str:
    """What to withhold besides."""
    more = more_withheld(system, until)
    if more is None:
        return "leave out one of the tables, or use coarser groups"
    if more.tables:
        return f"leave out: {'; '.join(system.tables[at].name for at in more.tables)}"
    names = [system.name(int(at)) for at in more.cells[:_NAMED]]
    if more.cells.size > _NAMED:
        names.append(f"{more.cells.size - _NAMED} more cells")
    nearly = "; the sizes of small cells then remain nearly disclosed" if more.nearly else ""
    return f"also withhold: {'; '.join(names)}{nearly}"


def _finding(message: str, hint: str, severity: Severity = Severity.REVIEW) -> Finding:
    return Finding(
        rule="linked-tables",
        severity=severity,
        what=message,
        line=0,
        column=1,
        start=0,
        end=0,
        hint=hint,
    )
