"""What controlled tabular adjustment can be told: options, their defaults and what goes together.

Which cells are sensitive, and how far they must move, is no setting: rules are SECRET.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from discreet.settings import Limit, Settings

#: What a change of one unit costs: the same everywhere; the less, the larger the figure.
Weights = Literal["equal", "relative", "root"]


class AdjustmentSettings(Settings):
    """Settings of controlled adjustment."""

    #: What a change costs: the same in every figure ("equal"), in proportion to the figure
    #: ("relative"), or to its square root ("root")
    weights: Weights = "relative"
    official: list[str] = Field(default_factory=list)  # variables whose totals stay as they are
    #: By which share of its protection level a sensitive figure moves farther at most; how far
    #: is drawn at random. 0: by the level where that is best, which readers can guess
    spread: Annotated[Limit, Field(le=10)] = 0.5
    #: By which share of itself a figure that is not sensitive may move at most
    most: Annotated[Limit, Field(le=1)] = 1.0
    #: How often each direction is tried anew, where there are too many for the optimum
    rounds: Annotated[int, Field(ge=0, le=100)] = 3
