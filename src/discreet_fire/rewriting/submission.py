"""A submission: programs that are rewritten together and written beside their originals.

In: do-files, scripts, notebooks, or folders of them. Out: for each program its result with a
manifest, and a report. What derives from data and reaches an output of a script is stopped; what no
rule knows goes to review. Programs that others run are rewritten with them, if they are in the same
folder or below. Originals are never touched; nothing is written before all files were read. A
header says what was done, without clock time or path; files that would run beside a program, or in
place of a command, are reported.
"""

from __future__ import annotations

import codecs
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cache, partial
from itertools import islice
from pathlib import Path
from typing import Any, cast

from discreet.errors import OutputCheckError, Problem
from discreet_fire.catalogue import SAFE, Action, Policy, ScriptLanguage, ScriptPolicy, canonical
from discreet_fire.findings import Finding, Severity
from discreet_fire.flow import FigureFlow, HeldNames, Taints, statements_of
from discreet_fire.rewriting.changes import (
    SUFFIX,
    Language,
    ProgramNotes,
    Rewriting,
    called_files,
    placed,
)
from discreet_fire.rewriting.do_files import DoFileProgram
from discreet_fire.rewriting.python_programs import rewrite_python
from discreet_fire.rewriting.r_programs import rewrite_r
from discreet_fire.rewriting.results import (
    RewrittenFile,
    SubmittedProgram,
    cookie_of,
    original_of,
    taken_error,
)
from discreet_fire.rewriting.sas_programs import rewrite_sas
from discreet_fire.rewriting.spss_programs import rewrite_spss
from discreet_fire.scripts import (
    NOTEBOOK,
    SUFFIXES,
    NotebookCode,
    chunks_of,
    in_json,
    is_script,
    read_notebook,
)
from discreet_fire.stata import parse_do
from discreet_fire.texts import Lines, SourceText, read_source


def in_notebook(source: SourceText, found: NotebookCode, rewriting: Rewriting) -> Rewriting:
    """Changes of the file of a notebook for its rewritten code; outputs are removed."""
    notes = ProgramNotes(text=source.text)
    for one in rewriting.findings:
        span = found.span(one.start, one.end) or found.span(one.start, one.start) or (0, 0)
        notes.find(one.rule, one.severity, one.what, span, one.hint)
    for edit in rewriting.edits:
        place = found.span(edit.start, edit.end)
        if place is None:
            message = "a change would go beyond a cell"
            notes.find("cell", Severity.ERROR, message, (0, 0), "write each statement in one cell")
            continue
        after = in_json(edit.after)
        notes.replace(place, after, edit.rule, edit.command, edit.action, edit.reason)
    for start, end, empty in found.shown:
        reason = "the stored output of the notebook is removed"
        notes.replace((start, end), empty, "shown", "outputs", Action.REFUSED, reason)
    return notes.rewriting()


#: Rules on the programs of each language but Stata, with a centre's own.
ScriptPolicies = Mapping[str, ScriptPolicy]

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
    findings = []
    for path in sorted(path for here in folders for path in here.glob("*.ado")):
        grave = path.name.startswith(SAFE)
        if path.parent == folder or grave:
            does = "would replace a safe command" if grave else "is not rewritten"
            message = f"{path.name} lies beside the do-file and {does}"
            hint = "remove it from the submission" if grave else "look at the program"
            severity = Severity.ERROR if grave else Severity.REVIEW
            findings.append(Lines("").finding("ado-file", severity, message, 0, 0, hint))
    return tuple(findings)


_MOST_ROUNDS = 5


def policies_of(
    python: _Place = None, r: _Place = None, spss: _Place = None, sas: _Place = None
) -> ScriptPolicies:
    """The rules of languages for which a centre has a file, added to those of discreet.

    >>> policies_of(None, None)
    {}
    """
    own: dict[ScriptLanguage, _Place] = {"python": python, "r": r, "spss": spss, "sas": sas}
    return {
        name: ScriptPolicy.read(name, place) for name, place in own.items() if place is not None
    }


