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
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import islice
from pathlib import Path
from typing import Any

from discreet._version import __version__
from discreet.errors import OutputCheckError, Problem
from discreet.files import texts_of
from discreet_fire.catalogue import SAFE, Action, Policy, canonical
from discreet_fire.findings import Finding, Severity
from discreet_fire.flow import FigureFlow, HeldNames, Taints, statements_of
from discreet_fire.rewriting.called_files import SubmissionFolder, called_files
from discreet_fire.rewriting.changes import Language, Rewriting, newline_of
from discreet_fire.rewriting.decisions import Decider
from discreet_fire.rewriting.do_files import harmless, rewrite_parsed
from discreet_fire.rewriting.results import (
    MARK,
    ResultPlace,
    RewrittenFile,
    original_of,
    taken_error,
)
from discreet_fire.stata import DoFile, KnownLines, parse_do
from discreet_fire.texts import SourceText, read_source, uncollected

_WIDTH = 90


def header(
    name: str, rewriting: Rewriting, policy: Policy, *, language: Language, newline: str
) -> str:
    """The lines that go before a rewritten program."""
    words = texts_of("discreet_fire.rewriting", "header", language)
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
#: What makes Stata look for programs in another folder.
_MOVES = re.compile(r"\b(?:cd|chdir)\b")


def shadows_in(folder: Path, *, below: bool) -> tuple[Finding, ...]:
    """Programs beside a do-file, and those named like safe commands where Stata looks for them.

    It looks beside the do-file, in a folder there of one letter, and wherever the do-file moves:
    then, as in a submission that is a folder, all folders below count.
    """
    folders = [folder, folder / SAFE[0]]
    if below:
        folders = [Path(place) for place, *_ in islice(os.walk(folder), _MOST_FOLDERS)]
    programs = (path for here in folders for path in here.glob("*.ado"))
    shadows = [program for program in programs if program.parent == folder or _is_grave(program)]
    return tuple(map(_finding, sorted(shadows)))


def _is_grave(path: Path) -> bool:
    return path.name.startswith(SAFE)


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
    """Rewrite do-files and write the results beside them."""
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
    named = [Path(path) for path in paths]
    listed, root = _given_files(named)
    files = _read(_originals(listed), root, rules, language)
    _check_places(files, overwrite=overwrite)
    below = any(path.is_dir() for path in named)
    below = below or any(_MOVES.search(file.source.text) for file in files)
    shadows = cache(partial(shadows_in, below=below))
    return lambda: [_written(file, rules, language, shadows(file.path.parent)) for file in files]


def _given_files(paths: list[Path]) -> tuple[list[Path], Path]:
    """All do-files that were named, and the folder they may not leave."""
    named_files: dict[Path, None] = {}
    problems = []
    for path in paths:
        if path.is_dir():
            inside = sorted(item for item in path.rglob("*") if item.suffix.lower() == ".do")
            if not inside:
                problems.append(Problem("there is no do-file in this folder", str(path)))
            named_files |= dict.fromkeys(item for item in inside if item.is_file())
        elif path.suffix.lower() != ".do":
            hint = "name files that end in .do, or a folder"
            problems.append(Problem("this is not a do-file", str(path), hint))
        elif not path.is_file():
            message = "this is not an ordinary file" if path.exists() else "the file does not exist"
            problems.append(Problem(message, str(path)))
        else:
            named_files[path] = None
    if problems:
        raise taken_error(problems)
    folders = [path if path.is_dir() else path.parent for path in paths]
    return list(named_files), Path(os.path.commonpath([folder.resolve() for folder in folders]))


def _originals(paths: list[Path]) -> list[Path]:
    """The originals of results that were named, and all other files."""
    originals: dict[Path, None] = {}
    missing: list[Problem] = []
    for path in paths:
        try:
            originals[original_of(path)] = None
        except OutputCheckError as error:
            missing += error.problems
    if missing:
        raise taken_error(missing)
    return list(originals)


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
            problems.extend(replace(problem, where=str(path)) for problem in error.problems)
            continue
        file = _File(path=path, source=source, dofile=parse_do(source.text, known))
        files[path.resolve()] = file
        waiting.extend(_run_by(file, root))
    if problems:
        raise taken_error(problems)
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
    held = {file.path.resolve(): HeldNames() for file in files}
    for file in files:
        for target in _run_by(file, root, only="include"):
            one, other = held[file.path.resolve()], held.get(target.resolve())
            if other is not None and other is not one:
                held.update({path: one for path, names in held.items() if names is other})
    return [held[file.path.resolve()] for file in files]


def _check_places(files: list[_File], *, overwrite: bool) -> None:
    """Every result has a place of its own, and replaces none but an older result."""
    problems = []
    taken: set[Path] = set()
    for file in files:
        place = ResultPlace(file.path)
        if place.output in taken:  # as those of `a.do` and `a.DO` would be
            message = "its result would have the name of another one"
            problems.append(Problem(message, str(file.path), "rename the do-file"))
        taken.add(place.output)
        problems += place.problems(overwrite=overwrite)
    if problems:
        raise taken_error(problems)


def _written(
    file: _File, policy: Policy, language: Language, shadows: Sequence[Finding]
) -> RewrittenFile:
    """Write one result; an officer is told of programs beside it too."""
    assert file.rewriting is not None
    rewriting = replace(file.rewriting, findings=(*file.rewriting.findings, *shadows))
    newline = newline_of(file.source.text)
    whole = replace(rewriting, findings=(*file.source.findings, *rewriting.findings))
    head = header(file.path.name, whole, policy, language=language, newline=newline)
    return ResultPlace(file.path).write(file.source, head, rewriting, policy, language)


_WORD = re.compile(r"[^\s,:]+")


def policy_report(policy: Policy, name: str | None) -> tuple[str, dict[str, Any]]:
    """What the policy says of one command, with its second words, or of how many commands.

    A command may be abbreviated, or have its second word; None is for an overview.
    """
    if name is None:
        counts = Counter(verdict.action.value for verdict in policy.commands.values())
        text = [f"{action}: {count} commands" for action, count in sorted(counts.items())]
        lines = [*text, f"digest {policy.digest}"]
        return "\n".join(lines), {"digest": policy.digest, "commands": dict(sorted(counts.items()))}
    words = _WORD.findall(name)
    if not words:
        message, hint = "this is not the name of a command", "as in: --command tabulate"
        raise OutputCheckError(message, code="policy", where="--command", hint=hint)
    full = canonical(words[0]) or words[0]
    verdict = policy.verdict(full, words[1:2])
    rules = [verdict] if words[1:] else [verdict, *policy.second_words(full)]
    plain = [
        {"name": rule.name, "action": rule.action.value, "safe": rule.safe, "reason": rule.reason}
        for rule in rules
    ]
    lines = [
        f"{rule.name}: {rule.action.value}{f' by {rule.safe}' if rule.safe else ''}; {rule.reason}"
        for rule in rules
    ]
    return "\n".join(lines), {"command": full, "rules": plain}
