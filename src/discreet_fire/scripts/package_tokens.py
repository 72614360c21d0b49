"""Tokens of the programs of statistical packages, and what is wrong where they cannot be read.

In: places in the text of an SPSS or SAS program. Out: `PackageToken`s, which only name what stands
there.
"""

from __future__ import annotations

from dataclasses import dataclass


class PackageSyntaxError(Exception):
    """A text that cannot be read as a program.

    Args:
        what: What is wrong.
        at: Where, in characters.
    """

    def __init__(self, what: str, at: int) -> None:
        super().__init__(what)
        self.what = what
        self.at = at


@dataclass(frozen=True, slots=True)
class PackageToken:
    """A word, text, number, sign, macro call or reference of a program.

    Args:
        kind: ``word``, ``text``, ``number``, ``macro`` or ``sign``; of SAS also ``reference`` and
            ``escaped``.
        text: As it is written.
        start: Where it starts.
        end: Where it ends.
    """

    kind: str
    text: str
    start: int
    end: int

    @property
    def upper(self) -> str:
        """In capitals, as names are compared."""
        return self.text.upper()
