"""Tables of earlier releases, counted anew for new protection and for audits. CONFIDENTIAL.

In: tables of finished releases, and the records they were made of. Out: their true values
beside their patterns of hidden cells: what readers know already stays known.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.arrays import BoolArray
from discreet.errors import SuppressionError
from discreet.protection.protocol import Counts, InputsView, ProgrammeView
from discreet.protection.suppression.publish.protected_tables import figure_of
from discreet.protection.suppression.release.changed_tables import (
    ChangedTable,
    places_in,
    table_of_then,
)
from discreet.protection.suppression.release.sensitive_cells import (
    PrimaryJudge,
    column_of,
    counted_holdings,
    needed,
    rules_of,
    strictest,
    wanted_values,
)
from discreet.tables import ProtectedTable, Table

if TYPE_CHECKING:
    from discreet.protection.suppression.problem.demands import Earlier
    from discreet.rules import Primary

#: The reason of cells that were hidden to protect others.
SECONDARY = "secondary"


@dataclass(frozen=True, kw_only=True, repr=False)
class RecountedTable:
    """An earlier table with its true values (confidential)."""

    before: Any  # what was published
    table: Table  # its cells in the data of today
    primaries: Mapping[str, Primary]  # value → its sensitive cells
    #: Value → the table as it was then, for values that have changed since
    then: Mapping[str, ChangedTable]
    change: float | None  # by which share attackers think that these changed at most; None for any

    def as_earlier(self, value: str) -> Earlier:
        """What `discreet.suppress` takes, for one of its values."""
        from discreet.protection.suppression.problem.demands import Earlier

        if value in self.then:
            then = self.then[value]
            return Earlier(table=then.table, hidden=then.hidden, primary=then, change=self.change)
        return Earlier(
            table=self.table, hidden=self.published(value), primary=self.primaries[value]
        )

    def published(self, value: str) -> ProtectedTable:
        """What was published of one of its values."""
        return figure_of(self.before.kept.table, self.before.values.index(value))

    def __repr__(self) -> str:
        return f"<RecountedTable (confidential): {self.before.name}>"


def recounted_tables(inputs: InputsView, names: Sequence[str]) -> list[RecountedTable]:
    """Earlier tables that tell of the values of a group, counted anew."""
    records = inputs.records[inputs.programme.source_of(names[0]).name]
    entries = [inputs.programme.tables[name] for name in names]
    return [_counted(inputs, table, entries, records) for table in tables_before(inputs, names)]


def tables_before(inputs: InputsView, names: Sequence[str]) -> list[Any]:
    """The earlier tables that tell of the values of a group."""
    programme = inputs.programme
    values = {v for name in names for v in with_related(programme, programme.tables[name].values)}
    weight = programme.tables[names[0]].weight or ""
    return [
        before
        for before in inputs.earlier
        if before.is_related(programme, names[0])
        and before.protect == programme.method(names[0]).name
        and set(before.values) & values
        and before.about["weight"] == weight
    ]


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


def _counted(
    inputs: InputsView, before: Any, entries: Sequence[Any], records: Any
) -> RecountedTable:
    """The true values of an earlier table, judged by the rules that the group has."""
    judge = PrimaryJudge(inputs.programme)
    spanning = [
        list(dimension.classifications) for dimension in before.kept.table.spanning
    ]  # as they were then
    own = [
        entry.model_copy(
            update={
                "where": before.about["where"],
                "value": [value for value in before.values if value in known],
            }
        )
        for entry in entries
        for known in [with_related(inputs.programme, entry.values)]
    ]
    asked = [entry for entry in own if entry.value]
    counts = _counts(inputs, before, asked, spanning, records)
    main = counts[next(iter(needed(rules_of(inputs.programme, asked[0]), asked[0].where)))]
    stated = inputs.programme.suppression.earlier_change
    may_change = stated != "refuse"
    primaries, then = {}, {}
    for value in dict.fromkeys(value for entry in asked for value in entry.values):
        found = []
        for entry in [entry for entry in asked if value in entry.values]:
            rules = rules_of(inputs.programme, entry)
            holdings = counted_holdings(records, spanning, entry, rules, before.name)
            found.append(judge.judged(entry, value, counts, holdings))
        off = check_values(judge, before, main, value, asked[0].weight, refuse=not may_change)
        named = _named(before, before.values.index(value), main)
        primaries[value] = _with_named(strictest(found), named)
        if off:
            then[value] = _then(judge, before, main, value, primaries[value])
    return RecountedTable(
        before=before,
        table=main,
        primaries=primaries,
        then=then,
        change=None if stated in ("refuse", "any") else stated,
    )


def _then(
    judge: PrimaryJudge, before: Any, today: Table, value: str, found: Primary
) -> ChangedTable:
    """An earlier table of one value as it was then."""
    weight = before.about["weight"] or None
    published = figure_of(before.kept.table, before.values.index(value))
    decimals = judge.decimals(value, weight)
    then = table_of_then(published, today, found, column_of(value, weight), decimals)
    if then is None:
        message = f"no hidden values of {value!r} add up with those published"
        hint = "leave this release out of earlier, and compare it by hand"
        raise SuppressionError(message, code="earlier", where=before.name, hint=hint)
    return then


def changed_notes(past: Sequence[RecountedTable]) -> list[str]:
    """What has changed since it was published, in words."""
    return [
        f"{then.changed:,} values of {value!r} in {one.before.name} are others today: "
        "its pattern is kept where that is cheap, and both are protected together"
        for one in past
        for value, then in one.then.items()
    ]


def _named(before: Any, number: int, table: Table) -> BoolArray:
    """Cells that the earlier release itself calls sensitive, by the reasons it published."""
    mask = np.zeros(len(table), dtype=np.bool_)
    said = before.kept.table.withheld
    if said is None or not said.reasons:
        return mask
    kinds = np.array([False, *(note.kind != SECONDARY for note in said.reasons)])
    own = kinds[said.reason]
    if before.kept.table.several_figures:
        own &= said.index[-1] == number
    place = places_in(
        (table.dimensions, table.index, len(table)),
        (before.kept.table.spanning, [part[own] for part in said.index], int(own.sum())),
    )
    mask[place[place >= 0]] = True
    return mask


def _with_named(found: Primary, named: BoolArray) -> Primary:
    """The same with cells that were sensitive then: they must not become known exactly."""
    from discreet.rules import CellVerdict, Reason

    fresh = named & ~found.sensitive
    return dataclasses.replace(
        found,
        verdict=np.where(fresh, CellVerdict.sensitive, found.verdict).astype(np.int8),
        reason=np.where(fresh, Reason.manual, found.reason).astype(np.int8),
    )


def _counts(
    inputs: InputsView,
    before: Any,
    entries: Sequence[Any],
    spanning: Sequence[Any],
    records: Any,
) -> Counts:
    """The counts that all rules of the group need, in one pass."""
    from discreet.tabulation import Query, tabulate_many

    programme = inputs.programme
    filters = dict.fromkeys(
        where for entry in entries for where in needed(rules_of(programme, entry), entry.where)
    )
    columns: dict[str, int] = {}
    for entry in entries:
        for column, contributions in wanted_values(programme, entry).items():
            columns[column] = max(columns.get(column, 1), contributions)
    queries = [
        Query(
            by=list(spanning),
            where=where or None,
            weight=entries[0].weight or None,
            values=sorted(columns),
            contributions=columns,
            name=before.name,
        )
        for where in filters
    ]
    return dict(zip(filters, tabulate_many(records, queries), strict=True))


def check_values(
    judge: PrimaryJudge,
    before: Any,
    table: Table,
    value: str,
    weight: str | None,
    *,
    refuse: bool,
) -> int:
    """How many published values are not those of the data of today; an error if refused."""
    decimals = judge.decimals(value, weight)
    published = figure_of(before.kept.table, before.values.index(value))
    if published.figure_decimals() != decimals:
        raise _other(before, f"{value!r} was published with {published.figure_decimals()} decimals")
    off = differing(published, table, column_of(value, weight), decimals)
    if off and refuse:
        raise _other(before, f"{off:,} published values of {value!r} are not those of the data")
    return off


def differing(published: ProtectedTable, table: Table, column: str | None, decimals: int) -> int:
    """How many published values are not the true ones."""
    from discreet.protection.suppression.problem.demands import hidden_in
    from discreet.protection.suppression.problem.table_relations import units_of

    hidden = hidden_in(table, published)
    true = units_of(table, column, decimals)
    shown = np.zeros(len(table), dtype=np.int64)
    place = places_in(
        (published.dimensions, published.index, published.stored),
        (table.dimensions, table.index, len(table)),
    )
    there = place >= 0
    shown[there] = np.rint(published.value[place[there]] * 10.0**decimals).astype(np.int64)
    surplus = len(np.setdiff1d(np.flatnonzero(published.value), place[there]))
    # Totals were added up anew from rounded parts: they may be off by what was rounded.
    values = table.weight if column == "weight" else table.sums.get(column or "")
    whole = column is None or (values is not None and bool((values == np.rint(values)).all()))
    allowed = 0 if decimals == 0 and whole else len(table)
    return int((np.abs(true - shown)[~hidden] > allowed).sum()) + surplus


def _other(before: Any, what: str) -> SuppressionError:
    hint = "an earlier release can be respected only with the data it was made of; "
    hint += "where data have changed since, say by how much: earlier_change = 0.1"
    return SuppressionError(what, code="earlier", where=before.name, hint=hint)
