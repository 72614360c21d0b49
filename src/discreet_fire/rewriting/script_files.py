"""Scripts in Python, R, SPSS and SAS that are rewritten and written beside their originals.

In: scripts, documents with chunks, or folders of them. Out: for each ``NAME_FiRe.py`` (``.R`` …)
with ``NAME_FiRe.py.json``. What derives from data and reaches an output is stopped; a value that
R would print by itself is made invisible, unless it tells nothing of the data or has a safe form;
what no rule knows goes to review. Nothing is executed. Originals are never touched; nothing is
written before all files were read.
"""

from __future__ import annotations

import ast
import codecs
import os
import re
import sys
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from discreet._version import __version__
from discreet.errors import OutputCheckError, Problem
from discreet_fire.catalogue import (
    Action,
    PackageLanguage,
    PackagePolicy,
    ScriptLanguage,
    ScriptPolicy,
)
from discreet_fire.findings import Finding, Severity
from discreet_fire.flow import PythonNames, RNames
from discreet_fire.rewriting.called_files import SUFFIX
from discreet_fire.rewriting.changes import Language, ProgramNotes, Rewriting, newline_of
from discreet_fire.rewriting.package_programs import package_header
from discreet_fire.rewriting.python_outputs import PythonWalker
from discreet_fire.rewriting.r_outputs import RWalker
from discreet_fire.rewriting.results import ResultPlace, RewrittenFile, original_of, taken_error
from discreet_fire.rewriting.sas_programs import rewrite_sas
from discreet_fire.rewriting.spss_programs import rewrite_spss
from discreet_fire.scripts import (
    NOTEBOOK,
    PACKAGES,
    SUFFIXES,
    NotebookCode,
    RSyntaxError,
    chunks_of,
    code_of,
    in_json,
    is_script,
    parse_r,
    read_notebook,
)
from discreet_fire.texts import Lines, SourceText, read_source

_COOKIE = re.compile(r"^[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)")
_CELL = re.compile(r"^[ \t]*#[ \t]*(?:%%|In\[|<(?:code)?cell>|COMMAND -)", re.MULTILINE)
_MAGIC = re.compile(r"^[ \t]*[%!]", re.MULTILINE)


def rewrite_python(
    text: str,
    policy: ScriptPolicy | None = None,
    *,
    language: Language = "en",
    parts: Sequence[tuple[int, int]] | None = None,
) -> Rewriting:
    r"""Rewrite the text of one Python script.

    >>> done = rewrite_python("import pandas as pd\ndf = pd.read_csv('a')\nprint(df.describe())\n")
    >>> print(done.text.splitlines()[-1])
    print(fdz_safe.describe(df))
    >>> print(rewrite_python("df.to_csv('a')").text)
    pass  # FDZ: not permitted in remote execution: df.to_csv('a')
    """
    lines = Lines(text)
    notes = ProgramNotes(text=text, lines=lines)
    tree = _parsed(code_of(text, parts), notes)
    if tree is not None:
        try:
            shown = parts is not None or _CELL.search(text) is not None
            names = PythonNames(tree, policy or ScriptPolicy.default("python"))
            PythonWalker(names, notes, language=language, autoshow=shown).run()
        except RecursionError:
            notes.give_up_deep()
    return notes.rewriting()


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


