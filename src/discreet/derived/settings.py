"""What quantiles can be told: their options, their defaults and what goes together. Public.

In: values. Out: settings in order.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Annotated

from pydantic import BeforeValidator, Field, field_validator

from discreet.settings import Count, Limit, Number, Settings, Text, refused

MOST_SHARES = 99
_SHARE = "shares must rise, each above 0 and below 1"


class QuantileRules(Settings):
    """Which quantiles of a variable in classes are published, and on how many they must rest."""

    #: Shares of the records that lie below each quantile; the median, 0.5, if there are none
    shares: Annotated[
        list[Number],
        BeforeValidator(lambda value: list(value) if isinstance(value, list | tuple) else [value]),
        Field(max_length=MOST_SHARES),
    ] = Field(default_factory=list)
    minimum: Count = 10  # protected counts on either side of a quantile, at least
    #: Digits after the decimal point; None for about a tenth of the narrowest class
    decimals: Annotated[int, Field(ge=0, le=9)] | None = None
    bracket_above: Limit = 0.15  # expected relative error above which it is bracketed

    @field_validator("shares")
    @classmethod
    def _rising(cls, value: list[float]) -> list[float]:
        if any(high <= low for low, high in pairwise([0.0, *value, 1.0])):
            raise refused(_SHARE, "such as 0.25, 0.5, 0.75")
        return value


class QuantileSettings(QuantileRules):
    """Quantiles of cells that are handed in."""

    of: Text  # the variable whose codes are classes of a number
    #: Lower bounds of its classes in order, and the upper bound of the last unless that is open
    breaks: Annotated[list[Number], Field(min_length=2)]
    deviation: Limit = 0.0  # standard deviation of the noise of a count; 0 for no brackets
