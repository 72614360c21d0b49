"""A submission: do-files that are rewritten together and written beside their originals.

In: files or folders. Out: for each do-file ``NAME_FiRe.do`` and ``NAME_FiRe.json``, and a
report. Files that others run are rewritten with them, if they are in the same folder or
below. Originals are never touched; nothing is written before all files were read. A header
says what was done, without clock time or path; ``.ado`` files that Stata would load in place
of other commands are reported.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

from discreet._version import __version__
from discreet.errors import OutputCheckError, Problem
from discreet.files import atomic_path, check_writable
from discreet_fire.catalogue.command_names import canonical
from discreet_fire.catalogue.policy import Action, Policy
from discreet_fire.findings import Finding, Severity
from discreet_fire.flow.stata_names import FigureFlow
from discreet_fire.flow.stata_values import HeldNames, Taints, statements_of
from discreet_fire.rewriting.called_files import SUFFIX, SubmissionFolder, called_files
from discreet_fire.rewriting.decisions import Decider
from discreet_fire.rewriting.do_files import (
    Language,
    Rewriting,
    harmless,
    newline_of,
    rewrite_parsed,
)
from discreet_fire.rewriting.manifest import manifest, manifest_text, read_manifest, restored
from discreet_fire.stata.line_cache import KnownLines
from discreet_fire.stata.parser import parse_do
from discreet_fire.stata.statements import DoFile
from discreet_fire.texts import SourceText, decode_source, read_source, uncollected

__all__ = [
    "MARK",
    "RewrittenFile",
    "described",
    "header",
    "policy_report",
    "prepared_files",
    "report",
    "rewrite_files",
    "shadows_in",
    "undo",
]

#: How the first line of every rewritten file begins.
MARK = "*! FDZ: this file was made by discreet fire pre"

_WIDTH = 90
_WORDS = {
    "en": {
        "from": "made from {name}, which was not changed; run this file instead",
        "policy": "policy {digest}, language {language}",
        "wrapped": "commands that run as safe commands",
        "refused": "commands that are not permitted",
        "review": "places to review: {count}; the list is in the manifest",
        "none": "none",
        "adopath": "the safe commands (fdz*.ado) must be on the adopath of the server",
    },
    "de": {
        "from": "erzeugt aus {name}, das nicht veraendert wurde; diese Datei ausfuehren",
        "policy": "Regelwerk {digest}, Sprache {language}",
        "wrapped": "Befehle, die als sichere Befehle laufen",
        "refused": "Befehle, die nicht erlaubt sind",
        "review": "Stellen zur Pruefung: {count}; siehe Protokoll",
        "none": "keine",
        "adopath": "die sicheren Befehle (fdz*.ado) muessen im adopath des Servers liegen",
    },
}


def header(
    name: str, rewriting: Rewriting, policy: Policy, *, language: Language, newline: str
) -> str:
    """The lines that go before a rewritten program.

    Args:
        name: Name of the original file.
        rewriting: What was done.
        policy: The rules it was done by.
        language: Of the words.
        newline: The line end of the program.
    """
    words = _WORDS[language]
    wrapped: Counter[str] = Counter()
    refused: Counter[str] = Counter()
    for edit in rewriting.edits:
        if edit.action is Action.REFUSED:
            refused[edit.command] += 1
        elif edit.rule == "command":
            stands = edit.after.strip() if edit.before else f"{edit.after.strip()} {edit.command}"
            wrapped[f"{edit.command} -> {stands}"] += 1
    count = sum(finding.severity == "review" for finding in rewriting.findings)
    lines = [
        f"{MARK} (discreet {__version__})",
        f"* FDZ: {words['from'].format(name=_plain(Path(name).name))}",
        f"* FDZ: {words['policy'].format(digest=policy.digest[:16], language=language)}",
        *_listed(words["wrapped"], wrapped, words["none"]),
        *_listed(words["refused"], refused, words["none"]),
        f"* FDZ: {words['review'].format(count=count)}",
        f"* FDZ: {words['adopath']}",
    ]
    if policy.adopath:
        lines.append(f'quietly adopath ++ "{policy.adopath}"')
    return newline.join(lines) + newline


def _plain(text: str) -> str:
    """A text without letters that some encodings lack, and without signs of Stata."""
    return harmless(text).encode("ascii", "replace").decode("ascii")


def _listed(title: str, counts: Counter[str], none: str) -> list[str]:
    """A title with names and how often each occurs, over several lines if need be."""
    if not counts:
        return [f"* FDZ: {title}: {none}"]
    lines = [f"* FDZ: {title}:"]
    for name, count in sorted(counts.items()):
        item = f" {_plain(name)} ({count})"
        if len(lines[-1]) + len(item) > _WIDTH:
            lines.append("* FDZ:  ")
        lines[-1] += item
    return lines


#: So many folders below are looked into; a submission has few.
_MOST_FOLDERS = 2000


def shadows_in(folder: Path) -> tuple[Finding, ...]:
    """Programs beside a do-file, and in folders below those named like safe commands."""
    return tuple(_finding(each) for each in sorted(_programs(folder)))


def _programs(folder: Path) -> list[Path]:
    found = []
    for place, below, names in islice(os.walk(folder), _MOST_FOLDERS):
        below.sort()  # of more folders, always the same are looked into
        here = Path(place)
        programs = [here / name for name in names if name.endswith(".ado")]
        found += [each for each in programs if here == folder or _is_grave(each)]
    return found


def _is_grave(path: Path) -> bool:
    return path.name.startswith("fdz")


def _finding(path: Path) -> Finding:
    grave = _is_grave(path)
    return Finding(
        rule="ado-file",
        severity=Severity.ERROR if grave else Severity.REVIEW,
        what=f"{path.name} lies beside the do-file and "
        + ("would replace a safe command" if grave else "is not rewritten"),
        line=1,
        column=1,
        start=0,
        end=0,
        hint="remove it from the submission" if grave else "look at the program",
    )


_MOST_ROUNDS = 5
_FOLDER = "a folder has the name of a result"
_FOREIGN = "the file exists, and this program did not make it"


@dataclass(frozen=True, kw_only=True)
class RewrittenFile:
    """What became of one file.

    Args:
        source: The original.
        output: The rewritten file; None if it was not written.
        rewriting: What was done.
        changed: Whether the rewritten file is new, or differs from the one that was there.
        findings: What an officer must know, the encoding included.
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


