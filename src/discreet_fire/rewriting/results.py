"""Results beside their originals: where they stand, how they are written and taken back.

In: a program, what was done to it, and the words that go before it. Out: ``NAME_FiRe.do`` with
``NAME_FiRe.json``, ``NAME_FiRe.py`` with ``NAME_FiRe.py.json``, and what an officer is told.
Originals are never touched, and nothing is replaced that this program did not make. A manifest is a
JSON document with every edit, by which the original can be restored; it holds the researcher's code
and findings about it, no data.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from discreet._version import __version__
from discreet.errors import OutputCheckError, Problem
from discreet.files import atomic_path, check_writable, texts_of
from discreet_fire.catalogue import Action, Policy, ScriptPolicy
from discreet_fire.finding_words import finding_in
from discreet_fire.findings import Finding, FindingCause, Severity, causes
from discreet_fire.rewriting.changes import SUFFIX, Language, Rewriting, newline_of
from discreet_fire.rewriting.do_files import harmless
from discreet_fire.scripts import is_script
from discreet_fire.stata import DoFile
from discreet_fire.texts import SourceText, decode_source, read_source

FORMAT = "discreet-fire-1"


def manifest_text(document: Mapping[str, Any]) -> str:
    """A manifest as JSON, each edit and each finding in a line of its own.

    >>> print(manifest_text({"format": "x", "edits": [{"start": 1}, {"start": 2}]}), end="")
    {
    "format": "x",
    "edits": [
    {"start": 1},
    {"start": 2}]
    }
    """
    parts = []
    for name, value in document.items():
        if isinstance(value, list):
            # Item by item, since the encoder is many times slower when it indents.
            items = ",\n".join(json.dumps(item, ensure_ascii=False) for item in value)
            text = f"[\n{items}]" if items else "[]"
        else:
            text = json.dumps(value, ensure_ascii=False)
        parts.append(f"{json.dumps(name)}: {text}")
    return "{\n" + ",\n".join(parts) + "\n}\n"


def read_manifest(text: str, place: str) -> dict[str, Any]:
    """A manifest from its JSON text."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        raise _manifest_error("this is not JSON", place) from None
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise _manifest_error("this is not a manifest of a rewritten do-file", place)
    return document


def restored(document: Mapping[str, Any], output: bytes) -> bytes:
    """The original's bytes, from a manifest and the rewritten file.

    Both digests are checked: a file that was changed since is an error.
    """
    place = ""
    try:
        source, place = document["source"], str(document["output"]["name"])
        if hashlib.sha256(output).hexdigest() != document["output"]["sha256"]:
            raise _manifest_error("the file was changed after it was created", place)
        encoding, bom = str(source["encoding"]), bytes.fromhex(source["bom"])
        text, at, parts = output[len(bom) :].decode(encoding), len(document["header"]), []
        for edit in document["edits"]:
            start = int(edit["output_start"])
            parts += [text[at:start], str(edit["before"])]
            at = start + len(edit["after"])
        data = bom + "".join([*parts, text[at:]]).encode(encoding)
        if hashlib.sha256(data).hexdigest() != source["sha256"]:
            raise _manifest_error("the manifest does not belong to the original", place)
    except (TypeError, ValueError, LookupError):
        raise _manifest_error("the manifest is damaged", place) from None
    return data


def _manifest_error(message: str, place: str) -> OutputCheckError:
    return OutputCheckError(
        message,
        code="manifest",
        where=place,
        hint="give the NAME_FiRe.json beside the rewritten file",
    )


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
        """Number of findings with a severity."""
        return sum(finding.severity is severity for finding in self.findings)

    def reviews(self) -> list[FindingCause]:
        """Reviews for an officer, one for each cause."""
        return causes(finding for finding in self.findings if finding.severity is Severity.REVIEW)

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
            "reviews": [cause.to_dict() for cause in self.reviews()],
            "findings": [finding.to_dict() for finding in self.findings],
        }


