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
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from discreet._version import __version__
from discreet.errors import OutputCheckError
from discreet.files import atomic_path, check_writable, texts_of, write_text
from discreet.microdata import Secret
from discreet_fire.findings import COPYING, Finding, Severity
from discreet_fire.logs.cleaned_log import CleanedLog, clean_log, is_smcl
from discreet_fire.logs.listings import is_page, listing_kind
from discreet_fire.logs.rules import CleaningRules
from discreet_fire.logs.run_evidence import MARK, RunEvidence
from discreet_fire.texts import SourceText, read_source

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
    prepared = _prepared(
        path, rules, out, confidential, overwrite=overwrite, evidence=evidence, key=key
    )
    prepared.write()
    return prepared.done


def clean_log_files(
    paths: Sequence[str | os.PathLike[str]],
    *,
    rules: CleaningRules | None = None,
    overwrite: bool = False,
    key: Secret | None = None,
) -> list[CleanedFile]:
    """Clean several logs; nothing is written unless all of them can be read and written."""
    prepared = [
        _prepared(path, rules, None, None, overwrite=overwrite, evidence=None, key=key)
        for path in _logs(paths)
    ]
    places = [one.done.out for one in prepared if one.done.out is not None]
    for place in places:
        if places.count(place) > 1:
            raise _error("two logs would be cleaned to the same place", place.name)
    for one in prepared:
        one.write()
    return [one.done for one in prepared]


def _logs(paths: Sequence[str | os.PathLike[str]]) -> Iterator[Path]:
    """The logs that are named, and those in folders that are named; each once."""
    seen: set[Path] = set()
    for path in map(Path, paths):
        remaining = [path]
        if path.is_dir():
            files = [one for one in sorted(path.iterdir()) if one.is_file()]
            copies = {_name(one) for one in files}
            logs = [one for one in files if one.suffix.lower() in _SUFFIXES]
            own_copies = {
                one for one in logs if one.name in copies and _made_here(one, _digest(one))
            }
            remaining = [one for one in logs if one not in own_copies]
            if not remaining:
                raise _error(
                    "there is no log in this folder", path.name, f"logs: {', '.join(_SUFFIXES)}"
                )
        for one in remaining:
            if one.resolve() not in seen:
                seen.add(one.resolve())
                yield one


@dataclass(frozen=True, slots=True)
class _Prepared:
    """A cleaned log that is not written yet."""

    done: CleanedFile
    data: bytes = field(repr=False)
    secret: Path | None
    removed: str = field(repr=False)

    def write(self) -> None:
        """Write the log, its report, and the list of what was removed."""
        if self.done.out is None or self.done.report is None:
            return
        with atomic_path(self.done.out) as temporary:
            temporary.write_bytes(self.data)
        described = json.dumps(self.done.described, ensure_ascii=False, indent=1)
        write_text(self.done.report, f"{described}\n")
        if self.secret is not None:
            write_text(self.secret, self.removed, private=True)


def _prepared(
    path: str | os.PathLike[str],
    rules: CleaningRules | None,
    out: str | os.PathLike[str] | None,
    confidential: str | os.PathLike[str] | None,
    *,
    overwrite: bool,
    evidence: RunEvidence | None,
    key: Secret | None,
) -> _Prepared:
    source = read_source(path)
    place = source.path
    if is_page(source.text):
        hint = "export the output as text, or make a listing (ods listing)"
        raise OutputCheckError(
            "this is a page for browsers", code="listing-page", where=place.name, hint=hint
        )
    if evidence is None and key is not None:
        evidence = RunEvidence.beside(place, key)
    ready = out is None and _made_here(place, source.sha256)
    target = Path(out) if out is not None else place.with_name(_name(place))
    report = target.with_name(f"{target.name}.json")
    secret = None if confidential is None else Path(confidential)
    if not ready:
        _check_targets(place, target, report, secret, overwrite=overwrite)
    smcl = is_smcl(source.text, place.suffix)
    listing = listing_kind(source.text, place.suffix)
    cleaned = clean_log(source.text, rules, smcl=smcl, listing=listing, evidence=evidence)
    language = (rules or CleaningRules.default()).language
    if ready:  # the report may be made up: nothing is to do only if nothing is to be cleaned
        if not cleaned.corrections:
            return _unchanged(source, cleaned, language)
        _check_targets(place, target, report, secret, overwrite=overwrite)
    data = source.encoded(cleaned.text)
    report_fields = _described(source, target, data, cleaned, rules)
    if cleaned.checked and evidence is not None and key is not None:
        report_fields[MARK] = evidence.for_copy(cleaned.text).mark(key)
    done = CleanedFile(
        source=place,
        out=target,
        report=report,
        cleaned=cleaned,
        described=report_fields,
        language=language,
    )
    return _Prepared(done, data, secret, _removed(source, cleaned))


