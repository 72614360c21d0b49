"""Tables of earlier releases, counted anew for new protection and for audits. CONFIDENTIAL.

The records of finished releases give their true values beside their patterns of hidden cells: what
readers know already stays known. Where data have changed since, a table is as it was then: shown
values as they were published, hidden ones as the whole numbers next to those of today that add up
with them, for the values of then are not kept.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.arrays import BoolArray, FloatArray, IntArray
from discreet.confidential import Confidential
from discreet.disclosure import (
    Relations,
    figures_shown,
    make_whole,
    places_in,
    relations_of,
    units_of,
)
from discreet.errors import SuppressionError
from discreet.protection.protocol import Counts, InputsView, ProgrammeView
from discreet.protection.suppression.problem.demands import LEVELS, Earlier, hidden_in
from discreet.protection.suppression.publish.protected_tables import figure_of
from discreet.protection.suppression.release.checks import table_units
from discreet.protection.suppression.release.sensitive_cells import (
    PrimaryJudge,
    column_of,
    counted_holdings,
    needed,
    rules_of,
    strictest,
    wanted_values,
)
from discreet.tables import CellStatus, ProtectedTable, Table

if TYPE_CHECKING:
    from discreet.rules import Primary

#: Branchings of the program that looks for hidden values.
_NODES = 2_000


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class ChangedTable(Confidential):
    """An earlier table of one value as it was then (confidential)."""

    table: Table  # its values, hidden ones by guess
    hidden: BoolArray  # which cells were hidden
    sensitive: BoolArray  # which of these were or are sensitive
    lower: FloatArray  # their lower protection levels, by the rules of today
    upper: FloatArray  # their upper protection levels
    sliding: FloatArray  # their sliding protection levels
    changed: int  # how many shown values are others today
    others: BoolArray  # cells with other records today, whatever their value


def table_of_then(
    published: ProtectedTable,
    today: Table,
    found: Primary,
    column: str | None,
    decimals: int,
    others: BoolArray | None = None,
) -> ChangedTable | None:
    """The table of then; None if no whole numbers of at least 0 add up with what was published."""
    index, value, status = published.cells()
    units = np.rint(value * 10.0**decimals).astype(np.int64)
    hidden: BoolArray = status == CellStatus.suppressed
    known = (today.dimensions, today.index, len(today))
    place = places_in(known, (published.spanning, index, len(value)))
    there, place = place >= 0, np.maximum(place, 0)
    guess = np.where(there, units_of(today, column, decimals)[place], 0)
    if (units[~hidden] < 0).any():
        return None
    relations = relations_of(published.spanning, index)
    # Of counts zeros are printed, unless they were hidden as partners.
    for least in (1, 0) if column is None else (0,):
        filled = _filled(relations, units, hidden, np.maximum(guess, least), least)
        if filled is not None:
            break
    else:
        return None
    sensitive = there & hidden & found.sensitive[place]
    levels: dict[str, FloatArray] = {
        name: np.where(sensitive, np.nan_to_num(np.asarray(getattr(found, name))[place]), 0.0)
        for name in LEVELS
    }
    values = filled / 10.0**decimals
    columns: dict[str, Any] = {"count": filled}
    if column is not None:
        columns = {"count": ((filled != 0) | hidden).astype(np.int64)}
        columns |= {"weight": values} if column == "weight" else {"sums": {column: values}}
    return ChangedTable(
        table=Table(
            dimensions=tuple(published.spanning), index=tuple(index), where=today.where,
            name=today.name, parts=today.parts, **columns,
        ),
        hidden=hidden,
        sensitive=sensitive,
        **levels,
        changed=int((units != guess)[~hidden].sum()),
        others=there & (False if others is None else others[place]),
    )  # fmt: skip


def _filled(
    relations: Relations, units: IntArray, hidden: BoolArray, guess: IntArray, least: int
) -> IntArray | None:
    """The values with hidden ones next to a guess, so that everything adds up."""
    from discreet.solver import column_values, loaded_solver

    filled = np.where(hidden, guess, units)
    rest = -relations.residuals(np.where(hidden, 0, units)).astype(np.float64)
    inside = hidden[relations.cell]
    touched = np.bincount(relations.row[inside], minlength=len(relations)) > 0
    if rest[~touched].any():
        return None
    if not relations.residuals(filled).any():
        return filled
    among, cells = relations.among(hidden)
    size, own = len(cells), np.arange(len(cells))
    # The distance of each value from its guess, up and down, costs 1 per unit.
    apart = np.stack([own, own + size, own + 2 * size], axis=1).ravel()
    coef = np.tile([1, -1, 1], size)
    wide = Relations.of_entries(3 * size, size, np.repeat(own, 3), apart, coef)
    wide = among.renumbered(own, 3 * size).joined(wide)
    right = np.concatenate([rest[touched], guess[cells].astype(np.float64)])
    solver = loaded_solver(
        wide.matrix,
        np.concatenate([np.full(size, float(least)), np.zeros(2 * size)]),
        np.full(3 * size, np.inf),
        cost=np.concatenate([np.zeros(size), np.ones(2 * size)]),
        rows=(right, right),
        mip_max_nodes=_NODES,
    )
    make_whole(solver, own)
    solver.run()
    values = column_values(solver)
    if len(values) < size:
        return None
    filled[cells] = np.rint(values[:size]).astype(np.int64)
    return None if relations.residuals(filled).any() or (filled < 0).any() else filled


@dataclass(frozen=True, kw_only=True, repr=False)
class RecountedTable(Confidential):
    """An earlier table with its true values (confidential)."""

    before: Any  # what was published
    table: Table  # its cells in the data of today
    primaries: Mapping[str, Primary]  # value → its sensitive cells
    #: Value → the table as it was then, for values that have changed since
    then: Mapping[str, ChangedTable]
    change: float | None  # by which share attackers think that these changed at most; None for any

    def as_earlier(self, value: str) -> Earlier:
        """The earlier table for `discreet.suppress`, for one of its values."""
        if value in self.then:
            then = self.then[value]
            own: dict[str, Any] = {"hidden": then.hidden, "primary": then, "others": then.others}
            return Earlier(table=then.table, change=self.change, **own)
        return Earlier(
            table=self.table, hidden=self.published(value), primary=self.primaries[value]
        )

    def of_units(self, unit: str) -> RecountedTable:
        """A copy with the unit of its records."""
        then = {
            value: dataclasses.replace(one, table=dataclasses.replace(one.table, unit=unit))
            for value, one in self.then.items()
        }
        return dataclasses.replace(
            self, table=dataclasses.replace(self.table, unit=unit), then=then
        )

    def published(self, value: str) -> ProtectedTable:
        """The published figures of one value."""
        return figure_of(self.before.table, self.before.values.index(value))


def recounted_tables(inputs: InputsView, names: Sequence[str]) -> list[RecountedTable]:
    """Earlier tables that tell of the values of a group, counted anew."""
    units = table_units(inputs.programme, names)
    pairs = tables_before(inputs, names)
    return [_counted(inputs, before, own).of_units(units[own[0]]) for before, own in pairs]


def tables_before(inputs: InputsView, names: Sequence[str]) -> list[tuple[Any, list[str]]]:
    """The earlier tables that tell of the values of a group, with the tables of these records."""
    programme, found = inputs.programme, []
    for place in dict.fromkeys(programme.places[name] for name in names):
        own = [name for name in names if programme.places[name] == place]
        tables = [programme.tables[name] for name in own]
        values = {v for table in tables for v in with_related(programme, table.values)}
        found += [
            (before, own)
            for before in inputs.earlier
            if before.is_related(programme, own[0])
            and before.protect == programme.method(own[0]).name
            and set(before.values) & values
            and before.about["weight"] == (tables[0].weight or "")
        ]
    return found


def with_related(programme: ProgrammeView, values: Sequence[str]) -> set[str]:
    """Values, and all that tells of them because it adds up to them with others."""
    known = set(values)
    relations = {*programme.stated_relations, *chain(*programme.found_relations.values())}
    while (
        more := {name for each in relations if known & {*each.values} for name in each.values}
        - known
    ):
        known |= more
    return known


def _counted(inputs: InputsView, before: Any, names: Sequence[str]) -> RecountedTable:
    """The true values of an earlier table, judged by the rules that the group has."""
    from discreet.tabulation import Query, tabulate_many

    programme, judge = inputs.programme, PrimaryJudge(inputs.programme)
    records = inputs.records[programme.source_of(names[0]).name]
    spanning = [
        list(dimension.classifications) for dimension in before.table.spanning
    ]  # as they were then
    asked = []
    for entry in (programme.tables[name] for name in names):
        known = with_related(programme, entry.values)
        own = [value for value in before.values if value in known]
        if own:
            asked.append(entry.model_copy(update={"where": before.about["where"], "value": own}))
    # The counts that all rules of the group need, in one pass.
    filters = dict.fromkeys(
        where for entry in asked for where in needed(rules_of(programme, entry), entry.where)
    )
    columns: dict[str, int] = {}
    for entry in asked:
        for column, contributions in wanted_values(programme, entry).items():
            columns[column] = max(columns.get(column, 1), contributions)
    queries = [
        Query(
            by=list(spanning),
            where=where or None,
            weight=asked[0].weight or None,
            values=sorted(columns),
            contributions=columns,
            name=before.name,
        )
        for where in filters
    ]
    counts: Counts = dict(zip(filters, tabulate_many(records, queries), strict=True))
    main = counts[next(iter(filters))]
    stated = programme.suppression.earlier_change
    may_change = stated != "refuse"
    others = inputs.other_records(before, main)
    others = np.zeros(len(main), dtype=np.bool_) if others is None else others
    if others.any() and not may_change:
        raise _other(before, f"the records of {int(others.sum()):,} cells changed")
    weight = before.about["weight"] or None
    primaries, then = {}, {}
    for value in dict.fromkeys(value for entry in asked for value in entry.values):
        found = []
        for entry in [entry for entry in asked if value in entry.values]:
            rules = rules_of(programme, entry)
            holdings = counted_holdings(records, spanning, entry, rules, before.name)
            found.append(judge.judged(entry, value, counts, holdings))
        decimals, summed = judge.decimals(value, weight), column_of(value, weight)
        published = figure_of(before.table, before.values.index(value))
        if (digits := published.figure_decimals()) != decimals:
            raise _other(before, f"{value!r} was published with {digits} decimals")
        off = differing(published, main, summed, decimals)
        if off and not may_change:
            raise _other(before, f"{off:,} published values of {value!r} differ from the data")
        primaries[value] = _with_named(before, value, strictest(found), main)
        if off or others.any():
            old = table_of_then(published, main, primaries[value], summed, decimals, others)
            if old is None:
                message = f"no suppressed values of {value!r} fit the published totals"
                hint = "remove this release from earlier, and compare it by hand"
                raise SuppressionError(message, code="earlier", where=before.name, hint=hint)
            then[value] = old
    return RecountedTable(
        before=before,
        table=main,
        primaries=primaries,
        then=then,
        change=None if stated in ("refuse", "any") else stated,
    )


def changed_notes(past: Sequence[RecountedTable]) -> list[str]:
    """Changes since its publication, in words."""
    notes = [
        f"{then.changed:,} values of {value!r} in {one.before.name} changed: its suppression "
        "pattern is kept where cheap, and both releases are protected together"
        for one in past
        for value, then in one.then.items()
    ]
    for one in past:
        others = max((int(then.others.sum()) for then in one.then.values()), default=0)
        if others:
            message = "have other records now and are treated as different cells"
            notes.append(f"{others:,} cells of {one.before.name} {message}")
    return notes


def _with_named(before: Any, value: str, found: Primary, table: Table) -> Primary:
    """The same with cells that the earlier release itself calls sensitive, by published reasons.

    They must not become known exactly.
    """
    from discreet.rules import CellVerdict, Reason

    said = before.table.withheld
    if said is None or not said.reasons:
        return found
    own = np.array([False, *(note.kind != "secondary" for note in said.reasons)])[said.reason]
    if before.table.several_figures:
        own &= said.index[-1] == before.values.index(value)
    place = places_in(
        (table.dimensions, table.index, len(table)),
        (before.table.spanning, [part[own] for part in said.index], int(own.sum())),
    )
    fresh = np.zeros(len(table), dtype=np.bool_)
    fresh[place[place >= 0]] = True
    fresh &= ~found.sensitive
    return dataclasses.replace(
        found,
        verdict=np.where(fresh, CellVerdict.sensitive, found.verdict).astype(np.int8),
        reason=np.where(fresh, Reason.manual, found.reason).astype(np.int8),
    )


def differing(published: ProtectedTable, table: Table, column: str | None, decimals: int) -> int:
    """Number of published values that are not the true ones."""
    hidden = hidden_in(table, published)
    true = units_of(table, column, decimals)
    place, shown = figures_shown(published, table, decimals)
    surplus = len(np.setdiff1d(np.flatnonzero(published.value), place[place >= 0]))
    # Totals were added up anew from rounded parts: they may be off by what was rounded.
    values = table.weight if column == "weight" else table.sums.get(column or "")
    whole = column is None or (values is not None and bool((values == np.rint(values)).all()))
    allowed = 0 if decimals == 0 and whole else len(table)
    return int((np.abs(true - shown)[~hidden] > allowed).sum()) + surplus


def _other(before: Any, what: str) -> SuppressionError:
    hint = "an earlier release needs the data of its publication; "
    hint += "if data changed since, add their largest change, such as earlier_change = 0.1"
    return SuppressionError(what, code="earlier", where=before.name, hint=hint)
