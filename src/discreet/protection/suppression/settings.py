"""What suppression and its audit can be told: options, their defaults and what goes together.

In: values. Out: settings in order. Which cells are sensitive is no setting: rules are SECRET.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, WithJsonSchema
from pydantic_core import PydanticCustomError

from discreet.settings import Positive, Settings

#: Names of the methods that search for a pattern.
Method = Literal["auto", "fast", "optimal", "modular", "hypercube"]
ZeroCells = Literal["auto", "fixed", "partners"]


def _where_intervals_stand(value: Any) -> Any:
    if value is not True and value is not False and value != "instead":
        raise PydanticCustomError("intervals", "must be true, false or 'instead'")
    return value


class SearchSettings(Settings):
    """How a pattern is searched for, and what is published of it."""

    method: Method = "auto"  # how a pattern is searched for
    #: Whether zeros may be hidden to protect others; "auto": only where no pattern protects every
    #: cell otherwise
    zero_cells: ZeroCells = "auto"
    #: Seconds that it may take; what is found until then is proven, too
    time_limit: (
        Annotated[Positive, WithJsonSchema({"type": "number", "exclusiveMinimum": 0})] | None
    ) = None
    seed: Annotated[int, Field(ge=0)] = 0  # the same seed gives the same pattern
    singletons: bool | None = None  # whether nobody who stands alone may open cells of others
    #: Whether the bounds of hidden cells are published, or stand "instead" of their sign
    intervals: Annotated[bool | Literal["instead"], BeforeValidator(_where_intervals_stand)] = False
    reasons: Literal["rule", "kind", "none"] | None = None  # what is told of why a cell is hidden


class SuppressionSettings(SearchSettings):
    """How cells of a table are hidden."""

    cost: Literal["value", "count", "unity", "distance"] = "value"  # what hiding a cell costs


class AuditSettings(Settings):
    """What is asked about hidden cells."""

    bounds: bool = False  # whether the bounds of each hidden cell are worked out
    #: How many contributors act together
    coalition: Annotated[int, Field(ge=0)] | None = None
    #: How they were hidden; an audit looks at `zero_cells` alone
    suppression: SuppressionSettings = SuppressionSettings()
