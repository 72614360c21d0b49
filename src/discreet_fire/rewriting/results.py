"""Results beside their originals: where they stand, how they are written and taken back.

In: a program, what was done to it, and the words that go before it. Out: ``NAME_FiRe.do`` with
``NAME_FiRe.json``, ``NAME_FiRe.py`` with ``NAME_FiRe.py.json``, and what an officer is told.
Originals are never touched, and nothing is replaced that this program did not make.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from discreet.errors import OutputCheckError, Problem
from discreet.files import atomic_path, check_writable
from discreet_fire.catalogue.policy import Policy
from discreet_fire.findings import Finding, Severity
from discreet_fire.rewriting.called_files import SUFFIX
from discreet_fire.rewriting.changes import Language, Rewriting
from discreet_fire.rewriting.manifest import (
    ProgramRules,
    manifest,
    manifest_text,
    read_manifest,
    restored,
)
from discreet_fire.scripts.documents import is_script
from discreet_fire.texts import SourceText, decode_source, read_source

#: How the first line of every rewritten do-file begins.
MARK = "*! FDZ: this file was made by discreet fire pre"


@dataclass(frozen=True, kw_only=True)
class RewrittenFile:
    """What became of one file: the original, the rewritten one unless it was not written, whether
    that is new or differs from the one that was there, and what an officer must know.
    """

    source: Path
    output: Path | None
    rewriting: Rewriting
    changed: bool = True
    findings: tuple[Finding, ...] = ()

    @property
    def state(self) -> str:
        """``written``, ``unchanged`` (the same was there before) or ``refused``."""
        if self.output is None:
            return "refused"
        return "written" if self.changed else "unchanged"

    @property
    def needs_review(self) -> bool:
        """Whether an officer must look at it."""
        return self.count(Severity.REVIEW) > 0

    def count(self, severity: Severity) -> int:
        """How many findings have a severity."""
        return sum(finding.severity is severity for finding in self.findings)

    def described(self) -> dict[str, Any]:
        """Plain values for JSON."""
        edits = self.rewriting.edits
        return {
            "source": str(self.source),
            "output": None if self.output is None else str(self.output),
            "state": self.state,
            "edits": len(edits),
            "refused": sum(edit.action == "refused" for edit in edits),
            "review": self.count(Severity.REVIEW),
            "errors": self.count(Severity.ERROR),
            "findings": [finding.to_dict() for finding in self.findings],
        }


@dataclass(frozen=True)
class ResultPlace:
    """Where the result of a program and its manifest stand.

    >>> ResultPlace(Path("a.DO")).output.name, ResultPlace(Path("a.py")).document.name
    ('a_FiRe.do', 'a_FiRe.py.json')
    """

    original: Path

    @property
    def output(self) -> Path:
        """The result."""
        suffix = self.original.suffix if is_script(self.original) else ".do"
        return self.original.with_name(f"{self.original.stem}{SUFFIX}{suffix}")

    @property
    def document(self) -> Path:
        """Its manifest."""
        script = is_script(self.original)
        return self.output.with_suffix(f"{self.output.suffix}.json" if script else ".json")

    def is_made(self) -> bool:
        """Whether this program made the result, and it was not changed since."""
        try:
            found = read_manifest(self.document.read_text("utf-8"), self.document.name)
            data = self.output.read_bytes()
            restored(found, data)
            text = decode_source(data, self.output).text
        except (OutputCheckError, OSError, UnicodeDecodeError):
            return False
        if is_script(self.original):
            return bool(found["source"].get("name") == self.original.name)
        return text.startswith(MARK)

    def problems(self, *, overwrite: bool) -> list[Problem]:
        """What is in the way of a result."""
        check_writable(self.output.parent)
        hint = "remove or rename it"
        for path in (self.output, self.document):
            if path.is_dir():
                return [Problem("a folder has the name of a result", str(path), hint)]
        output = self.output.exists()
        if overwrite or not (output or self.document.exists()) or (output and self.is_made()):
            return []
        what = "the file exists, and this program did not make it"
        wrong = self.output if output else self.document
        return [Problem(what, str(wrong), f"{hint}; --overwrite replaces it")]

    def write(
        self,
        source: SourceText,
        head: str,
        rewriting: Rewriting,
        policy: ProgramRules,
        language: Language,
    ) -> RewrittenFile:
        """Write a result with its manifest; none for a program that may not run at all."""
        findings = (*source.findings, *rewriting.findings)
        output, changed = None, True
        if any(finding.severity is Severity.ERROR for finding in findings):
            if self.is_made():
                # A result of an earlier version must not run in place of this one.
                self.output.unlink()
                self.document.unlink()
        else:
            output = self.output
            data = source.encoded(head + rewriting.text)
            made = manifest(source, data, output.name, head, rewriting, policy, language)
            changed = _replaced(output, data)
            changed = _replaced(self.document, manifest_text(made).encode("utf-8")) or changed
        return RewrittenFile(
            source=self.original,
            output=output,
            rewriting=rewriting,
            changed=changed,
            findings=findings,
        )


def _replaced(path: Path, data: bytes) -> bool:
    """Write a file, unless it holds the same already; whether it was written."""
    if path.is_file() and path.read_bytes() == data:
        return False
    with atomic_path(path) as temporary:
        temporary.write_bytes(data)
    return True


def undo(path: str | os.PathLike[str]) -> Path:
    """Restore an original from its manifest (``NAME_FiRe.json``, ``NAME_FiRe.py.json``) if it is
    missing.
    """
    place = Path(path)
    if not place.is_file():
        hint = "give the NAME_FiRe.json beside the rewritten file"
        raise taken_error([Problem("there is no manifest of this name", str(place), hint)])
    document = read_manifest(read_source(place).text, place.name)
    output = place.with_suffix("")
    if not is_script(output):
        output = place.with_suffix(".do")
    if not output.is_file():
        raise taken_error([Problem("the rewritten file is not beside its manifest", str(output))])
    data = restored(document, output.read_bytes())
    target = output.with_name(_name_before(output, document))
    if target.exists() and target.read_bytes() != data:
        what = "the original is there, and differs; nothing was written"
        raise taken_error([Problem(what, str(target), "move it away first")])
    _replaced(target, data)
    return target


def _name_before(output: Path, document: Mapping[str, Any]) -> str:
    """The name of the original, with the capitals it had."""
    name = f"{output.stem.removesuffix(SUFFIX)}{output.suffix}"
    before = str(document["source"].get("name", ""))
    same = Path(before).stem == Path(name).stem and before.lower() == name.lower()
    return before if same else name


def original_of(path: Path) -> Path:
    """The original of a result, and any other file as it is.

    A result is never taken for what it says it is: its original is rewritten again.
    """
    if not path.stem.endswith(SUFFIX):
        return path
    suffix = path.suffix if is_script(path) else ".do"
    original = path.with_name(f"{path.stem.removesuffix(SUFFIX)}{suffix}")
    if not original.is_file():
        hint = "the name is kept for results; put the original beside it, or rename the file"
        raise taken_error([Problem("its original is not there", str(path), hint)])
    return original


def taken_error(problems: Sequence[Problem]) -> OutputCheckError:
    """The error on files that cannot be taken."""
    what = f"{len(problems)} files cannot be taken"
    return OutputCheckError.of(problems, what, code="output-check")


_SHOWN = (Severity.ERROR, Severity.REFUSED, Severity.REVIEW)
_MOST_LINES = 50


def report(outcomes: Sequence[RewrittenFile]) -> str:
    """The text for the officer: one paragraph for each file, the gravest findings first."""
    return "\n".join(line for outcome in outcomes for line in _lines(outcome))


def _lines(outcome: RewrittenFile) -> Iterable[str]:
    if outcome.output is None:
        yield f"{outcome.source}: NOT written"
    else:
        kept = "" if outcome.changed else ", as it was before"
        yield f"{outcome.source} -> {outcome.output.name}{kept}"
    edits = outcome.rewriting.edits
    refused = sum(edit.action == "refused" for edit in edits)
    yield (
        f"  {len(edits) - refused} places rewritten, {refused} commented out, "
        f"{outcome.count(Severity.REVIEW)} to review, {outcome.count(Severity.ERROR)} errors"
    )
    told = [each for each in outcome.findings if each.severity in _SHOWN]
    told.sort(key=lambda finding: (-finding.severity.rank, finding.start))
    for finding in told[:_MOST_LINES]:
        yield f"  {finding}".replace("\n", "\n  ")
    if len(told) > _MOST_LINES:
        yield f"  … and {len(told) - _MOST_LINES} more, all of them in the manifest"


def described(outcomes: Sequence[RewrittenFile], policy: Policy) -> dict[str, Any]:
    """The same for programs."""
    return {
        "policy": policy.digest,
        "written": sum(outcome.state == "written" for outcome in outcomes),
        "review": any(outcome.needs_review for outcome in outcomes),
        "files": [outcome.described() for outcome in outcomes],
    }
