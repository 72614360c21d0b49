"""What `display` and lists of matrices show: which names are scalars, and which hold records.

In: a statement with what is known of names. Out: what is held by what it shows, as `Shown`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from discreet.output_checking.parts import Part
from discreet.output_checking.policy import Action
from discreet.output_checking.stata.model import Statement
from discreet.output_checking.taints import BAD, CLEAN, DOUBT, Held, Taints, among, bare_words

__all__ = ["MACRO_ONLY", "Shown", "displayed", "listed"]

#: A word that is nothing but a macro.
MACRO_ONLY = re.compile(r"(?<!\w)`(\w+)'")
_COMPOSED = re.compile(r"(?<![\w`'(\[.])([A-Za-z_]\w*)(?:`\w+'\w*)+(?![\w(\[`'])")
_SCALAR = re.compile(r"\bscalar\(\s*([A-Za-z_]\w*)\s*\)")
_MACROS = re.compile(r"`[^']*'|\$\{?\w+\}?")


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


def displayed(part: Part, names: set[str], taints: Taints, scalars: list[tuple[int, int]]) -> Held:
    """Names in an expression of `display`: scalars, or the first value of a variable.

    Args:
        part: The statement.
        names: Macros whose text may be the name of a variable.
        taints: What names hold.
        scalars: Takes the places of names of scalars, which a variable could replace.
    """
    held = CLEAN
    code = part.outside
    for name in MACRO_ONLY.findall(code):
        if name in names:
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
    plain = _MACROS.sub(lambda macro: " " * len(macro.group()), code)
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