#: How the first line of every rewritten do-file begins.
MARK = "*! FDZ: this file was made by discreet fire pre"
_WIDTH = 90
_ENCODING = re.compile(r"\* *encoding:", re.I)
_NO_DO_FILE = DoFile(text="", statements=())
_NOTHING_DONE = Rewriting(text="", edits=(), findings=())


@dataclass(kw_only=True)
class SubmittedProgram:
    """A program, what was done to it, and the places of its result and of its manifest.

    >>> text = SourceText(Path("a.DO"), "", "utf-8", b"", "")
    >>> one = SubmittedProgram(source=text, policy=Policy.default())
    >>> one.output.name, one.manifest_place.name
    ('a_FiRe.do', 'a_FiRe.json')
    """

    source: SourceText
    policy: Policy | ScriptPolicy  # the rules of its language
    dofile: DoFile = _NO_DO_FILE
    rewriting: Rewriting = _NOTHING_DONE
    document: bool = False  # whether its first line counts, so that no header goes before it

    @property
    def output(self) -> Path:
        """The result."""
        original = self.source.path
        suffix = original.suffix if is_script(original) else ".do"
        return original.with_name(f"{original.stem}{SUFFIX}{suffix}")

    @property
    def manifest_place(self) -> Path:
        """Its manifest."""
        script = is_script(self.source.path)
        return self.output.with_suffix(f"{self.output.suffix}.json" if script else ".json")

    def is_made(self) -> bool:
        """Whether this program made the result, and it was not changed since."""
        try:
            place = self.manifest_place
            document = read_manifest(place.read_text("utf-8"), place.name)
            data = self.output.read_bytes()
            restored(document, data)
            text = decode_source(data, self.output).text
        except (OutputCheckError, OSError, UnicodeDecodeError):
            return False
        if is_script(self.source.path):
            return bool(document["source"].get("name") == self.source.path.name)
        return text.startswith(MARK)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """All that was found in it."""
        return (*self.source.findings, *self.rewriting.findings)

    def problems(self, *, overwrite: bool) -> list[Problem]:
        """Reasons why the result cannot be written."""
        check_writable(self.output.parent)
        hint = "remove or rename it"
        for path in (self.output, self.manifest_place):
            if path.is_dir():
                return [Problem("a folder has the name of a result", str(path), hint)]
        output = self.output.exists()
        there = output or self.manifest_place.exists()
        if overwrite or not there or (output and self.is_made()):
            return []
        message = "the file exists, and this program did not make it"
        wrong = self.output if output else self.manifest_place
        return [Problem(message, str(wrong), f"{hint}; --overwrite replaces it")]

    def write(self, language: Language) -> RewrittenFile:
        """Write a result with its manifest; none for a program that may not run at all."""
        output, changed = None, True
        if any(finding.severity is Severity.ERROR for finding in self.findings):
            if self.is_made():
                # A result of an earlier version must not run in place of this one.
                self.output.unlink()
                self.manifest_place.unlink()
        else:
            output, head = self.output, "" if self.document else self.header(language)
            data = self.source.encoded(head + self.rewriting.text)
            document = manifest_text(self.manifest(data, head, language)).encode("utf-8")
            changed = _replaced(output, data)
            changed = _replaced(self.manifest_place, document) or changed
        return RewrittenFile(
            source=self.source.path,
            output=output,
            rewriting=self.rewriting,
            changed=changed,
            findings=self.findings,
        )

    def manifest(self, output: bytes, head: str, language: Language) -> dict[str, Any]:
        """The manifest, by what is written and the header of that."""
        source, moved, edits = self.source, len(head), []
        for edit in self.rewriting.edits:
            edits.append({**edit._asdict(), "output_start": edit.start + moved})
            moved += len(edit.after) - len(edit.before)
        return {
            "format": FORMAT,
            "program": f"discreet {__version__}",
            "policy": self.policy.digest,
            "language": language,
            "source": {
                "name": source.path.name,
                "sha256": source.sha256,
                "encoding": source.encoding,
                "bom": source.bom.hex(),
            },
            "output": {"name": self.output.name, "sha256": hashlib.sha256(output).hexdigest()},
            "header": head,
            "edits": edits,
            "calls": [
                {"command": call.command, "path": call.written, "action": call.action.value}
                for call in self.rewriting.calls
            ],
            "findings": [item.to_dict() for item in self.findings],
        }

    def header(self, language: Language) -> str:
        """The lines that go before the result, or the safe macros before one in SPSS or SAS."""
        source, policy, done = self.source, self.policy, self.rewriting
        words = texts_of("discreet_fire.rewriting", "header", language)
        newline = newline_of(source.text)
        count = sum(one.severity is Severity.REVIEW for one in self.findings)
        made, digest = f"{MARK} (discreet {__version__})", policy.digest[:16]
        by = words["policy"].format(digest=digest, language=language)
        review = words["review"].format(count=count)
        if isinstance(policy, Policy):
            lines = [
                made,
                f"* FDZ: {words['from'].format(name=_plain(source.path.name))}",
                f"* FDZ: {by}",
                *self._edits_listed(words),
                f"* FDZ: {review}",
                f"* FDZ: {words['adopath']}",
            ]
            lines += [f'quietly adopath ++ "{policy.adopath}"'] if policy.adopath else []
            return newline.join([*lines, ""])
        made = made.removeprefix("*! FDZ: ")
        signs = (one if one.isprintable() and one.isascii() else "?" for one in source.path.name)
        name = "".join(signs)
        if policy.language in ("spss", "sas"):
            end = "." if policy.language == "spss" else ";"
            first = source.text.split("\n", 1)[0].rstrip("\r")
            lines = [first] if _ENCODING.match(first) else []
            told = (made, words["from"].format(name=name.replace("*", "")), by, review)
            lines += [f"* FDZ: {line.replace(';', ',')}{end}" for line in told]
            return newline.join([*lines, *policy.macros.strip().splitlines(), ""])
        cookie = cookie_of(source.text) if source.path.suffix.lower() == ".py" else None
        lines = [
            f"# FDZ: {made}",
            f"# FDZ: made from {name}, which was not changed; run this file instead",
            f"# FDZ: policy {digest}, edits {len(done.edits)}, to review {count}",
        ]
        return newline.join([*([f"# -*- coding: {cookie} -*-"] if cookie else []), *lines, ""])

    def _edits_listed(self, words: Mapping[str, str]) -> Iterator[str]:
        """The commands that run as others, and those that do not run."""
        counts: dict[str, Counter[str]] = {"wrapped": Counter(), "refused": Counter()}
        for edit in self.rewriting.edits:
            if edit.action is Action.REFUSED:
                counts["refused"][edit.command] += 1
            elif edit.rule == "command":
                after = edit.after.strip()
                stands = after if edit.before else f"{after} {edit.command}"
                counts["wrapped"][f"{edit.command} -> {stands}"] += 1
        for title, some in counts.items():
            line = f"* FDZ: {words[title]}:{'' if some else ' ' + words['none']}"
            for name, count in sorted(some.items()):
                item = f" {_plain(name)} ({count})"
                if len(line) + len(item) > _WIDTH:
                    yield line
                    line = "* FDZ:  "
                line += item
            yield line


