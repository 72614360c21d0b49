"""What rounding can be told: its options, their defaults and what goes together.

In: values. Out: settings in order. Public: where draws come from is no setting.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, ValidationInfo, field_validator

from discreet.settings import Settings, refused

#: How figures are rounded.
Method = Literal["controlled", "small-counts", "conventional", "keyed", "random"]
#: Whose totals are the sums of their parts, as published.
ADDITIVE = ("controlled", "small-counts")

LARGEST_BASE = 1000
MOST_STEPS = 10

Base = Annotated[int, Field(ge=2, le=LARGEST_BASE)]


class RoundingSettings(Settings):
    """Settings of rounding."""

    #: "conventional" to the nearest multiple; "keyed" up or down at random by the cell key;
    #: "random" by a seed; "controlled" so that totals are sums; "small-counts" changes inner cells
    #: below the base only
    method: Method = "keyed"
    base: Base = 5  # figures become multiples of this, 2 to 1,000
    margins: Base | None = None  # another base for totals; that of inner cells if None
    #: Where a count halfway between goes: "up", or to the "even" multiple
    ties: Literal["up", "even"] = "up"
    unbiased: bool = False  # controlled rounding at random, right on average; two-way tables only
    #: By how many further multiples controlled rounding may miss where it has to
    steps: Annotated[int, Field(ge=0, le=MOST_STEPS)] = 3

    @field_validator("margins")
    @classmethod
    def _totals_of_their_own(cls, value: int | None, info: ValidationInfo) -> int | None:
        if value is not None and info.data.get("method") in ADDITIVE:
            hint = "remove it, or round each value independently"
            raise refused("additive totals have the base of their parts", hint)
        return value

    @field_validator("ties")
    @classmethod
    def _ties_that_occur(cls, value: str, info: ValidationInfo) -> str:
        if value != "up" and info.data.get("method") != "conventional":
            raise refused("ties needs conventional rounding")
        return value

    @field_validator("unbiased")
    @classmethod
    def _unbiased_where_it_can_be(cls, value: bool, info: ValidationInfo) -> bool:
        if value and info.data.get("method") != "controlled":
            raise refused("unbiased needs controlled rounding")
        return value

    @property
    def additive(self) -> bool:
        """Whether published totals are the sums of published parts."""
        return self.method in ADDITIVE


class AdditivitySettings(Settings):
    """Settings of making protected counts additive."""

    official: list[str] = Field(default_factory=list)  # variables whose totals stay as they are
