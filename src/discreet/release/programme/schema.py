"""The form of a programme file: which keys there are and what each may hold.

In: the parsed TOML. Out: frozen entries with checked values, or an error that pydantic
places at its key. What concerns two keys at once is checked in
`discreet.release.programme.checks` and the modules beside it, so that one mistake does not
hide another. Nothing here is confidential, but rules and marks, which are SECRET.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    StringConstraints,
    ValidationError,
    model_validator,
)
from pydantic_core import ErrorDetails, InitErrorDetails, PydanticCustomError

from discreet.keygrid import KeyGrid
from discreet.microdata import ReadingOptions
from discreet.protection.protocol import COUNT
from discreet.protection.registry import protections
from discreet.publication import FORMATS, MAPS
from discreet.release.programme.values import (
    Language,
    bound,
    change,
    class_breaks,
    cost_entry,
    date,
    intervals,
    key_grid,
    language,
    marks,
    one_of,
    reading_option,
    rule_mistake,
    share,
    texts,
)
from discreet.rules import known_rules
from discreet.settings import Count, Limit, NameList, Number, Positive, Settings, Text, name_list
from discreet.tables import FigureKind

if TYPE_CHECKING:
    from discreet.derived import KeyFigure

LanguageKey = Annotated[str, AfterValidator(language)]
Texts = Annotated[dict[LanguageKey, str], BeforeValidator(texts)]
Grid = Annotated[KeyGrid, BeforeValidator(key_grid), PlainSerializer(lambda grid: grid.size)]
Bound = Annotated[Any, BeforeValidator(bound)]
Decimals = Annotated[int, Field(ge=0, le=15)]
Date = Annotated[str | None, BeforeValidator(date)]
#: A level of areas, by its name or its number from the coarsest, 1, on.
AreaLevel = Text | Count


class ProgrammeEntry(Settings):
    """A section of a programme, or an entry in one: unknown keys are mistakes."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    @classmethod
    def names(cls) -> list[str]:
        """The keys that it may have."""
        return [field.alias or name for name, field in cls.model_fields.items()]


#: The short name of a key that signs, as `discreet params keys` prints it.
SIGNER = r"^[0-9a-f]{4}(-[0-9a-f]{4}){7}$"

#: Kinds of figures that are counted; the others are made of these.
COUNTED = ("count", "sum", "mean")


class ParametersEntry(ProgrammeEntry):
    """[parameters]: a package of parameters from an office."""

    package: Text | None = None
    key_file: Text | None = None
    passphrase_env: Text | None = None
    passphrase_file: Text | None = None
    verify_key: Text | None = None
    statistic: Text | None = None
    version: Text | None = None
    signer: Annotated[Text, StringConstraints(pattern=SIGNER)] | None = None
    allow_unsigned: bool = False
    allow_older: bool = False
    period: Text | None = None
    totals: dict[str, Text] | None = None


class StrengthEntry(ProgrammeEntry):
    """How strong the noise of magnitudes is."""

    kind: Literal["flex", "simple"] | None = None
    point: Number | None = None
    small: Number | None = None
    large: Number | None = None
    exponent: Number | None = None
    share: Number | None = None


class SensitiveEntry(ProgrammeEntry):
    """Rules that mark the cells which get more noise."""

    minimum_frequency: Count | None = None
    dominance: Annotated[list[Number], Field(min_length=2, max_length=2)] | None = None
    p_percent: Number | None = None
    pq: Annotated[list[Number], Field(min_length=2, max_length=2)] | None = None


class MagnitudeEntry(ProgrammeEntry):
    """[magnitudes.COLUMN]: the noise for sums and means of a value column."""

    table: Text | None = None
    small_table: Text | None = None
    of: Literal["top", "mean", "range", "sum"] = "top"
    top: Annotated[int, Field(ge=1, le=16)] = 1
    epsilon: Annotated[list[Number], Field(min_length=1)] | None = None
    strength: StrengthEntry | None = None
    publish: Literal["means", "sums"] = "sums"
    keys: Literal["column", "shared"] = "column"
    period: Text | None = None
    same_key: bool = False
    zeros_in_key: bool = False
    mu_c: Number = 0.0
    mu_c_for: Literal["first", "all"] = "first"
    range_floor: Number = 0.5
    sensitive: SensitiveEntry | None = None
    p_percent: Annotated[float, Field(ge=0, lt=100)] | None = None
    chance: Annotated[float, Field(ge=0, le=1)] | None = None
    grain: Positive = 1.0
    bracket_above: Limit | None = None


