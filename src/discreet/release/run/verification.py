"""`verify_release`: whether a release is as its office made it.

In: the folder of a release, and the public key of the office, or its programme. Out: a
`VerifiedRelease`: whose seal it is, and which files are missing, changed or extra. Public: it
says nothing but names of files and of keys.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from discreet.errors import DiscreetError, PublicationError
from discreet.release.inputs import Inputs
from discreet.release.packages.keys import key_id, read_verify_key
from discreet.release.run.inputs import open_inputs
from discreet.release.run.plan import table_digests
from discreet.release.state.memory import ReleaseState, remembered_tables
from discreet.release.state.seal import (
    FOLDER,
    SEAL,
    SealedDifferences,
    differences,
    read_seal,
)

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