@dataclass(kw_only=True)
class _File:
    """A file on its way."""

    path: Path
    source: SourceText
    dofile: DoFile
    rewriting: Rewriting | None = None


@uncollected()
def rewrite_files(
    paths: Iterable[str | os.PathLike[str]],
    *,
    policy: Policy | None = None,
    language: Language = "en",
    overwrite: bool = False,
) -> list[RewrittenFile]:
    """Rewrite do-files and write the results beside them.

    Args:
        paths: Do-files, or folders whose do-files are all taken.
        policy: The rules; those that come with discreet if None.
        language: Of the words that are written into do-files.
        overwrite: Replace files named like results that this program did not make.
    """
    return prepared_files(paths, policy=policy, language=language, overwrite=overwrite)()


def prepared_files(
    paths: Iterable[str | os.PathLike[str]],
    *,
    policy: Policy | None = None,
    language: Language = "en",
    overwrite: bool = False,
) -> Callable[[], list[RewrittenFile]]:
    """Do all of `rewrite_files` but write; what is given back writes."""
    rules = policy or Policy.default()
    listed, root = _given_files([Path(path) for path in paths])
    files = _read(_originals(listed), root, rules, language)
    _check_targets(files, overwrite=overwrite)
    shadows = cache(shadows_in)
    return lambda: [_write(file, rules, language, shadows(file.path.parent)) for file in files]


def undo(path: str | os.PathLike[str]) -> Path:
    """Restore an original from its manifest, where the original is missing.

    Args:
        path: The manifest, ``NAME_FiRe.json``.
    """
    place = Path(path)
    if not place.is_file():
        hint = "give the NAME_FiRe.json beside the rewritten file"
        raise _error([Problem("there is no manifest of this name", str(place), hint)])
    document = read_manifest(read_source(place).text, place.name)
    output = place.with_suffix(".do")
    if not output.is_file():
        raise _error([Problem("the rewritten file is not beside its manifest", str(output))])
    data = restored(document, output.read_bytes())
    target = output.with_name(_name_before(output, document))
    if target.exists():
        if target.read_bytes() == data:
            return target
        what = "the original is there, and differs; nothing was written"
        raise _error([Problem(what, str(target), "move it away first")])
    with atomic_path(target) as temporary:
        temporary.write_bytes(data)
    return target


def _name_before(output: Path, document: Mapping[str, Any]) -> str:
    """The name of the original, with the capitals it had."""
    name = f"{output.stem.removesuffix(SUFFIX)}.do"
    before = str(document["source"].get("name", ""))
    return (
        before if Path(before).stem == Path(name).stem and before.lower() == name.lower() else name
    )


