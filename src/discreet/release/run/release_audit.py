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
from typing import Any

from discreet.disclosure import DisclosureVerdict, Judged
from discreet.errors import PublicationError
from discreet.files import file_digest
from discreet.protection.protocol import AuditVerdict, Counts, ReleaseContext
from discreet.protection.registry import protections
from discreet.release.inputs import Inputs
from discreet.release.run.counts import counted_tables, release_context
from discreet.release.run.inputs import open_inputs, with_found_relations
from discreet.release.run.plan import table_digests
from discreet.release.state.memory import (
    EarlierTable,
    ReleaseState,
    read_release,
    remembered_tables,
)


@dataclass(frozen=True, kw_only=True, repr=False)
class ReleaseAudit(Judged):
    """Audit of a release with hidden cells (confidential).

    Args:
        audits: Names of the tables that share cells, and the value → verdicts on them.
        findings: What else is wrong, in words.
    """

    audits: Mapping[tuple[str, str], AuditVerdict]
    findings: tuple[str, ...] = ()

    @property
    def judgement(self) -> DisclosureVerdict:
        """The verdict: every sensitive cell is proven to be protected, nothing else is wrong."""
        findings = DisclosureVerdict.of(self.findings, ())
        return DisclosureVerdict.joined(
            [findings, *(audit.judgement for audit in self.audits.values())]
        )

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
        verdict = self.judgement.described()
        return {**verdict, "findings": list(self.findings), "systems": systems}

    def text(self) -> str:
        """The verdicts in words."""
        lines = [self.judgement.sentence("The release")]
        lines += [f"  {finding}" for finding in self.findings]
        for (names, value), found in self.audits.items():
            lines += [f"{names}, {value}:", found.text()]
        return "\n".join(lines)


def audit_release(
    programme: str | os.PathLike[str],
    release: str | os.PathLike[str],
    *,
    beside: Sequence[str | os.PathLike[str]] = (),
    coalition: int | None = None,
) -> ReleaseAudit:
    """Audit the hidden cells of a finished release, with all that was published before.

    Args:
        programme: The programme file; its data are counted once more.
        release: The release folder.
        beside: Other releases of the same data that anyone can lay beside it, in addition
            to those that the programme names as earlier.
        coalition: What so many contributors together can learn; unless told otherwise, what
            each can alone, of tables of values. 0: nothing of the kind.
    """
    inputs = open_inputs(programme)
    methods = [method for method in inputs.programme.methods if method.auditable]
    if not methods:
        known = [protection for protection in protections() if protection.auditable]
        raise PublicationError(
            f"the programme has no table with {' or '.join(item.manner for item in known)}",
            code="audit",
            where=str(programme),
            hint="an audit needs tables with protect = "
            + " or ".join(f'"{item.name}"' for item in known),
        )
    kept = remembered_tables(Path(release))
    findings = differences(inputs, kept, Path(release))
    others = [read_release(Path(folder), at) for at, folder in enumerate(beside)]
    before = (*inputs.earlier, *(table for tables in others for table in tables))
    grown = with_found_relations(inputs.programme, inputs.records, before)
    inputs = dataclasses.replace(inputs, programme=grown, earlier=before)
    audits: dict[tuple[str, str], AuditVerdict] = {}
    for method in methods:
        for group in inputs.programme.linked(method):
            present = [name for name in group if name in kept]
            if present:
                counted, context = recounted(inputs, present)
                found, wrong = method.audited(inputs, counted, context, kept, coalition)
                audits |= found
                findings += wrong
    return ReleaseAudit(audits=audits, findings=tuple(findings))


def differences(inputs: Inputs, kept: Mapping[str, EarlierTable], out: Path) -> list[str]:
    """Tables that are missing or of other origin, files that are not as they were made."""
    digests = table_digests(inputs)
    found = []
    if inputs.seals is not None:
        shelf = ReleaseState(out, inputs.programme.name, inputs.seals)
        found += [f"{problem.where}: {problem.what}" for problem in shelf.problems()]
    for name in inputs.programme.tables:
        if not inputs.programme.method(name).auditable:
            continue
        if name not in kept:
            found.append(f"{name}: the release lacks this table")
            continue
        if kept[name].digest != digests[name]:
            found.append(f"{name}: the release used other data or other rules")
        for file, digest in kept[name].files.items():
            path = out / file
            if not path.is_file():
                found.append(f"{name}: the file {file} is missing")
            elif file_digest(path) != digest:
                found.append(f"{name}: the file {file} was changed")
    return found


def recounted(inputs: Inputs, names: Sequence[str]) -> tuple[Mapping[str, Counts], ReleaseContext]:
    """The true tables of a group, and what spans them."""
    spanning = inputs.spanning(names)
    counted = dict(counted_tables(inputs, names, spanning))
    return {name: counted[name] for name in names}, release_context(spanning)
