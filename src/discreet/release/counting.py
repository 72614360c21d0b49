"""What has to be counted for the tables of a programme, in shared passes.

In: a programme and the records of its sources. Out: per table, the counts it is made of
(confidential), as soon as all of them are there. A table of key figures needs one count per
filter; rules for table parts also look at the records without any filter.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from discreet.release.document import TableEntry
from discreet.release.filters import UNIVERSE, Counts, all_of, figure_filter
from discreet.release.inputs import Inputs
from discreet.release.judging import needed, rules_of, wanted_values
from discreet.release.keyed_records import KeyedRecords
from discreet.release.variables import found_classifications

if TYPE_CHECKING:
    from discreet.tables import Table
    from discreet.tabulation import Query

__all__ = ["counted_tables"]


@dataclass(frozen=True)
class _Count:
    """One count: which records, with which weights, which columns to sum how.

    Counts of one table have joint codes, also where these are found in the data.
    """

    by: tuple[str, ...]
    where: str
    weight: str | None
    values: tuple[tuple[str, int], ...]
    joint: bool


def counted_tables(
    inputs: Inputs, names: Sequence[str], spanning: Mapping[str, Mapping[str, Any]]
) -> Iterator[tuple[str, Counts]]:
    """Each table that is to be made, with all of its counts; they come as passes end.

    Args:
        inputs: What the release is made from.
        names: The tables.
        spanning: Per source and name in a table's `by`, what spans the table.
    """
    keyed = KeyedRecords(inputs)
    for source in inputs.programme.sources:
        own = [name for name in names if inputs.programme.source_of(name).name == source]
        if own:
            yield from _counted(inputs, keyed, source, own, spanning[source])


def _counted(
    inputs: Inputs,
    keyed: KeyedRecords,
    source: str,
    names: Sequence[str],
    spanning: Mapping[str, Any],
) -> Iterator[tuple[str, Counts]]:
    """The tables of one source."""
    from discreet.tabulation import iterate_tables

    wanted = {name: _counts(inputs, name) for name in names}
    # Counts of one table stand together, so that few tables wait for their last one.
    counts = list(dict.fromkeys(count for every in wanted.values() for count in every))
    users: dict[_Count, list[str]] = {count: [] for count in counts}
    for name, every in wanted.items():
        for count in every:
            users[count].append(name)
    records, record_key = keyed.of(source)
    names_joint = [name for count in counts if count.joint for name in count.by]
    found = found_classifications(inputs.programme, names_joint, inputs.records[source])
    joint = {**spanning, **found}
    queries = [
        _query(count, users[count][0], joint if count.joint else spanning) for count in counts
    ]
    waiting: dict[str, dict[str, Table]] = {name: {} for name in names}
    passes = iterate_tables(records, queries, record_key=record_key, key_grid=inputs.grid)
    for at, table in passes:
        for name in users[counts[at]]:
            waiting[name][counts[at].where] = dataclasses.replace(table, name=name)
            if len(waiting[name]) == len(wanted[name]):
                yield name, waiting.pop(name)


def _counts(inputs: Inputs, name: str) -> list[_Count]:
    """The counts behind a table: one per filter, and that of all records if rules need it."""
    entry = inputs.programme.tables[name]
    if entry.suppressed:
        return _hidden_counts(inputs, name, entry)
    values: dict[str, set[str]] = {}
    for figure, described in entry.figures.items():
        if described.counted:
            columns = values.setdefault(figure_filter(entry, figure), set())
            columns |= {described.of} if described.of else set()
    if not entry.figures:
        values[all_of(entry.where)] = set()
    if inputs.thresholds(name) is not None and inputs.held_against_all(name):
        values.setdefault(UNIVERSE, set())
    by, weight = tuple(entry.by or []), entry.weight or None
    found = any(variable not in inputs.programme.variables for variable in by)
    magnitudes = inputs.parameters.magnitudes
    return [
        _Count(
            by=by,
            where=where,
            weight=weight,
            values=tuple((column, magnitudes[column].contributions) for column in sorted(columns)),
            joint=found and len(values) > 1,
        )
        for where, columns in values.items()
    ]


def _hidden_counts(inputs: Inputs, name: str, entry: TableEntry) -> list[_Count]:
    """The counts behind a table with hidden cells: its own, and of those who asked for it."""
    by = tuple(entry.by or [])
    filters = needed(rules_of(inputs.programme, entry), entry.where)
    found = any(variable not in inputs.programme.variables for variable in by)
    values = tuple(sorted(wanted_values(inputs.programme, entry).items()))
    return [
        _Count(
            by=by,
            where=where,
            weight=entry.weight or None,
            values=values,
            joint=found and len(filters) > 1,
        )
        for where in filters
    ]


def _query(count: _Count, name: str, spanning: Mapping[str, Any]) -> Query:
    from discreet.tabulation import Query

    return Query(
        by=[spanning[variable] for variable in count.by],
        where=count.where or None,
        weight=count.weight,
        values=[column for column, _ in count.values],
        contributions=dict(count.values),
        name=name,
    )
