"""Tables with hidden cells: from true counts to what is published. CONFIDENTIAL but for that.

In: the counts behind a group of tables that may share cells, and earlier releases. Out:
protected tables, what may be said of them, and the internal report. Tables that do share
cells are one system, in which every sensitive cell is proven to be protected.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.errors import DiscreetError, SuppressionError
from discreet.release.dressing import remarked, signed, universe_of
from discreet.release.filters import Counts, all_of
from discreet.release.inputs import Inputs
from discreet.release.judging import Judge, column_of, counted_holdings, rules_of
from discreet.release.past import Past, past_tables
from discreet.release.suppression_entries import COUNT
from discreet.tables import Figure, ProtectedTable, Table
from discreet.tables.figures import figure_dimension

if TYPE_CHECKING:
    from discreet.rules import Primary
    from discreet.suppression import Knowledge, SharedSuppression, Suppression

__all__ = ["Hidden", "Hider", "Judged", "components"]


@dataclass(frozen=True, kw_only=True, repr=False)
class Judged:
    """A table of a programme with its sensitive cells (confidential).

    Args:
        name: Its name.
        table: Its true values.
        primaries: What is sensitive, for each of its values.
    """

    name: str
    table: Table
    primaries: Sequence[Primary]

    def __repr__(self) -> str:
        return f"<Judged {self.name} (confidential)>"


@dataclass(frozen=True, kw_only=True, repr=False)
class Hidden:
    """Tables that share cells, protected together (confidential, but for the tables).

    Args:
        tables: Name → what is published.
        by_value: Value → pattern and proof, over all the tables that have it.
        earlier: Names of the earlier tables that were respected.
    """

    tables: Mapping[str, ProtectedTable]
    by_value: Mapping[str, Suppression]
    earlier: tuple[str, ...]

    def __repr__(self) -> str:
        return f"<Hidden (confidential): {', '.join(self.tables)}>"


class Hider:
    """Protects the tables of one release that have hidden cells. CONFIDENTIAL.

    Args:
        inputs: What the release is made from.
        digests: Per table, what is printed of its provenance.
        tell: Is told what is being done; costs of patterns are true values and not told.
    """

    def __init__(
        self,
        inputs: Inputs,
        *,
        digests: Mapping[str, Mapping[str, str]] | None = None,
        tell: Callable[[str], None] | None = None,
    ) -> None:
        self.inputs = inputs
        self.programme = inputs.programme
        self.digests = digests or {}
        self.tell = tell
        self.judge = Judge(inputs.programme)
        self.used: set[str] = set()

    def judged(self, counts: Mapping[str, Counts], spanning: Mapping[str, Any]) -> list[Judged]:
        """Tables with their sensitive cells.

        Args:
            counts: Per table, its true counts.
            spanning: Per name in a table's `by`, what spans the table.
        """
        found = []
        for name, own in counts.items():
            entry = self.programme.tables[name]
            records = self.inputs.records[self.programme.source_of(name).name]
            by = [spanning[variable] for variable in entry.by or []]
            holdings = counted_holdings(records, by, entry, rules_of(self.programme, entry), name)
            primaries = self.judge.primaries(name, entry, own, holdings)
            table = own[all_of(entry.where)]
            found.append(Judged(name=name, table=table, primaries=primaries))
        return found

    def past(self, names: Sequence[str]) -> list[Past]:
        """The earlier tables that concern a group, counted anew."""
        source = self.programme.source_of(names[0]).name
        single = len(self.programme.sources) == 1
        before = [t for t in self.inputs.earlier if single or t.about["from"] == source]
        return past_tables(self.inputs, names, before, self.inputs.records[source])

    def hidden(self, group: Sequence[Judged], past: Sequence[Past]) -> list[Hidden]:
        """The tables of a group as they may be published, those that share cells together.

        Args:
            group: The tables.
            past: Earlier tables about the same values.
        """
        self.used |= {each.before.name for each in past}
        found = []
        for own, before in components(group, past):
            if own:
                found.append(self._hidden(own, before))
        return found

    def _hidden(self, group: Sequence[Judged], past: Sequence[Past]) -> Hidden:
        from discreet.suppression import SharedSuppression

        names = ", ".join(each.name for each in group)
        if self.tell is not None:
            self.tell(f"hiding cells of {names}")
        weight = self.programme.tables[group[0].name].weight
        values = dict.fromkeys(v for each in group for v in self.programme.tables[each.name].values)
        columns = {value: column_of(value, weight) for value in values}
        try:
            done = SharedSuppression.of(
                [(each.table, list(each.primaries)) for each in group],
                method=self.programme.suppression.method,
                decimals_of={c: self.judge.decimals(v, weight) for v, c in columns.items() if c},
                earlier_of={
                    column: [one.as_earlier(value) for one in past if value in one.primaries]
                    for value, column in columns.items()
                },
                **self._options(),
            )
        except SuppressionError as error:
            raise self._placed(error, names) from None
        return Hidden(
            tables=self._published(group, done),
            by_value={value: done.by_value[column] for value, column in columns.items()},
            earlier=tuple(one.before.name for one in past),
        )

    @property
    def knowledge(self) -> Knowledge:
        """What attackers are taken to know beforehand."""
        from discreet.suppression import Knowledge

        bounds = self.programme.suppression.bounds
        below, above = (
            None if share == "none" else share for share in (bounds.below, bounds.above)
        )
        return Knowledge(below=below, above=above, negative=bounds.negative)

    def _options(self) -> dict[str, Any]:
        """[suppression] as the options of `discreet.suppress`."""
        from discreet.suppression import Cost

        stated = self.programme.suppression
        cost: dict[str, Any] = stated.cost.model_dump(exclude_none=True)
        if "distance" in cost:
            cost["distance"] = tuple(cost["distance"])
        return {
            "cost": Cost(**cost),
            "knowledge": self.knowledge,
            "zero_cells": stated.zero_cells,
            "singletons": stated.singletons,
            "reasons": stated.reasons,
            "intervals": stated.intervals,
            "time_limit": stated.time_limit,
            "seed": stated.seed,
        }

    def _published(
        self, group: Sequence[Judged], done: SharedSuppression
    ) -> dict[str, ProtectedTable]:
        found = {}
        for each, safe in zip(group, done.tables, strict=True):
            entry = self.programme.tables[each.name]
            titled = dataclasses.replace(
                self._described(safe),
                titles=entry.title,
                universe=universe_of(self.programme, entry),
            )
            digests = self.digests.get(each.name, {})
            table = signed(self.programme, each.name, remarked(entry, titled), digests)
            found[each.name] = table
        return found

    def _described(self, safe: ProtectedTable) -> ProtectedTable:
        """The table with titles and units of its values."""
        if not safe.figures:
            return safe
        figures = tuple(self._figure(figure) for figure in safe.figures)
        if len(figures) == 1:
            return dataclasses.replace(safe, figures=figures)
        dimensions = (*safe.dimensions[:-1], figure_dimension(figures))
        return dataclasses.replace(safe, figures=figures, dimensions=dimensions)

    def _figure(self, figure: Figure) -> Figure:
        value = COUNT if figure.name == "weight" else figure.name
        stated = self.programme.document.values.get(value)
        if stated is None:
            return figure
        return dataclasses.replace(figure, titles=stated.title, unit=stated.unit)

    def _placed(self, error: SuppressionError, names: str) -> SuppressionError:
        """The error, with the tables that were to be protected together."""
        where = f"{self.programme.name}, {names}"
        if len(error.problems) == 1:
            first = error.problems[0]
            place = f"{where}: {first.where}" if first.where else where
            return SuppressionError(first.what, code=error.code, where=place, hint=first.hint)
        return SuppressionError(
            error.what, code=error.code, where=where, hint=error.hint, problems=error.problems
        )

    def unused(self) -> tuple[str, ...]:
        """Warnings about earlier tables that had no part in anything."""
        return tuple(
            f"the earlier table {each.name} tells nothing about a table of this programme"
            for each in self.inputs.earlier
            if each.suppressed and each.name not in self.used
        )


def components(
    group: Sequence[Judged], past: Sequence[Past]
) -> list[tuple[list[Judged], list[Past]]]:
    """Tables that share cells, directly or by others between them, in the order given."""
    from discreet.suppression.linking import link

    every: list[Any] = [*group, *past]
    try:
        cells = link([each.table for each in every]).cells
    except DiscreetError:
        return [(list(group), list(past))]  # protecting them together says what is wrong
    number = list(range(len(every)))
    user = np.full(max((int(part.max(initial=-1)) for part in cells), default=-1) + 1, -1)
    for at, part in enumerate(cells):
        for other in np.unique(user[part]).tolist():
            if other >= 0 and number[at] != number[other]:
                old, new = number[at], number[other]
                number = [new if each == old else each for each in number]
        user[part] = at
    found: list[tuple[list[Judged], list[Past]]] = []
    for label in dict.fromkeys(number):
        members = [each for each, own in zip(every, number, strict=True) if own == label]
        tables = [each for each in members if isinstance(each, Judged)]
        found.append((tables, [each for each in members if isinstance(each, Past)]))
    return found
