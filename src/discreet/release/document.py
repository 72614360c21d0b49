"""The form of a programme file: which keys there are and what each may hold.

In: the parsed TOML. Out: frozen entries. Presence of keys and everything that
concerns two keys at once is checked in `discreet.release.checks`, so that one
mistake does not hide another. Nothing here is confidential.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, get_args

from pydantic import Field

from discreet.keygrid import KeyGrid
from discreet.release.fields import (
    LANGUAGES,
    Bound,
    Count,
    Date,
    Decimals,
    Entry,
    Grid,
    Language,
    Names,
    Text,
    Texts,
)
from discreet.release.figure_entries import (
    CellNoteEntry,
    FigureEntry,
    FiguresEntry,
    MagnitudeEntry,
    ParametersEntry,
    PartsEntry,
    QualityEntry,
)
from discreet.release.suppression_entries import (
    COUNT,
    Marks,
    Protect,
    RuleSetEntry,
    SuppressionEntry,
    ValueEntry,
    Values,
)

__all__ = [
    "FORMATS",
    "LANGUAGES",
    "DataEntry",
    "Document",
    "KeysEntry",
    "PerturbationEntry",
    "RecordsEntry",
    "Settings",
    "SourceEntry",
    "SourceKeysEntry",
    "TableEntry",
    "VariableEntry",
]

Format = Literal["csv", "parquet", "json", "xlsx", "html", "px", "json-stat", "sdmx-csv"]

Languages = Annotated[list[Language], Field(min_length=1)]

FORMATS: tuple[str, ...] = get_args(Format)


class RecordsEntry(Entry):
    """Where records are."""

    source: Text | None = None
    database: Text | None = None
    table: Text | None = None
    query: Text | None = None
    format: Text | None = None
    version: Text | None = None
    text: list[Text] = Field(default_factory=list)


class DataEntry(RecordsEntry):
    """[data]: where the records of the main source are."""

    name: Text | None = None


class KeysEntry(Entry):
    """[keys]: the record keys, or how to make them."""

    column: Text | None = None
    id: Names | None = None
    secret_file: Text | None = None
    secret_env: Text | None = None
    grid: Grid = KeyGrid()


class SourceKeysEntry(Entry):
    """keys in [sources.NAME]: the record keys, or how to make or inherit them."""

    column: Text | None = None
    id: Names | None = None
    inherit: Text | None = None
    by: Names | None = None
    orphans: Literal["error", "drop"] | None = None
    secret_file: Text | None = None
    secret_env: Text | None = None


class SourceEntry(RecordsEntry):
    """[sources.NAME]: records of another kind of unit."""

    keys: SourceKeysEntry | None = None
    official: str | None = None


class PerturbationEntry(Entry):
    """[perturbation]: the perturbation table and how it is used."""

    table: Text | None = None
    format: Text | None = None
    zeros: Literal["keep", "table"] = "keep"
    suppress_below: Count | None = None
    decimals: Decimals = 0
    found_codes: Literal["list", "hide"] = "list"


class VariableEntry(Entry):
    """[variables.NAME]: the classification of one spanning variable."""

    column: Text | None = None
    hierarchy: Text | None = None
    codelist: Text | None = None
    levels: Annotated[list[Text], Field(min_length=1)] | None = None
    prefixes: Annotated[list[Count], Field(min_length=1)] | None = None
    intervals: Annotated[list[Bound], Field(min_length=2)] | None = None
    coarser: Annotated[list[list[Bound]], Field(min_length=1)] | None = None
    closed: Literal["left"] = "left"
    codes: Annotated[list[Text], Field(min_length=1)] | None = None
    alternatives: Annotated[list[Text], Field(min_length=2)] | None = None
    label: Texts = Field(default_factory=dict)
    labels: dict[str, Texts] = Field(default_factory=dict)
    total: Text | None = None
    missing: Text | None = None

    @property
    def kinds(self) -> list[str]:
        """The keys given that each name a kind of classification."""
        known = ("hierarchy", "levels", "prefixes", "intervals", "codes", "alternatives")
        return [kind for kind in known if getattr(self, kind) is not None]


class Settings(Entry):
    """[defaults], and the same keys in every table."""

    formats: Annotated[list[Format], Field(min_length=1)] | None = None
    where: str | None = None
    weight: str | None = None
    official: str | None = None
    complete: bool | None = None
    universe: Texts | None = None
    workbook: bool | None = None
    protect: Protect | None = None
    rules: Text | None = None
    holdings: str | None = None


class TableEntry(Settings):
    """[tables.NAME]: one table to publish."""

    source: Text | None = Field(default=None, alias="from")
    by: Names | None = None
    title: Texts = Field(default_factory=dict)
    figures: dict[str, FigureEntry] = Field(default_factory=dict)
    parts: PartsEntry | None = None
    notes: list[CellNoteEntry] = Field(default_factory=list)
    value: Values | None = None
    shadow: Text | None = None
    marks: Marks = Field(default_factory=list)

    @property
    def suppressed(self) -> bool:
        """Whether cells are hidden, rather than changed by noise."""
        return self.protect == "suppress"

    @property
    def values(self) -> list[str]:
        """What a suppressed table publishes: value columns, or the number of records."""
        return self.value or [COUNT]

    def over(self, defaults: Settings) -> TableEntry:
        """This entry with the defaults filled in."""
        given: Mapping[str, Any] = {
            name: getattr(defaults, name)
            for name in Settings.model_fields
            if getattr(self, name) is None
        }
        return self.model_copy(update=dict(given))


class Document(Entry):
    """A whole programme file."""

    title: Texts = Field(default_factory=dict)
    languages: Languages = Field(default=["en"])
    date: Date = None
    workbook: Text | None = None
    data: DataEntry | None = None
    keys: KeysEntry | None = None
    sources: dict[str, SourceEntry] = Field(default_factory=dict)
    parameters: ParametersEntry | None = None
    perturbation: PerturbationEntry | None = None
    magnitudes: dict[str, MagnitudeEntry] = Field(default_factory=dict)
    figures: FiguresEntry | None = None
    parts: PartsEntry | None = None
    suppression: SuppressionEntry | None = None
    rules: dict[str, RuleSetEntry] = Field(default_factory=dict)
    values: dict[str, ValueEntry] = Field(default_factory=dict)
    quality: QualityEntry = QualityEntry()
    variables: dict[str, VariableEntry] = Field(default_factory=dict)
    defaults: Settings = Settings()
    tables: dict[str, TableEntry] = Field(default_factory=dict)
