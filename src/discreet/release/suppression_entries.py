"""The form of what a programme says about cell suppression: rules, values, marks, methods.

In: the parsed TOML. Out: frozen entries. What concerns two keys at once is checked in
`discreet.release.suppression_checks`. Rules and marks are SECRET.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field
from pydantic_core import PydanticCustomError

from discreet.release.fields import Count, Decimals, Entry, Limit, Number, Positive, Text, Texts

__all__ = [
    "COUNT",
    "BoundsEntry",
    "CostEntry",
    "MarkEntry",
    "Marks",
    "Protect",
    "RuleSetEntry",
    "SuppressionEntry",
    "ValueEntry",
    "Values",
]

#: In `value`, the number of records.
COUNT = "count"

#: How a table is protected.
Protect = Literal["noise", "suppress"]


def _stated(value: Any) -> Any:
    """A rule: a number, numbers, a table of keys, or a list of these."""
    if isinstance(value, bool) or not isinstance(value, int | float | list | dict):
        hint = {"hint": "a number, a list of numbers, or a table of keys"}
        raise PydanticCustomError("rule", "this is no rule", hint)
    return value


def _share(value: Any) -> Any:
    """A share of a value, or "none" for no bound."""
    if value == "none":
        return value
    plain = isinstance(value, int | float) and not isinstance(value, bool)
    if not plain or not 0 <= value < float("inf"):
        raise PydanticCustomError("share", "must be a number of at least 0, or 'none'")
    return value


def _cost(value: Any) -> Any:
    return {"of": value} if isinstance(value, str) else value


def _listed(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


def _marks(value: Any) -> Any:
    """The name of a file stands for the marks in it."""
    items = [value] if isinstance(value, str) else value
    if not isinstance(items, list):
        return items
    return [{"file": item} if isinstance(item, str) else item for item in items]


Rule = Annotated[Any, BeforeValidator(_stated)]
Share = Annotated[Any, BeforeValidator(_share)]


class RuleSetEntry(Entry):
    """[rules.NAME]: which cells are sensitive. SECRET."""

    minimum_frequency: Rule | None = None
    marginal: Rule | None = None
    dominance: Rule | None = None
    p_percent: Rule | None = None
    pq: Rule | None = None
    request: Rule | None = None
    zeros: Rule | None = None
    missing_safe: bool = False
    weighted: bool = True
    levels: Literal["symmetric", "upper", "sliding"] = "symmetric"
    manual_range: Positive = 20.0


class CostEntry(Entry):
    """What hiding a cell costs."""

    of: Text = "value"
    power: Limit = 1.0
    totals: Positive = 1.0
    distance: Annotated[list[Count], Field(min_length=1, max_length=5)] | None = None


class BoundsEntry(Entry):
    """What attackers know of each value beforehand, as shares of it; "none" for nothing."""

    below: Share = 1.0
    above: Share = 1.0
    negative: bool | None = None


class SuppressionEntry(Entry):
    """[suppression]: how cells are hidden, for all tables."""

    method: Literal["auto", "fast", "optimal", "modular", "hypercube"] = "auto"
    time_limit: Positive | None = None
    seed: Annotated[int, Field(ge=0)] = 0
    cost: Annotated[CostEntry, BeforeValidator(_cost)] = CostEntry()
    bounds: BoundsEntry = BoundsEntry()
    zero_cells: Literal["fixed", "partners"] = "fixed"
    singletons: bool | None = None
    intervals: bool = False
    reasons: Literal["rule", "kind", "none"] = "rule"
    unmatched: Literal["refuse", "ignore"] = "refuse"
    earlier: Annotated[list[Text], BeforeValidator(_listed)] = Field(default_factory=list)


class ValueEntry(Entry):
    """[values.COLUMN]: how a value column is printed in suppressed tables."""

    title: Texts = Field(default_factory=dict)
    unit: Texts = Field(default_factory=dict)
    decimals: Annotated[Decimals, Field(le=9)] = 0


class MarkEntry(Entry):
    """[[tables.NAME.marks]]: a file of marks, or one of them. CONFIDENTIAL."""

    file: Text | None = None
    separator: Text | None = None
    cells: dict[str, Text] | None = None
    status: Literal["unsafe", "safe", "protected", "secondary"] | None = None
    cost: Limit | None = None
    lower: Limit | None = None
    upper: Limit | None = None
    sliding: Limit | None = None
    low: Number | None = None
    high: Number | None = None

    @property
    def decisions(self) -> dict[str, Any]:
        """What is decided about the cells."""
        return self.model_dump(exclude={"file", "separator", "cells"}, exclude_none=True)


Marks = Annotated[list[MarkEntry], BeforeValidator(_marks)]
Values = Annotated[list[Text], BeforeValidator(_listed), Field(min_length=1)]
