"""The form of what a programme says about magnitudes, key figures, parts and notes.

In: the parsed TOML. Out: frozen entries. What concerns two keys at once is checked in
`discreet.release.figure_checks`. Nothing here is confidential.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field

from discreet.release.fields import (
    Count,
    Decimals,
    Entry,
    Limit,
    Names,
    Number,
    Positive,
    Text,
    Texts,
)
from discreet.tables.figures import FigureKind

__all__ = [
    "COUNTED",
    "CellNoteEntry",
    "FigureEntry",
    "FiguresEntry",
    "MagnitudeEntry",
    "ParametersEntry",
    "PartsEntry",
    "QualityEntry",
    "SensitiveEntry",
    "StrengthEntry",
]

#: Kinds of figures that are counted; the others are made of these.
COUNTED = ("count", "sum", "mean")


class ParametersEntry(Entry):
    """[parameters]: a package of parameters from an office."""

    package: Text | None = None
    key_file: Text | None = None
    passphrase_env: Text | None = None
    passphrase_file: Text | None = None
    verify_key: Text | None = None


class StrengthEntry(Entry):
    """How strong the noise of magnitudes is."""

    kind: Literal["flex", "simple"] | None = None
    point: Number | None = None
    small: Number | None = None
    large: Number | None = None
    exponent: Number | None = None
    share: Number | None = None


class SensitiveEntry(Entry):
    """Rules that mark the cells which get more noise."""

    minimum_frequency: Count | None = None
    dominance: Annotated[list[Number], Field(min_length=2, max_length=2)] | None = None
    p_percent: Number | None = None
    pq: Annotated[list[Number], Field(min_length=2, max_length=2)] | None = None


class MagnitudeEntry(Entry):
    """[magnitudes.COLUMN]: the noise for sums and means of a value column."""

    table: Text | None = None
    small_table: Text | None = None
    of: Literal["top", "mean", "range", "sum"] = "top"
    top: Annotated[int, Field(ge=1, le=16)] = 1
    epsilon: Annotated[list[Number], Field(min_length=1)] | None = None
    strength: StrengthEntry | None = None
    publish: Literal["means", "sums"] = "sums"
    same_key: bool = False
    zeros_in_key: bool = True
    mu_c: Number = 0.0
    sensitive: SensitiveEntry | None = None
    grain: Positive = 1.0
    bracket_above: Limit | None = None


class FiguresEntry(Entry):
    """[figures]: what holds for all key figures."""

    bracket_above: Limit = 0.15


class PartsEntry(Entry):
    """[parts] and [tables.NAME.parts]: thresholds, named as the fields of `PartRules`."""

    model_config = ConfigDict(extra="allow")

    enabled: bool = True
    universe: Literal["all", "none"] | None = None

    @property
    def thresholds(self) -> dict[str, Any]:
        """The thresholds that are given."""
        return dict(self.model_extra or {})


class FigureEntry(Entry):
    """[tables.NAME.figures]: one figure of a table."""

    kind: FigureKind | None = None
    of: Text | None = None
    where: str | None = None
    part: Text | None = None
    whole: Text | None = None
    over: Names | None = None
    base: dict[str, Text] | None = None
    factor: Number | None = None
    decimals: Decimals | None = None
    title: Texts = Field(default_factory=dict)
    unit: Texts = Field(default_factory=dict)
    hidden: bool = False
    bracket_above: Limit | None = None

    @property
    def counted(self) -> bool:
        """Whether records are counted for it; else it is made of other figures."""
        return self.kind in COUNTED


class CellNoteEntry(Entry):
    """[[tables.NAME.notes]]: a remark about some cells."""

    cells: dict[str, Text] = Field(default_factory=dict)
    text: Texts = Field(default_factory=dict)


class QualityEntry(Entry):
    """[quality]: the report on quality."""

    enabled: bool = True
    internal: Text | None = None
