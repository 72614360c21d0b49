"""`SuppressionProtection`: what cell suppression answers to a release.

In: tables of a programme and their true counts, rules and marks (CONFIDENTIAL). Out: tables
with hidden cells, those that share cells protected as one; a public report on numbers of
hidden cells, and an internal one, CONFIDENTIAL.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.errors import SuppressionError
from discreet.files import write_text
from discreet.protection.protocol import (
    COUNT,
    AuditVerdict,
    Counts,
    Determinants,
    NamedColumn,
    Place,
    Placed,
    ProtectedGroup,
    Protection,
    ReleaseContext,
    ReleasedOutcome,
)
from discreet.protection.suppression import figure_of
from discreet.publication import same_pattern
from discreet.release.inputs import Inputs
from discreet.release.methods.suppression.checks import (
    check_suppression,
    linked_tables,
    suppression_warnings,
)
from discreet.release.methods.suppression.earlier_tables import (
    RecountedTable,
    changed_notes,
    differing,
    recounted_tables,
    tables_before,
)
from discreet.release.methods.suppression.hidden_cells import (
    SensitiveTable,
    TableSuppression,
    components,
    internal_entry,
    is_current,
    public_entries,
    public_text,
    write_internal,
)
from discreet.release.methods.suppression.sensitive_cells import (
    PrimaryJudge,
    column_of,
    needed,
    rules_of,
    unpublished_values,
    wanted_values,
)
from discreet.release.programme.file import Programme
from discreet.release.programme.relations import relations_of
from discreet.release.programme.rules import rule_filters
from discreet.release.state.memory import RememberedTable
from discreet.release.state.seal import file_digest

if TYPE_CHECKING:
    from discreet.arrays import FloatArray, IntArray
    from discreet.protection.suppression import Audit
    from discreet.rules import Primary
    from discreet.tables import Note, ProtectedTable, Table, ValueRelation


#: What of a table changes no cell of other tables.
_OWN = {
    *("official", "parts", "figures", "workbook", "title", "universe", "notes", "formats"),
    *("ratios", "map"),
}


class SuppressionProtection(Protection):
    """Sensitive cells are hidden, and others with them so that nobody works them out."""

    name = "suppress"
    manner = "hidden cells"
    beside: Mapping[str, str] = MappingProxyType({"noise": "true values tell the noise"})
    table_keys = ("value", "shadow", "marks", "known", "ratios", "rules", "holdings")
    hints: Mapping[str, str] = MappingProxyType(
        {
            "figures": "name what is published with value = …; "
            "ratios of hidden values would open them"
        }
    )
    assessed = False
    reports = ("suppression.json",)

    def check(self, programme: Programme, tables: Sequence[str]) -> Iterable[Placed]:
        """Everything about [suppression], [rules.*] and the tables with hidden cells."""
        return check_suppression(programme, tables)

    def warnings(self, inputs: Inputs, tables: Sequence[str]) -> Iterable[str]:
        """Files that others can read, sections without effect, filters that differ."""
        return suppression_warnings(inputs.programme, tables)

    def tells(self, programme: Programme, table: str) -> Sequence[str]:
        """Its values."""
        return programme.tables[table].values

    def columns(self, programme: Programme, table: str) -> Iterable[NamedColumn]:
        """Values, shadow variable and holdings."""
        entry = programme.tables[table]
        for value in entry.values:
            if value != COUNT:
                yield NamedColumn(("tables", table, "value"), value, numeric=True)
        for value in unpublished_values(programme, entry):
            yield NamedColumn(("relations",), value, numeric=True)
        if entry.shadow is not None:
            yield NamedColumn(("tables", table, "shadow"), entry.shadow, numeric=True)
        if entry.holdings:
            place = programme.setting(table, "holdings")
            yield NamedColumn(place, entry.holdings, numeric=False)

    def filters(self, programme: Programme, table: str) -> Iterable[tuple[Place, str]]:
        """The filters of its rules."""
        name = programme.tables[table].rules or ""
        rules = programme.document.rules.get(name)
        for key, text in [] if rules is None else rule_filters(rules):
            yield ("rules", name, key, text), text

    def linked(self, programme: Programme, tables: Sequence[str]) -> Sequence[tuple[str, ...]]:
        """Tables that may share cells."""
        return linked_tables(programme, tables)

    def needs(self, inputs: Inputs, table: str) -> Mapping[str, Mapping[str, int]]:
        """The records of the table, and those of who asked for protection."""
        entry = inputs.programme.tables[table]
        columns = wanted_values(inputs.programme, entry)
        filters = needed(rules_of(inputs.programme, entry), entry.where)
        return dict.fromkeys(filters, columns)

    def determinants(self, inputs: Inputs, tables: Sequence[str]) -> Mapping[str, Determinants]:
        """Per table, all that its group asks for and what was published before."""
        # The pattern depends on all that tables which share cells ask for.
        group = _group_digests(inputs, tables)
        return {
            name: Determinants(shared={}, own=_entries(inputs, name, group[name]), whole=True)
            for name in tables
        }

    def protect(
        self, inputs: Inputs, counted: Mapping[str, Counts], context: ReleaseContext
    ) -> Iterator[ProtectedGroup]:
        """The tables of a group, those together that do share cells."""
        from discreet.protection.rounding import round_shown

        names = list(counted)
        spanning = context.spanning[inputs.programme.source_of(names[0]).name]
        hider = TableSuppression(inputs, tell=context.tell)
        judged = hider.judged(counted, spanning)
        past = recounted_tables(inputs, names)
        changed = changed_notes(past)
        for done in hider.hidden(judged, past):
            entries = public_entries(done)
            tables = done.tables if inputs.programme.suppression.hide_less else ()
            savings = hider.savings(tables, spanning)
            late = not all(item.pattern.complete for item in done.by_value.values())
            found = f"the time limit ended the search for {', '.join(done.tables)}; it is safe"
            base = inputs.programme.suppression.round_to
            yield ProtectedGroup(
                tables={
                    name: ReleasedOutcome(
                        table=table if base is None else round_shown(table, base),
                        remembered={"hidden": entries[name]},
                        assessed=None,
                        found_codes={},
                    )
                    for name, table in done.tables.items()
                },
                internal=internal_entry(done, context.digests, savings),
                warnings=(*changed, *([found] if late else [])),
            )
            changed = []

    def quality(self, inputs: Inputs, counts: IntArray) -> FloatArray:
        """None: what is shown is true."""
        return np.zeros(len(counts))

    def statement(self, inputs: Inputs, table: str) -> tuple[Note, ...]:
        """Nothing: hidden cells carry their reasons."""
        return ()

    def changed(
        self, name: str, before: Callable[[], ProtectedTable], after: ProtectedTable
    ) -> str:
        """Two patterns of one table open each other, if both are published."""
        if same_pattern(before(), after):
            return ""
        return (
            f"other cells of {name} are hidden than by the run before; if that was published, "
            "keep it and name its folder under [suppression] earlier"
        )

    def concluded(self, inputs: Inputs, made: Sequence[str]) -> Iterable[str]:
        """Earlier tables that had no part in anything."""
        groups = linked_tables(inputs.programme, made)
        used = {each.name for group in groups for each in tables_before(inputs, group)}
        for item in inputs.earlier:
            if item.protect == self.name and item.name not in used:
                yield f"the earlier table {item.name} tells nothing about a table of this programme"

    def write_reports(
        self, inputs: Inputs, remembered: Mapping[str, Mapping[str, Any]], folder: Path
    ) -> None:
        """What anyone may know of hidden cells."""
        entries = {name: kept["hidden"] for name, kept in remembered.items()}
        write_text(folder / self.reports[0], public_text(entries))

    def write_internal(self, entries: Sequence[Mapping[str, Any]], folder: Path) -> None:
        """Patterns with their costs and proofs. CONFIDENTIAL."""
        write_internal(entries, folder)

    def must_repeat(self, inputs: Inputs, digests: Mapping[str, str], internal: Path) -> bool:
        """Whether the internal report is about other tables: its true values are not kept.

        A search that a time limit ends may find another pattern: it is not repeated for that.
        """
        limited = inputs.programme.suppression.time_limit is not None
        return not limited and not is_current(internal, digests)

    def audited(
        self,
        inputs: Inputs,
        counted: Mapping[str, Counts],
        context: ReleaseContext,
        kept: Mapping[str, Any],
        coalition: int | None,
    ) -> tuple[Mapping[tuple[str, str], AuditVerdict], Sequence[str]]:
        """Verdicts on hidden cells, with all that was published before."""
        programme, first = inputs.programme, next(iter(counted))
        spanning = context.spanning[programme.source_of(first).name]
        judged = TableSuppression(inputs).judged(counted, spanning)
        groups = linked_tables(programme, programme.protected[self.name])
        past = recounted_tables(inputs, next(group for group in groups if first in group))
        return _group_audit(inputs, judged, past, kept, coalition)


def _entries(inputs: Inputs, name: str, group: str) -> list[Any]:
    """What concerns a table: the digest of its group, the past, how it is published. SECRET."""
    programme = inputs.programme
    entry = programme.tables[name]
    return [
        entry.model_dump(include={"title", "universe", "notes", "formats", "complete", "ratios"}),
        programme.suppression.model_dump(exclude={"earlier"}),
        [before.entry for before in inputs.earlier],
        group,
        {value: _value(inputs, value) for value in entry.values},
    ]


def _group_digests(inputs: Inputs, tables: Sequence[str]) -> dict[str, str]:
    """Per table with hidden cells, a digest of what all tables of its group ask for."""
    programme = inputs.programme
    group_digests: dict[str, str] = {}
    for group in linked_tables(programme, tables):
        key = inputs.release_keys[programme.source_of(group[0]).name]
        digest = key.digest({name: _member(inputs, name) for name in group})
        group_digests |= dict.fromkeys(group, digest)
    return group_digests


def _member(inputs: Inputs, name: str) -> list[Any]:
    """What a table of the group asks for."""
    programme = inputs.programme
    entry = programme.tables[name]
    files = [programme.file(mark.file) for mark in entry.marks if mark.file is not None]
    files += [programme.file(entry.known)] if entry.known is not None else []
    rules = programme.document.rules.get(entry.rules or "")
    told = set(entry.values)
    return [
        entry.model_dump(exclude={*_OWN, "complete", "source"}),
        [file_digest(path) for path in files],
        None if rules is None else rules.model_dump(),
        {value: _value(inputs, value).get("decimals", 0) for value in entry.values},
        inputs.described_variables(name),
        programme.source_of(name).name if len(programme.sources) > 1 else "",
        programme.place_of(programme.source_of(name).name).partition("\n")[2],
        *sorted(
            relation.text for relation in relations_of(programme, name) if {*relation.values} & told
        ),
    ]


def _value(inputs: Inputs, value: str) -> dict[str, Any]:
    stated = inputs.programme.document.values.get(value)
    return {} if stated is None else stated.model_dump()


def _group_audit(
    inputs: Inputs,
    judged: Sequence[SensitiveTable],
    past: Sequence[RecountedTable],
    kept: Mapping[str, RememberedTable],
    coalition: int | None,
) -> tuple[dict[tuple[str, str], Audit], list[str]]:
    """Verdicts on the tables of a group, by what shares cells and adds up; findings."""
    from discreet.protection.suppression import audit

    audits: dict[tuple[str, str], Audit] = {}
    hider = TableSuppression(inputs)
    findings: list[str] = []
    for group, before in components(judged, past):
        own = [v for each in group for v in inputs.programme.tables[each.name].values]
        values = dict.fromkeys([*own, *(v for one in before for v in one.primaries)])
        relations = hider.relations(group[0].name, values) if group else []
        for names in _added_up(list(values), relations):
            rows: list[_Row] = []
            alone = before if len(names) == 1 else []
            changed = [one.as_earlier(names[0]) for one in alone if names[0] in one.then]
            for value in names:
                wrong, more = _rows(inputs, group, before, kept, value, alone=len(names) == 1)
                findings += wrong
                rows += more
            if not rows:
                continue
            weight = inputs.programme.tables[group[0].name].weight
            one: dict[str, Any] = {
                "value": column_of(names[0], weight),
                "decimals": hider.judge.decimals(names[0], weight),
            }
            told = ", ".join(item.name for item in group), ", ".join(names)
            try:
                audits[told] = audit(
                    [published for published, _, _ in rows],
                    [table for _, table, _ in rows],
                    [primary for _, _, primary in rows],
                    knowledge=hider.knowledge,
                    rounded=inputs.programme.suppression.round_to,
                    coalition=1 if coalition is None and hider.singletons else coalition,
                    **(
                        {**one, "earlier": changed} if len(names) == 1 else {"relations": relations}
                    ),
                )
            except SuppressionError as error:
                if error.code != "rounded":
                    raise
                findings.append(f"{error.where}: {error.what}")
    return audits, findings


def _added_up(values: Sequence[str], relations: Sequence[ValueRelation]) -> list[list[str]]:
    """The values in groups: those that relations tie together, directly or not."""
    label = {value: value for value in values}
    for relation in relations:
        mine = [
            v
            for v in values
            if v in relation.values or (v == COUNT and "weight" in relation.values)
        ]
        for value in mine[1:]:
            old, new = label[value], label[mine[0]]
            label = {v: new if own == old else own for v, own in label.items()}
    return [[v for v in values if label[v] == item] for item in dict.fromkeys(label.values())]


_Row = tuple["ProtectedTable", "Table", "Primary"]


def _rows(
    inputs: Inputs,
    group: Sequence[SensitiveTable],
    past: Sequence[RecountedTable],
    kept: Mapping[str, RememberedTable],
    value: str,
    *,
    alone: bool,
) -> tuple[list[str], list[_Row]]:
    """What was published of one value, beside the truth; and where it is not the truth."""
    rows: list[_Row] = []
    judge = PrimaryJudge(inputs.programme)
    findings = []
    for item in group:
        entry = inputs.programme.tables[item.name]
        if value not in entry.values:
            continue
        number = entry.values.index(value)
        told = kept[item.name].extras.get("about", {}).get("tells")
        if told != entry.values:
            findings.append(f"{item.name}: it was published with other values")
            continue
        published = figure_of(kept[item.name].table, number)
        decimals = judge.decimals(value, entry.weight)
        rounded = inputs.programme.suppression.round_to is not None  # the audit compares them
        off = (
            0
            if rounded
            else differing(published, item.table, column_of(value, entry.weight), decimals)
        )
        if off:
            findings.append(f"{item.name}: {off:,} values of {value!r} are not those of the data")
        rows.append((published, item.table, item.primaries[number]))
    for one in past:
        known = value in one.primaries and not (alone and value in one.then)
        if (rows or not alone) and known:
            rows.append((one.published(value), one.table, _hidden_then(one, value)))
    return findings, rows


def _hidden_then(past: RecountedTable, value: str) -> Primary:
    """What is sensitive in an earlier table and was hidden: what was shown stays shown."""
    from discreet.protection.suppression import hidden_in

    primary = past.primaries[value]
    kept = np.where(hidden_in(past.table, past.published(value)), primary.verdict, 0)
    return dataclasses.replace(primary, verdict=kept.astype(np.int8))
