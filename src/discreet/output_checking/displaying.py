"""What `display` and lists of matrices show: which names are scalars, and which hold records.

In: a statement with what is known of names. Out: what is held by what it shows, as `Shown`.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass

from discreet.output_checking.parts import Part
from discreet.output_checking.policy import Action
from discreet.output_checking.stata.model import Statement
from discreet.output_checking.taints import (
    BAD,
    CLEAN,
    DOUBT,
    Held,
    Taints,
    among,
    bare_words,
    without_macros,
)

__all__ = ["Shown", "all_numbers", "displayed", "listed", "may_name", "named"]

#: A word that is nothing but a macro.
_MACRO_ONLY = re.compile(r"(?<!\w)`(\w+)'")
_GLOBAL_ONLY = re.compile(r"(?<!\w)\$\{?(\w+)")
#: Stored results that name variables.
_NAMING = re.compile(
    r"`[re]\((?:varlist|depvar|indepvars|varname|ivar|tvar|panelvar|timevar|clustvar|sortlist)\)'"
)
#: Brackets in which a name is no variable: of estimates, stored results and scalars.
_BRACKETED = re.compile(
    r"\b_(?:b|se|coef)\[[^\[\]]*\]|\b(?:[rsec]|[es]?return|scalar|el)\s*\([^()]*\)"
)
_NUMERIC = re.compile(r"[\s\d.,()+*/^<>=&|!-]*")
_LIST = re.compile(r"\s*(?:in|of\s+numlist)\b")
_STRING = re.compile(r"\"[^\"]*\"")
_COMPOSED = re.compile(r"(?<![\w`'(\[.])([A-Za-z_]\w*)(?:`\w+'\w*)+(?![\w(\[`'])")
_SCALAR = re.compile(r"\bscalar\(\s*([A-Za-z_]\w*)\s*\)")


@dataclass(frozen=True, kw_only=True, slots=True)
class Shown:
    """A statement that would show a figure.

    Args:
        statement: The statement.
        action: Whether it is refused or goes to review.
        what: What it would show.
        scalars: Places of bare names that can only be meant as scalars; they are safe once
            they are written ``scalar(name)``.
    """

    statement: Statement
    action: Action
    what: str = ""
    scalars: tuple[tuple[int, int], ...] = ()


def may_name(part: Part, at: int, names: set[str]) -> bool:
    """Whether the text that a macro is given may be the name of a variable.

    Args:
        part: The statement.
        at: Where the text starts in its code.
        names: Macros of which that is known; globals with ``$``.
    """
    rest = part.outside[at:]
    if not rest.strip():  # all of it is one string, whose quotes Stata takes off
        texts = (
            part.statement.source[first:last]
            for kind, first, last in part.statement.spans
            if kind == "string" and first >= part.start + at
        )
        rest = _STRING.sub(" ", next(texts, "").strip("`\"'"))
    if named(rest, names):
        return True
    return not rest.lstrip().startswith(":") and bool(bare_words(without_macros(rest)))


def named(code: str, names: set[str]) -> list[str]:
    """The macros in an expression whose text may be the name of a variable.

    Args:
        code: The expression.
        names: Macros of which that is known; globals with ``$``.
    """
    plain = _with_outer_macros(_BRACKETED.sub(" ", code))
    used = [*_MACRO_ONLY.findall(plain), *(f"${name}" for name in _GLOBAL_ONLY.findall(plain))]
    return [name for name in used if name in names] + _NAMING.findall(code)


def _with_outer_macros(code: str) -> str:
    """The code without macros that are part of the name of another, ```m_`a'`b''``."""
    if code.count("`") < 2:
        return code
    out, depth = [], 0
    for sign in code:
        closes = sign == "'" and depth > 0
        depth -= closes
        out.append(" " if depth and (sign == "`" or closes) else sign)
        depth += sign == "`"
    return "".join(out)


def all_numbers(part: Part, at: int, known: Collection[str] | None) -> bool:
    """Whether a loop goes through numbers, which name no variable.

    Args:
        part: The statement.
        at: Where its list starts in its code.
        known: The words of the list, if it is in a macro and they are known.
    """
    text = part.statement.source[part.start + at : part.statement.end]
    words = " ".join(known) if known else text
    kind = _LIST.match(words)
    if kind is not None and "numlist" in kind.group():
        return True
    numbers = words[kind.end() if kind else 0 :].rstrip().removesuffix("{").replace('"', "")
    return _NUMERIC.fullmatch(numbers) is not None


def displayed(part: Part, names: set[str], taints: Taints, scalars: list[tuple[int, int]]) -> Held:
    """Names in an expression of `display`: scalars, or the first value of a variable.

    Args:
        part: The statement.
        names: Macros whose text may be the name of a variable; globals with ``$``.
        taints: What names hold.
        scalars: Takes the places of names of scalars, which a variable could replace.
    """
    held = CLEAN
    code = part.outside
    for name in named(code, names):
        what = f"the macro {name}, which may name a variable; its first value is shown"
        held = max(held, Held(BAD, what))
    for found in _COMPOSED.finditer(code):
        if among(found.group(1), taints.known_scalars, begun=True):
            start, end = found.span()
            scalars.append((part.start + start, part.start + end))
            held = max(held, taints.scalars.of_begun(found.group(1)))
            code = code[:start] + " " * (end - start) + code[end:]
    for name in _SCALAR.findall(code):
        if not among(name, taints.known_scalars):
            held = max(held, Held(DOUBT, f"the scalar {name}, which is not made here"))
    plain = without_macros(code)
    for start, word in bare_words(plain):
        if among(word, taints.known_scalars):
            scalars.append((part.start + start, part.start + start + len(word)))
        elif word not in taints.known_matrices:
            what = f"the first value of {word}; if it is a scalar, write scalar({word})"
            held = max(held, Held(BAD, what))
    scalars.sort()
    return held


def listed(part: Part, known: set[str]) -> Held:
    """Matrices that are listed: made here, or results of models.

    Args:
        part: The statement.
        known: Names that the program gives to matrices.
    """
    words = re.split(r"[,\[]", part.outside)[0].split()
    name = words[-1] if words else ""
    head = re.split("[`$]", name, maxsplit=1)[0]
    if not name or "(" in name or (head and among(head, known, begun=head != name)):
        return CLEAN
    return Held(DOUBT, "a matrix that is not made here")
