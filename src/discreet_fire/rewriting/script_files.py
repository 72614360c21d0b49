"""Scripts in Python and R rewritten.

In: the text of a script, or of a document with its chunks, or the code of a notebook. Out: a
`Rewriting`. What derives from data and reaches an output is stopped; a value that R would print by
itself is made invisible, unless it tells nothing of the data or has a safe form; what no rule knows
goes to review. Nothing is executed.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Sequence

from discreet_fire.catalogue import Action, ScriptPolicy
from discreet_fire.findings import Severity
from discreet_fire.flow import PythonMarks, RMarks
from discreet_fire.rewriting.changes import Language, ProgramNotes, Rewriting
from discreet_fire.rewriting.python_walk import PythonWalk
from discreet_fire.rewriting.r_walk import RWalk
from discreet_fire.scripts import NotebookCode, RSyntaxError, code_of, in_json, read_python, read_r
from discreet_fire.texts import SourceText

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
    notes = ProgramNotes(text=text)
    tree = _parsed(code_of(text, parts), notes)
    if tree is not None:
        try:
            shown = parts is not None or _CELL.search(text) is not None
            code = read_python(code_of(text, parts), tree)
            marks = PythonMarks(code, policy or ScriptPolicy.default("python"))
            PythonWalk(marks, notes, language, autoshow=shown).run()
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
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(code)
    except SyntaxError as error:
        line = min(max(error.lineno or 1, 1), len(notes.lines.starts))
        start = min(notes.lines.starts[line - 1] + max((error.offset or 1) - 1, 0), len(code))
        hint = "magics of notebooks (%, !) are not Python" if _MAGIC.search(code) else ""
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
    notes = ProgramNotes(text=text)
    try:
        marks = RMarks(read_r(code_of(text, parts)), policy or ScriptPolicy.default("r"))
        RWalk(marks, notes, language).run()
    except RSyntaxError as error:
        notes.give_up_syntax(f"this R cannot be parsed: {error.what}", error.at)
    except RecursionError:
        notes.give_up_deep()
    return notes.rewriting()


def in_notebook(source: SourceText, found: NotebookCode, rewriting: Rewriting) -> Rewriting:
    """What became of the code of a notebook, as changes of its file; what it showed is gone."""
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
        reason = "what the notebook showed when it ran is taken out"
        notes.replace((start, end), empty, "shown", "outputs", Action.REFUSED, reason)
    return notes.rewriting()
