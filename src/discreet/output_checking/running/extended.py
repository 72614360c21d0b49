"""Macro functions: `: word 2 of …`, `: variable label x`, `: value label x`, `: display …`.

In: what stands after the colon. Out: its text.
"""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING

from discreet.output_checking.running.errors import DoError, UnsupportedError

if TYPE_CHECKING:
    from discreet.output_checking.running.session import Session

__all__ = ["EXTENDED", "extended_function", "words_of"]


def words_of(text: str) -> list[str]:
    """The words of a text; what stands in double quotes is one word.

    >>> words_of('a "b c" d')
    ['a', 'b c', 'd']
    """
    cleaned = text.replace('`"', '"').replace("\"'", '"')
    lexer = shlex.shlex(cleaned, posix=True)
    lexer.whitespace_split, lexer.quotes, lexer.escape, lexer.commenters = True, '"', "", ""
    try:
        return list(lexer)
    except ValueError:
        raise DoError("quotes do not match", code=132) from None


def extended_function(session: Session, text: str) -> str:
    """The text of a macro function."""
    name, _, rest = text.strip().partition(" ")
    function = EXTENDED.get(name)
    if function is None:
        raise UnsupportedError(f"macro function {name}")
    return function(session, rest.strip())


def _word(session: Session, rest: str) -> str:
    if rest.startswith("count"):
        return str(len(words_of(rest.removeprefix("count"))))
    found = re.match(r"(\S+)\s+of\s*(.*)\Z", rest, re.DOTALL)
    if not found:
        raise DoError("invalid syntax in a macro function", code=198)
    words = words_of(found[2])
    if found[1] == "count":
        return str(len(words))
    try:
        at = int(float(found[1]))
    except (ValueError, OverflowError):
        raise DoError("invalid syntax in a macro function", code=198) from None
    return words[at - 1] if 1 <= at <= len(words) else ""


def _variable(session: Session, rest: str) -> str:
    return session.data.named(rest.removeprefix("label").strip()).label


def _value(session: Session, rest: str) -> str:
    return session.data.named(rest.removeprefix("label").strip()).value_label


def _label(session: Session, rest: str) -> str:
    """The label of a value: `: label NAME 3` or `: label (VARIABLE) 3`."""
    found = re.match(r"(\([^)]*\)|\S+)\s*(\S*)", rest)
    if not found:
        raise DoError("invalid syntax in a macro function", code=198)
    name = found[1]
    if name.startswith("("):
        name = session.data.named(name.strip("() ")).value_label
    texts = session.data.value_labels.get(name, {})
    if name in session.trace.labels:
        session.trace.touched = True
    try:
        return texts.get(float(found[2]), found[2])
    except ValueError:
        return found[2]


def _type(session: Session, rest: str) -> str:
    session.trace.touch(session.data.full(rest) in session.trace.sized)
    return session.data.named(rest).kind


def _format(session: Session, rest: str) -> str:
    session.trace.touch(session.data.full(rest) in session.trace.sized)
    return session.data.named(rest).format


def _display(session: Session, rest: str) -> str:
    from discreet.output_checking.running.displaying import displayed

    return displayed(session, rest)


def _list(session: Session, rest: str) -> str:
    """Set operations on lists of words in macros."""
    found = re.match(r"(uniq|sizeof|retokenize|clean|sort|dups)\s+(.*)\Z", rest)
    macros = session.macros()
    if found:
        words = words_of(_macro(macros.local.get, macros.shared.get, found[2]))
        if found[1] == "sizeof":
            return str(len(words))
        if found[1] == "uniq":
            words = list(dict.fromkeys(words))
        if found[1] == "dups":
            words = [word for at, word in enumerate(words) if word in words[:at]]
        return " ".join(sorted(words) if found[1] == "sort" else words)
    found = re.match(r"posof\s+(\".*\"|`\".*\"')\s+in\s+(\S+)\Z", rest)
    if found:
        words = words_of(_macro(macros.local.get, macros.shared.get, found[2]))
        sought = words_of(found[1])
        return str(words.index(sought[0]) + 1 if sought and sought[0] in words else 0)
    found = re.match(r"(\S+?)\s*(\||&|-|===|==|\bin\b)\s*(\S+)\Z", rest)
    if not found:
        raise UnsupportedError("this list function")
    left = words_of(_macro(macros.local.get, macros.shared.get, found[1]))
    right = words_of(_macro(macros.local.get, macros.shared.get, found[3]))
    sign = found[2]
    if sign == "|":
        return " ".join(left + [word for word in right if word not in left])
    if sign == "&":
        return " ".join(word for word in left if word in right)
    if sign == "-":
        return " ".join(word for word in left if word not in right)
    if sign == "in":
        return str(int(set(left) <= set(right)))
    return str(int(left == right if sign == "==" else sorted(left) == sorted(right)))


def _macro(local: object, shared: object, name: str) -> str:
    name = name.strip()
    if name.startswith("global(") and callable(shared):
        return str(shared(name[7:-1], ""))
    return str(local(name, "")) if callable(local) else ""


def _subinstr(session: Session, rest: str) -> str:
    found = re.match(r"(local|global)\s+(\w+)\s+(.*)\Z", rest, re.DOTALL)
    words = words_of(found[3].split(", all")[0]) if found else []
    if not found or len(words) != 2:
        raise UnsupportedError("this form of : subinstr")
    macros = session.macros()
    text = (macros.local if found[1] == "local" else macros.shared).get(found[2], "")
    return text.replace(words[0], words[1], -1 if found[3].rstrip().endswith("all") else 1)


def _length(session: Session, rest: str) -> str:
    kind, _, name = rest.partition(" ")
    macros = session.macros()
    if kind not in ("local", "global"):
        raise DoError("invalid syntax in a macro function", code=198)
    return str(len((macros.local if kind == "local" else macros.shared).get(name.strip(), "")))


EXTENDED = {
    "word": _word,
    "variable": _variable,
    "value": _value,
    "label": _label,
    "type": _type,
    "format": _format,
    "display": _display,
    "di": _display,
    "list": _list,
    "subinstr": _subinstr,
    "length": _length,
}
