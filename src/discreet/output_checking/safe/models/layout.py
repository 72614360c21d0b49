"""Tables of coefficients as Stata lays them out.

In: what may be shown of a model. Out: lines of text, and the same numbers as a frame.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from discreet.output_checking.safe.layout import abbreviated
from discreet.output_checking.safe.models.coefficients import Row
from discreet.output_checking.safe.models.design import Column, Design
from discreet.output_checking.safe.models.solving import Solution
from discreet.output_checking.safe.numbers import fixed, general

__all__ = [
    "CoefficientTable",
    "beside",
    "frame_of",
    "header",
    "omitted_columns",
    "remarks",
    "rows_by_column",
    "withheld_frame",
]

_WIDTH = 78


@dataclass(frozen=True, kw_only=True)
class CoefficientTable:
    """The table of coefficients.

    Args:
        outcome: The dependent variable.
        statistic: "t" or "z".
        level: Of confidence intervals, in percent.
        robust: Whether standard errors are robust.
    """

    outcome: str
    statistic: str
    level: float
    robust: bool = False

    def lines(
        self, design: Design, rows: Sequence[Row | None], omitted: Sequence[Column]
    ) -> list[str]:
        """The lines of a table that is shown; rows without numbers have a word instead."""
        body: list[str] = []
        for place, term in enumerate(design.terms):
            listed = [
                (column, row)
                for column, row in zip(design.columns, rows, strict=False)
                if column.term == place
            ]
            if not any(part.levels for part in term.factors):
                body += [_line(term.text, row, column in omitted) for column, row in listed]
                continue
            head = "#".join(p.name if p.levels else f"c.{p.name}" for p in term.factors)
            body += [_blank(), _label(head)]
            body += [
                _line(column.row, row, column in omitted, column.state)
                for column, row in listed
                if column.state != "base"
            ]
            if place < len(design.terms) - 1 or design.constant:
                body.append(_blank())
        if design.constant:
            body.append(_line("_cons", rows[-1], False))
        return self._framed(_without_doubles(body))

    def withheld(self, names: Sequence[str]) -> list[str]:
        """The lines of a table of which nothing may be shown but the terms asked for."""
        return self._framed([_line(name, None, False) for name in names])

    def _framed(self, body: Sequence[str]) -> list[str]:
        interval = f"[{self.level:g}% conf. interval]"
        head = f"{abbreviated(self.outcome, 12):>12} | Coefficient"
        head += "  std. err." if self.robust else "  Std. err."
        head += f"      {self.statistic}    P>|{self.statistic}|     {interval}"
        lines = ["-" * _WIDTH]
        if self.robust:
            lines.append(f"{'':>12} |{'Robust':>21}")
        lines += [head, "-" * 13 + "+" + "-" * (_WIDTH - 14), *body, "-" * _WIDTH]
        return lines


def _blank() -> str:
    return f"{'':>12} |"


def _label(label: str) -> str:
    return f"{abbreviated(label, 12):>12} |"


def _line(label: str, row: Row | None, omitted: bool, state: str = "estimated") -> str:
    begin = _label(label)
    if state == "empty" or omitted:
        return f"{begin}{'(empty)' if state == 'empty' else '(omitted)':>11}"
    if row is None:
        return f"{begin}{'.':>11}{'.':>11}{'.':>9}{'.':>8}{'.':>13}{'.':>12}"
    return (
        f"{begin}{general(row.value):>11}{general(row.error):>11}"
        f"{fixed(row.statistic):>9}{fixed(row.probability, 3):>8}"
        f"{general(row.low):>13}{general(row.high):>12}"
    )


def _without_doubles(lines: Sequence[str]) -> list[str]:
    """Blank lines do not follow each other, and none comes first."""
    found: list[str] = []
    for line in lines:
        if line != _blank() or (found and found[-1] != _blank()):
            found.append(line)
    return found


def beside(left: Sequence[str], right: Sequence[tuple[str, str]]) -> list[str]:
    """Lines on the left with named numbers on the right."""
    lines = []
    for number in range(max(len(left), len(right))):
        start = left[number] if number < len(left) else ""
        if number < len(right):
            name, value = right[number]
            start = f"{start:<51}" + f"{name:<16}={value:>10}"
        lines.append(start.rstrip())
    return lines


def header(title: str, numbers: Sequence[tuple[str, str]]) -> list[str]:
    """A title with named numbers on the right."""
    return beside([title], numbers)


def rows_by_column(design: Design, solution: Solution, rows: Sequence[Row]) -> list[Row | None]:
    """The row of each column of the design, and of the constant; None where there is none."""
    places = {design.estimated[place]: row for place, row in zip(solution.kept, rows, strict=False)}
    found = [places.get(column) for column in design.columns]
    return [*found, rows[-1]] if design.constant else found


def omitted_columns(design: Design, solution: Solution) -> list[Column]:
    """Columns that follow from earlier ones."""
    left = np.setdiff1d(np.arange(len(design.estimated)), solution.kept)
    return [design.estimated[place] for place in left]


def remarks(omitted: Sequence[Column]) -> list[str]:
    """Notes on columns that are left out."""
    return [f"note: {column.label} omitted because of collinearity." for column in omitted]


def frame_of(design: Design, rows: Sequence[Row | None], omitted: Sequence[Column]) -> pl.DataFrame:
    """The table as a frame."""
    records: list[Mapping[str, object]] = []
    names = [(c.label, "omitted" if c in omitted else c.state) for c in design.columns]
    if design.constant:
        names.append(("_cons", "estimated"))
    for (name, state), row in zip(names, rows, strict=True):
        numbers = [None] * len(_NUMBERS) if row is None else list(dataclasses.astuple(row))
        shown = [None if value is None or math.isnan(value) else value for value in numbers]
        records.append({"term": name, "state": state, **dict(zip(_NUMBERS, shown, strict=True))})
    return pl.DataFrame(records, schema=_SCHEMA)


def withheld_frame(names: Sequence[str]) -> pl.DataFrame:
    """The frame of a table of which nothing may be shown."""
    records = [{"term": name, "state": "withheld"} for name in names]
    return pl.DataFrame(records, schema=_SCHEMA)


_NUMBERS = ("coefficient", "std_err", "statistic", "p", "low", "high")
_SCHEMA: dict[str, type[pl.DataType]] = {"term": pl.String, "state": pl.String}
_SCHEMA |= dict.fromkeys(_NUMBERS, pl.Float64)
