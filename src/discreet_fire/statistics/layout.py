"""Outputs laid out as Stata lays them out: numbers as texts, rules of `-`, `+` and `|`, legends.

In: labels and numbers that may be shown, None or NaN for withheld ones; a language. Out: lines;
a withheld number is a point, and a legend says that something is withheld, never by which
parameter.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from discreet.files import texts_of


def rounded(value: float, digits: int) -> float:
    """A number with so many significant digits.

    >>> rounded(1234.5678, 6), rounded(0.0, 3)
    (1234.57, 0.0)
    """
    return float(f"{value:.{digits - 1}e}") if math.isfinite(value) else value


def round_step(value: float, steps: Sequence[float] = (1, 2, 5, 10)) -> float:
    """The next of some steps times a power of ten that is not smaller.

    >>> round_step(0.3), round_step(1200.0), round_step(2.2, (1, 2, 2.5, 5, 10))
    (0.5, 2000.0, 2.5)
    """
    power = 10.0 ** math.floor(math.log10(value))
    step = next(step for step in steps if step * power >= value * (1 - 1e-12))
    return rounded(step * power, 12)


def general(value: float | None, width: int = 9) -> str:
    """As `%9.0g`: up to 7 digits, and as many as the width holds.

    >>> general(6165.25675), general(0.25), general(None), general(1234567890.0)
    ('6165.257', '.25', '.', '1.23e+09')
    """
    if value is None or not math.isfinite(value):
        return "."
    if value == 0:
        return "0"
    for digits in range(min(7, width), 0, -1):
        short = rounded(value, digits)
        exponent = math.floor(math.log10(abs(short)))
        if -5 < exponent < width - 1:
            text = f"{short:.{max(digits - 1 - exponent, 0)}f}"
            text = text.rstrip("0").rstrip(".") if "." in text else text
            text = text.replace("0.", ".", 1) if abs(short) < 1 else text
        else:
            text = f"{short:.{min(digits - 1, 2)}e}"
        if len(text) <= width:
            return text
    return "." if width < 2 else f"{value:.0e}"


def fixed(value: float | None, decimals: int = 2) -> str:
    """With so many decimals.

    >>> fixed(33.333), fixed(None)
    ('33.33', '.')
    """
    return "." if value is None or not math.isfinite(value) else f"{value:.{decimals}f}"


def count_text(value: float | None) -> str:
    """A count with separators, or a sum of weights.

    >>> count_text(12345.0), count_text(None), count_text(2.5)
    ('12,345', '.', '2.5')
    """
    if value is None or not math.isfinite(value):
        return "."
    return f"{int(value):,}" if value == int(value) else general(value)


def number_text(value: Any) -> str:
    r"""A value of a grouping variable as a label on one line.

    >>> number_text(2.0), number_text("north"), number_text(0.5), number_text("a\nb")
    ('2', 'north', '.5', 'a b')
    """
    if isinstance(value, float):
        return str(int(value)) if value == int(value) and abs(value) < 1e15 else general(value)
    text = str(value)
    if text.isprintable():
        return text
    # Without characters that end lines, steer a screen or turn the direction of writing.
    return "".join(" " if unicodedata.category(sign)[0] in "CZ" else sign for sign in text)


def legend(language: str) -> str:
    """The line below an output in which something is withheld.

    >>> legend("de")
    '. aus Gründen der Geheimhaltung gesperrt'
    """
    return texts_of("discreet_fire.statistics", "lines", language)["withheld"]


def refused_line(language: str) -> str:
    """The line in place of the output of a command that is not permitted.

    >>> refused_line("en")
    '*FDZ: command not permitted in remote execution'
    """
    return texts_of("discreet_fire.statistics", "lines", language)["refused"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Grid:
    """A table with a stub, a rule below its head and one between its blocks.

    >>> print(Grid(stub="sex", heads=["Freq."], blocks=[[("m", ["12"])], [("Total", ["12"])]]))
             sex |      Freq.
    -------------+-----------
               m |         12
    -------------+-----------
           Total |         12
    """

    stub: str  # what stands above the labels
    heads: Sequence[str]  # what stands above the columns
    #: Blocks of rows, a rule between them; a row is a label and its cells
    blocks: Sequence[Sequence[tuple[str, Sequence[str]]]]
    width: int = 11  # width of a column
    ends: int = 0  # how many columns at the end are set off by a bar, as totals are

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def lines(self) -> list[str]:
        """The lines of the table."""
        inner = self.width * (len(self.heads) - self.ends)
        rule = "-" * 13 + "+" + "-" * (inner + (self.ends > 0))
        rule += "+" + "-" * (self.width * self.ends) if self.ends else ""
        lines = [self._line(self.stub, self.heads)]
        for block in self.blocks:
            lines.append(rule)
            lines += [self._line(label, cells) for label, cells in block]
        return lines

    def _line(self, label: str, cells: Sequence[str]) -> str:
        inner = len(self.heads) - self.ends
        texts = [f"{cell:>{self.width}}" for cell in cells]
        bar = [" |" + "".join(texts[inner:])] if self.ends and len(texts) > inner else []
        line = f"{abbreviated(label, 12):>12} |" + "".join([*texts[:inner], *bar])
        return line.rstrip()


def abbreviated(label: str, width: int) -> str:
    """A label that fits: the beginning, `~` and the last character, as Stata cuts names.

    >>> abbreviated("household_income_total", 12)
    'household_~l'
    """
    label = label.replace("\n", " ")
    return label if len(label) <= width else label[: width - 2] + "~" + label[-1]


def column_name(name: str, taken: Collection[str]) -> str:
    """A name for a column of a result that no other column has.

    >>> column_name("n", ["n", "percent"]), column_name("sex", ["n"])
    ('n_', 'sex')
    """
    while name in taken:
        name += "_"
    return name


def closed(lines: Sequence[str], withheld: bool, language: str) -> str:
    """The text of an output, with a legend if something in it is withheld."""
    return "\n".join([*lines, *([legend(language)] if withheld else [])])
