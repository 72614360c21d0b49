"""The form of a programme file: which keys there are and what each may hold.

In: the parsed TOML. Out: frozen entries. Presence of keys and everything that
concerns two keys at once is checked in `discreet.release.checks`, so that one
mistake does not hide another. Nothing here is confidential.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Annotated, Any, Literal, get_args

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
)
from pydantic_core import PydanticCustomError

from discreet.errors import DiscreetError
from discreet.keygrid import KeyGrid

__all__ = [
    "FORMATS",
    "LANGUAGES",
    "DataEntry",
    "Document",
    "KeysEntry",
    "PerturbationEntry",
    "Settings",
    "TableEntry",
    "VariableEntry",
]

Language = Literal["en", "de"]
Format = Literal["csv", "parquet", "json", "xlsx", "html"]

LANGUAGES: tuple[str, ...] = get_args(Language)
FORMATS: tuple[str, ...] = get_args(Format)


def _texts(value: Any) -> Any:
    """A bare text stands for every language."""
    return {"en": value} if isinstance(value, str) else value


def _language(value: str) -> str:
    if value not in LANGUAGES:
        hint = {"hint": f"known: {', '.join(LANGUAGES)}"}
        raise PydanticCustomError("language", "this is not a language of publication", hint)
    return value


def _names(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


def _grid(value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise PydanticCustomError("grid", "a key grid is a number or a power such as '10^15'")
    try:
        return KeyGrid.of(value)
    except DiscreetError as error:
        hint = {"hint": error.hint.replace("{", "(").replace("}", ")")}
        raise PydanticCustomError("grid", "this is not a key grid", hint) from None


def _bound(value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value:
        raise PydanticCustomError("bound", "must be a number")
    return value


def _date(value: Any) -> Any:
    if isinstance(value, datetime.datetime | datetime.date):
        return value.isoformat()
    if isinstance(value, str):
        try:
            datetime.datetime.fromisoformat(value)
        except ValueError:
            hint = {"hint": 'write it as "2026-11-21"'}
            raise PydanticCustomError("date", "this is not a date", hint) from None
    return value


Text = Annotated[str, StringConstraints(min_length=1)]
LanguageKey = Annotated[str, AfterValidator(_language)]
Texts = Annotated[dict[LanguageKey, str], BeforeValidator(_texts)]
Names = Annotated[list[Text], BeforeValidator(_names), Field(min_length=1)]
Grid = Annotated[KeyGrid, BeforeValidator(_grid)]
Bound = Annotated[Any, BeforeValidator(_bound)]


class _Entry(BaseModel):
    model_config = ConfigDict(
        extra="forbid", strict=True, frozen=True, arbitrary_types_allowed=True
    )


class DataEntry(_Entry):
    """[data]: where the records are."""

    source: Text | None = None
    database: Text | None = None
    table: Text | None = None
    query: Text | None = None
    format: Text | None = None
    version: Text | None = None
    text: list[Text] = []


class KeysEntry(_Entry):
    """[keys]: the record keys, or how to make them."""

    column: Text | None = None
    id: Names | None = None
    secret_file: Text | None = None
    secret_env: Text | None = None
    grid: Grid = KeyGrid()


class PerturbationEntry(_Entry):
    """[perturbation]: the perturbation table and how it is used."""

    table: Text | None = None
    format: Text | None = None
    zeros: Literal["keep", "table"] = "keep"
    suppress_below: Annotated[int, Field(ge=1)] | None = None
    decimals: Annotated[int, Field(ge=0, le=15)] = 0
    found_codes: Literal["list", "hide"] = "list"


class VariableEntry(_Entry):
    """[variables.NAME]: the classification of one spanning variable."""

    column: Text | None = None
    hierarchy: Text | None = None
    codelist: Text | None = None
    levels: Annotated[list[Text], Field(min_length=1)] | None = None
    prefixes: Annotated[list[Annotated[int, Field(ge=1)]], Field(min_length=1)] | None = None
    intervals: Annotated[list[Bound], Field(min_length=2)] | None = None
    coarser: Annotated[list[list[Bound]], Field(min_length=1)] | None = None
    closed: Literal["left"] = "left"
    codes: Annotated[list[Text], Field(min_length=1)] | None = None
    alternatives: Annotated[list[Text], Field(min_length=2)] | None = None
    label: Texts = {}
    labels: dict[str, Texts] = {}
    total: Text | None = None
    missing: Text | None = None

    @property
    def kinds(self) -> list[str]:
        """The keys given that each name a kind of classification."""
        known = ("hierarchy", "levels", "prefixes", "intervals", "codes", "alternatives")
        return [kind for kind in known if getattr(self, kind) is not None]


class Settings(_Entry):
    """[defaults], and the same keys in every table."""

    formats: Annotated[list[Format], Field(min_length=1)] | None = None
    where: str | None = None
    weight: str | None = None
    official: str | None = None
    complete: bool | None = None
    universe: Texts | None = None


class TableEntry(Settings):
    """[tables.NAME]: one table to publish."""

    by: Names | None = None
    title: Texts = {}

    def over(self, defaults: Settings) -> TableEntry:
        """This entry with the defaults filled in."""
        given: Mapping[str, Any] = {
            name: getattr(defaults, name)
            for name in Settings.model_fields
            if getattr(self, name) is None
        }
        return self.model_copy(update=dict(given))


class Document(_Entry):
    """A whole programme file."""

    title: Texts = {}
    languages: Annotated[list[Language], Field(min_length=1)] = ["en"]
    date: Annotated[str | None, BeforeValidator(_date)] = None
    data: DataEntry | None = None
    keys: KeysEntry | None = None
    perturbation: PerturbationEntry | None = None
    variables: dict[str, VariableEntry] = {}
    defaults: Settings = Settings()
    tables: dict[str, TableEntry] = {}