class SealEntry(ProgrammeEntry):
    """[release]: who vouches for the release, and what keys its digests."""

    sign: Text | None = None
    secret_file: Text | None = None
    secret_env: Text | None = None


class FiguresEntry(ProgrammeEntry):
    """[figures]: what holds for all key figures."""

    bracket_above: Limit = 0.15


class PartsEntry(ProgrammeEntry):
    """[parts] and [tables.NAME.parts]: thresholds, named as the fields of `PartRules`."""

    model_config = ConfigDict(extra="allow")

    enabled: bool = True
    universe: Literal["all", "none"] | None = None
    per: Text | None = None

    @property
    def thresholds(self) -> dict[str, Any]:
        """The thresholds that are given."""
        return dict(self.model_extra or {})


class FigureEntry(ProgrammeEntry):
    """[tables.NAME.figures]: one figure of a table."""

    kind: FigureKind | None = None
    of: Text | None = None
    where: str | None = None
    part: Text | None = None
    whole: Text | None = None
    over: NameList | None = None
    base: dict[str, Text] | None = None
    factor: Number | None = None
    decimals: Decimals | None = None
    title: Texts = Field(default_factory=dict)
    unit: Texts = Field(default_factory=dict)
    hidden: bool = False
    bracket_above: Limit | None = None
    shared_key: bool = False

    @property
    def counted(self) -> bool:
        """Whether records are counted for it; else it is made of other figures."""
        return self.kind in COUNTED

    def key_figure(self, name: str, bracket_above: float | None) -> KeyFigure:
        """What `derive` takes: the figure of a name, with the limit of its brackets."""
        from discreet.derived import KeyFigure

        assert self.kind is not None
        return KeyFigure(
            name=name,
            kind=self.kind,
            of=name if self.counted else "",
            part=self.part or "",
            whole=self.whole or "",
            over=self.over or (),
            base=self.base or {},
            factor=self.factor,
            decimals=self.decimals,
            titles=self.title,
            unit=self.unit or "",
            shared_key=self.shared_key,
            hidden=self.hidden,
            bracket_above=bracket_above,
        )


class AreasEntry(ProgrammeEntry):
    """[tables.NAME.areas]: a table for each area of a level."""

    variable: Text | None = None
    level: AreaLevel | None = None
    files: AreaLevel = "area"
    labels: bool = False
    whole: bool = True

    @property
    def within(self) -> str | int | None:
        """The level whose areas have a file each; None for those of `level`, 0 for one file."""
        return {"area": None, "all": 0}.get(str(self.files), self.files)


class RatioEntry(ProgrammeEntry):
    """[tables.NAME.ratios]: a mean or ratio of two values of a table with hidden cells."""

    part: Text | None = None
    whole: Text | None = None
    factor: Positive = 1.0
    decimals: Decimals = 2
    title: Texts = Field(default_factory=dict)
    unit: Texts = Field(default_factory=dict)


class CellNoteEntry(ProgrammeEntry):
    """[[tables.NAME.notes]]: a remark about some cells."""

    cells: dict[str, Text] = Field(default_factory=dict)
    text: Texts = Field(default_factory=dict)


class AttacksEntry(ProgrammeEntry):
    """[attacks]: how much attacks may find out before a release is withheld. SECRET."""

    knows: Literal["table", "maximum"] = "table"
    average: Limit | None = None
    exposure: Limit | None = None
    determined: Limit | None = None
    twins: Limit | None = None
    groups: Limit | None = None
    contradictions: Limit | None = None
    shared: Limit | None = None
    official: Limit | None = None
    regular: Limit | None = None
    alike: Limit | None = None
    whole: Limit | None = None
    uncounted: Limit | None = None

    @property
    def limits(self) -> dict[str, float]:
        """The limits that are stated, by the rate that they limit."""
        stated = self.model_dump(exclude={"knows"})
        return {name: float(limit) for name, limit in stated.items() if limit is not None}


class SliversEntry(ProgrammeEntry):
    """[slivers]: by how many records unions of areas of two geographies differ at least."""

    areas: Annotated[list[Text], Field(min_length=2)]
    least: Annotated[int, Field(ge=2, strict=True)]
    effort: Count = 1000
    partly: bool = False