def _given_files(paths: list[Path]) -> tuple[list[Path], Path]:
    """All do-files that were named, and the folder they may not leave."""
    found: dict[Path, None] = {}
    problems = []
    for path in paths:
        if path.is_dir():
            inside = sorted(each for each in path.rglob("*") if each.suffix.lower() == ".do")
            if not inside:
                problems.append(Problem("there is no do-file in this folder", str(path)))
            found |= dict.fromkeys(each for each in inside if each.is_file())
        elif path.suffix.lower() != ".do":
            hint = "name files that end in .do, or a folder"
            problems.append(Problem("this is not a do-file", str(path), hint))
        elif not path.is_file():
            what = "this is not an ordinary file" if path.exists() else "the file does not exist"
            problems.append(Problem(what, str(path)))
        else:
            found[path] = None
    if problems:
        raise _error(problems)
    folders = [path if path.is_dir() else path.parent for path in paths]
    return list(found), Path(os.path.commonpath([folder.resolve() for folder in folders]))


def _originals(paths: list[Path]) -> list[Path]:
    """The originals of results that were named, and all other files.

    A result is never taken for what it says it is: its original is rewritten again.
    """
    found: dict[Path, None] = {}
    missing = []
    for path in paths:
        original = path.with_name(f"{path.stem.removesuffix(SUFFIX)}.do")
        if original == path or not path.stem.endswith(SUFFIX):
            found[path] = None
        elif original.is_file():
            found[original] = None
        else:
            missing.append(path)
    if missing:
        hint = "the name is kept for results; put the original beside it, or rename the file"
        raise _error([Problem("its original is not there", str(path), hint) for path in missing])
    return list(found)


def _read(paths: list[Path], root: Path, policy: Policy, language: Language) -> list[_File]:
    """All files with those they run, each rewritten with what the others tell."""
    files: dict[Path, _File] = {}
    waiting = list(paths)
    known: KnownLines = {}
    problems: list[Problem] = []
    while waiting:
        path = waiting.pop(0)
        if path.resolve() in files:
            continue
        try:
            source = read_source(path)
        except OutputCheckError as error:
            problems.extend(replace(each, where=str(path)) for each in error.problems)
            continue
        file = _File(path=path, source=source, dofile=parse_do(source.text, known))
        files[path.resolve()] = file
        waiting.extend(_run_by(file, root))
    if problems:
        raise _error(problems)
    _follow(list(files.values()), root, policy, language)
    return list(files.values())


def _run_by(file: _File, root: Path, only: str = "") -> Iterator[Path]:
    """The files that a file runs, as far as they are in the submission."""
    folder = SubmissionFolder(root, file.path)
    for statement in statements_of(file.dofile):
        if only and statement.canonical != only:
            continue
        call = called_files(statement, file.dofile)
        if call is not None and (target := folder.place(call).target) is not None:
            yield target


def _follow(files: list[_File], root: Path, policy: Policy, language: Language) -> None:
    """Rewrite the files; globals, scalars and programs are known to all of them."""
    programs = frozenset(name for file in files for name in file.dofile.programs)
    shared = Taints()
    followings = [
        FigureFlow(file.dofile, policy, shared.beginning(local))
        for file, local in zip(files, _locals(files, root), strict=True)
    ]
    size = -1
    for _ in range(_MOST_ROUNDS):
        if size == (size := sum(following.taints.size() for following in followings)):
            break
        for following in followings:
            following.learn()
        if len(followings) == 1:
            break
    decider = Decider(policy, programs)
    for file, following in zip(files, followings, strict=True):
        file.rewriting = rewrite_parsed(
            file.dofile,
            policy,
            following=following,
            language=language,
            programs=programs,
            place_call=SubmissionFolder(root, file.path).place,
            decider=decider,
        )


def _locals(files: list[_File], root: Path) -> list[HeldNames]:
    """The local macros of each file: what `include` runs shares those of the file that runs it."""
    found = {file.path.resolve(): HeldNames() for file in files}
    for file in files:
        for target in _run_by(file, root, only="include"):
            one, other = found[file.path.resolve()], found.get(target.resolve())
            if other is not None and other is not one:
                found.update({path: one for path, names in found.items() if names is other})
    return [found[file.path.resolve()] for file in files]


def _target(path: Path) -> Path:
    return path.with_name(f"{path.stem}{SUFFIX}.do")


