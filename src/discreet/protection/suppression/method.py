"""`SuppressionProtection`: what cell suppression answers to a release.

Tables of a programme that share cells are protected as one. The public report has numbers of hidden
cells; the internal one is CONFIDENTIAL, as true counts, rules and marks are.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.errors import SuppressionError
from discreet.files import file_digest, json_text, write_text
from discreet.protection.protocol import (
    COUNT,
    AuditVerdict,
    Counts,
    Determinants,
    InputsView,
    NamedColumn,
    Place,
    Placed,
    ProgrammeView,
    ProtectedGroup,
    Protection,
    ReleaseContext,
    ReleasedOutcome,
)
from discreet.protection.suppression import release
from discreet.protection.suppression.release.sensitive_cells import (
    check_suppression,
    joined,
    linked_tables,
    suppression_warnings,
)
from discreet.rules import rule_filters
from discreet.tables import CellStatus

if TYPE_CHECKING:
    from discreet.arrays import FloatArray, IntArray
    from discreet.protection.suppression.proof.audit import Audit
    from discreet.rules import Primary
    from discreet.tables import Note, ProtectedTable, Table


#: Names of the internal report, CONFIDENTIAL.
_INTERNAL = ("suppression-internal.json", "suppression-internal.txt")
_FORMAT = "discreet-suppression"

#: What of a table changes no cell of other tables.
_OWN = {
    *("official", "parts", "figures", "workbook", "title", "universe", "notes", "formats"),
    *("ratios", "map", "quantiles", "flows", "available"),
}
#: What of a table says how it is published.
_PUBLISHED = {"title", "universe", "notes", "formats", "complete", "ratios"}


class SuppressionProtection(Protection):
    """Sensitive cells are suppressed, and others with them so that nobody works them out."""

    name = "suppress"
    manner = "suppressed cells"
    beside: Mapping[str, str] = MappingProxyType({"noise": "true values disclose the noise"})
    table_keys = ("value", "shadow", "marks", "known", "ratios", "rules", "holdings", "quantiles")
    hints: Mapping[str, str] = MappingProxyType(
        {
            "figures": "name the published values with value = …; ratios of suppressed values "
            "disclose them"
        }
    )
    assessed = False
    reports = ("suppression.json",)

    def check(self, programme: ProgrammeView, tables: Sequence[str]) -> Iterable[Placed]:
        """Everything about [suppression], [rules.*] and the tables with hidden cells."""
        return check_suppression(programme, tables)

    def warnings(self, inputs: InputsView, tables: Sequence[str]) -> Iterable[str]:
        """Files that others can read, sections without effect, filters that differ."""
        return suppression_warnings(inputs.programme, tables)

    def tells(self, programme: ProgrammeView, table: str) -> Sequence[str]:
        """Its values."""
        return list(programme.tables[table].values)

    def columns(self, programme: ProgrammeView, table: str) -> Iterable[NamedColumn]:
        """Values, shadow variable and holdings."""
        entry = programme.tables[table]
        for value in entry.values:
            if value != COUNT:
                yield NamedColumn(("tables", table, "value"), value, numeric=True)
        for value in release.unpublished_values(programme, entry):
            yield NamedColumn(("relations",), value, numeric=True)
        if entry.shadow is not None:
            yield NamedColumn(("tables", table, "shadow"), entry.shadow, numeric=True)
        if entry.holdings:
            place = programme.setting(table, "holdings")
            yield NamedColumn(place, entry.holdings, numeric=False)

    def filters(self, programme: ProgrammeView, table: str) -> Iterable[tuple[Place, str]]:
        """The filters of its rules."""
        name = programme.tables[table].rules or ""
        rules = programme.document.rules.get(name)
        for key, text in [] if rules is None else rule_filters(rules):
            yield ("rules", name, key, text), text

    def linked(self, programme: ProgrammeView, tables: Sequence[str]) -> Sequence[tuple[str, ...]]:
        """Tables that may share cells."""
        return linked_tables(programme, tables)

    def needs(self, inputs: InputsView, table: str) -> Mapping[str, Mapping[str, int]]:
        """The records of the table, and those of who asked for protection."""
        entry = inputs.programme.tables[table]
        columns = release.wanted_values(inputs.programme, entry)
        filters = release.needed(release.rules_of(inputs.programme, entry), entry.where)
        return dict.fromkeys(filters, columns)

    def determinants(self, inputs: InputsView, tables: Sequence[str]) -> Mapping[str, Determinants]:
        """Per table, all that its group asks for and what was published before."""
        programme, values = inputs.programme, inputs.programme.document.values
        # What is related has a part in the digests of groups.
        left_out = {"earlier", "earlier_identity", "related_within"} | {
            key for key in ("accept", "coincidences") if not getattr(programme.suppression, key)
        }
        group_digests: dict[str, str] = {}
        for group in linked_tables(programme, tables):
            # The pattern depends on all that tables which share cells ask for.
            members: dict[str, Any] = {name: _member(inputs, name) for name in group}
            sources = dict.fromkeys(programme.source_of(name).name for name in group)
            if len(sources) > 1:
                members[""] = [(n, programme.sources[n].consists_of) for n in sources]
            digests = [inputs.release_keys[source].digest(members) for source in sources]
            group_digests |= dict.fromkeys(group, " ".join(digests))
        determined = {}
        for name in tables:
            entry = programme.tables[name]
            own = [
                entry.model_dump(include=_PUBLISHED),
                programme.suppression.model_dump(exclude=left_out),
                [before.entry for before in inputs.earlier],
                group_digests[name],
                {v: values[v].model_dump() if v in values else {} for v in entry.values},
            ]
            determined[name] = Determinants(shared={}, own=own, whole=True)
        return determined

    def protect(
        self, inputs: InputsView, counted: Mapping[str, Counts], context: ReleaseContext
    ) -> Iterator[ProtectedGroup]:
        """The tables of a group, those together that do share cells."""
        names = list(counted)
        hider = release.TableSuppression(inputs, context.tell)
        judged = hider.judged(counted, context.spanning)
        past = release.recounted_tables(inputs, names)
        parts = hider.partitions(judged, past)
        changed = release.changed_notes(past)
        if parts is not None:
            changed += [f"{', '.join(names)}: {line}" for line in parts.doubt_lines()]
        groups = [(own, before) for own, before in release.components(judged, past, parts) if own]
        for done in [hider.hidden(own, before, parts) for own, before in groups]:
            entries = release.public_entries(done)
            tables = done.tables if inputs.programme.suppression.hide_less else ()
            savings = hider.savings(tables, context)
            late = not all(item.pattern.complete for item in done.by_value.values())
            listed = ", ".join(done.tables)
            found = f"the time limit ended the search for {listed}; the suppression pattern is safe"
            base = inputs.programme.suppression.round_to
            yield ProtectedGroup(
                tables={
                    name: ReleasedOutcome(
                        table=table if base is None else context.round_shown(table, base),
                        remembered={"hidden": entries[name]},
                        assessed=None,
                        found_codes={},
                    )
                    for name, table in done.tables.items()
                },
                internal=release.internal_entry(done, context.digests, savings),
                warnings=(
                    *changed,
                    *([found] if late else []),
                    *(f"{listed}: {line}" for line in release.verdict_on(done).lines()),
                ),
            )
            changed = []

    def quality(self, inputs: InputsView, counts: IntArray) -> FloatArray:
        """None: what is shown is true."""
        return np.zeros(len(counts))

    def statement(self, inputs: InputsView, table: str) -> tuple[Note, ...]:
        """Nothing: hidden cells carry their reasons."""
        return ()

    def changed(
        self, name: str, before: Callable[[], ProtectedTable], after: ProtectedTable
    ) -> str:
        """Two patterns of one table open each other, if both are published."""
        if _hidden_cells(before()) == _hidden_cells(after):
            return ""
        return (
            f"{name} has another suppression pattern than the previous run; if that run was "
            "published, keep it and add its folder to [suppression] earlier"
        )

    def concluded(self, inputs: InputsView, made: Sequence[str]) -> Iterable[str]:
        """Earlier tables that had no part in anything."""
        groups = linked_tables(inputs.programme, made)
        used = {
            before.name for group in groups for before, _ in release.tables_before(inputs, group)
        }
        for item in inputs.earlier:
            if item.protect == self.name and item.name not in used:
                yield (
                    f"the earlier table {item.name} shares no cells with the tables of this "
                    "programme"
                )

    def write_reports(
        self, inputs: InputsView, remembered: Mapping[str, Mapping[str, Any]], folder: Path
    ) -> None:
        """Write the public reports on hidden cells."""
        tables = {name: kept["hidden"] for name, kept in remembered.items()}
        content = {"format": _FORMAT, "format_version": 1, "tables": tables}
        write_text(folder / self.reports[0], _as_json(content))

    def write_internal(self, entries: Sequence[Mapping[str, Any]], folder: Path) -> None:
        """Patterns with their costs and proofs, readable by their owner only. CONFIDENTIAL."""
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        systems = [
            {key: each for key, each in item.items() if key not in ("text", "advice")}
            for item in entries
        ]
        content = {"format": f"{_FORMAT}-internal", "format_version": 1, "systems": systems}
        lines = ["CONFIDENTIAL", ""]
        for entry in entries:
            lines.append(f"Tables {', '.join(entry['tables'])}")
            if entry["earlier"]:
                lines.append(f"Published before: {', '.join(entry['earlier'])}")
            for value, words in entry["text"].items():
                lines += [f"Value {value}", words, ""]
            for name, words in entry["advice"].items():
                lines += [f"Changes that suppress fewer cells of {name}", words, ""]
        write_text(folder / _INTERNAL[0], _as_json(content), private=True)
        write_text(folder / _INTERNAL[1], "\n".join(lines), private=True)

    def must_repeat(self, inputs: InputsView, digests: Mapping[str, str], internal: Path) -> bool:
        """Whether the internal report is about other tables: its true values are not kept.

        A search that a time limit ends may find another pattern: it is not repeated for that.
        """
        if inputs.programme.suppression.time_limit is not None:
            return False
        known: dict[str, str] = {}
        try:
            content = json.loads((internal / _INTERNAL[0]).read_text("utf-8"))
            for system in content["systems"]:
                known |= system["tables"]
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            return True
        return known != dict(digests)

    def confidential_cells(
        self, inputs: InputsView, counted: Mapping[str, Counts], context: ReleaseContext
    ) -> Mapping[str, Mapping[str, tuple[FloatArray, Any]]]:
        """True values, and which cells are sensitive in the pattern of all tables together."""
        programme = inputs.programme
        hider = release.TableSuppression(inputs)
        judged = hider.judged(counted, context.spanning)
        records = hider.partitions(judged, ())
        found: dict[tuple[str, str], tuple[FloatArray, Any]] = {}
        for group, _ in release.components(judged, (), records):
            weight = programme.tables[group[0].name].weight
            every = {item.name: programme.tables[item.name].values for item in group}
            for value in dict.fromkeys(v for values in every.values() for v in values):
                own = [item for item in group if value in every[item.name]]
                primaries = [item.primaries[every[item.name].index(value)] for item in own]
                decimals = hider.judge.decimals(value, weight)
                _, members = release.build_problem(
                    [(item.table, one) for item, one in zip(own, primaries, strict=True)],
                    value=release.column_of(value, weight),
                    decimals=decimals,
                    knowledge=hider.knowledge,
                    zero_cells="partners",
                    records=records,
                )
                marks = [primary.conf_status() for primary in primaries]
                status = release.marks_of(members, marks, [p.sensitive for p in primaries], "D")
                for item, primary, cells in zip(own, primaries, members.cells, strict=True):
                    units = release.units_of(item.table, primary.value, decimals)
                    shared = np.where(cells >= 0, status[np.maximum(cells, 0)], "D")
                    found[item.name, value] = units / 10.0**decimals, shared
        values_of = {item.name: programme.tables[item.name].values for item in judged}
        return {
            name: {value: found[name, value] for value in values}
            for name, values in values_of.items()
        }

    def audited(
        self,
        inputs: InputsView,
        counted: Mapping[str, Counts],
        context: ReleaseContext,
        kept: Mapping[str, Any],
        coalition: int | None,
    ) -> tuple[Mapping[tuple[str, str], AuditVerdict], Sequence[str]]:
        """Verdicts on hidden cells, with all that was published before."""
        programme, first = inputs.programme, next(iter(counted))
        judged = release.TableSuppression(inputs).judged(counted, context.spanning)
        groups = linked_tables(programme, programme.protected[self.name])
        past = release.recounted_tables(inputs, next(group for group in groups if first in group))
        return _group_audit(inputs, judged, past, kept, coalition)


def _hidden_cells(table: ProtectedTable) -> set[tuple[str, ...]]:
    """The codes of all hidden cells of a table."""
    hidden = np.flatnonzero(table.status == CellStatus.suppressed)
    codes = [
        [dimension.codes[at] for at in part[hidden].tolist()]
        for dimension, part in zip(table.dimensions, table.index, strict=True)
    ]
    return set(zip(*codes, strict=True)) if codes else {() for _ in hidden}


def _as_json(content: Any) -> str:
    return json_text(content) + "\n"


def _member(inputs: InputsView, name: str) -> list[Any]:
    """What a table of a group asks for. SECRET."""
    programme = inputs.programme
    entry, source = programme.tables[name], programme.source_of(name).name
    files = [programme.file(mark.file) for mark in entry.marks if mark.file is not None]
    files += [programme.file(entry.known)] if entry.known is not None else []
    rules = programme.document.rules.get(entry.rules or "")
    values = set(entry.values)
    relations = programme.relations_of(name)
    return [
        entry.model_dump(exclude={*_OWN, "complete", "source"}),
        [file_digest(path) for path in files],
        None if rules is None else rules.model_dump(),
        {value: programme.value(value).decimals for value in entry.values},
        inputs.described_variables(name),
        source if len(programme.sources) > 1 else "",
        programme.place_of(source).partition("\n")[2],
        *sorted(relation.text for relation in relations if {*relation.values} & values),
    ]


def _group_audit(
    inputs: InputsView,
    judged: Sequence[release.SensitiveTable],
    past: Sequence[release.RecountedTable],
    kept: Mapping[str, Any],
    coalition: int | None,
) -> tuple[dict[tuple[str, str], Audit], list[str]]:
    """Verdicts on the tables of a group, by what shares cells and adds up; findings."""
    from discreet.protection.suppression.proof.audit import audit

    programme, stated = inputs.programme, inputs.programme.suppression
    hider = release.TableSuppression(inputs)
    audits: dict[tuple[str, str], Audit] = {}
    findings: list[str] = []
    parts = hider.partitions(judged, past)
    for group, before in release.components(judged, past, parts):
        own = [v for each in group for v in programme.tables[each.name].values]
        values = dict.fromkeys([*own, *(v for one in before for v in one.primaries)])
        relations = hider.relations([i.name for i in group], values) if group else []
        ties = [
            [v for v in values if v in {*each.values} or (v == COUNT and "weight" in each.values)]
            for each in relations
        ]
        for names in joined(list(values), ties):
            rows: list[_Row] = []
            for value in names:
                wrong, more = _rows(inputs, group, before, kept, value, alone=len(names) == 1)
                findings += wrong
                rows += more
            if not rows:
                continue
            options: dict[str, Any] = {"relations": relations}
            if len(names) == 1:
                weight = programme.tables[group[0].name].weight
                options = {
                    "value": release.column_of(names[0], weight),
                    "decimals": hider.judge.decimals(names[0], weight),
                    "earlier": [p.as_earlier(names[0]) for p in before if names[0] in p.then],
                }
            told = ", ".join(item.name for item in group), ", ".join(names)
            try:
                audited = audit(
                    [published for published, _, _ in rows],
                    [table for _, table, _ in rows],
                    [primary for _, _, primary in rows],
                    knowledge=hider.knowledge,
                    rounded=stated.round_to,
                    records=parts,
                    related_within=None,
                    accept=stated.accept,
                    coalition=coalition,
                    insiders=stated.judged_aim,
                    **options,
                )
                gaps = (*audited.gaps, *hider.unlinked([item.name for item in group]))
                audits[told] = dataclasses.replace(audited, gaps=gaps)
            except SuppressionError as error:
                if error.code != "rounded":
                    raise
                findings.append(f"{error.where}: {error.what}")
    return audits, findings


_Row = tuple["ProtectedTable", "Table", "Primary"]


def _rows(
    inputs: InputsView,
    group: Sequence[release.SensitiveTable],
    past: Sequence[release.RecountedTable],
    kept: Mapping[str, Any],
    value: str,
    *,
    alone: bool,
) -> tuple[list[str], list[_Row]]:
    """What was published of one value, beside the truth; and where it is not the truth."""
    rows: list[_Row] = []
    judge, findings = release.PrimaryJudge(inputs.programme), []
    for item in group:
        entry = inputs.programme.tables[item.name]
        if value not in entry.values:
            continue
        number = entry.values.index(value)
        if kept[item.name].extras.get("about", {}).get("tells") != entry.values:
            findings.append(f"{item.name}: published with other values")
            continue
        published = release.figure_of(kept[item.name].table, number)
        if inputs.programme.suppression.round_to is None:  # else the audit compares them
            decimals = judge.decimals(value, entry.weight)
            off = release.differing(
                published, item.table, release.column_of(value, entry.weight), decimals
            )
            if off:
                message = f"{off:,} values of {value!r} differ from the data"
                findings.append(f"{item.name}: {message}")
        rows.append((published, item.table, item.primaries[number]))
    for one in past:
        if (rows or not alone) and value in one.primaries and not (alone and value in one.then):
            # What is sensitive in an earlier table and was hidden: what was shown stays shown.
            primary, published = one.primaries[value], one.published(value)
            hidden = np.where(release.hidden_in(one.table, published), primary.verdict, 0)
            primary = dataclasses.replace(primary, verdict=hidden.astype(np.int8))
            rows.append((published, one.table, primary))
    return findings, rows