class QualityEntry(ProgrammeEntry):
    """[quality]: the report on quality."""

    enabled: bool = True
    internal: Text | None = None


#: How a table is protected: the name of a method.
Protect = Annotated[str, one_of(lambda: [method.name for method in protections()])]


Intervals = Annotated[Any, BeforeValidator(intervals)]
Share = Annotated[Any, BeforeValidator(share)]


class RulesEntry(ProgrammeEntry):
    """Rules: a key for each rule of the package. SECRET."""

    model_config = ConfigDict(extra="allow")

    @model_validator(mode="before")
    @classmethod
    def _of_rules(cls, value: Any) -> Any:
        """Every rule that there is, None where it is not stated; unknown keys are mistakes."""
        if not isinstance(value, dict):
            return value
        wrong = []
        for key, stated in value.items():
            kind: str | PydanticCustomError = ""
            if key not in cls.names():
                kind = "extra_forbidden"
            elif key in known_rules():
                kind = rule_mistake(stated)
            if kind:
                wrong.append(InitErrorDetails(type=kind, loc=(key,), input=None))
        if wrong:
            raise ValidationError.from_exception_data(cls.__name__, wrong)
        return {**dict.fromkeys(known_rules()), **value}

    @classmethod
    def names(cls) -> list[str]:
        """The keys that it may have."""
        return [*known_rules(), *super().names()]


class CodesEntry(RulesEntry):
    """[[rules.NAME.codes]]: rules in place of those of their kind, in cells with some codes."""

    cells: dict[str, NameList] = Field(default_factory=dict)


class WaiverEntry(ProgrammeEntry):
    """Who has consented to be shown."""

    where: str = ""


class RuleSetEntry(RulesEntry):
    """[rules.NAME]: which cells are sensitive. SECRET."""

    missing_safe: bool = False
    weighted: bool = True
    levels: Literal["symmetric", "upper", "sliding"] = "symmetric"
    manual_range: Positive = 20.0
    codes: list[CodesEntry] = Field(default_factory=list)
    waivers: WaiverEntry | None = None


class CostEntry(ProgrammeEntry):
    """What hiding a cell costs."""

    of: Text = "value"
    power: Limit = 1.0
    totals: Positive = 1.0
    distance: Annotated[list[Count], Field(min_length=1, max_length=5)] | None = None


class BoundsEntry(ProgrammeEntry):
    """What attackers know of each value beforehand, as shares of it; "none" for nothing."""

    below: Share = 1.0
    above: Share = 1.0
    negative: bool | None = None
    rules: bool = True


class SuppressionEntry(ProgrammeEntry):
    """[suppression]: how cells are hidden, for all tables."""

    method: Literal["auto", "fast", "optimal", "modular", "hypercube"] = "auto"
    time_limit: Positive | None = None
    seed: Annotated[int, Field(ge=0)] = 0
    cost: Annotated[CostEntry, BeforeValidator(cost_entry)] = CostEntry()
    bounds: BoundsEntry | None = None
    zero_cells: Literal["auto", "fixed", "partners"] = "auto"
    singletons: bool | None = None
    intervals: Intervals = False
    reasons: Literal["rule", "kind", "none"] | None = None
    unmatched: Literal["refuse", "ignore"] = "refuse"
    hide_less: bool = False
    earlier: Annotated[list[Text], BeforeValidator(name_list)] = Field(default_factory=list)
    earlier_change: Annotated[Any, BeforeValidator(change)] = "refuse"
    round_to: Annotated[int, Field(ge=2, le=1000)] | None = None


class ValueEntry(ProgrammeEntry):
    """[values.COLUMN]: how a value column is printed in suppressed tables."""

    title: Texts = Field(default_factory=dict)
    unit: Texts = Field(default_factory=dict)
    decimals: Annotated[Decimals, Field(le=9)] = 0


class MarkEntry(ProgrammeEntry):
    """[[tables.NAME.marks]]: a file of marks, or one of them. CONFIDENTIAL."""

    file: Text | None = None
    separator: Text | None = None
    cells: dict[str, Text] | None = None
    status: Literal["unsafe", "safe", "protected", "secondary"] | None = None
    cost: Limit | None = None
    lower: Limit | None = None
    upper: Limit | None = None
    sliding: Limit | None = None
    low: Number | None = None
    high: Number | None = None

    @property
    def decisions(self) -> dict[str, Any]:
        """What is decided about the cells."""
        return self.model_dump(exclude={"file", "separator", "cells"}, exclude_none=True)


