"""Finished releases: `audit_release`, whether they hold what they should; `verify_release`.

In: the folder of a release, its programme, or the public key of its office. Out: a `ReleaseAudit`:
which sensitive cells anyone can work out, which values are not those of the data, which files were
changed; CONFIDENTIAL, though it shows no true value. A `VerifiedRelease`: whose seal it is, and
which files are missing, changed or extra; public: nothing but names of files and of keys.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from discreet.disclosure import DisclosureVerdict, Judged
from discreet.errors import DiscreetError, PublicationError
from discreet.files import file_digest
from discreet.protection.protocol import AuditVerdict, Counts, ReleaseContext
from discreet.protection.registry import protections
from discreet.release.inputs import Inputs
from discreet.release.packages.keys import key_id, read_verify_key
from discreet.release.run.counts import counted_tables, release_context
from discreet.release.run.inputs import open_inputs, with_found_relations
from discreet.release.run.plan import table_digests
from discreet.release.state.memory import (
    EarlierTable,
    ReleaseState,
    read_release,
    remembered_tables,
)
from discreet.release.state.seal import (
    FOLDER,
    SEAL,
    SealedDifferences,
    differences,
    read_seal,
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
    findings = other_content(inputs, kept, Path(release))
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


def other_content(inputs: Inputs, kept: Mapping[str, EarlierTable], out: Path) -> list[str]:
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


_NONE = SealedDifferences()


@dataclass(frozen=True, kw_only=True)
class VerifiedRelease:
    """Result of the verification of a release.

    Args:
        out: Its folder.
        seal: The short name of its seal; empty if it has none.
        signer: The short name of the key that signed it; empty if none did.
        checked: By what the seal was found to be the office's; empty if by nothing.
        differences: Files that are not as they were sealed.
        findings: What else is wrong, in words.

    >>> VerifiedRelease(out=Path("release"), findings=("the release is not signed",)).in_order
    False
    """

    out: Path
    seal: str = ""
    signer: str = ""
    checked: str = ""
    differences: SealedDifferences = _NONE
    findings: tuple[str, ...] = ()

    @property
    def in_order(self) -> bool:
        """Whether the seal is the office's, and everything is as it was sealed."""
        found = self.differences
        return bool(self.checked) and not any(
            [self.findings, found.missing, found.changed, found.extra]
        )

    def described(self) -> dict[str, Any]:
        """As plain values, for JSON."""
        return {
            "out": str(self.out),
            "in_order": self.in_order,
            "seal": self.seal,
            "signer": self.signer or None,
            "checked": self.checked or None,
            "missing": list(self.differences.missing),
            "changed": list(self.differences.changed),
            "extra": list(self.differences.extra),
            "findings": list(self.findings),
        }

    def text(self) -> str:
        """As text."""
        lines = [f"{self.out} is {'valid' if self.in_order else 'NOT VALID'}."]
        lines += [f"  {finding}" for finding in self.findings]
        for kind in ("missing", "changed", "extra"):
            files = getattr(self.differences, kind)
            lines += [f"  {kind}: {file if file.isprintable() else repr(file)}" for file in files]
        lines += [f"  fingerprint {self.seal}"] if self.seal else []
        lines += [f"  signed with key {self.signer}"] if self.signer else []
        return "\n".join([*lines, *([f"  checked: {self.checked}"] if self.checked else [])])


def verify_release(
    release: str | os.PathLike[str],
    *,
    public_key: str | os.PathLike[str] | None = None,
    programme: str | os.PathLike[str] | None = None,
    seal: str | None = None,
) -> VerifiedRelease:
    """Find out whether a release is as its office made it.

    Without key and programme a release is never in order: whoever changes a file can change
    a seal that nobody checks.

    Args:
        release: The folder of the release.
        public_key: The file of the office's public key, for everyone; the seal is signed.
        programme: Instead, the programme: for the office itself. The seal must be the one of
            its keys, and the tables those of its data and parameters as they are now.
        seal: The short name of the seal, if the office has published it elsewhere: an
            older release of the same office has another one.

    >>> verify_release("no-such-folder")
    Traceback (most recent call last):
        ...
    discreet.errors.PublicationError: [release-folder] no-such-folder: folder not found
    """
    out = Path(release)
    if not out.is_dir():
        message = "folder not found"
        raise PublicationError(message, code="release-folder", where=str(out))
    if public_key is not None and programme is not None:
        message = "a check needs a public key or the programme"
        raise PublicationError(
            message, code="release-key", where="public_key", hint="give one of them"
        )
    public = None if public_key is None else read_verify_key(public_key)
    inputs = None if programme is None else open_inputs(programme)
    found = read_seal(out / SEAL)
    if found is None:
        there = (out / SEAL).exists() or (out / SEAL).is_symlink()
        message = "the signature file is damaged" if there else "the release is not signed"
        return VerifiedRelease(out=out, findings=(f"{message} ({SEAL})",))
    # Why the seal is not known to be the office's, or by what it is.
    wrong, checked = "the signer was not checked: add the public key of the office", ""
    if public is not None:
        wrong, checked = found.wrong_for_public(public), f"signature of key {key_id(public)}"
    elif inputs is not None and inputs.seals is None:
        wrong = "the programme has no key: add a secret, or sign = … in [release]"
    elif inputs is not None and inputs.seals is not None:
        kinds = ["secret of the record keys"] if inputs.seals.keyed else []
        kinds += ["signing key"] if inputs.seals.public else []
        wrong, checked = found.wrong_for(inputs.seals), " and ".join(kinds)
    findings = [wrong] if wrong else []
    if seal is not None and seal.strip().lower() != found.identity:
        findings.append("the release has another fingerprint")
    if any((out / FOLDER).glob("*.seal")) or (out / FOLDER / "stage").exists():
        findings.append("a run was interrupted: run the programme again")
    differing = differences(out, found)
    changed = (*differing.missing, *differing.changed)
    try:
        if inputs is not None and wrong:  # what the next run would refuse the folder for
            shelf = ReleaseState(out, inputs.programme.name, inputs.seals)
            broken = [one for one in shelf.problems() if one.where != SEAL]
            findings += [f"{one.where}: {one.what}" for one in broken]
        elif inputs is not None and found.programme != inputs.programme.name:
            findings.append(f"the release belongs to another programme: {found.programme}")
        elif inputs is not None and not (out / FOLDER).is_dir():
            findings.append(f"the state of the release is missing ({FOLDER})")
        # What it remembers cannot be trusted if it was changed, and that is said.
        elif inputs is not None and not any(name.startswith(f"{FOLDER}/") for name in changed):
            findings += _of_other_inputs(out, inputs)
    except DiscreetError as error:
        findings.append(error.what)
    return VerifiedRelease(
        out=out,
        seal=found.identity,
        signer=found.signer_id or "",
        checked="" if wrong else checked,
        differences=differing,
        findings=tuple(findings),
    )


def _of_other_inputs(out: Path, inputs: Inputs) -> list[str]:
    """Tables that are not those of the programme, its data and its parameters as they are."""
    kept, digests = remembered_tables(out), table_digests(inputs)
    older = "an older release may be in this folder; otherwise run the programme again"
    found = [
        f"{name}: made with other data, rules or parameters, or by another version; {older}"
        for name, digest in digests.items()
        if name in kept and kept[name].digest != digest
    ]
    found += [f"{name}: the release lacks this table" for name in digests if name not in kept]
    return found + [f"{n}: table not found in the programme" for n in kept if n not in digests]