def _unchanged(source: SourceText, cleaned: CleanedLog, language: str) -> _Prepared:
    """A log that was cleaned before, with what a person must look at in it."""
    findings = [_shareable(finding) for finding in (*source.findings, *cleaned.findings)]
    described = {"source": source.path.name, "changes": [], "findings": findings, "rules": {}}
    done = CleanedFile(
        source=source.path,
        out=None,
        report=None,
        cleaned=None,
        described=described,
        language=language,
    )
    return _Prepared(done, b"", None, "")


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _name(place: Path) -> str:
    suffix = place.suffix if place.suffix.lower() in _SUFFIXES else f"{place.suffix}.log"
    return f"{place.stem}{_MARK_OF_RUN if place.stem.endswith(_MARK) else _MARK}{suffix}"


def _made_here(path: Path, sha256: str) -> bool:
    """Whether a file is a cleaned log and unchanged since: its report says so."""
    report = path.with_name(f"{path.name}.json")
    try:
        described = json.loads(report.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return False
    return (
        isinstance(described, dict)
        and described.get("made_by") == _MADE_BY
        and described.get("output_sha256") == sha256
    )


def _check_targets(
    place: Path, target: Path, report: Path, secret: Path | None, *, overwrite: bool
) -> None:
    """Refuse to lose anything: the original, or files made by others."""
    places = [target, report, *([] if secret is None else [secret])]
    if len({path.resolve() for path in (place, *places)}) <= len(places):
        raise _error("two files would have the same place", target.name)
    for path in places:
        check_writable(path.parent)
        if path.is_dir():
            raise _error("a folder has this name", path.name)
    if overwrite:
        return
    digest = _digest(target) if target.exists() else ""
    others = [target] if digest and not _made_here(target, digest) else []
    others += [report] if report.exists() and not (digest and not others) else []
    others += [secret] if secret is not None and secret.exists() and not _is_ours(secret) else []
    if others:
        raise _error(
            "a file of this name exists and was not made here, or was changed since",
            others[0].name,
            "move it away, name another place, or replace it with --overwrite",
        )


def _is_ours(secret: Path) -> bool:
    with secret.open("rb") as opened:
        return _CONFIDENTIAL in opened.read(200).decode("utf-8", "replace")


def _described(
    source: SourceText,
    target: Path,
    data: bytes,
    cleaned: CleanedLog,
    rules: CleaningRules | None,
) -> dict[str, Any]:
    """The report: what was changed and where, never what stood there."""
    counted = Counter(correction.rule for correction in cleaned.corrections)
    used = rules or CleaningRules.default()
    doubts, says = list(source.findings), is_smcl(source.text)
    if program := _copying_program(source.path):
        message = texts_of(__package__, "findings", used.language)["copies"]
        doubts.append(source.finding("copies", Severity.REVIEW, message.format(program), 0, 0))
    if not says == cleaned.smcl == (source.path.suffix.lower() == ".smcl"):
        message = texts_of(__package__, "findings", used.language)["format"]
        doubts.append(source.finding("log-format", Severity.REVIEW, message, 0, 0))
    return {
        "made_by": _MADE_BY,
        "version": __version__,
        "source": source.path.name,
        "output": target.name,
        "output_sha256": hashlib.sha256(data).hexdigest(),
        "encoding": source.encoding,
        "format": cleaned.listing or ("smcl" if cleaned.smcl else "text"),
        "minimum": used.minimum,
        "own_replacements": len(used.replacements),
        "blocks": cleaned.blocks,
        "checked": cleaned.checked,
        "rules": dict(sorted(counted.items())),
        "changes": [correction.to_dict() for correction in cleaned.corrections],
        "findings": [_shareable(finding) for finding in (*doubts, *cleaned.findings)],
    }


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


def _removed(source: SourceText, cleaned: CleanedLog) -> str:
    changes = [
        {**one.to_dict(), "start": one.start, "end": one.end, "put": one.put, "removed": text}
        for one, text in zip(cleaned.corrections, cleaned.removed, strict=True)
    ]
    whole: dict[str, Any] = {"warning": _CONFIDENTIAL, "source": source.path.name}
    whole |= {"source_sha256": source.sha256, "changes": changes}
    return json.dumps(whole, ensure_ascii=False, indent=1) + "\n"


def _error(message: str, where: str, hint: str = "") -> OutputCheckError:
    return OutputCheckError(message, code="output-exists", where=where, hint=hint)