def _plain(text: str) -> str:
    return harmless(text).encode("ascii", "replace").decode("ascii")


_COOKIE = re.compile(r"^[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)")


def cookie_of(text: str) -> str | None:
    r"""The encoding that a script names in its first two lines.

    >>> cookie_of("#!/bin/python\n# -*- coding: latin-1 -*-\n")
    'latin-1'
    """
    # Python ends lines here only, not at form feeds and the like.
    for line in re.split(r"\r\n|\n|\r", text, maxsplit=2)[:2]:
        if match := _COOKIE.match(line):
            return match.group(1)
        if line.strip() and not line.lstrip().startswith("#"):
            break
    return None


def _replaced(path: Path, data: bytes) -> bool:
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
        raise taken_error([Problem("manifest not found", str(place), hint)])
    document = read_manifest(read_source(place).text, place.name)
    output = place.with_suffix("")
    if not is_script(output):
        output = place.with_suffix(".do")
    if not output.is_file():
        raise taken_error([Problem("the rewritten file is not beside its manifest", str(output))])
    data = restored(document, output.read_bytes())
    target = output.with_name(_name_before(output, document))
    if target.exists() and target.read_bytes() != data:
        message = "the original is there, and differs; nothing was written"
        raise taken_error([Problem(message, str(target), "move it away first")])
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
    message = f"{len(problems)} files cannot be taken"
    return OutputCheckError.of(problems, message, code="output-check")


