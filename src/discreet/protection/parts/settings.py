"""Settings of the check of table parts: thresholds.

In: values. Out: settings in order. SECRET: thresholds are parameters.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, model_validator

from discreet.settings import SecretSettings, refused

_Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
_Number = Annotated[float, Field(ge=0, allow_inf_nan=False)]
_THRESHOLDS = (
    *("max_share_small", "max_share_unique", "max_share_grouped", "max_share_empty"),
    *("min_average_size", "max_relative_error"),
)


class Thresholds(SecretSettings):
    """When a part of a table says too much about units, or too little."""

    max_share_small: _Share | None = None  # small cells among the cells with records
    max_share_unique: _Share | None = None  # records that are alone in their cell
    max_share_grouped: _Share | None = None  # groups all of whose records are alike
    max_share_empty: _Share | None = None  # cells without records
    min_average_size: _Number | None = None  # records per cell with records
    max_relative_error: _Number | None = None  # deviation of the noise by count, on average
    small_up_to: Annotated[int, Field(ge=1)] = 2  # largest count of a small cell
    min_cells: Annotated[int, Field(ge=1)] = 1  # parts with fewer cells are not judged

    @model_validator(mode="after")
    def _some_threshold(self) -> Thresholds:
        if all(getattr(self, name) is None for name in _THRESHOLDS):
            raise refused("no threshold given", f"state one of {', '.join(_THRESHOLDS)}")
        return self


class ThresholdSettings(Thresholds):
    """Which parts of a table are published."""

    areas: str | None = None  # a variable whose areas are decided on, too
