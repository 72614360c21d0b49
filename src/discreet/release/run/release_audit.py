"""`audit_release`: whether a finished release holds what its programme asks for.

In: a programme with its data, the folder of its release, and other releases beside it. Out:
a `ReleaseAudit`: which sensitive cells anyone can work out, which values are not those of
the data, which files were changed. CONFIDENTIAL, though it shows no true value.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.errors import PublicationError
from discreet.protection.suppression.publish.protected_tables import figure_of
from discreet.release.programme.groups import Counts, groups
from discreet.release.programme.variables import spanning_variables
from discreet.release.run.counts import counted_tables
from discreet.release.run.earlier_tables import RecountedTable, differing
from discreet.release.run.inputs import Inputs, open_inputs
from discreet.release.run.plan import table_digests
from discreet.release.run.sensitive_cells import column_of
from discreet.release.run.suppression import SensitiveTable, TableSuppression, components
from discreet.release.state.memory import (
    RememberedTable,
    file_digest,
    read_release,
    remembered_tables,
)

if TYPE_CHECKING:
    from discreet.protection.suppression import Audit
    from discreet.rules import Primary
    from discreet.tables import ProtectedTable, Table

__all__ = ["ReleaseAudit", "audit_release"]


@dataclass(frozen=True, kw_only=True, repr=False)
class ReleaseAudit:
    """What a release with hidden cells still tells (confidential).

    Args:
        audits: Names of the tables that share cells, and the value → verdicts on them.
        findings: What else is wrong, in words.
    """

    audits: Mapping[tuple[str, str], Audit]
    findings: tuple[str, ...] = ()

    @property
    def safe(self) -> bool:
        """Whether every sensitive cell is proven to be protected, and nothing else is wrong."""
        return not self.findings and all(found.safe for found in self.audits.values())

    @property
    def opened(self) -> tuple[str, ...]:
        """Names of the sensitive cells that are not protected."""
        return tuple(
            f"{value}: {cell}"
            for (_, value), found in self.audits.items()
            for cell in found.unprotected
        )

    def described(self) -> dict[str, Any]:
        """The verdicts as plain values, for JSON."""
        systems = [
            {"tables": names, "value": value, **found.described()}
            for (names, value), found in self.audits.items()
        ]
        return {"safe": self.safe, "findings": list(self.findings), "systems": systems}

    def text(self) -> str:
        """The verdicts in words."""
        lines = ["The release is safe." if self.safe else "The release is NOT safe."]
        lines += [f"  {finding}" for finding in self.findings]
        for (names, value), found in self.audits.items():
            lines += [f"{names}, {value}:", found.text()]
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<ReleaseAudit (confidential): {'safe' if self.safe else 'NOT safe'}>"


def audit_release(
    programme: str | os.PathLike[str],
    release: str | os.PathLike[str],
    *,
    beside: Sequence[str | os.PathLike[str]] = (),
    coalition: int = 0,
) -> ReleaseAudit:
    """Audit the hidden cells of a finished release, with all that was published before.

    Args:
        programme: The programme file; its data are counted once more.
        release: The release folder.
        beside: Other releases of the same data that anyone can lay beside it, in addition
            to those that the programme names as earlier.
        coalition: Also find out what so many respondents together can learn.

    >>> audit_release("no-such-programme.toml", "release")
    Traceback (most recent call last):
        ...
    discreet.errors.ProgrammeError: [programme-file] no-such-programme.toml: ...
    """
    inputs = open_inputs(programme)
    if not inputs.programme.suppressed:
        raise PublicationError(
            "the programme has no table with hidden cells",
            code="audit",
            where=str(programme),
            hint='an audit is for tables with protect = "suppress"',
        )
    kept = {each.table.name: each for each in remembered_tables(Path(release))}
    findings = _findings(inputs, kept, Path(release))
    others = [read_release(Path(folder), at) for at, folder in enumerate(beside)]
    before = (*inputs.earlier, *(table for tables in others for table in tables))
    inputs = dataclasses.replace(inputs, earlier=before)
    audits: dict[tuple[str, str], Audit] = {}
    hider = TableSuppression(inputs)
    for group in groups(inputs.programme):
        present = [name for name in group if name in kept]
        if present:
            judged = _judged(inputs, hider, present)
            found, wrong = _audited(inputs, judged, hider.past(group), kept, coalition)
            audits |= found
            findings += wrong
    return ReleaseAudit(audits=audits, findings=tuple(findings))


def _findings(inputs: Inputs, kept: Mapping[str, RememberedTable], out: Path) -> list[str]:
    """Tables that are missing or of other origin, files that are not as they were made."""
    digests = table_digests(inputs)
    found = []
    for name in inputs.programme.suppressed:
        if name not in kept:
            found.append(f"{name}: the release lacks this table")
            continue
        if kept[name].digest != digests[name]:
            found.append(f"{name}: it was made of other data, or by other rules")
        for file, digest in kept[name].files.items():
            path = out / file
            if not path.is_file():
                found.append(f"{name}: the file {file} is missing")
            elif file_digest(path) != digest:
                found.append(f"{name}: the file {file} was changed")
    return found


def _judged(inputs: Inputs, hider: TableSuppression, names: Sequence[str]) -> list[SensitiveTable]:
    """The true tables of a group, with their sensitive cells."""
    programme = inputs.programme
    source = programme.source_of(names[0]).name
    by = list(dict.fromkeys(each for name in names for each in programme.tables[name].by or []))
    spanning = spanning_variables(programme, by, inputs.trees, inputs.records[source])
    counted: dict[str, Counts] = dict(counted_tables(inputs, names, {source: spanning}))
    return hider.judged({name: counted[name] for name in names}, spanning)


def _audited(
    inputs: Inputs,
    judged: Sequence[SensitiveTable],
    past: Sequence[RecountedTable],
    kept: Mapping[str, RememberedTable],
    coalition: int,
) -> tuple[dict[tuple[str, str], Audit], list[str]]:
    """Verdicts on the tables of a group, by what shares cells and by value."""
    from discreet.protection.suppression import audit

    audits: dict[tuple[str, str], Audit] = {}
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
                decimals=TableSuppression(inputs).judge.decimals(value, weight),
                knowledge=TableSuppression(inputs).knowledge,
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
        decimals = TableSuppression(inputs).judge.decimals(value, entry.weight)
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