Marks = Annotated[list[MarkEntry], BeforeValidator(marks)]


Format = Annotated[str, one_of(lambda: (*FORMATS, *MAPS))]
Languages = Annotated[list[Language], Field(min_length=1)]


class RecordsEntry(ProgrammeEntry):
    """Where records are, and how they are read: the keys of `ReadingOptions`."""

    source: Text | None = None
    database: Text | None = None
    database_env: Text | None = None
    cubes: NameList | None = None
    store: Text | None = None
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
    metadata: Annotated[Any, reading_option("metadata")] = None
    types: Annotated[Any, reading_option("types")] = None
    rename: Annotated[Any, reading_option("rename")] = None
    recode: Annotated[Any, reading_option("recode")] = None

    @property
    def stated(self) -> dict[str, Any]:
        """What is said of how the records are read."""
        said = {key: getattr(self, key) for key in ReadingOptions.known()}
        return {key: value for key, value in said.items() if value is not None}

    @property
    def address(self) -> str | None:
        """The file, database or URL; None if none is named."""
        if self.database_env is not None:
            return os.environ.get(self.database_env) or None
        named = (self.source, self.database, self.store, self.spark, *(self.cubes or ()))
        return next(filter(None, named), None)

    def content(self) -> dict[str, Any]:
        """What determines the records, besides what their file holds."""
        said = self.model_dump(exclude=_PLACES)
        return {key: value for key, value in said.items() if value is not None or key in _ALWAYS}


#: What is told elsewhere, or does not matter: names and places.
_PLACES = {"name", "keys", "official", "source", "database", "database_env", "cubes", "store"}
_PLACES |= {"metadata", "spark"}

#: Keys that count for digests of tables even if nothing is said.
_ALWAYS = ("table", "query", "format", "version", "text")


class DataEntry(RecordsEntry):
    """[data]: where the records of the main source are."""

    name: Text | None = None


class KeysEntry(ProgrammeEntry):
    """[keys]: the record keys, or how to make them."""

    column: Text | None = None
    id: NameList | None = None
    secret_file: Text | None = None
    secret_env: Text | None = None
    grid: Grid = KeyGrid()
    allow_unsuitable: bool = False


class PeriodEntry(ProgrammeEntry):
    """[period]: the period that is published, and which units keep their keys over periods."""

    name: Text
    keys: Literal["same", "period", "changed"]
    earlier: Annotated[list[Text], BeforeValidator(name_list)] = Field(default_factory=list)
    revision: bool = False


class SourceKeysEntry(ProgrammeEntry):
    """keys in [sources.NAME]: the record keys, or how to make or inherit them."""

    column: Text | None = None
    id: NameList | None = None
    inherit: Text | None = None
    by: NameList | None = None
    orphans: Literal["error", "drop"] | None = None
    unit: Text | None = None
    inheritance: Literal["plain"] | None = None
    secret_file: Text | None = None
    secret_env: Text | None = None
    allow_unsuitable: bool = False


class SourceEntry(RecordsEntry):
    """[sources.NAME]: records of another kind of unit."""

    keys: SourceKeysEntry | None = None
    official: str | None = None


class PerturbationEntry(ProgrammeEntry):
    """[perturbation]: the perturbation table and how it is used."""

    table: Text | None = None
    format: Text | None = None
    zeros: Literal["keep", "table"] = "keep"
    suppress_below: Count | None = None
    decimals: Decimals = 0
    found_codes: Literal["list", "hide"] = "list"


class VariableEntry(ProgrammeEntry):
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
    squares: Annotated[list[Count], Field(min_length=1)] | None = None
    east: Text | None = None
    north: Text | None = None
    alternatives: Annotated[list[Text], Field(min_length=2)] | None = None
    label: Texts = Field(default_factory=dict)
    labels: dict[str, Texts] = Field(default_factory=dict)
    total: Text | None = None
    missing: Text | None = None
    boundaries: NameList | None = None
    boundary_key: Text | None = None

    @property
    def kinds(self) -> list[str]:
        """The keys given that each name a kind of classification."""
        known = ("hierarchy", "levels", "prefixes", "intervals", "codes", "squares", "alternatives")
        return [kind for kind in known if getattr(self, kind) is not None]


class ReleaseSettings(ProgrammeEntry):
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
    additive: bool | None = None
    round_to: Annotated[int, Field(ge=1, le=1_000_000)] | None = None


