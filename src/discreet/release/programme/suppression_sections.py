"""[suppression]: how cells are suppressed, for all tables of a programme."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from discreet.protection.suppression import SearchSettings
from discreet.release.programme.values import Change, ProgrammeEntry, Share
from discreet.settings import Count, Limit, Names, Positive, Text


class CostEntry(ProgrammeEntry):
    """Cost of hiding a cell."""

    of: Text = "value"
    power: Annotated[Limit, Field(le=4)] = 1.0
    totals: Annotated[Positive, Field(le=1000)] = 1.0
    distance: Annotated[list[Count], Field(min_length=1, max_length=5)] | None = None


class BoundsEntry(ProgrammeEntry):
    """Prior bounds of attackers on each value, as shares of it; "none" without bounds."""

    below: Share = 1.0
    above: Share = 1.0
    negative: bool | None = None
    rules: bool = True


_COST = BeforeValidator(lambda value: {"of": value} if isinstance(value, str) else value)


class SuppressionEntry(SearchSettings, ProgrammeEntry):
    """[suppression]: how cells are suppressed, for all tables."""

    cost: Annotated[CostEntry, _COST] = CostEntry()
    bounds: BoundsEntry | None = None
    unmatched: Literal["refuse", "ignore"] = "refuse"
    hide_less: bool = False
    earlier: Names = Field(default_factory=list)
    earlier_change: Change = "refuse"
    earlier_identity: Names = Field(default_factory=list)
    round_to: Annotated[int, Field(ge=2, le=1000)] | None = None
    accept: list[Text] = Field(default_factory=list)
    coincidences: list[Text] = Field(default_factory=list)
    related_within: Annotated[float, Field(ge=0, le=0.2)] = 0.01
