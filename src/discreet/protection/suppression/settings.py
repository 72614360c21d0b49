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
    """How cells of a table are hidden.

    Args:
        method: How a pattern is searched for.
        cost: What hiding a cell costs.
        zero_cells: Whether zeros may be hidden to protect others; "auto": only where no
            pattern protects every cell otherwise.
        time_limit: Seconds that it may take; what is found until then is proven, too.
        seed: The same seed gives the same pattern.
        singletons: Whether nobody who stands alone may open cells of others.
        intervals: Whether the bounds of hidden cells are published, or stand "instead" of their
            sign.
        reasons: What is told of why a cell is hidden.
    """

    method: Method = "auto"
    cost: Literal["value", "count", "unity", "distance"] = "value"
    zero_cells: ZeroCells = "auto"
    time_limit: Annotated[float, Field(gt=0, le=LONGEST_SEARCH)] | None = None
    seed: Annotated[int, Field(ge=0, lt=2**32)] = 0
    singletons: bool | None = None
    intervals: bool | Literal["instead"] = False
    reasons: Literal["rule", "kind", "none"] | None = None


class AuditSettings(Settings):
    """What is asked about hidden cells.

    Args:
        bounds: Whether the bounds of each hidden cell are worked out.
        coalition: How many contributors act together.
        suppression: How they were hidden; an audit looks at `zero_cells` alone.
    """

    bounds: bool = False
    coalition: Annotated[int, Field(ge=0, le=10)] | None = None
    suppression: SuppressionSettings = SuppressionSettings()