_Place = str | os.PathLike[str] | None


def rewrite_files(
    paths: Iterable[str | os.PathLike[str]],
    *,
    policy: Policy | None = None,
    policies: ScriptPolicies | None = None,
    language: Language = "en",
    overwrite: bool = False,
) -> list[RewrittenFile]:
    """Rewrite programs and write the results beside them, those of scripts first.

    `policy` has the rules on do-files, `policies` those on other languages. Results of other
    programs that are named like these are replaced if `overwrite` says so.
    """
    rules = policy or Policy.default()
    named = [Path(path) for path in paths]
    waiting, root = _listed_files(named)
    programs: dict[Path, SubmittedProgram] = {}
    problems: list[Problem] = []
    while waiting:
        path = waiting.pop(0)
        try:
            path = original_of(path)
            if path.resolve() in programs:
                continue
            if is_script(path):
                program = _script(path, policies or {}, language)
                targets = (call.target for call in program.rewriting.calls)
                waiting += [target for target in targets if target is not None]
            else:
                source = read_source(path)
                dofile = parse_do(source.text)
                program = SubmittedProgram(source=source, policy=rules, dofile=dofile)
                waiting += _run_by(program, root)
        except OutputCheckError as error:
            problems += [replace(one, where=one.where or str(path)) for one in error.problems]
            continue
        programs[path.resolve()] = program
    if problems:
        raise taken_error(problems)
    do_files = [one for one in programs.values() if one.policy is rules]
    _follow(do_files, root, rules, language)
    ordered = [*(one for one in programs.values() if one.policy is not rules), *do_files]
    taken: set[Path] = set()
    for one in ordered:
        if one.output in taken:  # as those of `a.do` and `a.DO` would be
            message = "its result would have the name of another one"
            problems.append(Problem(message, str(one.source.path), "rename the do-file"))
        taken.add(one.output)
        problems += one.problems(overwrite=overwrite)
    if problems:
        raise taken_error(problems)
    below = any(path.is_dir() for path in named)
    below = below or any(_MOVES.search(file.source.text) for file in do_files)
    shadows = cache(partial(shadows_in, below=below))
    for one in do_files:
        findings = (*one.rewriting.findings, *shadows(one.source.path.parent))
        one.rewriting = replace(one.rewriting, findings=findings)
    return [one.write(language) for one in ordered]


def _listed_files(paths: list[Path]) -> tuple[list[Path], Path]:
    """All programs that were named, and the folder that do-files may not leave.

    Results that lie in a folder are not taken for scripts.
    """
    files: dict[Path, None] = {}
    folders: list[Path] = []
    problems = []
    for path in paths:
        if path.is_dir():
            inside = sorted(item for item in path.rglob("*") if item.is_file())
            do_files = [item for item in inside if item.suffix.lower() == ".do"]
            scripts = [item for item in inside if is_script(item)]
            if not do_files and not scripts:
                problems.append(Problem("no do-file in this folder", str(path)))
            files |= dict.fromkeys(one for one in scripts if not one.stem.endswith(SUFFIX))
            files |= dict.fromkeys(do_files)
            folders += [path] if do_files else []
        elif is_script(path):
            files[path] = None
        elif path.suffix.lower() != ".do":
            hint = "name files that end in .do, or a folder"
            problems.append(Problem("this is not a do-file", str(path), hint))
        elif not path.is_file():
            message = "this is not an ordinary file" if path.exists() else "the file does not exist"
            problems.append(Problem(message, str(path)))
        else:
            files[path] = None
            folders.append(path.parent)
    if problems:
        raise taken_error(problems)
    root = Path(os.path.commonpath([str(folder.resolve()) for folder in folders] or ["."]))
    return list(files), root


_REWRITERS: Mapping[ScriptLanguage, Callable[..., Rewriting]] = {
    "python": rewrite_python,
    "r": rewrite_r,
    "spss": rewrite_spss,
    "sas": rewrite_sas,
}


