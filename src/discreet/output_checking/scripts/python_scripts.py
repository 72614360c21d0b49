"""Rewrite Python scripts: safe functions in, code that may not run out.

In: the text of a script and a policy. Out: a `Rewriting`. What derives from data and
reaches an output is stopped; what no rule knows goes to review. Nothing is executed.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Sequence

from discreet.output_checking.rewriting import Language, Rewriting
from discreet.output_checking.scripts.documents import code_of
from discreet.output_checking.scripts.places import Notes
from discreet.output_checking.scripts.policies import ScriptPolicy
from discreet.output_checking.scripts.python_names import Names
from discreet.output_checking.scripts.python_walking import Walker
from discreet.output_checking.texts import Lines

__all__ = ["cookie_of", "rewrite_python"]

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

    Args:
        text: The program.
        policy: The rules; those that come with discreet if None.
        language: Of the wording for code that may not run.
        parts: Where the code is, if the text is a document with code chunks.

    >>> done = rewrite_python("import pandas as pd\ndf = pd.read_csv('a')\nprint(df.describe())\n")
    >>> print(done.text.splitlines()[-1])
    print(fdz_safe.describe(df))
    >>> print(rewrite_python("df.to_csv('a')").text)
    pass  # FDZ: not permitted in remote execution: df.to_csv('a')
    """
    lines = Lines(text)
    notes = Notes(text=text, lines=lines)
    tree = _parsed(code_of(text, parts), notes)
    if tree is not None:
        try:
            shown = parts is not None or _CELL.search(text) is not None
            names = Names(tree, policy or ScriptPolicy.default("python"))
            Walker(tree, names, notes, language=language, autoshow=shown).run()
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
        if found := _COOKIE.match(line):
            return found.group(1)
        if line.strip() and not line.lstrip().startswith("#"):
            break
    return None


def _parsed(code: str, notes: Notes) -> ast.Module | None:
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
