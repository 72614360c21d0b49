"""Single statements that need a look of their own.

In: statements. Out: whether they are of such a kind.
"""

from __future__ import annotations

import re

from discreet.output_checking.parts import pieces
from discreet.output_checking.stata.model import Kind, Statement, Word
from discreet.output_checking.taints import without_macros

__all__ = [
    "TABLES",
    "is_placeholder",
    "is_quiet",
    "names_no_command",
    "plots_of",
    "shows_extremes",
]

#: Signs that part plots, and words with the bracket of an option behind them.
_PLOT_PARTS = re.compile(r"(\|\||[(),])|([A-Za-z]\w*)(\s?\()?")
_WITH_PLOT = ("recast", "ciplot", "fitplot", "plot", "addplot")

#: Tables of stored results, with the options that name these.
TABLES = ("esttab", "estout")
_CELLS = re.compile(r"\b(?:c(?:e|el|ell|ells)?|main|aux)\s*\(")
_EXTREMES = re.compile(r"\b(?:min|max|p1|p5|p95|p99|range)\b")


def is_quiet(statement: Statement) -> bool:
    """Whether the command runs quietly."""
    return any(prefix.canonical == "quietly" for prefix in statement.prefixes)


def shows_extremes(statement: Statement, at: int) -> bool:
    """Whether a table of stored results has smallest or largest values in its cells."""
    text = statement.source[at : statement.end]
    for option in _CELLS.finditer(text):
        depth, end = 1, option.end()
        while depth and end < len(text):
            depth += {"(": 1, ")": -1}.get(text[end], 0)
            end += 1
        if _EXTREMES.search(text, option.end(), end):
            return True
    return False


def plots_of(outside: str) -> list[str]:
    """The kinds of plots that `twoway` lays over each other.

    They stand at its start, behind ``||``, in brackets of their own before its options, and in
    the few options that take one. All other words are variables, or titles without quotes.

    Args:
        outside: What follows ``twoway``, strings and comments blanked.

    >>> plots_of(" (line y x, by(g)) (bar y x) || lfit y x, title(Scatter) addplot(area y x)")
    ['line', 'bar', 'lfit', 'area']
    """
    found = []
    depth, options, starts = 0, False, True
    for part in _PLOT_PARTS.finditer(without_macros(outside)):  # they may be empty
        sign, word, bracket = part.groups()
        if sign == "||":
            starts, options = True, options and depth > 0
        elif sign == ",":
            options, starts = options or depth == 0, False
        elif sign == ")":
            depth = max(depth - 1, 0)
            starts = depth == 0 and not options
        elif sign == "(":
            depth, starts = depth + 1, starts or (depth == 0 and not options)
        elif word is not None:
            if starts:
                found.append(word)
            starts = bool(bracket) and word in _WITH_PLOT
            depth += bool(bracket)
    return found


def is_placeholder(statement: Statement, command: Word) -> bool:
    """Whether the command word behind ``for`` is one that it puts in."""
    around = any(prefix.canonical == "for" for prefix in statement.prefixes)
    return around and command.canonical is None


def names_no_command(statement: Statement) -> bool:
    """Whether something stands behind prefixes that is no command, and no comment."""
    if statement.kind is not Kind.COMMAND or statement.command is not None:
        return False
    last = statement.prefixes[-1]
    at = max(last.end, last.colon or 0, last.arguments[1] if last.arguments else 0)
    if any(kind == "string" and start >= at for kind, start, _ in statement.spans):
        return True
    rest = pieces(statement, at, statement.end)[0].strip(" \t\r\n:{")
    return bool(rest) and not rest.startswith("*")