class MapEntry(ProgrammeEntry):
    """[tables.NAME.map]: what the maps of a table show."""

    level: Text | None = None
    at: dict[str, Text] = Field(default_factory=dict)
    breaks: Annotated[Any, BeforeValidator(class_breaks)] = "quantiles"
    classes: Annotated[int, Field(ge=2, le=7)] = 5
    atlas: bool = True


class TableEntry(ReleaseSettings):
    """[tables.NAME]: one table to publish."""

    source: Text | None = Field(default=None, alias="from")
    by: NameList | None = None
    title: Texts = Field(default_factory=dict)
    figures: dict[str, FigureEntry] = Field(default_factory=dict)
    parts: PartsEntry | None = None
    areas: AreasEntry | None = None
    notes: list[CellNoteEntry] = Field(default_factory=list)
    value: NameList | None = None
    shadow: Text | None = None
    marks: Marks = Field(default_factory=list)
    known: Text | None = None
    ratios: dict[str, RatioEntry] = Field(default_factory=dict)
    map: MapEntry = MapEntry()

    @property
    def values(self) -> list[str]:
        """What `value` asks for: value columns, or the number of records."""
        return self.value or [COUNT]

    def over(self, defaults: ReleaseSettings) -> TableEntry:
        """This entry with the defaults filled in."""
        given: Mapping[str, Any] = {
            name: getattr(defaults, name)
            for name in ReleaseSettings.model_fields
            if getattr(self, name) is None
        }
        return self.model_copy(update=dict(given))


def form_of_method(name: Any) -> Any:
    """The form of [protection.NAME]; None if there is no such method, or it has no settings."""
    return next(
        (protection.settings for protection in protections() if protection.name == name), None
    )


def _sections_of_methods(value: Any) -> Any:
    """[protection.NAME] in the form of each method."""
    if not isinstance(value, dict):
        return value
    sections, wrong = {}, list[InitErrorDetails]()
    for name, section in value.items():
        form = form_of_method(name)
        if form is None:
            known = [
                protection.name for protection in protections() if protection.settings is not None
            ]
            message = "there is no such method, or it has no settings"
            kind = PydanticCustomError("method", message, {"known": known})
            wrong.append(InitErrorDetails(type=kind, loc=(name,), input=None))
            continue
        try:
            sections[name] = form.model_validate(section)
        except ValidationError as error:
            wrong += [_inside(name, item) for item in error.errors(include_url=False)]
    if wrong:
        raise ValidationError.from_exception_data("protection", wrong)
    return sections


def _inside(name: str, details: ErrorDetails) -> InitErrorDetails:
    """An error in a section, as one of the whole document; its input is not kept."""
    kind: str | PydanticCustomError = details["type"]
    context = details.get("ctx", {})
    if kind in ("value_error", "settings"):
        kind = PydanticCustomError("settings", details["msg"], context)
    return InitErrorDetails(type=kind, loc=(name, *details["loc"]), input=None, ctx=context)


class Document(ProgrammeEntry):
    """A whole programme file."""

    title: Texts = Field(default_factory=dict)
    languages: Languages = Field(default=["en"])
    date: Date = None
    workbook: Text | None = None
    atlas: Text | None = None
    data: DataEntry | None = None
    keys: KeysEntry | None = None
    period: PeriodEntry | None = None
    sources: dict[str, SourceEntry] = Field(default_factory=dict)
    parameters: ParametersEntry | None = None
    perturbation: PerturbationEntry | None = None
    magnitudes: dict[str, MagnitudeEntry] = Field(default_factory=dict)
    figures: FiguresEntry | None = None
    parts: PartsEntry | None = None
    suppression: SuppressionEntry | None = None
    protection: Annotated[dict[str, Any], BeforeValidator(_sections_of_methods)] = Field(
        default_factory=dict
    )
    rules: dict[str, RuleSetEntry] = Field(default_factory=dict)
    values: dict[str, ValueEntry] = Field(default_factory=dict)
    relations: dict[str, Text] = Field(default_factory=dict)
    quality: QualityEntry = QualityEntry()
    attacks: AttacksEntry | None = None
    slivers: SliversEntry | None = None
    release: SealEntry = SealEntry()
    variables: dict[str, VariableEntry] = Field(default_factory=dict)
    defaults: ReleaseSettings = ReleaseSettings()
    tables: dict[str, TableEntry] = Field(default_factory=dict)
