"""Tokens of the programs of statistical packages, and what is wrong where they cannot be read.

In: places in the text of an SPSS or SAS program. Out: `PackageToken`s, which only name what stands
there.
"""

from __future__ import annotations

from dataclasses import dataclass


class PackageSyntaxError(Exception):
    """A text that cannot be read as a program."""

    def __init__(self, what: str, at: int) -> None:
        super().__init__(what)
        self.what = what
        self.at = at


@dataclass(frozen=True, slots=True)
class PackageToken:
    """A word, text, number, sign, macro call or reference of a program."""

    #: ``word``, ``text``, ``number``, ``macro`` or ``sign``; of SAS also ``reference`` and
    #: ``escaped``
    kind: str
    text: str  # as it is written
    start: int  # where it starts
    end: int  # where it ends

    @property
    def upper(self) -> str:
        """In capitals, as names are compared."""
        return self.text.upper()
