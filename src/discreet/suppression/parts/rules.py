"""`PartRules`: when a table part says too much about units, or too little to readers.

In: the thresholds of a statistic. Out: which of them the measures of a part break.
SECRET like other parameters: who knows them can work towards them. They are never printed.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, fields
from numbers import Integral, Real

from discreet.errors import Problem, SuppressionError
from discreet.suppression.parts.measures import PartMeasures

__all__ = ["PartRules"]

_SHARES = ("max_share_small", "max_share_unique", "max_share_grouped", "max_share_empty")
_POSITIVE = ("min_average_size", "max_relative_error")
_WHOLE = ("small_up_to", "min_cells")


@dataclass(frozen=True, kw_only=True, repr=False)
class PartRules:
    """Thresholds for the parts of tables. SECRET.

    A part breaks a rule if its measure is above the maximum, or below the minimum.
    Measures without a threshold are not looked at.

    Args:
        max_share_small: Disclosure risk: share of small cells among the cells with records.
        max_share_unique: Disclosure risk: share of records that are alone in their cell.
        max_share_grouped: Disclosure risk: share of groups of two and more records, all of
            which fall into one category of a variable; the worst variable counts.
        max_share_empty: Information loss: share of the part's cells without records.
        min_average_size: Information loss: records per cell with records.
        max_relative_error: Information loss: mean over the cells with records of the noise
            that is to be expected (standard deviation) in relation to the count.
        small_up_to: Largest count of a small cell.
        min_cells: Parts of unfiltered tables with fewer cells, empty ones included, are
            not judged: shares of few cells say little.

    >>> PartRules(max_share_small=0.5, max_share_empty=0.8)
    <PartRules: secret>
    """

    max_share_small: float | None = None
    max_share_unique: float | None = None
    max_share_grouped: float | None = None
    max_share_empty: float | None = None
    min_average_size: float | None = None
    max_relative_error: float | None = None
    small_up_to: int = 2
    min_cells: int = 1

    def __post_init__(self) -> None:
        problems = list(self._problems())
        if all(getattr(self, name) is None for name in (*_SHARES, *_POSITIVE)):
            hint = f"give one of {', '.join((*_SHARES, *_POSITIVE))}"
            problems.append(Problem("there is no threshold", "rules", hint))
        if problems:
            raise SuppressionError(
                problems[0].what if len(problems) == 1 else f"{len(problems)} rules are wrong",
                code="part-rules",
                where=problems[0].where if len(problems) == 1 else "rules",
                hint=problems[0].hint,
                problems=problems,
            )

    def _problems(self) -> Iterator[Problem]:
        for name in (*_SHARES, *_POSITIVE):
            value = getattr(self, name)
            if value is None:
                continue
            number = isinstance(value, Real) and not isinstance(value, bool)
            if not number or not math.isfinite(value) or value < 0:
                yield Problem("a threshold is a number from 0 on", name)
            elif name in _SHARES and value > 1:
                yield Problem("a share is a number from 0 to 1", name, "write 0.5 for 50 %")
        for name in _WHOLE:
            value = getattr(self, name)
            whole = isinstance(value, Integral) and not isinstance(value, bool)
            if not whole or value < 1:
                yield Problem("this is a whole number from 1 on", name)

    def risks(self, measures: PartMeasures, *, always: bool = False) -> tuple[str, ...]:
        """The rules on disclosure risk that a part breaks, by code.

        Args:
            measures: What was measured.
            always: Judge parts with few cells too.
        """
        if not always and measures.cells < self.min_cells:
            return ()
        found = {
            "small-cells": _above(measures.share_small, self.max_share_small),
            "unique-units": _above(measures.share_unique, self.max_share_unique),
            "group-disclosure": _above(measures.share_grouped, self.max_share_grouped),
        }
        return tuple(code for code, broken in found.items() if broken)

    def losses(self, measures: PartMeasures, *, always: bool = False) -> tuple[str, ...]:
        """The rules on information loss that a part breaks, by code."""
        if not always and measures.cells < self.min_cells:
            return ()
        least, average = self.min_average_size, measures.average_size
        found = {
            "empty-cells": _above(measures.share_empty, self.max_share_empty),
            "average-size": least is not None and average < least,
            "relative-error": _above(measures.relative_error, self.max_relative_error),
        }
        return tuple(code for code, broken in found.items() if broken)

    def to_dict(self) -> dict[str, float | int]:
        """The thresholds that are set, by name. SECRET."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: value for name, value in values.items() if value is not None}

    def __repr__(self) -> str:
        return "<PartRules: secret>"


def _above(value: float | None, limit: float | None) -> bool:
    return limit is not None and value is not None and value > limit