def _script(path: Path, policies: ScriptPolicies, language: Language) -> SubmittedProgram:
    source, suffix = read_source(path), path.suffix.lower()
    notebook = read_notebook(source.text, path.name) if suffix == NOTEBOOK else None
    text, parts = source.text, None
    if notebook is not None:
        kind, text = notebook.language, notebook.code
    elif not (kind := SUFFIXES[suffix]):
        kind, parts = chunks_of(text, path.name)
    script = cast("ScriptLanguage", kind)
    policy = policies.get(kind) or ScriptPolicy.default(script)
    done = _REWRITERS[script](text, policy, language=language, folder=path.parent, parts=parts)
    if notebook is not None:
        done = in_notebook(source, notebook, done)
    elif script in ("python", "r"):
        findings = _encoding(source, python=kind == "python" and parts is None)
        done = replace(done, findings=(*findings, *done.findings))
    document = notebook is not None or parts is not None
    return SubmittedProgram(source=source, policy=policy, rewriting=done, document=document)


def _encoding(source: SourceText, *, python: bool) -> list[Finding]:
    """What runs the script must read the same text as was read here."""
    ours = codecs.lookup(source.encoding).name
    message = ""
    if ours.startswith("utf-16"):
        message = "neither Python nor R reads UTF-16"
    elif python:
        cookie = cookie_of(source.text)
        try:
            named = codecs.lookup(cookie or "utf-8").name
        except LookupError:
            named = "unknown"
        alike = source.text.isascii() and named in ("utf-8", "iso8859-1", "cp1252", "ascii")
        if not alike and named != ours:
            message = f"Python reads this file as {named}, and it was read here as {ours}"
    if not message:
        return []
    hint = "save the script as UTF-8"
    return [source.lines.finding("encoding", Severity.ERROR, message, 0, 0, hint)]


def _run_by(file: SubmittedProgram, root: Path, only: str = "") -> Iterator[Path]:
    """The files that a file runs, as far as they are in the submission."""
    for statement in statements_of(file.dofile):
        if only and statement.canonical != only:
            continue
        call = called_files(statement, file.dofile)
        if call is not None and (target := placed(call, root, file.source.path).target) is not None:
            yield target


def _follow(files: list[SubmittedProgram], root: Path, policy: Policy, language: Language) -> None:
    programs = frozenset(name for file in files for name in file.dofile.programs)
    shared = Taints(policy)
    followings = [
        FigureFlow(file.dofile, shared.beginning(local))
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
    for file, following in zip(files, followings, strict=True):
        place = partial(placed, root=root, file=file.source.path)
        program = DoFileProgram(file.dofile, following, policy, programs, language, place)
        file.rewriting = program.rewriting()


def _locals(files: list[SubmittedProgram], root: Path) -> list[HeldNames]:
    """The local macros of each file: what `include` runs shares those of the file that runs it."""
    held = {file.source.path.resolve(): HeldNames() for file in files}
    for file in files:
        for target in _run_by(file, root, only="include"):
            one, other = held[file.source.path.resolve()], held.get(target.resolve())
            if other is not None and other is not one:
                held.update({path: one for path, names in held.items() if names is other})
    return [held[file.source.path.resolve()] for file in files]


_WORD = re.compile(r"[^\s,:]+")


def policy_report(policy: Policy, name: str | None) -> tuple[str, dict[str, Any]]:
    """Policy on one command with its second words, or the number of commands.

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
    others = [] if words[1:] else [rule for _, rule in policy.words.get(full, {}).values()]
    rules = [verdict, *others]
    plain = [
        {"name": rule.name, "action": rule.action.value, "safe": rule.safe, "reason": rule.reason}
        for rule in rules
    ]
    lines = [
        f"{rule.name}: {rule.action.value}{f' by {rule.safe}' if rule.safe else ''}; {rule.reason}"
        for rule in rules
    ]
    return "\n".join(lines), {"command": full, "rules": plain}