def _check_targets(files: list[_File], *, overwrite: bool) -> None:
    """Every result has a place of its own, and replaces none but an older result."""
    for folder in dict.fromkeys(file.path.parent for file in files):
        check_writable(folder)
    problems = []
    taken: set[Path] = set()
    for file in files:
        target = _target(file.path)
        document = target.with_suffix(".json")
        if target in taken:  # as those of `a.do` and `a.DO` would be
            what = "its result would have the name of another one"
            problems.append(Problem(what, str(file.path), "rename the do-file"))
        taken.add(target)
        folders = [path for path in (target, document) if path.is_dir()]
        wrong = folders[:1]
        if not overwrite and not folders:
            if target.exists() and not _is_made(target, document):
                wrong = [target]
            elif document.exists() and not target.exists():
                wrong = [document]
        what = _FOLDER if folders else _FOREIGN
        hint = "remove or rename it" + ("" if folders else "; --overwrite replaces it")
        problems += [Problem(what, str(path), hint) for path in wrong]
    if problems:
        raise _error(problems)


def _is_made(output: Path, document: Path) -> bool:
    """Whether this program made a file, and it was not changed since."""
    if not output.is_file() or not document.is_file():
        return False
    try:
        found = read_manifest(document.read_text("utf-8"), document.name)
        data = output.read_bytes()
        restored(found, data)
        return decode_source(data, output).text.startswith(MARK)
    except (OutputCheckError, OSError, UnicodeDecodeError):
        return False


def _write(
    file: _File, policy: Policy, language: Language, shadows: Sequence[Finding]
) -> RewrittenFile:
    """Write one result with its manifest; none for a program that may not run at all."""
    assert file.rewriting is not None
    told = (*file.rewriting.findings, *shadows)
    rewriting = replace(file.rewriting, findings=told)
    findings = (*file.source.findings, *told)
    if any(finding.severity is Severity.ERROR for finding in findings):
        target = _target(file.path)
        if _is_made(target, target.with_suffix(".json")):
            # A result of an earlier version must not run in place of this one.
            target.unlink()
            target.with_suffix(".json").unlink()
        return RewrittenFile(source=file.path, output=None, rewriting=rewriting, findings=findings)
    newline = newline_of(file.source.text)
    whole = replace(rewriting, findings=findings)
    head = header(file.path.name, whole, policy, language=language, newline=newline)
    target = _target(file.path)
    data = file.source.encoded(head + rewriting.text)
    document = manifest(file.source, data, target.name, head, rewriting, policy, language)
    text = manifest_text(document)
    changed = _replaced(target, data)
    changed = _replaced(target.with_suffix(".json"), text.encode("utf-8")) or changed
    return RewrittenFile(
        source=file.path, output=target, rewriting=rewriting, changed=changed, findings=findings
    )


def _replaced(path: Path, data: bytes) -> bool:
    """Write a file, unless it holds the same already; whether it was written."""
    if path.is_file() and path.read_bytes() == data:
        return False
    with atomic_path(path) as temporary:
        temporary.write_bytes(data)
    return True


def _error(problems: list[Problem]) -> OutputCheckError:
    first = problems[0]
    if len(problems) == 1:
        return OutputCheckError(first.what, code="output-check", where=first.where, hint=first.hint)
    return OutputCheckError(
        f"{len(problems)} files cannot be taken", code="output-check", problems=problems
    )


_SHOWN = (Severity.ERROR, Severity.REFUSED, Severity.REVIEW)
_MOST_LINES = 50
_WORD = re.compile(r"[^\s,:]+")


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


def policy_report(policy: Policy, name: str | None) -> tuple[str, dict[str, Any]]:
    """What the policy says of one command, with its second words, or of how many commands.

    Args:
        policy: The rules.
        name: The command or an abbreviation of it, also with its second word; None for an
            overview.
    """
    if name is None:
        counts = Counter(verdict.action.value for verdict in policy.commands.values())
        text = [f"{action}: {count} commands" for action, count in sorted(counts.items())]
        lines = [*text, f"digest {policy.digest}"]
        return "\n".join(lines), {"digest": policy.digest, "commands": dict(sorted(counts.items()))}
    words = _WORD.findall(name)
    if not words:
        what, hint = "this is not the name of a command", "as in: --command tabulate"
        raise OutputCheckError(what, code="policy", where="--command", hint=hint)
    full = canonical(words[0]) or words[0]
    verdict = policy.verdict(full, words[1:2])
    rules = [verdict] if words[1:] else [verdict, *policy.second_words(full)]
    plain = [
        {"name": each.name, "action": each.action.value, "safe": each.safe, "reason": each.reason}
        for each in rules
    ]
    lines = [
        f"{each.name}: {each.action.value}{f' by {each.safe}' if each.safe else ''}; {each.reason}"
        for each in rules
    ]
    return "\n".join(lines), {"command": full, "rules": plain}
