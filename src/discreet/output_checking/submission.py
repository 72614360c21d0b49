"""A submission: do-files that are rewritten together and written beside their originals.

In: files or folders. Out: for each do-file ``NAME_FiRe.do`` and ``NAME_FiRe.json``, and a
report. Files that others run are rewritten with them, if they are in the same folder or
below. Originals are never touched; nothing is written before all files were read.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from discreet.errors import OutputCheckError, Problem
from discreet.files import atomic_path, check_writable
from discreet.output_checking.calls import SUFFIX, Folder, called
from discreet.output_checking.deciding import Decider
from discreet.output_checking.findings import Finding, Severity
from discreet.output_checking.following import Following
from discreet.output_checking.headers import MARK, header
from discreet.output_checking.manifest import manifest, manifest_text, read_manifest, restored
from discreet.output_checking.parts import statements_of
from discreet.output_checking.pausing import uncollected
from discreet.output_checking.policy import Policy
from discreet.output_checking.rewriting import Language, Rewriting, newline_of, rewrite_parsed
from discreet.output_checking.shadows import shadows_in
from discreet.output_checking.stata.forms import Known
from discreet.output_checking.stata.model import DoFile
from discreet.output_checking.stata.parsing import parse_do
from discreet.output_checking.taints import Names, Taints
from discreet.output_checking.texts import SourceText, decode_source, read_source

__all__ = ["Outcome", "prepared_files", "rewrite_files", "undo"]

_MOST_ROUNDS = 5
_FOLDER = "a folder has the name of a result"
_FOREIGN = "the file exists, and this program did not make it"


@dataclass(frozen=True, kw_only=True)
class Outcome:
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
) -> list[Outcome]:
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
) -> Callable[[], list[Outcome]]:
    """Do all of `rewrite_files` but write; what is given back writes."""
    rules = policy or Policy.default()
    listed, root = _listed([Path(path) for path in paths])
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


def _listed(paths: list[Path]) -> tuple[list[Path], Path]:
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
    known: Known = {}
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
    folder = Folder(root, file.path)
    for statement in statements_of(file.dofile):
        if only and statement.canonical != only:
            continue
        call = called(statement, file.dofile)
        if call is not None and (target := folder.place(call).target) is not None:
            yield target


def _follow(files: list[_File], root: Path, policy: Policy, language: Language) -> None:
    """Rewrite the files; globals, scalars and programs are known to all of them."""
    programs = frozenset(name for file in files for name in file.dofile.programs)
    shared = Taints()
    followings = [
        Following(file.dofile, policy, shared.beginning(local))
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
            place_call=Folder(root, file.path).place,
            decider=decider,
        )


def _locals(files: list[_File], root: Path) -> list[Names]:
    """The local macros of each file: what `include` runs shares those of the file that runs it."""
    found = {file.path.resolve(): Names() for file in files}
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


def _write(file: _File, policy: Policy, language: Language, shadows: Sequence[Finding]) -> Outcome:
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
        return Outcome(source=file.path, output=None, rewriting=rewriting, findings=findings)
    newline = newline_of(file.source.text)
    whole = replace(rewriting, findings=findings)
    head = header(file.path.name, whole, policy, language=language, newline=newline)
    target = _target(file.path)
    data = file.source.encoded(head + rewriting.text)
    document = manifest(file.source, data, target.name, head, rewriting, policy, language)
    text = manifest_text(document)
    changed = _replaced(target, data)
    changed = _replaced(target.with_suffix(".json"), text.encode("utf-8")) or changed
    return Outcome(
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