def _parsed(code: str, notes: ProgramNotes) -> ast.Module | None:
    """The syntax tree; None, with an error noted, if there is none."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(code)
    except SyntaxError as error:
        line = min(max(error.lineno or 1, 1), len(notes.lines.starts))
        start = min(notes.lines.starts[line - 1] + max((error.offset or 1) - 1, 0), len(code))
        hint = "magics of notebooks (%, !) are no Python" if _MAGIC.search(code) else ""
        notes.give_up_syntax("this is not Python: the code cannot be parsed here", start, hint)
    except (RecursionError, MemoryError, ValueError, OverflowError):
        notes.give_up_deep()
    return None


def rewrite_r(
    text: str,
    policy: ScriptPolicy | None = None,
    *,
    language: Language = "en",
    parts: Sequence[tuple[int, int]] | None = None,
) -> Rewriting:
    r"""Rewrite the text of one R script.

    >>> print(rewrite_r("d <- read.csv('a')\nsummary(d)\nd\n").text.split("\n", 1)[1], end="")
    d <- read.csv('a')
    fdz_summary(d)
    invisible(d)
    """
    notes = ProgramNotes(text=text, lines=Lines(text))
    try:
        tree = parse_r(code_of(text, parts))
        RWalker(RNames(tree, policy or ScriptPolicy.default("r")), notes, language).run(tree)
    except RSyntaxError as error:
        notes.give_up_syntax(f"this R cannot be parsed: {error.what}", error.at)
    except RecursionError:
        notes.give_up_deep()
    return notes.rewriting()


_MARK = "# FDZ: this file was made by discreet fire pre"


_File = str | os.PathLike[str] | None


@dataclass(frozen=True, kw_only=True)
class ScriptPolicies:
    """The rules of each language of scripts, and of each package."""

    scripts: Mapping[ScriptLanguage, ScriptPolicy] = field(default_factory=dict)
    packages: Mapping[PackageLanguage, PackagePolicy] = field(default_factory=dict)

    def script(self, language: ScriptLanguage) -> ScriptPolicy:
        """Rules on Python or R; those that come with discreet if there are no others."""
        return self.scripts.get(language) or ScriptPolicy.default(language)

    def package(self, language: PackageLanguage) -> PackagePolicy:
        """Rules on SPSS or SAS; those that come with discreet if there are no others."""
        return self.packages.get(language) or PackagePolicy.default(language)


@dataclass(frozen=True, kw_only=True)
class _Read:
    path: Path
    source: SourceText
    language: ScriptLanguage | PackageLanguage
    policy: ScriptPolicy | PackagePolicy
    rewriting: Rewriting
    document: bool


def policies_of(python: _File, r: _File, spss: _File = None, sas: _File = None) -> ScriptPolicies:
    """The rules with a centre's files added; None for those that come with discreet.

    >>> policies_of(None, None)
    ScriptPolicies(scripts={}, packages={})
    """
    scripts: dict[ScriptLanguage, _File] = {"python": python, "r": r}
    packages: dict[PackageLanguage, _File] = {"spss": spss, "sas": sas}
    return ScriptPolicies(
        scripts={name: ScriptPolicy.read(name, file) for name, file in scripts.items() if file},
        packages={name: PackagePolicy.read(name, file) for name, file in packages.items() if file},
    )


def parted(paths: Iterable[Path]) -> tuple[list[Path], list[Path]]:
    """Scripts, also those in folders, and what is left for do-files.

    A folder is left if it has do-files, or no scripts.
    """
    scripts: dict[Path, None] = {}
    others = []
    for path in paths:
        if path.is_dir():
            inside = sorted(item for item in path.rglob("*") if is_script(item))
            own = [item for item in inside if item.is_file()]
            # Results that lie there are not taken for originals.
            scripts |= dict.fromkeys(item for item in own if not item.stem.endswith(SUFFIX))
            if not own or any(item.suffix.lower() == ".do" for item in path.rglob("*")):
                others.append(path)
        elif is_script(path):
            scripts[path] = None
        else:
            others.append(path)
    return list(scripts), others


def prepared_scripts(
    paths: Iterable[str | os.PathLike[str]],
    *,
    policies: ScriptPolicies | None = None,
    language: Language = "en",
    overwrite: bool = False,
) -> Callable[[], list[RewrittenFile]]:
    """Rewrite scripts and notebooks; what is given back writes beside them.

    Programs in SPSS and SAS that others run are rewritten with them. Results of other programs
    that are named like these are replaced if `overwrite` says so.
    """
    rules = policies or ScriptPolicies()
    read: dict[Path, _Read] = {}
    problems: list[Problem] = []
    waiting = list(map(Path, paths))
    while waiting:
        path = waiting.pop(0)
        if path.resolve() in read:
            continue
        try:
            original = _original(path)
            script = _read(original, rules, language)
        except OutputCheckError as error:
            problems.extend(
                replace(problem, where=problem.where or str(path)) for problem in error.problems
            )
            continue
        read[original.resolve()] = script
        waiting += [call.target for call in script.rewriting.calls if call.target is not None]
    for one in read.values():
        problems += ResultPlace(one.path).problems(overwrite=overwrite)
    if problems:
        raise taken_error(problems)

    def write(one: _Read) -> RewrittenFile:
        head = _header(one, language)
        return ResultPlace(one.path).write(one.source, head, one.rewriting, one.policy, language)

    return lambda: list(map(write, read.values()))


def _original(path: Path) -> Path:
    """The original of a result, and any other file as it is."""
    if not is_script(path):
        hint = f"names end in {', '.join((*SUFFIXES, NOTEBOOK))}"
        raise taken_error([Problem("this is not a script", str(path), hint)])
    return original_of(path)


def _read(path: Path, rules: ScriptPolicies, language: Language) -> _Read:
    source = read_source(path)
    if path.suffix.lower() in PACKAGES:
        return _read_package(path, source, rules, language)
    if path.suffix.lower() == NOTEBOOK:
        return _read_notebook(path, source, rules, language)
    kind = SUFFIXES[path.suffix.lower()]
    parts = None
    if not kind:
        kind, parts = chunks_of(source.text, path.name)
    script: ScriptLanguage = "python" if kind == "python" else "r"
    policy = rules.script(script)
    rewriter = rewrite_python if script == "python" else rewrite_r
    rewriting = rewriter(source.text, policy, language=language, parts=parts)
    findings = _encoding(source, python=script == "python" and parts is None)
    findings += _beside(source, script, policy)
    rewriting = replace(rewriting, findings=(*findings, *rewriting.findings))
    return _Read(
        path=path,
        source=source,
        language=script,
        policy=policy,
        rewriting=rewriting,
        document=parts is not None,
    )


def _read_package(
    path: Path, source: SourceText, rules: ScriptPolicies, language: Language
) -> _Read:
    """A program in SPSS or SAS, with the programs beside it that it may run."""
    package: PackageLanguage = "spss" if path.suffix.lower() == ".sps" else "sas"
    policy = rules.package(package)
    rewriter = rewrite_spss if package == "spss" else rewrite_sas
    rewriting = rewriter(source.text, policy, language=language, folder=path.parent)
    return _Read(
        path=path,
        source=source,
        language=package,
        policy=policy,
        rewriting=rewriting,
        document=False,
    )


def _read_notebook(
    path: Path,
    source: SourceText,
    rules: ScriptPolicies,
    language: Language,
) -> _Read:
    """The cells of a notebook as one script, its changes at their places in the file."""
    notebook = read_notebook(source.text, path.name)
    script: ScriptLanguage = "python" if notebook.language == "python" else "r"
    policy = rules.script(script)
    rewriter = rewrite_python if script == "python" else rewrite_r
    rewriting = in_notebook(source, notebook, rewriter(notebook.code, policy, language=language))
    notes = (*_beside(source, script, policy), *rewriting.findings)
    rewriting = replace(rewriting, findings=notes)
    return _Read(
        path=path,
        source=source,
        language=script,
        policy=policy,
        rewriting=rewriting,
        document=True,
    )


def in_notebook(source: SourceText, found: NotebookCode, rewriting: Rewriting) -> Rewriting:
    """What became of the code of a notebook, as changes of its file; what it showed is gone."""
    lines = Lines(source.text)
    notes = ProgramNotes(text=source.text, lines=lines)
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
        reason = "what the notebook showed when it ran is taken out"
        notes.replace((start, end), empty, "shown", "outputs", Action.REFUSED, reason)
    return notes.rewriting()


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
    return [source.finding("encoding", Severity.ERROR, message, 0, 0, hint)]


def _beside(source: SourceText, script: ScriptLanguage, policy: ScriptPolicy) -> list[Finding]:
    """Files that run with a script, or in place of a module, without being named in it."""
    if script == "r":
        names = {".Rprofile", ".Renviron", ".RData"}
    else:
        roots = {name.partition(".")[0] for name in policy.rules} - {""}
        own = {"sitecustomize", "usercustomize", "discreet", "discreet_fire", "discreet_service"}
        modules = sorted(roots | own | set(sys.stdlib_module_names))
        names = {f"{module}{end}" for module in modules for end in ("", ".py", ".pyc", ".so")}
        names -= {"display", source.path.name}
    try:
        there = sorted(item.name for item in source.path.parent.iterdir() if item.name in names)
    except OSError:
        there = []
    hint = "remove it, or run the script apart (python -I, Rscript --vanilla)"
    findings = []
    for path in map(source.path.parent.joinpath, there):
        if path.is_file() or any(path.glob("*.py")):  # a folder of data cannot be loaded
            message = f"{path.name} beside the script runs with it, or in place of a module"
            findings.append(source.finding("beside", Severity.REVIEW, message, 0, 0, hint))
    return findings


def _header(one: _Read, language: Language) -> str:
    """The lines that go before a script; none before a document, whose first line counts."""
    if one.document:
        return ""
    policy = one.policy
    if isinstance(policy, PackagePolicy):
        return package_header(one.path.name, one.source.text, one.rewriting, policy, language)
    count = sum(finding.severity is Severity.REVIEW for finding in one.rewriting.findings)
    name = one.path.name.encode("ascii", "replace").decode("ascii")
    name = "".join(sign if sign.isprintable() else "?" for sign in name)
    lines = [
        f"{_MARK} (discreet {__version__})",
        f"# FDZ: made from {name}, which was not changed; run this file instead",
        f"# FDZ: policy {policy.digest[:16]}, edits {len(one.rewriting.edits)}, to review {count}",
    ]
    if one.language == "python" and (cookie := cookie_of(one.source.text)):
        lines.insert(0, f"# -*- coding: {cookie} -*-")
    newline = newline_of(one.source.text)
    return newline.join(lines) + newline