_SHOWN = (Severity.ERROR, Severity.REFUSED, Severity.REVIEW)
_MOST_LINES = 50


def report(outcomes: Sequence[RewrittenFile], *, language: Language = "en") -> str:
    """The text for the officer: what became of each file, then the findings, the gravest first."""
    lines: list[str] = []
    for outcome in outcomes:
        lines += _head(outcome, language)
        if len(outcomes) == 1:
            listed = causes(finding for finding in outcome.findings if finding.severity in _SHOWN)
            lines += _told(listed, language)
    if len(outcomes) > 1:
        words = texts_of("discreet_fire", "rewritten", language)
        items = submission_causes(outcomes, _SHOWN)
        reviews = [item for item in items if item.severity is Severity.REVIEW]
        places = sum(review.count for review in reviews)
        lines.append(words["all"].format(n=len(outcomes), review=len(reviews), places=places))
        lines += _told(items, language)
    return "\n".join(lines)


def submission_causes(
    outcomes: Sequence[RewrittenFile], severities: Iterable[Severity] = (Severity.REVIEW,)
) -> list[FindingCause]:
    """Reviews of files submitted together, the gravest first."""
    wanted = set(severities)
    folders = [outcome.source.resolve().parent for outcome in outcomes]
    folder = os.path.commonpath(folders) if folders else "."
    return causes(
        replace(finding, file=Path(os.path.relpath(outcome.source.resolve(), folder)).as_posix())
        for outcome in outcomes
        for finding in outcome.findings
        if finding.severity in wanted
    )


def _head(outcome: RewrittenFile, language: Language) -> Iterable[str]:
    words = texts_of("discreet_fire", "rewritten", language)
    if outcome.output is None:
        yield words["not_written"].format(source=outcome.source)
    else:
        yield f"{outcome.source} -> {outcome.output.name}{'' if outcome.changed else words['kept']}"
    told = outcome.described()
    places, reasons = told["review"], len(told["reviews"])
    counts = words["counts"].format(
        rewritten=told["edits"] - told["refused"],
        refused=told["refused"],
        review=reasons,
        places=words["places"].format(n=places) if places > reasons else "",
        errors=told["errors"],
    )
    yield f"  {counts}"


def _told(items: Sequence[FindingCause], language: Language) -> Iterable[str]:
    for item in items[:_MOST_LINES]:
        yield f"  {finding_in(item, language).text(language)}".replace("\n", "\n  ")
    if len(items) > _MOST_LINES:
        words = texts_of("discreet_fire", "rewritten", language)
        yield f"  {words['more'].format(n=len(items) - _MOST_LINES)}"


def described(outcomes: Sequence[RewrittenFile], policy: Policy) -> dict[str, Any]:
    """As plain values, for JSON."""
    return {
        "policy": policy.digest,
        "written": sum(outcome.state == "written" for outcome in outcomes),
        "review": any(outcome.needs_review for outcome in outcomes),
        "reviews": [item.to_dict() for item in submission_causes(outcomes)],
        "files": [outcome.described() for outcome in outcomes],
    }
