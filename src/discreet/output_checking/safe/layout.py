"""Outputs laid out as Stata lays them out: rules of `-`, `+` and `|`, columns to the right.

In: texts of labels and of numbers that may be shown. Out: lines.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from discreet.output_checking.safe.words import legend

__all__ = ["Grid", "abbreviated", "closed", "column_name"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Grid:
    """A table with a stub, a rule below its head and one between its blocks.

    Args:
        stub: What stands above the labels.
        heads: What stands above the columns.
        blocks: Blocks of rows, a rule between them; a row is a label and its cells.
        width: Width of a column.
        ends: How many columns at the end are set off by a bar, as totals are.

    >>> print(Grid(stub="sex", heads=["Freq."], blocks=[[("m", ["12"])], [("Total", ["12"])]]))
             sex |      Freq.
    -------------+-----------
               m |         12
    -------------+-----------
           Total |         12
    """

    stub: str
    heads: Sequence[str]
    blocks: Sequence[Sequence[tuple[str, Sequence[str]]]]
    width: int = 11
    ends: int = 0

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def lines(self) -> list[str]:
        """The lines of the table."""
        rule = self._rule()
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

    def _rule(self) -> str:
        inner = self.width * (len(self.heads) - self.ends)
        if not self.ends:
            return "-" * 13 + "+" + "-" * inner
        return "-" * 13 + "+" + "-" * (inner + 1) + "+" + "-" * (self.width * self.ends)


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
