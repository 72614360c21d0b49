"""Verdicts on tables with hidden cells of a finished release. CONFIDENTIAL.

In: what was published of a group of tables, beside their true values and all that was
published before. Out: what an attacker can still bound, by value; which published values are
not the true ones. No true value is shown.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from discreet.protection.suppression.publish.protected_tables import figure_of
from discreet.release.inputs import Inputs
from discreet.release.methods.suppression.earlier_tables import RecountedTable, differing
from discreet.release.methods.suppression.hidden_cells import (
    SensitiveTable,
    TableSuppression,
    components,
)
from discreet.release.methods.suppression.sensitive_cells import PrimaryJudge, column_of
from discreet.release.state.memory import RememberedTable

if TYPE_CHECKING:
    from discreet.protection.suppression import Audit
    from discreet.rules import Primary
    from discreet.tables import ProtectedTable, Table


def group_audit(
    inputs: Inputs,
    judged: Sequence[SensitiveTable],
    past: Sequence[RecountedTable],
    kept: Mapping[str, RememberedTable],
    coalition: int,
) -> tuple[dict[tuple[str, str], Audit], list[str]]:
    """Verdicts on the tables of a group, by what shares cells and by value; findings."""
    from discreet.protection.suppression import audit

    audits: dict[tuple[str, str], Audit] = {}
    hider = TableSuppression(inputs)
    findings: list[str] = []
    for group, before in components(judged, past):
        values = [v for each in group for v in inputs.programme.tables[each.name].values]
        for value in dict.fromkeys(values):
            wrong, rows = _rows(inputs, group, before, kept, value)
            findings += wrong
            if not rows:
                continue
            weight = inputs.programme.tables[group[0].name].weight
            audits[", ".join(each.name for each in group), value] = audit(
                [published for published, _, _ in rows],
                [table for _, table, _ in rows],
                [primary for _, _, primary in rows],
                value=column_of(value, weight),
                decimals=hider.judge.decimals(value, weight),
                knowledge=hider.knowledge,
                coalition=coalition,
            )
    return audits, findings


_Row = tuple["ProtectedTable", "Table", "Primary"]


def _rows(
    inputs: Inputs,
    group: Sequence[SensitiveTable],
    past: Sequence[RecountedTable],
    kept: Mapping[str, RememberedTable],
    value: str,
) -> tuple[list[str], list[_Row]]:
    """What was published of one value, beside the truth; and where it is not the truth."""
    rows: list[_Row] = []
    judge = PrimaryJudge(inputs.programme)
    findings = []
    for each in group:
        entry = inputs.programme.tables[each.name]
        if value not in entry.values:
            continue
        number = entry.values.index(value)
        told = kept[each.name].extras.get("about", {}).get("tells")
        if told != entry.values:
            findings.append(f"{each.name}: it was published with other values")
            continue
        published = figure_of(kept[each.name].table, number)
        decimals = judge.decimals(value, entry.weight)
        off = differing(published, each.table, column_of(value, entry.weight), decimals)
        if off:
            findings.append(f"{each.name}: {off:,} values of {value!r} are not those of the data")
        rows.append((published, each.table, each.primaries[number]))
    for one in past:
        if rows and value in one.primaries:
            rows.append((one.published(value), one.table, _hidden_then(one, value)))
    return findings, rows


def _hidden_then(past: RecountedTable, value: str) -> Primary:
    """What is sensitive in an earlier table and was hidden: what was shown stays shown."""
    from discreet.protection.suppression.problem.demands import hidden_in

    found = past.primaries[value]
    kept = np.where(hidden_in(past.table, past.published(value)), found.verdict, 0)
    return dataclasses.replace(found, verdict=kept.astype(np.int8))
