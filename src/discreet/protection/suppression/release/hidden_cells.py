"""Tables with hidden cells: from true counts to what is published, and what is said of it.

Tables that do share cells are one system, in which every sensitive cell is proven to be protected.
Tables of earlier releases are counted anew: the records of finished releases give their true values
beside their patterns, and what readers know already stays known. Where data have changed since, a
table is as it was then: shown values as they were published, hidden ones as the whole numbers next
to those of today that add up with them, for the values of then are not kept.

The public part of reports has no value, no cost, no proof – a proof is a digest over true values,
and could be tried out – and does not say how cells were chosen, for who knows that can infer more
than from a pattern alone. The internal report is CONFIDENTIAL. Means and ratios are shown where
both ingredients are, worked out from what is shown and from nothing else.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.arrays import BoolArray, FloatArray, IntArray
from discreet.confidential import Confidential
from discreet.derived import rounded
from discreet.disclosure import (
    DisclosureVerdict,
    Knowledge,
    Relations,
    figures_shown,
    linked_cells,
    make_whole,
    places_in,
    relations_of,
    rows_across,
    tied_tables,
    units_of,
)
from discreet.errors import DiscreetError, SuppressionError
from discreet.protection.protocol import (
    COUNT,
    Counts,
    InputsView,
    ProgrammeView,
    ReleaseContext,
    all_of,
)
from discreet.protection.suppression.problem.linked_tables import Cost
from discreet.protection.suppression.problem.system import LEVELS, Earlier, Findings, hidden_in
from discreet.protection.suppression.publish.protected_tables import figure_of
from discreet.protection.suppression.release.sensitive_cells import (
    PrimaryJudge,
    column_of,
    counted_holdings,
    joined,
    needed,
    rules_of,
    strictest,
    table_units,
    unit_links,
    wanted_values,
)
from discreet.tables import (
    CellStatus,
    Figure,
    ProtectedTable,
    Table,
    ValueRelation,
    figure_dimension,
)

if TYPE_CHECKING:
    from discreet.disclosure import Gap, LinkedRecords, Partitions
    from discreet.protection.suppression.publish.report import PartHidden
    from discreet.protection.suppression.publish.suppression import Suppression
    from discreet.rules import Primary

#: Branchings of the program that looks for hidden values.
_NODES = 2_000


def table_of_then(
    published: ProtectedTable,
    today: Table,
    found: Primary,
    column: str | None,
    decimals: int,
    others: BoolArray | None = None,
    change: float | None = None,
) -> tuple[Earlier, int] | None:
    """A table of one value as it was then, and how many shown values are others today.

    Hidden values are guessed. None if no whole numbers of at least 0 add up with what was
    published.
    """
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
    then = Table(
        dimensions=tuple(published.spanning), index=tuple(index), where=today.where,
        name=today.name, parts=today.parts, unit=today.unit, **columns,
    )  # fmt: skip
    asked: Any = Findings(sensitive=sensitive, **levels)  # by the rules of today
    other = there & (False if others is None else others[place])
    earlier = Earlier(table=then, hidden=hidden, primary=asked, change=change, others=other)
    return earlier, int((units != guess)[~hidden].sum())


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
    #: Value → the table as it was then, and how many values shown are others today
    then: Mapping[str, tuple[Earlier, int]]

    def as_earlier(self, value: str) -> Earlier:
        """The earlier table for `discreet.suppress`, for one of its values."""
        if value in self.then:
            return self.then[value][0]
        primary = self.primaries[value]
        return Earlier(table=self.table, hidden=self.published(value), primary=primary)

    def published(self, value: str) -> ProtectedTable:
        """The published figures of one value."""
        return figure_of(self.before.table, self.before.values.index(value))


def recounted_tables(inputs: InputsView, names: Sequence[str]) -> list[RecountedTable]:
    """Earlier tables that tell of the values of a group, counted anew."""
    units = table_units(inputs.programme, names)
    pairs = tables_before(inputs, names)
    return [_counted(inputs, before, own, units[own[0]]) for before, own in pairs]


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


def _counted(inputs: InputsView, before: Any, names: Sequence[str], unit: str) -> RecountedTable:
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
    main = dataclasses.replace(main, unit=unit)
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
            change = None if stated in ("refuse", "any") else stated
            old = table_of_then(published, main, primaries[value], summed, decimals, others, change)
            if old is None:
                message = f"no suppressed values of {value!r} fit the published totals"
                hint = "remove this release from earlier, and compare it by hand"
                raise SuppressionError(message, code="earlier", where=before.name, hint=hint)
            then[value] = old
    return RecountedTable(before=before, table=main, primaries=primaries, then=then)


def changed_notes(past: Sequence[RecountedTable]) -> list[str]:
    """Changes since its publication, in words."""
    notes = [
        f"{changed:,} values of {value!r} in {one.before.name} changed: its suppression "
        "pattern is kept where cheap, and both releases are protected together"
        for one in past
        for value, (_, changed) in one.then.items()
    ]
    for one in past:
        masks = [np.asarray(then.others) for then, _ in one.then.values()]
        others = max((int(mask.sum()) for mask in masks), default=0)
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


@dataclass(frozen=True, kw_only=True, repr=False)
class SensitiveTable(Confidential):
    """A table of a programme with its sensitive cells (confidential)."""

    name: str
    table: Table
    primaries: Sequence[Primary]


@dataclass(frozen=True, kw_only=True, repr=False)
class SuppressedTables(Confidential):
    """Tables that share cells, protected together (confidential, but for the tables)."""

    tables: Mapping[str, ProtectedTable]  # name → what is published
    #: Value → pattern and proof, over all the tables that have it
    by_value: Mapping[str, Suppression]
    earlier: tuple[str, ...]  # names of the earlier tables that were respected


class TableSuppression:
    """Protects the tables of one release that have hidden cells. CONFIDENTIAL."""

    def __init__(self, inputs: InputsView, tell: Callable[[str], None] = lambda _: None) -> None:
        self.inputs, self.programme, self.tell = inputs, inputs.programme, tell
        self.judge = PrimaryJudge(inputs.programme)

    def judged(
        self, counts: Mapping[str, Counts], spanning: Mapping[str, Mapping[str, Any]]
    ) -> list[SensitiveTable]:
        """Tables with their sensitive cells; `spanning` has what spans tables of each source."""
        tables = []
        units = table_units(self.programme, counts)
        for name, own in counts.items():
            entry = self.programme.tables[name]
            source = self.programme.source_of(name).name
            records = self.inputs.records[source]
            by = [spanning[source][variable] for variable in entry.by or []]
            holdings = counted_holdings(records, by, entry, rules_of(self.programme, entry), name)
            primaries = self.judge.primaries(name, entry, own, holdings)
            table = dataclasses.replace(own[all_of(entry.where)], unit=units[name])
            tables.append(SensitiveTable(name=name, table=table, primaries=primaries))
        return tables

    def unlinked(self, names: Sequence[str]) -> list[Gap]:
        """Other records and other weights of what is hidden, if nothing ties them to the tables."""
        from discreet.disclosure import Gap

        programme, gaps = self.programme, []
        hidden = programme.protected["suppress"]
        past = [before for before in self.inputs.earlier if before.protect == "suppress"]
        # Links relate plain counts of tables that are protected together, and nothing else.
        plain = all(
            programme.tables[name].values == [COUNT] and not programme.tables[name].weight
            for name in hidden
        )
        links = [link[:2] for link in unit_links(programme)] if plain else []
        places = dict.fromkeys(programme.places[name] for name in hidden)
        every = dict.fromkeys([*places, *(place for link in links for place in link)])
        kinds = [own for own in joined(list(every), links) if places.keys() & set(own)]
        strange = dict.fromkeys(
            before.about["from"]
            for before in past
            if not any(before.is_related(programme, name) for name in hidden)
        )
        if (number := len(kinds) + len(strange)) > 1:
            sources = dict.fromkeys(programme.source_of(name).name for name in hidden) | strange
            gaps.append(Gap("units" if plain else "unit-values", ", ".join(sources), number))
        told: dict[str, set[str]] = {}  # by weights; weighted counts are sums of the weights
        for weight, values in [
            *(
                (programme.tables[name].weight or "", programme.tables[name].values)
                for name in hidden
                if programme.places[name] == programme.places[names[0]]
            ),
            *(
                (before.about["weight"], before.values)
                for before in past
                if before.is_related(programme, names[0])
            ),
        ]:
            own = with_related(programme, values) | ({weight} if COUNT in values else set())
            told.setdefault(weight, set()).update(own)
        apart = sorted(one for one in told for two in told if one != two and told[one] & told[two])
        if apart:
            about = ", ".join(dict.fromkeys(filter(None, apart)))
            gaps.append(Gap("weightings", about, len({*apart})))
        return gaps

    def partitions(
        self, group: Sequence[SensitiveTable], past: Sequence[RecountedTable]
    ) -> Partitions | LinkedRecords | None:
        """Partitions of the records by several tables; None for one table of one breakdown."""
        from discreet.disclosure import LinkedRecords, Partitions, UnitLink

        tables = [*(item.table for item in group), *(item.table for item in past)]
        several = any(len(own.classifications) > 1 for each in tables for own in each.dimensions)
        if not group or (len(tables) < 2 and not several):
            return None
        name = group[0].name
        records = self.inputs.records[self.programme.source_of(name).name]
        units = table_units(self.programme, (item.name for item in group))
        try:
            if len(set(units.values())) > 1:
                at = {self.programme.places[name]: unit for name, unit in units.items()}
                own = {unit: self.programme.source_of(name).name for name, unit in units.items()}
                return LinkedRecords(
                    {unit: self.inputs.records[source] for unit, source in own.items()},
                    [
                        UnitLink(at[unit], at[parts], by)
                        for unit, parts, by in unit_links(self.programme)
                        if {unit, parts} <= at.keys()
                    ],
                    tables,
                    self.programme.suppression.coincidences,
                )
            weight = self.programme.tables[name].weight or None
            return Partitions(records, tables, weight, self.programme.suppression.coincidences)
        except DiscreetError:  # cubes, for one, hold what they were asked for only
            return None

    def hidden(
        self,
        group: Sequence[SensitiveTable],
        past: Sequence[RecountedTable],
        partitions: Partitions | LinkedRecords | None,
    ) -> SuppressedTables:
        """Tables that share cells, as they may be published."""
        from discreet.protection.suppression.methods.registry import refuse_gaps
        from discreet.protection.suppression.publish.suppression import SharedSuppression

        names = ", ".join(item.name for item in group)
        self.tell(f"suppressing cells of {names}")
        weight = self.programme.tables[group[0].name].weight
        values = dict.fromkeys(v for each in group for v in self.programme.tables[each.name].values)
        before = dict.fromkeys(value for one in past for value in one.primaries)
        columns = {value: column_of(value, weight) for value in (*values, *before)}
        try:
            done = SharedSuppression.of(
                [(item.table, list(item.primaries)) for item in group],
                method=self.programme.suppression.method,
                decimals_of={c: self.judge.decimals(v, weight) for v, c in columns.items() if c},
                earlier_of={
                    column: [one.as_earlier(value) for one in past if value in one.primaries]
                    for value, column in columns.items()
                },
                relations=self.relations([item.name for item in group], columns),
                records=partitions,
                **self._options(),
            )
            gaps, accept = self.unlinked([i.name for i in group]), self.programme.suppression.accept
            by_value = {
                column: dataclasses.replace(each, judgement=each.judgement.and_gaps(gaps, accept))
                for column, each in done.by_value.items()
            }
            refuse_gaps(DisclosureVerdict.joined(v.judgement for v in by_value.values()), "")
        except SuppressionError as error:
            raise self._placed(error, names) from None
        stated = self.programme.suppression.reasons
        opened = any(
            column in (None, "weight") and each.reasons != (stated or each.reasons)
            for column, each in by_value.items()
        )
        if opened and len(self.programme.protected["suppress"]) > 1:
            # Other tables of the programme tell the counts that these reasons would open.
            message = f"reasons = {stated!r} would disclose sensitive counts"
            raise SuppressionError(message, code="reasons", where=names, hint='reasons = "none"')
        return SuppressedTables(
            tables={
                each.name: self._with_ratios(each.name, self._described(safe))
                for each, safe in zip(group, done.tables, strict=True)
            },
            by_value={value: by_value[columns[value]] for value in values},
            earlier=tuple(one.before.name for one in past),
        )

    def savings(self, names: Iterable[str], context: ReleaseContext) -> dict[str, Any]:
        """Per table, what merges of categories or coarser levels would save, each by itself."""
        found = {}
        for name in names:
            entry = self.programme.tables[name]
            rules = rules_of(self.programme, entry)
            values = [value for value in entry.values if value != COUNT]
            source = self.programme.source_of(name).name
            context.tell(f"searching for changes that suppress fewer cells of {name}")
            with suppress(DiscreetError):  # alone it is not protected, or has rules of other values
                found[name] = context.hide_less(
                    records=self.inputs.records[source],
                    by=[context.spanning[source][variable] for variable in entry.by or []],
                    rules=rules,
                    values=values,
                    weight=entry.weight,
                    where=entry.where or None,
                    shadow=entry.shadow if values else None,
                    holding=entry.holdings if rules.holdings else None,
                    knowledge=self.knowledge,
                    name=name,
                )
        return found

    @property
    def knowledge(self) -> Knowledge | None:
        """Stated prior knowledge of attackers; None if the programme states none."""
        bounds = self.programme.suppression.bounds
        if bounds is None:
            return None
        shares = {name: getattr(bounds, name) for name in ("below", "above")}
        known = {name: None if share == "none" else share for name, share in shares.items()}
        return Knowledge(**known, negative=bounds.negative, rules=bounds.rules)

    def relations(self, names: Sequence[str], values: Iterable[str]) -> list[ValueRelation]:
        """Additive relations among values of tables protected together, by their columns."""
        programme, told = self.programme, set(values)
        places = dict.fromkeys(programme.places[name] for name in names)
        own = [each for each in programme.stated_relations if len(told & {*each.values}) > 1]
        found = (programme.found_relations.get((place, ""), ()) for place in places)
        for item in chain.from_iterable(found):
            known = item if COUNT in told else item.without_count()
            if len(known.values) > 1 and told >= {*known.values} and known not in own:
                own.append(known)
        renamed = {COUNT: "weight"} if programme.tables[names[0]].weight else {}
        return [
            dataclasses.replace(
                item, coefs=tuple((renamed.get(name, name), n) for name, n in item.coefs)
            )
            for item in own
        ]

    def _options(self) -> dict[str, Any]:
        """[suppression] as the options of `discreet.suppress`."""
        stated, hidden = self.programme.suppression, self.programme.protected["suppress"]
        # Reasons beside values tell of the counts of the same records.
        counts = any(COUNT in self.programme.tables[name].values for name in hidden)
        cost: dict[str, Any] = stated.cost.model_dump(exclude_none=True)
        if "distance" in cost:
            cost["distance"] = tuple(cost["distance"])
        return {
            "cost": Cost(**cost),
            "knowledge": self.knowledge,
            "zero_cells": stated.zero_cells,
            "insiders": stated.insiders,
            "reasons": "none" if stated.reasons is None and counts else stated.reasons,
            "intervals": stated.intervals,
            "time_limit": stated.time_limit,
            "seed": stated.seed,
            "accept": stated.accept,
            "related_within": None,  # all records were searched for related values
        }

    def _described(self, safe: ProtectedTable) -> ProtectedTable:
        """The table with titles and units of its values."""
        if not safe.figures:
            return safe
        values = self.programme.document.values
        named = [(f, values.get(COUNT if f.name == "weight" else f.name)) for f in safe.figures]
        figures = tuple(
            figure if own is None else dataclasses.replace(figure, titles=own.title, unit=own.unit)
            for figure, own in named
        )
        if len(figures) == 1:
            return dataclasses.replace(safe, figures=figures)
        dimensions = (*safe.dimensions[:-1], figure_dimension(figures))
        return dataclasses.replace(safe, figures=figures, dimensions=dimensions)

    def _with_ratios(self, name: str, safe: ProtectedTable) -> ProtectedTable:
        """The table with its means and ratios, as far as their ingredients are shown."""
        entry = self.programme.tables[name]
        if not entry.ratios:
            return safe
        figures = [
            Figure(name=ratio, kind="ratio", titles=own.title, unit=own.unit, decimals=own.decimals)
            for ratio, own in entry.ratios.items()
        ]
        every = (*safe.figures, *figures)
        parts = [figure_of(safe, number) for number in range(len(safe.figures))]
        columns = [(safe.index, safe.value.astype(np.float64), safe.status)]
        for number, own in enumerate(entry.ratios.values()):
            above, below = (parts[entry.values.index(v or "")] for v in (own.part, own.whole))
            hidden = above.status == CellStatus.suppressed
            hidden |= below.status == CellStatus.suppressed
            shown = ~hidden & (below.value != 0)
            quotient = np.zeros(len(hidden))
            np.divide(float(own.factor) * above.value, below.value, out=quotient, where=shown)
            states = np.where(shown, CellStatus.published, CellStatus.not_applicable)
            states[hidden] = CellStatus.suppressed
            place = np.full(len(hidden), len(safe.figures) + number, dtype=np.int32)
            value = rounded(quotient, own.decimals)
            columns.append(((*above.index, place), value, states.astype(np.int8)))
        places, values, status = zip(*columns, strict=True)
        return dataclasses.replace(
            safe,
            dimensions=(*safe.dimensions[:-1], figure_dimension(every)),
            index=tuple(np.concatenate(part) for part in zip(*places, strict=True)),
            value=np.concatenate(values),
            status=np.concatenate(status),
            figures=every,
            decimals=max(item.decimals for item in every),
        )

    def _placed(self, error: SuppressionError, names: str) -> SuppressionError:
        """The error, with the tables that were to be protected together."""
        where = f"{self.programme.path.name}, {names}"
        if len(error.problems) == 1:
            first = error.problems[0]
            place = f"{where}: {first.where}" if first.where else where
            return SuppressionError(first.what, code=error.code, where=place, hint=first.hint)
        return SuppressionError(
            error.what, code=error.code, where=where, hint=error.hint, problems=error.problems
        )


def components(
    group: Sequence[SensitiveTable],
    past: Sequence[RecountedTable],
    partitions: Partitions | LinkedRecords | None,
) -> list[tuple[list[SensitiveTable], list[RecountedTable]]]:
    """Tables that share cells or add up, directly or by others between them, in their order."""
    tables = [*(item.table for item in group), *(item.table for item in past)]
    try:
        cells = linked_cells(tables).cells
    except DiscreetError:
        return [(list(group), list(past))]  # protecting them together says what is wrong
    user = np.full(max((int(part.max(initial=-1)) for part in cells), default=-1) + 1, -1)
    ties: list[tuple[int, int]] = []
    for at, part in enumerate(cells):
        ties += [(other, at) for other in np.unique(user[part]).tolist() if other >= 0]
        user[part] = at
    size, number = len(group), len(cells)
    if partitions is not None and (rows := rows_across(tables, partitions)[0]) is not None:
        ties += tied_tables(rows.relations, [*tables, *rows.nobody])
        number += len(rows.nobody)
    return [
        (
            [group[n] for n in own if n < size],
            [past[n - size] for n in own if size <= n < len(cells)],
        )
        for own in joined(range(number), ties)
        if own[0] < len(cells)
    ]


def public_entries(done: SuppressedTables) -> dict[str, dict[str, Any]]:
    """Public facts about the hidden cells of each table.

    Where no reasons are published, primary and secondary cells are kept together.
    """
    from discreet.protection.suppression.publish.report import report_on

    values: dict[str, dict[str, Any]] = {name: {} for name in done.tables}
    for value, suppression in done.by_value.items():
        parts: dict[str, list[PartHidden]] = {}
        for part in report_on(suppression).parts:
            parts.setdefault(part.table, []).append(part)
        for name, own in parts.items():
            values[name][value] = _numbers(own, told=suppression.reasons != "none")
    accepted = [gap.text() for gap in verdict_on(done).accepted]
    return {
        name: {
            **{"values": told, "protected": True},
            "with": [n for n in done.tables if n != name],
            **({"not_examined": accepted} if accepted else {}),
        }
        for name, told in values.items()
    }


def verdict_on(done: SuppressedTables) -> DisclosureVerdict:
    """The verdict on all values."""
    return DisclosureVerdict.joined(each.judgement for each in done.by_value.values())


def _numbers(parts: Sequence[PartHidden], *, told: bool) -> dict[str, Any]:
    listed = [
        {
            "part": part.part,
            "cells": part.cells,
            "hidden": part.primary + part.secondary,
            **({"primary": part.primary, "secondary": part.secondary} if told else {}),
        }
        for part in parts
    ]
    keys = ("cells", "hidden", *(("primary", "secondary") if told else ()))
    return {**{key: sum(item[key] for item in listed) for key in keys}, "parts": listed}


def internal_entry(
    done: SuppressedTables, digests: Mapping[str, str], savings: Mapping[str, Any]
) -> dict[str, Any]:
    """Everything about tables that were protected together, and what would hide less of each.

    CONFIDENTIAL.
    """
    from discreet.protection.suppression.publish.report import report_on

    priced = bool(savings)
    reports = {value: report_on(each, prices=priced) for value, each in done.by_value.items()}
    return {
        "tables": {name: digests[name] for name in done.tables},
        "earlier": list(done.earlier),
        "values": {value: report.described() for value, report in reports.items()},
        "text": {value: report.text() for value, report in reports.items()},
        "hide_less": {name: each.described(shares=True) for name, each in savings.items()},
        "advice": {name: each.text(shares=True) for name, each in savings.items()},
    }
