"""The right-hand side of a model as the do-file writes it: `i.sex L.wage c.age#c.age x*`.

In: words and a session. Out: `Terms`: what `safe` models read, the variables behind it, and
columns for lagged variables, which are called `L1_wage` there.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from discreet.output_checking.running.errors import DoError
from discreet.output_checking.running.failing import failure
from discreet.output_checking.running.names import SessionNames
from discreet.output_checking.running.values import MISSING, Floats, Mask

if TYPE_CHECKING:
    from discreet.output_checking.running.session import Session

__all__ = ["Terms", "check_factors", "plain_label", "terms_of"]

_WORD = re.compile(r"(?:\([^()]*\)|[^\s()])+")
_SEVERAL = re.compile(r"([LFDSlfds])\((\d+)\s*/\s*(\d+)\)\.(\w+)\Z")
_SHIFTED = re.compile(r"(?:c\.)?((?:[LFDSlfds]\d*)+)\.(\w+)\Z")


@dataclass
class Terms:
    """Terms of a model.

    Args:
        words: The terms as the safe models read them.
        names: The variables of the data in them.
        more: Columns that are no variables: lags, leads and differences.
        shifted: For each of these, operators and variable.
    """

    words: list[str] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    more: dict[str, Floats] = field(default_factory=dict)
    shifted: dict[str, tuple[str, str]] = field(default_factory=dict)

    @property
    def needed(self) -> list[str]:
        """The variables, each once."""
        return list(dict.fromkeys(self.names))


def terms_of(session: Session, text: str) -> Terms:
    """The terms that a text names.

    Raises:
        DoError: A variable is not there, or an operator has no time variable.
    """
    found = Terms()
    for word in _WORD.findall(text):
        several = _SEVERAL.match(word)
        if several:
            letter, first, last, name = several.groups()
            for number in range(int(first), int(last) + 1):
                one = f"{letter}{number}.{name}" if number else name
                found.words.append(_piece(session, one, found))
        elif "." in word or "#" in word:
            pieces = re.split(r"(#+)", word)
            found.words.append(
                "".join(
                    piece if piece.startswith("#") or not piece else _piece(session, piece, found)
                    for piece in pieces
                )
            )
        else:
            names = session.data.listed(word)
            for name in names:
                if session.data.variables[name].is_text:
                    raise DoError(f"{name} is a string variable", code=109)
            found.names += names
            found.words += names
    return found


def _piece(session: Session, piece: str, found: Terms) -> str:
    """One variable of a term, with its full name."""
    shifted = _SHIFTED.match(piece)
    if shifted:
        operators, name = shifted[1].upper(), session.data.full(shifted[2])
        column = f"{operators if operators[-1].isdigit() else operators + '1'}_{name}"
        while column in session.data.variables:
            column += "_"
        found.names.append(name)
        found.more[column] = SessionNames(session, scalar=False).shifted(operators, name)
        found.shifted[column] = (operators, name)
        return f"c.{column}" if piece.startswith("c.") else column
    prefix, dot, name = piece.rpartition(".")
    full = session.data.full(name)
    found.names.append(full)
    return f"{prefix}{dot}{full}"


def check_factors(session: Session, terms: Sequence[str], rows: Mask) -> None:
    """Raise an error if a factor variable holds numbers that are negative or not whole."""
    for word in terms:
        for piece in re.split("#+", word):
            prefix, dot, name = piece.rpartition(".")
            variable = session.data.variables.get(name)
            if prefix == "c" or not (dot or "#" in word) or variable is None or variable.is_text:
                continue
            values = np.asarray(variable.values, dtype=np.float64)
            wrong = rows & (values < MISSING) & ((values < 0) | (values != np.trunc(values)))
            if wrong.any():
                what = f"factor variable {name} may hold whole numbers from 0 only"
                raise failure(session, wrong, what, code=452)


def plain_label(text: str) -> str:
    """A name of a coefficient in one form, however it is written.

    >>> plain_label("c.age#1.sex"), plain_label("1bn.sex"), plain_label("L.wage")
    ('1.sex#age', '1.sex', 'L1_wage')
    """
    pieces = []
    for piece in text.strip().split("#"):
        one = re.sub(r"\A(\d+)b?n?\.", r"\1.", piece.strip())
        one = one.removeprefix("c.").removeprefix("o.")
        shifted = _SHIFTED.match(one)
        if shifted:
            operators = shifted[1].upper()
            one = f"{operators if operators[-1].isdigit() else operators + '1'}_{shifted[2]}"
        pieces.append(one)
    return "#".join(sorted(pieces))
