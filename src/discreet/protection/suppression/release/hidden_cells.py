"""Tables with hidden cells: from true counts to what is published, and what is said of it.

In: the counts behind a group of tables that may share cells, and earlier releases
(CONFIDENTIAL). Out: protected tables; numbers of hidden cells, public; the internal report,
CONFIDENTIAL. Tables that do share cells are one system, in which every sensitive cell is
proven to be protected. The public part has no value, no cost, no proof – a proof is a digest
over true values, and could be tried out – and does not say how cells were chosen, for who
knows that can infer more than from a pattern alone.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.errors import DiscreetError, SuppressionError
from discreet.protection.protocol import COUNT, Counts, InputsView, ReleaseContext, all_of
from discreet.protection.suppression.release.checks import joined
from discreet.protection.suppression.release.earlier_tables import RecountedTable
from discreet.protection.suppression.release.ratios import with_ratios
from discreet.protection.suppression.release.sensitive_cells import (
    PrimaryJudge,
    column_of,
    counted_holdings,
    rules_of,
)
from discreet.tables import Figure, ProtectedTable, Table, ValueRelation, figure_dimension

if TYPE_CHECKING:
    from discreet.protection.suppression.problem.parameters import Knowledge
    from discreet.protection.suppression.publish.report import PartHidden
    from discreet.protection.suppression.publish.suppression import Suppression
    from discreet.rules import Primary


@dataclass(frozen=True, kw_only=True, repr=False)
class SensitiveTable:
    """A table of a programme with its sensitive cells (confidential)."""

    name: str
    table: Table
    primaries: Sequence[Primary]

    def __repr__(self) -> str:
        return f"<SensitiveTable {self.name} (confidential)>"


@dataclass(frozen=True, kw_only=True, repr=False)
class SuppressedTables:
    """Tables that share cells, protected together (confidential, but for the tables)."""

    tables: Mapping[str, ProtectedTable]  # name → what is published
    #: Value → pattern and proof, over all the tables that have it
    by_value: Mapping[str, Suppression]
    earlier: tuple[str, ...]  # names of the earlier tables that were respected

    def __repr__(self) -> str:
        return f"<SuppressedTables (confidential): {', '.join(self.tables)}>"


class TableSuppression:
    """Protects the tables of one release that have hidden cells. CONFIDENTIAL."""

    def __init__(self, inputs: InputsView, tell: Callable[[str], None] = lambda _: None) -> None:
        self.inputs, self.programme, self.tell = inputs, inputs.programme, tell
        self.judge = PrimaryJudge(inputs.programme)

    def judged(
        self, counts: Mapping[str, Counts], spanning: Mapping[str, Any]
    ) -> list[SensitiveTable]:
        """Tables with their sensitive cells."""
        tables = []
        for name, own in counts.items():
            entry = self.programme.tables[name]
            records = self.inputs.records[self.programme.source_of(name).name]
            by = [spanning[variable] for variable in entry.by or []]
            holdings = counted_holdings(records, by, entry, rules_of(self.programme, entry), name)
            primaries = self.judge.primaries(name, entry, own, holdings)
            table = own[all_of(entry.where)]
            tables.append(SensitiveTable(name=name, table=table, primaries=primaries))
        return tables

    def hidden(
        self, group: Sequence[SensitiveTable], past: Sequence[RecountedTable]
    ) -> SuppressedTables:
        """Tables that share cells, as they may be published."""
        from discreet.protection.suppression.publish.suppression import SharedSuppression

        names = ", ".join(item.name for item in group)
        self.tell(f"hiding cells of {names}")
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
                relations=self.relations(group[0].name, columns),
                **self._options(),
            )
        except SuppressionError as error:
            raise self._placed(error, names) from None
        stated = self.programme.suppression.reasons
        opened = any(
            column in (None, "weight") and each.reasons != (stated or each.reasons)
            for column, each in done.by_value.items()
        )
        if opened and len(self.programme.protected["suppress"]) > 1:
            # Other tables of the programme tell the counts that these reasons would open.
            message = f"reasons = {stated!r} would make sensitive counts known"
            raise SuppressionError(message, code="reasons", where=names, hint='reasons = "none"')
        return SuppressedTables(
            tables={
                each.name: self._with_ratios(each.name, self._described(safe))
                for each, safe in zip(group, done.tables, strict=True)
            },
            by_value={value: done.by_value[columns[value]] for value in values},
            earlier=tuple(one.before.name for one in past),
        )

    def savings(
        self, names: Iterable[str], spanning: Mapping[str, Any], context: ReleaseContext
    ) -> dict[str, Any]:
        """Per table, what merges of categories or coarser levels would save, each by itself."""
        found = {}
        for name in names:
            entry = self.programme.tables[name]
            rules = rules_of(self.programme, entry)
            values = [value for value in entry.values if value != COUNT]
            context.tell(f"looking for what would hide less of {name}")
            with suppress(DiscreetError):  # alone it is not protected, or has rules of other values
                found[name] = context.hide_less(
                    records=self.inputs.records[self.programme.source_of(name).name],
                    by=[spanning[variable] for variable in entry.by or []],
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
        """What attackers are said to know beforehand; None where the programme does not say."""
        from discreet.protection.suppression.problem.parameters import Knowledge

        bounds = self.programme.suppression.bounds
        if bounds is None:
            return None
        below, above = (
            None if share == "none" else share for share in (bounds.below, bounds.above)
        )
        return Knowledge(below=below, above=above, negative=bounds.negative, rules=bounds.rules)

    def relations(self, table: str, values: Iterable[str]) -> list[ValueRelation]:
        """What adds up among values of a table and of those linked to it, by their columns."""
        told, weight = set(values), self.programme.tables[table].weight
        found_relation = self.programme.found_relations.get((self.programme.places[table], ""), ())
        own = [
            stated_relation
            for stated_relation in self.programme.stated_relations
            if len(told & {*stated_relation.values}) > 1
        ]
        own += [item for item in found_relation if told >= {*item.values} and item not in own]
        renamed = {COUNT: "weight"} if weight else {}
        return [
            ValueRelation(tuple((renamed.get(name, name), n) for name, n in item.coefs))
            for item in own
        ]

    def _options(self) -> dict[str, Any]:
        """[suppression] as the options of `discreet.suppress`."""
        from discreet.protection.suppression.problem.parameters import Cost

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
            "singletons": stated.singletons,
            "reasons": "none" if stated.reasons is None and counts else stated.reasons,
            "intervals": stated.intervals,
            "time_limit": stated.time_limit,
            "seed": stated.seed,
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
        place = {value: number for number, value in enumerate(entry.values)}
        figures = [
            Figure(name=ratio, kind="ratio", titles=own.title, unit=own.unit, decimals=own.decimals)
            for ratio, own in entry.ratios.items()
        ]
        made = {
            ratio: (place[own.part or ""], place[own.whole or ""], float(own.factor))
            for ratio, own in entry.ratios.items()
        }
        return with_ratios(safe, made, figures)

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
    group: Sequence[SensitiveTable], past: Sequence[RecountedTable]
) -> list[tuple[list[SensitiveTable], list[RecountedTable]]]:
    """Tables that share cells, directly or by others between them, in the order given."""
    from discreet.protection.suppression.problem.equal_cells import linked_cells

    try:
        cells = linked_cells(
            [*(item.table for item in group), *(item.table for item in past)]
        ).cells
    except DiscreetError:
        return [(list(group), list(past))]  # protecting them together says what is wrong
    user = np.full(max((int(part.max(initial=-1)) for part in cells), default=-1) + 1, -1)
    ties: list[tuple[int, int]] = []
    for at, part in enumerate(cells):
        ties += [(other, at) for other in np.unique(user[part]).tolist() if other >= 0]
        user[part] = at
    size = len(group)
    return [
        ([group[n] for n in own if n < size], [past[n - size] for n in own if n >= size])
        for own in joined(range(len(cells)), ties)
    ]


def public_entries(done: SuppressedTables) -> dict[str, dict[str, Any]]:
    """What anyone may know of the hidden cells of each table.

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
    return {
        name: {"values": told, "protected": True, "with": [n for n in done.tables if n != name]}
        for name, told in values.items()
    }


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

    reports = {value: report_on(each) for value, each in done.by_value.items()}
    return {
        "tables": {name: digests[name] for name in done.tables},
        "earlier": list(done.earlier),
        "values": {value: report.described() for value, report in reports.items()},
        "text": {value: report.text() for value, report in reports.items()},
        "hide_less": {name: each.described(shares=True) for name, each in savings.items()},
        "advice": {name: each.text(shares=True) for name, each in savings.items()},
    }
