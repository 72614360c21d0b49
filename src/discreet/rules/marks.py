"""`Marks`: what people decided about single cells, before any method does. CONFIDENTIAL.

In: codes with a status, costs, levels or bounds, from a programme or an a-priori file.
Out: `Marks`, to be handed to `primary`. Marks are as confidential as what they rest on.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from discreet.errors import Problem, SuppressionError, shortened
from discreet.rules.parameters import is_number

__all__ = ["Mark", "Marks", "Status"]

#: What a mark can make of a cell.
Status = Literal["unsafe", "safe", "protected", "secondary"]
STATUSES = ("unsafe", "safe", "protected", "secondary")

#: The numbers a mark can carry.
NUMBERS = ("cost", "lower", "upper", "sliding", "low", "high")
_NOT_NEGATIVE = ("cost", "lower", "upper", "sliding")
_SHOWN = 20


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class Mark:
    """What is decided about a cell, or about all cells with some codes (confidential).

    Args:
        cells: Code per variable; a variable that is left out stands for all its codes, so
            a total is named by its code.
        status: "unsafe": sensitive, whatever the rules say; "safe": not sensitive, whatever
            they say; "protected": must be published; "secondary": is hidden already.
        cost: What hiding it costs.
        lower: Lower protection level of a sensitive cell, in place of that of the rules.
        upper: Upper protection level.
        sliding: Sliding protection level.
        low: What attackers know beforehand: the value is no smaller.
        high: No larger.
        where: Where the mark was found, for messages: "line 3".
    """

    cells: Mapping[str, str]
    status: Status | None = None
    cost: float | None = None
    lower: float | None = None
    upper: float | None = None
    sliding: float | None = None
    low: float | None = None
    high: float | None = None
    where: str = ""

    def number(self, name: str) -> float | None:
        """One of its numbers."""
        value: float | None = getattr(self, name)
        return value

    def __repr__(self) -> str:
        codes = ", ".join(f"{name}={code}" for name, code in self.cells.items())
        return f"<Mark (confidential): {codes or 'all cells'}>"


@dataclass(frozen=True, repr=False)
class Marks:
    """Marks of the cells of one table (confidential).

    Args:
        marks: The marks. No two may say different things of one cell.
        source: Where they come from, for messages: a file or a key of a programme.

    >>> Marks([Mark(cells={"region": "01", "sex": "Total"}, status="protected")])
    <Marks (confidential): 1>
    """

    marks: Sequence[Mark] = field(default=())
    source: str = "marks"

    def __post_init__(self) -> None:
        object.__setattr__(self, "marks", tuple(self.marks))
        problems = [
            Problem(what, getattr(mark, "where", "") or f"{self.source}, number {at}")
            for at, mark in enumerate(self.marks, 1)
            for what in _wrong(mark)
        ]
        if problems:
            raise SuppressionError(
                f"{len(problems)} marks are wrong" if len(problems) > 1 else problems[0].what,
                code="marks",
                where=self.source if len(problems) > 1 else problems[0].where,
                problems=shortened(problems, _SHOWN),
            )

    @classmethod
    def of(cls, given: Marks | Sequence[Mark] | None) -> Marks:
        """Marks as they are given, or none."""
        if given is None:
            return cls()
        return given if isinstance(given, Marks) else cls(given)

    def __iter__(self) -> Iterator[Mark]:
        return iter(self.marks)

    def __len__(self) -> int:
        return len(self.marks)

    def __repr__(self) -> str:
        return f"<Marks (confidential): {len(self):,}>"


def _wrong(mark: Any) -> Iterator[str]:
    if not isinstance(mark, Mark):
        yield "this is not a Mark"
        return
    cells: Any = mark.cells
    if not isinstance(cells, Mapping):
        yield "cells is a mapping of variables to codes"
    if mark.status is not None and mark.status not in STATUSES:
        yield f"status is one of {', '.join(STATUSES)}"
    numbers = {name: mark.number(name) for name in NUMBERS if mark.number(name) is not None}
    if mark.status is None and not numbers:
        yield "the mark says nothing"
    wrong = [name for name, value in numbers.items() if not is_number(value)]
    yield from (f"{name} is a number" for name in wrong)
    if wrong:
        return
    for name in _NOT_NEGATIVE:
        if not 0 <= (mark.number(name) or 0) < math.inf:
            yield f"{name} is at least 0 and finite"
    if mark.low is not None and mark.high is not None and mark.low > mark.high:
        yield "low is above high"
