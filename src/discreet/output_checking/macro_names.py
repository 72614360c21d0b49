"""What names a macro can hold: those of `tempname`, of a list that a loop goes through.

In: the statements of a do-file. Out: the macros of which all texts are known. A scalar that
such a macro names, ``scalar `m' = r(max)``, has one of these names and no other.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from discreet.output_checking.parts import Part

__all__ = ["known_names"]

_TEMPORARY = ("tempname", "tempvar")
#: Commands that give texts to macros, or may do so in a way that is not read.
_GIVE_TEXTS = frozenset((
    "args", "gettoken", "syntax", "forvalues", "macro", "mac", "unab", "fvunab", "tsunab", "ds",
    "tempfile", "mata", "python", "java", "file", "c_local", "numlist", "parse", "_parse",
    "mark", "marksample", "foreach", "local",
))  # fmt: skip
#: What `syntax` gives texts to besides the names in it.
_BY_SYNTAX = frozenset((
    "varlist", "varname", "namelist", "anything", "using", "if", "in", "exp", "weight", "options",
))  # fmt: skip
_WORD = re.compile(r"[A-Za-z_]\w*")
_MACRO = re.compile(r"`\w+'")
_MACRO_IN_NAME = re.compile(r"\s*\w*[`$]")
#: Nothing is given back once it is taken, so that no run of blanks takes long.
_PLAIN = re.compile(r"\s*+(\w++)(?:\s++\"?([\w\s]*+)\"?)?\s*+")
_LISTED = re.compile(r"\s*(\w+)\s+(?:in|of\s+(?:varlist|newlist))\s+([\w\s]*)\{\s*")
_OF_LOCAL = re.compile(r"\s*(\w+)\s+of\s+local\s+(\w+)\s*\{\s*")
_OPTION = re.compile(r"\bloc(?:a|al)?\(\s*(\w+)")


def known_names(parts: Iterable[Part]) -> Mapping[str, frozenset[str]]:
    """The macros of which all texts are known, with the words they can hold.

    No words stand for names made up by Stata. A macro that another command merely mentions
    is not among them; in a file that gives texts to macros whose names are macros, or that
    includes another, none is.

    Args:
        parts: The statements.
    """
    held: dict[str, set[str]] = {}
    through: list[tuple[str, str]] = []
    others: set[str] = set()
    for part in parts:
        statement = part.statement
        text = statement.source[part.start : statement.end]
        if "loc" in text:
            others.update(_OPTION.findall(text))
        if part.name in _TEMPORARY:
            for name in text.split():
                held.setdefault(name, set())
        elif part.name == "include" or (part.name == "local" and _MACRO_IN_NAME.match(text)):
            return {}
        elif part.name == "local" and (plain := _PLAIN.fullmatch(text)) is not None:
            held.setdefault(plain[1], set()).update((plain[2] or "").split())
        elif part.name == "foreach" and (listed := _LISTED.fullmatch(text)) is not None:
            held.setdefault(listed[1], set()).update(listed[2].split())
        elif part.name == "foreach" and (of_local := _OF_LOCAL.fullmatch(text)) is not None:
            through.append((of_local[1], of_local[2]))
        elif part.name in _GIVE_TEXTS or part.by_macro:
            words = _WORD.findall(_MACRO.sub(" ", text))
            others |= set(words) | {word.lower() for word in words}
            others |= _BY_SYNTAX if part.name == "syntax" else set()
    return _through_lists(held, through, others)


def _through_lists(
    held: dict[str, set[str]], through: list[tuple[str, str]], others: set[str]
) -> dict[str, frozenset[str]]:
    """With the macros of loops through lists; those that anything else may change are out."""
    unknown = others | {name for name, of in through if of in others or of not in held}
    for _ in through:
        for name, of in through:
            if of in unknown:
                unknown.add(name)
            else:
                held.setdefault(name, set()).update(held.get(of, ()))
    return {
        name: frozenset(words)
        for name, words in held.items()
        if name not in unknown and name.isidentifier()
    }
