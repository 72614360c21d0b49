"""The form of perturbation tables in JSON; apart, as few uses of tables read such a file."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from discreet.keygrid import KeyGrid
from discreet.protection.noise.intervals import Closed


class _JsonBlock(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid")
    start: int
    length: int


class _JsonRow(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid")
    upper: Annotated[list[int], Field(min_length=1)]
    noise: list[int]

    @model_validator(mode="after")
    def _as_many_of_both(self) -> _JsonRow:
        if len(self.upper) != len(self.noise):
            raise ValueError("another number of bounds than of noise")
        return self


class JsonTable(BaseModel):
    """What is read of such a file."""

    model_config = ConfigDict(strict=True)
    scale: Annotated[int, Field(ge=2, le=KeyGrid().size)]
    closed: Closed
    beyond: Literal["last"] | _JsonBlock
    zeros: bool
    name: str
    version: str
    rows: list[_JsonRow]
