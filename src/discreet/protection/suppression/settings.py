"""What suppression and its audit can be told: options, their defaults and what goes together.

In: values. Out: settings in order. Which cells are sensitive is no setting: rules are SECRET.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from discreet.settings import Settings

#: Names of the methods that search for a pattern.
Method = Literal["auto", "fast", "optimal", "modular", "hypercube"]
ZeroCells = Literal["auto", "fixed", "partners"]

#: Seconds that a search may take, at most.
LONGEST_SEARCH = 3 * 3_600


class SuppressionSettings(Settings):
    """How cells of a table are hidden."""

    method: Method = "auto"  # how a pattern is searched for
    cost: Literal["value", "count", "unity", "distance"] = "value"  # what hiding a cell costs
    #: Whether zeros may be hidden to protect others; "auto": only where no pattern protects every
    #: cell otherwise
    zero_cells: ZeroCells = "auto"
    #: Seconds that it may take; what is found until then is proven, too
    time_limit: Annotated[float, Field(gt=0, le=LONGEST_SEARCH)] | None = None
    seed: Annotated[int, Field(ge=0, lt=2**32)] = 0  # the same seed gives the same pattern
    singletons: bool | None = None  # whether nobody who stands alone may open cells of others
    #: Whether the bounds of hidden cells are published, or stand "instead" of their sign
    intervals: bool | Literal["instead"] = False
    reasons: Literal["rule", "kind", "none"] | None = None  # what is told of why a cell is hidden


class AuditSettings(Settings):
    """What is asked about hidden cells."""

    bounds: bool = False  # whether the bounds of each hidden cell are worked out
    #: How many contributors act together
    coalition: Annotated[int, Field(ge=0, le=10)] | None = None
    #: How they were hidden; an audit looks at `zero_cells` alone
    suppression: SuppressionSettings = SuppressionSettings()
