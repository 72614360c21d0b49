"""Logs on disk: the original stays, a clean copy and a report are put beside it.

In: the path of a log (CONFIDENTIAL). Out: ``NAME_FiRe.log`` and ``NAME_FiRe.log.json``, of the
log of a rewritten program ``NAME_FiRe_clean.log``; if asked for, a CONFIDENTIAL list of what was
removed.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from discreet._version import __version__
from discreet.errors import OutputCheckError
from discreet.files import atomic_path, check_writable, file_digest, texts_of, write_text
from discreet.microdata import Secret
from discreet_fire.findings import COPYING, Finding, Severity
from discreet_fire.logs.cleaned_log import CleanedLog, clean_log, is_smcl
from discreet_fire.logs.listings import is_page, listing_kind
from discreet_fire.logs.rules import MARK, CleaningRules, RunEvidence
from discreet_fire.texts import read_source

_MARK = "_FiRe"
#: Added to the log of a rewritten program, whose own name ends like that.
_MARK_OF_RUN = "_clean"
_MADE_BY = "discreet fire post"
_SUFFIXES = (".log", ".smcl", ".lst")
_CONFIDENTIAL = "CONFIDENTIAL: what was removed from a log; not to leave the research data centre"


@dataclass(frozen=True, kw_only=True, slots=True)
class CleanedFile:
    """What was written, and what a person must look at."""

    source: Path  # the log, which is as it was
    out: Path | None  # the cleaned log; None if `source` is one already
    report: Path | None  # the report; None if `source` is a cleaned log
    #: The text and the changes; None if there was nothing to do
    cleaned: CleanedLog | None = field(repr=False)
    described: dict[str, Any] = field(repr=False)  # the report as plain values
    language: str  # language of its summary

    @property
    def needs_review(self) -> bool:
        """Whether a person must look at something."""
        return any(entry["severity"] != "info" for entry in self.described["findings"])

    @property
    def text(self) -> str:
        """A summary for people."""
        name, words = self.source.name, texts_of(__package__, "report", self.language)
        count = len(self.described["changes"])
        rules = ", ".join(f"{rule} {some}" for rule, some in self.described["rules"].items())
        lines = [f"{name}: {words['done']}"]
        if self.out is not None:
            count_text = f"{count} {words['change' if count == 1 else 'changes']}"
            count_text += f" ({rules})" if rules else ""
            lines = [f"{name} → {self.out.name}: {count_text}"]
        findings = self.described["findings"]
        if self.described.get("checked"):
            lines.append(f"  {words['checked']}")
        for entry in findings:
            sentence = f"{entry['severity']} [{entry['rule']}] {entry['what']}"
            lines.append(f"  {words['line']} {entry['line']}: {sentence}")
        if self.needs_review:
            lines.append(f"  {words['look']}")
        return "\n".join(lines)


def clean_log_file(
    path: str | os.PathLike[str],
    *,
    rules: CleaningRules | None = None,
    out: str | os.PathLike[str] | None = None,
    confidential: str | os.PathLike[str] | None = None,
    overwrite: bool = False,
    evidence: RunEvidence | None = None,
    key: Secret | None = None,
) -> CleanedFile:
    r"""Clean a log and put the result beside it, with a report.

    >>> import tempfile
    >>> log = Path(tempfile.mkdtemp()) / "run.log"
    >>> _ = log.write_text(". drop if x == 1\n(2 observations deleted)\n")
    >>> done = clean_log_file(log)
    >>> print(done.text)
    run.log → run_FiRe.log: 1 change (observations-changed 1)
    >>> print(done.out.read_text().splitlines()[1])
    (# observations deleted)
    """
    log = _Log(Path(path), rules, out, confidential, evidence, key, overwrite=overwrite)
    return log.written()


def clean_log_files(
    paths: Sequence[str | os.PathLike[str]],
    *,
    rules: CleaningRules | None = None,
    overwrite: bool = False,
    key: Secret | None = None,
) -> list[CleanedFile]:
    """Clean several logs; nothing is written unless all of them can be read and written."""
    logs: dict[Path, Path] = {}
    for path in map(Path, paths):
        remaining = [path]
        if path.is_dir():
            files = [one for one in sorted(path.iterdir()) if one.is_file()]
            copies = {_name(one) for one in files}
            remaining = [
                one
                for one in files
                if one.suffix.lower() in _SUFFIXES
                and not (one.name in copies and _made_here(one, file_digest(one)))
            ]
            if not remaining:
                hint = f"logs: {', '.join(_SUFFIXES)}"
                raise _error("no log in this folder", path.name, hint)
        for one in remaining:
            logs.setdefault(one.resolve(), one)
    prepared = [
        _Log(path, rules, None, None, None, key, overwrite=overwrite) for path in logs.values()
    ]
    places = Counter(one.target for one in prepared if not one.ready)
    for place, count in places.items():
        if count > 1:
            raise _error("two logs would be cleaned to the same place", place.name)
    return [one.written() for one in prepared]


class _Log:
    """A log that is cleaned, and not written yet."""

    def __init__(
        self,
        path: Path,
        rules: CleaningRules | None,
        out: str | os.PathLike[str] | None,
        confidential: str | os.PathLike[str] | None,
        evidence: RunEvidence | None,
        key: Secret | None,
        *,
        overwrite: bool,
    ) -> None:
        self.source = source = read_source(path)
        self.path = place = source.path
        if is_page(source.text):
            hint = "export the output as text, or make a listing (ods listing)"
            raise OutputCheckError(
                "this is a page for browsers", code="listing-page", where=place.name, hint=hint
            )
        if evidence is None and key is not None:
            evidence = RunEvidence.beside(place, key)
        self.rules = rules or CleaningRules.default()
        self.key, self.evidence = key, evidence
        self.target = Path(out) if out is not None else place.with_name(_name(place))
        self.report = self.target.with_name(f"{self.target.name}.json")
        self.secret = None if confidential is None else Path(confidential)
        smcl = is_smcl(source.text, place.suffix)
        listing = listing_kind(source.text, place.suffix)
        made_here = out is None and _made_here(place, source.sha256)
        if not made_here:
            self.check_targets(overwrite=overwrite)
        self.cleaned = clean_log(
            source.text, self.rules, smcl=smcl, listing=listing, evidence=evidence
        )
        # The report may be made up: nothing is to do only if nothing is to be cleaned.
        self.ready = made_here and not self.cleaned.corrections
        if made_here and not self.ready:
            self.check_targets(overwrite=overwrite)
        self.data = b"" if self.ready else source.encoded(self.cleaned.text)

    def check_targets(self, *, overwrite: bool) -> None:
        """Refuse to lose anything: the original, or files made by others."""
        target, report, secret = self.target, self.report, self.secret
        places = [target, report, *([] if secret is None else [secret])]
        if len({path.resolve() for path in (self.path, *places)}) <= len(places):
            raise _error("two files would have the same place", target.name)
        for path in places:
            check_writable(path.parent)
            if path.is_dir():
                raise _error("a folder has this name", path.name)
        if overwrite:
            return
        ours = target.exists() and _made_here(target, file_digest(target))
        others = [target] if target.exists() and not ours else []
        others += [report] if report.exists() and not ours else []
        if secret is not None and secret.exists():
            with secret.open("rb") as opened:
                listed = _CONFIDENTIAL in opened.read(200).decode("utf-8", "replace")
            others += [] if listed else [secret]
        if others:
            raise _error(
                "a file of this name exists and was not made here, or was changed since",
                others[0].name,
                "move it away, name another place, or replace it with --overwrite",
            )

    def written(self) -> CleanedFile:
        """Write the log, its report, and the list of what was removed."""
        described = self.described()
        if not self.ready:
            with atomic_path(self.target) as temporary:
                temporary.write_bytes(self.data)
            write_text(self.report, json.dumps(described, ensure_ascii=False, indent=1) + "\n")
        if not self.ready and self.secret is not None:
            pairs = zip(self.cleaned.corrections, self.cleaned.removed, strict=True)
            changes = [
                one.to_dict()
                | {"start": one.start, "end": one.end, "put": one.put, "removed": gone}
                for one, gone in pairs
            ]
            whole: dict[str, Any] = {"warning": _CONFIDENTIAL, "source": self.path.name}
            whole |= {"source_sha256": self.source.sha256, "changes": changes}
            text = json.dumps(whole, ensure_ascii=False, indent=1)
            write_text(self.secret, f"{text}\n", private=True)
        made = None if self.ready else (self.target, self.report, self.cleaned)
        out, report, cleaned = made or (None, None, None)
        return CleanedFile(
            source=self.path,
            out=out,
            report=report,
            cleaned=cleaned,
            described=described,
            language=self.rules.language,
        )

    def described(self) -> dict[str, Any]:
        """The report: what was changed and where, never what stood there."""
        source, cleaned = self.source, self.cleaned
        doubts = list(source.findings)
        if self.ready:  # what a person must look at is said again
            findings = [_shareable(finding) for finding in (*doubts, *cleaned.findings)]
            return {"source": self.path.name, "changes": [], "findings": findings, "rules": {}}
        words = texts_of(__package__, "findings", self.rules.language)
        if program := _copying_program(self.path):
            message = words["copies"].format(program)
            doubts.append(source.finding("copies", Severity.REVIEW, message, 0, 0))
        if not is_smcl(source.text) == cleaned.smcl == (self.path.suffix.lower() == ".smcl"):
            doubts.append(source.finding("log-format", Severity.REVIEW, words["format"], 0, 0))
        fields = {
            "made_by": _MADE_BY,
            "version": __version__,
            "source": self.path.name,
            "output": self.target.name,
            "output_sha256": hashlib.sha256(self.data).hexdigest(),
            "encoding": source.encoding,
            "format": cleaned.listing or ("smcl" if cleaned.smcl else "text"),
            "minimum": self.rules.minimum,
            "own_replacements": len(self.rules.replacements),
            "blocks": cleaned.blocks,
            "checked": cleaned.checked,
            "rules": dict(sorted(Counter(one.rule for one in cleaned.corrections).items())),
            "changes": [correction.to_dict() for correction in cleaned.corrections],
            "findings": [_shareable(finding) for finding in (*doubts, *cleaned.findings)],
        }
        if cleaned.checked and self.evidence is not None and self.key is not None:
            fields[MARK] = self.evidence.for_copy(cleaned.text).mark(self.key)
        return fields


def _name(place: Path) -> str:
    suffix = place.suffix if place.suffix.lower() in _SUFFIXES else f"{place.suffix}.log"
    return f"{place.stem}{_MARK_OF_RUN if place.stem.endswith(_MARK) else _MARK}{suffix}"


def _made_here(path: Path, sha256: str) -> bool:
    """Whether a file is a cleaned log and unchanged since: its report says so."""
    try:
        report = path.with_name(f"{path.name}.json").read_text(encoding="utf-8")
        described = json.loads(report)
    except (OSError, ValueError, RecursionError):
        return False
    return (
        isinstance(described, dict)
        and described.get("made_by") == _MADE_BY
        and described.get("output_sha256") == sha256
    )


def _copying_program(log: Path) -> str | None:
    """The rewritten program in SPSS or SAS beside a log, if it copies values to other records."""
    stem = log.stem.removesuffix(_MARK)
    for suffix in (".sps", ".sas"):
        program = f"{stem}{_MARK}{suffix}"
        try:
            manifest = json.loads(log.with_name(f"{program}.json").read_text(encoding="utf-8"))
            rules = {finding["rule"] for finding in manifest["findings"]}
        except FileNotFoundError:
            continue
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            return program  # nobody knows what it does
        if rules & COPYING:
            return program
    return None


def _shareable(finding: Finding) -> dict[str, Any]:
    """A finding without offsets, which tell how long withheld texts are."""
    described = finding.to_dict()
    kept = {name: described[name] for name in ("rule", "severity", "what", "line", "hint")}
    return kept | {"lines": described.get("lines", [finding.line])}


def _error(message: str, where: str, hint: str = "") -> OutputCheckError:
    return OutputCheckError(message, code="output-exists", where=where, hint=hint)
