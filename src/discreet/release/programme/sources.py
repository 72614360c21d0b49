"""The sections of a programme about its records: where they are, their keys, their period.

In: the parsed sections [data], [sources.*], [keys] and [period]. Out: frozen entries with checked
values, and what is wrong with each by itself. Nothing here has seen data.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Annotated, Any, Literal

from pydantic import Field

from discreet.keygrid import KeyGrid
from discreet.microdata import ReadingOptions, is_url
from discreet.pretabular import CalibrateSettings
from discreet.release.programme.values import (
    File,
    Grid,
    Key,
    Mistake,
    ProgrammeEntry,
    Stated,
    Variable,
    both_secrets,
    reading_option,
)
from discreet.settings import NameList, Names, Text


class CalibrateEntry(CalibrateSettings, ProgrammeEntry):
    """calibrate in [data] and [sources.NAME]: published totals that weights are to meet."""

    totals: Annotated[Text | None, Key(folder=True, needed='totals = "population.csv"')] = None


class RecordsEntry(ProgrammeEntry):
    """Place of records and read options: the keys of `ReadingOptions`."""

    source: Annotated[Text | None, Key(folder=True, pattern=True)] = None
    database: Annotated[Text | None, Key(file=True, pattern=True)] = None
    database_env: Variable = None
    cubes: Annotated[NameList | None, Key(file=True, pattern=True)] = None
    store: Annotated[Text | None, Key(folder=True, pattern=True)] = None
    spark: Text | None = None
    table: Text | None = None
    query: Text | None = None
    format: Text | None = None
    version: Text | None = None
    text: list[Text] = Field(default_factory=list)
    null_values: Annotated[Any, reading_option("null_values")] = None
    decimal: Annotated[Any, reading_option("decimal")] = None
    thousands: Annotated[Any, reading_option("thousands")] = None
    encoding: Annotated[Any, reading_option("encoding")] = None
    separator: Annotated[Any, reading_option("separator")] = None
    trim: Annotated[Any, reading_option("trim")] = None
    skip: Annotated[Any, reading_option("skip")] = None
    header: Annotated[Any, reading_option("header")] = None
    columns: Annotated[Any, reading_option("columns")] = None
    sheet: Annotated[Any, reading_option("sheet")] = None
    metadata: Annotated[Any, reading_option("metadata"), Key(file=True)] = None
    types: Annotated[Any, reading_option("types")] = None
    rename: Annotated[Any, reading_option("rename")] = None
    recode: Annotated[Any, reading_option("recode")] = None
    calibrate: Stated[CalibrateEntry | None] = None

    @property
    def stated(self) -> dict[str, Any]:
        """The stated read options."""
        return {key: getattr(self, key) for key in self.filled(*ReadingOptions.known())}

    @property
    def in_database(self) -> bool:
        """Whether a database holds them."""
        return bool(self.filled("database", "database_env"))

    @property
    def places(self) -> list[str]:
        """The keys that say where they are; one is needed."""
        keys = ("source", "database", "database_env", "cubes", "store", "spark")
        return [key for key in keys if getattr(self, key)]

    def mistakes(self) -> Iterator[Mistake]:
        """Check that place and read options of the records are unambiguous."""
        if len(self.places) != 1:
            hint = 'add source = "persons.parquet", or database = "x.duckdb" with table = …'
            ways = " and ".join(self.places)
            what = f"{ways} exclude each other" if ways else "source is missing"
            yield Mistake("source", what, hint)
        if self.in_database and (self.table is None) == (self.query is None):
            hint = "add exactly one of table = … and query = …"
            yield Mistake("database", "table or query is missing", hint)
        if self.source is not None and (self.table or self.query):
            key = "table" if self.table else "query"
            yield Mistake(key, "for databases only", "use database = …")
        by_url = self.database_env is not None or is_url(self.database or "")
        if self.database is not None and self.text and not by_url:
            yield Mistake("text", "for text files only", "convert in the query")
        if self.source is not None and is_url(self.source):
            yield Mistake("source", "not a file", 'use database = "KIND://…"')
            return
        keys = [key for key in ("table", "query", "format", *self.stated) if getattr(self, key)]
        if self.spark is not None and keys:
            what, hint = "tables of Spark have fixed types", "convert columns in Spark"
            yield Mistake(keys[0], what, hint)
        for problem in ReadingOptions(**self.stated).problems():
            yield Mistake(problem.where, problem.what, problem.hint)

    @property
    def address(self) -> str | None:
        """The file, database or URL; None if none is named."""
        if self.database_env is not None:
            return os.environ.get(self.database_env) or None
        named = (self.source, self.database, self.store, self.spark, *(self.cubes or ()))
        return next(filter(None, named), None)

    def content(self) -> dict[str, Any]:
        """Facts that determine the records besides their file."""
        said = self.model_dump(exclude=_PLACES)
        return {key: value for key, value in said.items() if value is not None or key in _ALWAYS}


#: What is told elsewhere, or does not matter: names and places.
_PLACES = {"name", "keys", "official", "source", "database", "database_env", "cubes", "store"}
_PLACES |= {"metadata", "spark", "consists_of"}

#: Keys that count for digests of tables even if nothing is said.
_ALWAYS = ("table", "query", "format", "version", "text")


class DataEntry(RecordsEntry):
    """[data]: where the records of the main source are."""

    name: Text | None = None


_WITH_INHERIT = Key(beside="inherit")
KEYS_HINT = (
    'write keys = { column = "record_key" }, { id = "dwelling_id" } or '
    '{ inherit = "persons", by = "household_id" }'
)


class KeysEntry(ProgrammeEntry):
    """[keys]: the record keys, or how to make them."""

    column: Text | None = None
    id: NameList | None = None
    secret_file: File = None
    secret_env: Variable = None
    grid: Grid = KeyGrid()
    allow_unsuitable: Annotated[bool, Key(beside="column")] = False

    def mistakes(self) -> Iterator[Mistake]:
        """Keys are in the data, or made here."""
        made = self.filled("id", "secret_file", "secret_env")
        if self.column is not None and made:
            hint = "use either keys in the data (column) or new keys (id and a secret)"
            yield Mistake("column", "column and id or secret exclude each other", hint)
        elif self.column is None and not made:
            hint = 'add column = "record_key", or id = "person_id" with secret_file = "secret.key"'
            yield Mistake("column", "no record keys given", hint)
        elif self.column is None and self.id is None:
            yield Mistake("id", "id is missing", "add the column of the identifier")


class PeriodEntry(ProgrammeEntry):
    """[period]: the period that is published, and which units keep their keys over periods."""

    name: Text
    keys: Literal["same", "period", "changed"]
    earlier: Annotated[Names, Key(folder=True)] = Field(default_factory=list)
    revision: bool = False
    first: File = None
    unit: Annotated[Text | None, Key(beside="first")] = None
    least: Annotated[int | None, Key(beside="first"), Field(ge=2)] = None
    few: Annotated[int | None, Key(beside="first"), Field(ge=0)] = None

    def mistakes(self) -> Iterator[Mistake]:
        """Check that a revised period was published."""
        if self.first is not None and not self.revision:
            what = "first is about a revision"
            yield Mistake("first", what, "add revision = true, or remove first")
        if self.revision and not self.earlier:
            hint = "add the release that is revised"
            yield Mistake("earlier", "a revision needs an earlier release", hint)


class SourceKeysEntry(ProgrammeEntry):
    """keys in [sources.NAME]: the record keys, or how to make or inherit them."""

    column: Text | None = None
    id: NameList | None = None
    inherit: Text | None = None
    by: Annotated[NameList | None, _WITH_INHERIT] = None
    orphans: Annotated[Literal["error", "drop"] | None, _WITH_INHERIT] = None
    unit: Annotated[Text | None, _WITH_INHERIT] = None
    inheritance: Annotated[Literal["plain"] | None, _WITH_INHERIT] = None
    secret_file: File = None
    secret_env: Variable = None
    allow_unsuitable: Annotated[bool, Key(beside="column")] = False

    @property
    def ways(self) -> list[str]:
        """Ways of the records to get their keys; one is needed."""
        return self.filled("column", "id", "inherit")

    def mistakes(self) -> Iterator[Mistake]:
        """There is one way to the keys."""
        if len(self.ways) > 1:
            what = f"{' and '.join(self.ways)} exclude each other"
            yield Mistake(self.ways[1], what, KEYS_HINT)
            return
        secrets = self.filled("secret_file", "secret_env")
        if secrets and self.column is not None:
            yield Mistake(secrets[0], "keys in the data need no secret")
        else:
            yield from both_secrets(self)
        if self.unit is not None and self.inheritance is not None:
            hint = "use unit for derived keys, or inheritance for plain sums"
            yield Mistake("unit", "unit and inheritance exclude each other", hint)
        if self.inherit is not None and self.by is None:
            hint = 'add the column of the unit, such as by = "household_id"'
            yield Mistake("by", "by is missing", hint)


class PartsOfUnitEntry(ProgrammeEntry):
    """consists_of in [sources.NAME]: the records that each of its units consists of."""

    source: Text
    by: NameList


class SourceEntry(RecordsEntry):
    """[sources.NAME]: records of another kind of unit."""

    keys: SourceKeysEntry | None = None
    consists_of: PartsOfUnitEntry | None = None
    official: Annotated[str | None, Key(filter=True)] = None
