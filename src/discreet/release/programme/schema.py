"""The form of a programme file: which keys there are, what each may hold, and what goes together.

In: the parsed TOML. Out: frozen entries with checked values, or an error that pydantic
places at its key. Each section says itself what is wrong with it (`mistakes`, and `Key` behind
a key); what concerns several sections is in `discreet.release.programme.checks`. Nothing here is
confidential, but rules and marks, which are SECRET.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations, pairwise
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import (
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    create_model,
    model_validator,
)

from discreet.assessment import AttackerSettings
from discreet.derived import QuantileRules
from discreet.errors import nearest
from discreet.protection.noise import (
    CountNoiseSettings,
    MagnitudeNoiseSettings,
    MarkedNoiseSettings,
)
from discreet.protection.protocol import COUNT
from discreet.protection.registry import protections
from discreet.publication import FORMATS, MAPS, CsvForm, Shown
from discreet.release.programme.rule_sections import RuleSetEntry
from discreet.release.programme.sources import DataEntry, KeysEntry, PeriodEntry, SourceEntry
from discreet.release.programme.suppression_sections import SuppressionEntry
from discreet.release.programme.values import (
    MARKS,
    AreaLevel,
    Bound,
    Breaks,
    Date,
    Decimals,
    File,
    Key,
    Languages,
    Mistake,
    Moment,
    ProgrammeEntry,
    Stated,
    Texts,
    Variable,
    both_secrets,
    one_of,
    refuse_unknown,
)
from discreet.settings import Count, Limit, NameList, Number, Positive, Text
from discreet.tables import FIGURE, FigureKind, Imprint

if TYPE_CHECKING:
    from discreet.derived import KeyFigure

#: The short name of a key that signs, as `discreet params keys` prints it.
SIGNER = r"^[0-9a-f]{4}(-[0-9a-f]{4}){7}$"

#: What stands between a variable and the break points at which its classes are merged; so many
#: break points a variable has at most: each set of them is a grouping.
MERGED, MOST_BREAKS = "@", 4

#: Kinds of figures that are counted; the others are made of these.
COUNTED = ("count", "sum", "mean")


class ParametersEntry(ProgrammeEntry):
    """[parameters]: a package of parameters from an office."""

    package: Annotated[File, Key(needed='add package = "census-2026.dcparams"')] = None
    key_file: File = None
    passphrase_env: Variable = None
    passphrase_file: File = None
    verify_key: File = None
    statistic: Text | None = None
    version: Text | None = None
    signer: Annotated[Text, StringConstraints(pattern=SIGNER)] | None = None
    allow_unsigned: bool = False
    allow_older: bool = False
    period: Text | None = None
    totals: dict[str, Text] | None = None

    def mistakes(self) -> Iterator[Mistake]:
        """Check that there is one way to open it, and that required signatures exist."""
        keys = ("key_file", "passphrase_file", "passphrase_env")
        ways = self.filled(*keys)
        if len(ways) != 1:
            what = f"exactly one of {', '.join(keys)} is required"
            yield Mistake((ways or keys)[0], what, about=keys)
        if self.allow_unsigned and (self.verify_key or self.signer):
            what = "a signer is stated: an unsigned package is not allowed"
            yield Mistake("allow_unsigned", what, "remove one of the two")


#: What each kind of strength is described by.
_STRENGTHS: Mapping[str, tuple[str, ...]] = {
    "flex": ("point", "small", "large", "exponent"),
    "simple": ("share",),
}


class StrengthEntry(ProgrammeEntry):
    """Strength of the noise of magnitudes."""

    kind: Annotated[Literal["flex", "simple"] | None, Key(needed="known: flex, simple")] = None
    point: Number | None = None
    small: Number | None = None
    large: Number | None = None
    exponent: Number | None = None
    share: Number | None = None

    def mistakes(self) -> Iterator[Mistake]:
        """Each kind has its own keys."""
        for kind, keys in _STRENGTHS.items() if self.kind is not None else ():
            for key in keys:
                stated = getattr(self, key) is not None
                if kind == self.kind and not stated:
                    yield Mistake(key, f"{key} is missing", f"{kind} needs {', '.join(keys)}")
                elif kind != self.kind and stated:
                    yield Mistake(key, f"this needs {kind}")


class SensitiveEntry(ProgrammeEntry):
    """Rules that mark the cells which get more noise."""

    minimum_frequency: Count | None = None
    dominance: Annotated[list[Number], Field(min_length=2, max_length=2)] | None = None
    p_percent: Number | None = None
    pq: Annotated[list[Number], Field(min_length=2, max_length=2)] | None = None


class MagnitudeEntry(MagnitudeNoiseSettings, MarkedNoiseSettings, ProgrammeEntry):
    """[magnitudes.COLUMN]: the noise for sums and means of a value column."""

    table: Annotated[File, Key(needed='add table = "rent-ptable.csv"')] = None
    small_table: File = None
    strength: Annotated[
        StrengthEntry | None,
        Key(needed='strength = { kind = "simple", share = 0.1 }, or kind = "flex"'),
    ] = None
    sensitive: Stated[SensitiveEntry | None] = None
    bracket_above: Limit | None = None


class SealEntry(ProgrammeEntry):
    """[release]: who vouches for the release, and what keys its digests."""

    sign: File = None
    secret_file: File = None
    secret_env: Variable = None

    def mistakes(self) -> Iterator[Mistake]:
        """There is one secret."""
        return both_secrets(self)


class PublicationEntry(ProgrammeEntry):
    """[publication]: the imprint of all tables, and how exact counts are."""

    publisher: Texts = Field(default_factory=dict)
    source: Texts = Field(default_factory=dict)
    reference_date: Texts = Field(default_factory=dict)
    next_update: Texts = Field(default_factory=dict)
    licence: Texts = Field(default_factory=dict)
    contact: Texts = Field(default_factory=dict)
    disclaimer: Texts = Field(default_factory=dict)
    margins: bool = False
    csv: CsvForm = "language"
    embargo: Moment = None
    redistribution: Text | None = None
    address: Annotated[Text, StringConstraints(pattern=r"^https?://\S+/$")] | None = None

    @property
    def imprint(self) -> Imprint | None:
        """The stated imprint; None without one."""
        stated = {name: texts for name, texts in self if isinstance(texts, dict) and texts}
        return Imprint(**stated) if stated else None

    @property
    def conditions(self) -> dict[str, str]:
        """From when on, and by whom, a release may be passed on, as far as it is stated."""
        stated = {"embargo": self.embargo, "redistribution": self.redistribution}
        return {name: text for name, text in stated.items() if text}


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

    @model_validator(mode="before")
    @classmethod
    def _of_rules(cls, value: Any) -> Any:
        """Unknown keys are mistakes."""
        refuse_unknown(cls, value)
        return value

    @classmethod
    def names(cls) -> list[str]:
        """The keys that it may have."""
        from discreet.protection.parts import PartRules

        return [*PartRules.model_fields, *super().names()]


#: Kind of figure → the keys that it needs, those of which it needs one, and those it may have.
_FIGURES: Mapping[str, tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]] = {
    "count": ((), (), ("where",)),
    "sum": (("of",), (), ("where",)),
    "mean": (("of",), (), ("where",)),
    "share": (("part",), ("whole", "over"), ()),
    "ratio": (("part", "whole"), (), ("factor",)),
    "per_thousand": (("part", "whole"), (), ("factor",)),
    "change": (("part",), ("whole", "base"), ()),
    "balance": (("part", "whole"), (), ()),
    "index": (("part",), ("whole", "base"), ()),
}


class FigureEntry(ProgrammeEntry):
    """[tables.NAME.figures]: one figure of a table."""

    kind: Annotated[FigureKind | None, Key(needed=f"known: {', '.join(_FIGURES)}")] = None
    of: Text | None = None
    where: Annotated[str | None, Key(filter=True)] = None
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

    def mistakes(self) -> Iterator[Mistake]:
        """Each kind has its own keys."""
        if self.kind is None:
            return
        needs, some_of, may = _FIGURES[self.kind]
        keys = self.filled("of", "where", "part", "whole", "over", "base", "factor")
        for key in needs:
            if key not in keys:
                yield Mistake(key, f"{key} is missing", f"{self.kind} needs {key}")
        if some_of and not set(some_of) & set(keys):
            what = f"{self.kind} needs {' or '.join(some_of)}"
            yield Mistake(some_of[0], what, about=some_of)
        for key in keys:
            if key not in (known := (*needs, *some_of, *may)):
                what = f"not allowed with kind = {self.kind!r}"
                yield Mistake(key, what, f"known: {', '.join(known)}")

    def key_figure(self, name: str, bracket_above: float | None) -> KeyFigure:
        """The key figure for `derive`, with the limit of its brackets."""
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

    variable: Annotated[Text | None, Key(needed='variable = "region"')] = None
    level: Annotated[AreaLevel | None, Key(needed='level = "municipality", or a number')] = None
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


class QuantilesEntry(QuantileRules, ProgrammeEntry):
    """[tables.NAME.quantiles.VARIABLE]: quantiles beside a table of counts by classes."""


class FlowsEntry(ProgrammeEntry):
    """[tables.NAME.flows]: what becomes of small flows from origins to destinations."""

    origin: Annotated[Text | None, Key(needed='origin = "home"')] = None
    destination: Annotated[Text | None, Key(needed='destination = "work"')] = None
    least: Annotated[Count | None, Key(needed="least = 10")] = None
    then: Literal["hide", "merge"] = "hide"


class AvailableEntry(ProgrammeEntry):
    """[tables.NAME.available]: which areas a table shows."""

    variable: Annotated[Text | None, Key(needed='variable = "region"')] = None
    least: Annotated[Count | None, Key(needed="least = 500")] = None


class CellNoteEntry(ProgrammeEntry):
    """[[tables.NAME.notes]]: a remark about some cells."""

    cells: dict[str, Text] = Field(default_factory=dict)
    text: Texts = Field(default_factory=dict)


class AttacksEntry(AttackerSettings, ProgrammeEntry):
    """[attacks]: how much attacks may find out before a release is withheld. SECRET."""

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
    proven: Limit | None = None
    told: Limit | None = None

    @property
    def limits(self) -> dict[str, float]:
        """The limits on attacks on one release that are stated, by the rate that they limit."""
        return {name: limit for name, limit in self._stated.items() if name not in _OF_PERIODS}

    @property
    def period_limits(self) -> dict[str, float]:
        """The limits on attacks on several periods."""
        return {name: limit for name, limit in self._stated.items() if name in _OF_PERIODS}

    @property
    def _stated(self) -> dict[str, float]:
        stated = self.model_dump(exclude={"knows"})
        return {name: float(limit) for name, limit in stated.items() if limit is not None}


#: Rates of attacks on the releases of several periods.
_OF_PERIODS = ("proven", "told")


class SliversEntry(ProgrammeEntry):
    """[slivers]: by how many records unions of areas of two geographies differ at least."""

    areas: Annotated[list[Text], Field(min_length=2), Key(once=True)]
    least: Annotated[int, Field(ge=2, strict=True)]
    effort: Count = 1000
    partly: bool = False


class QualityEntry(ProgrammeEntry):
    """[quality]: the report on quality."""

    enabled: bool = True
    internal: Text | None = None


#: How a table is protected: the name of a method.
Protect = Annotated[str, one_of(lambda: [method.name for method in protections()])]


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
        """Decisions about the cells."""
        return self.model_dump(exclude={"file", "separator", "cells"}, exclude_none=True)


Format = Annotated[str, one_of(lambda: (*FORMATS, *MAPS))]


class PerturbationEntry(CountNoiseSettings, ProgrammeEntry):
    """[perturbation]: the perturbation table and how it is used."""

    table: Annotated[File, Key(needed='add table = "ptable.csv"')] = None
    format: Text | None = None
    found_codes: Literal["list", "hide"] = "list"


class VariableEntry(ProgrammeEntry):
    """[variables.NAME]: the classification of one spanning variable."""

    column: Text | None = None
    hierarchy: File = None
    codelist: Annotated[File, Key(beside="hierarchy")] = None
    levels: Annotated[list[Text] | None, Field(min_length=1), Key(once=True)] = None
    prefixes: Annotated[list[Count] | None, Field(min_length=1)] = None
    intervals: Annotated[list[Bound] | None, Field(min_length=2)] = None
    coarser: Annotated[list[list[Bound]] | None, Field(min_length=1), Key(beside="intervals")] = (
        None
    )
    breaks: Annotated[
        list[Bound] | None, Field(min_length=1, max_length=MOST_BREAKS), Key(beside="intervals")
    ] = None
    closed: Literal["left"] = "left"
    codes: Annotated[list[Text] | None, Field(min_length=1), Key(once=True)] = None
    squares: Annotated[list[Count] | None, Field(min_length=1)] = None
    east: Annotated[Text | None, Key(beside="squares")] = None
    north: Annotated[Text | None, Key(beside="squares")] = None
    at_least: Annotated[int | None, Field(ge=2, strict=True), Key(beside="squares")] = None
    rest: bool = False
    within: Annotated[Text | None, Key(beside="at_least")] = None
    alternatives: Annotated[list[Text] | None, Field(min_length=2), Key(once=True)] = None
    level: AreaLevel | None = None
    label: Texts = Field(default_factory=dict)
    labels: dict[str, Texts] = Field(default_factory=dict)
    level_titles: dict[str, Texts] = Field(default_factory=dict)
    total: Text | None = None
    missing: Text | None = None
    boundaries: Annotated[NameList | None, Key(file=True)] = None
    boundary_key: Annotated[Text | None, Key(beside="boundaries")] = None

    @model_validator(mode="after")
    def _without_finer_levels(self) -> VariableEntry:
        """Columns of levels and lengths of prefixes end at `level`."""
        if self.levels is not None and self.level in self.levels:
            object.__setattr__(self, "levels", self.levels[: self.levels.index(self.level) + 1])
        elif isinstance(self.level, int):
            for key in self.filled("levels", "prefixes", "squares"):
                object.__setattr__(self, key, getattr(self, key)[: self.level])
        return self

    def coarser_column(self, name: str) -> str | None:
        """The column for codes of `level`, where the data have codes of a finer one."""
        if self.level is None or not self.filled("hierarchy", "prefixes", "squares"):
            return None
        return None if self.east else f"{self.column or name} up to level {self.level}"

    def merged_column(self, name: str) -> str | None:
        """The column for grid cells that were put together up to `at_least` persons."""
        return None if self.at_least is None else f"{name} of at least {self.at_least}"

    def merged(self, name: str) -> dict[str, VariableEntry]:
        """The groupings of neighbouring classes at some of its break points, by their names.

        >>> age = VariableEntry(intervals=[0, 15, 20, 65], breaks=[15, 65])
        >>> list(age.merged("age"))
        ['age@15', 'age@65', 'age@15-65']
        """
        first, *inner = self.intervals or [0]
        points, found = self.breaks or [], dict[str, VariableEntry]()
        for size in range(1, len(points) + 1):
            for chosen in combinations(points, size):
                if [*chosen] == inner:
                    continue
                own = "-".join(f"{point:g}" for point in chosen)
                label = {item: f"{text} ({own})" for item, text in self.label.items()}
                stated = {"intervals": [first, *chosen], "coarser": None, "breaks": None}
                found[f"{name}{MERGED}{own}"] = self.model_copy(
                    update={**stated, "column": self.column or name, "label": label, "labels": {}}
                )
        return found

    @property
    def kinds(self) -> list[str]:
        """The keys given that each name a kind of classification."""
        kinds = ("hierarchy", "levels", "prefixes", "intervals", "codes", "squares", "alternatives")
        return self.filled(*kinds)

    def mistakes(self) -> Iterator[Mistake]:
        """There is one kind of classification, and its numbers are in order."""
        if len(self.kinds) > 1:
            what = f"{' and '.join(self.kinds)} exclude each other"
            yield Mistake(self.kinds[1], what, "keep one kind of classification")
        unknown = [point for point in self.breaks or [] if point not in (self.intervals or [])[1:]]
        if unknown and self.intervals:
            what = f"{unknown[0]:g} is not a lower bound of a class"
            yield Mistake("breaks", what, "name bounds of intervals, without the first")
        for key in ("prefixes", "intervals", "breaks"):
            if any(later <= earlier for earlier, later in pairwise(getattr(self, key) or [])):
                yield Mistake(key, "the numbers must increase")
        if (self.east is None) != (self.north is None):
            yield Mistake("squares", "grid cells need east and north")
        if self.east is not None and self.column is not None:
            yield Mistake("column", "grid cells come from a column or from coordinates")
        if any(coarse <= fine or coarse % fine for coarse, fine in pairwise(self.squares or [])):
            what = "list the sizes coarsest first, each a multiple of the next"
            yield Mistake("squares", what, "squares = [100000, 10000, 1000, 100]")
        if self.rest and self.at_least is None:
            yield Mistake("rest", "rest needs at_least", "add at_least = 20")
        if self.at_least is not None and len(self.squares or ()) == 1:
            what = "aggregation needs grid cells of two or more sizes"
            yield Mistake("squares", what, "squares = [1600, 800, 400, 200, 100]")
        yield from self._level_mistakes()
        for key in ("column", "labels", "total", "missing") if self.alternatives else ():
            if getattr(self, key):
                yield Mistake(key, "set it in the alternatives")

    def _level_mistakes(self) -> Iterator[Mistake]:
        """The level is one of the variable; levels of a hierarchy stand in its file."""
        if self.level is None:
            return
        if not self.filled("hierarchy", "levels", "prefixes", "squares"):
            hint = "list only the groups or codes that tables show"
            yield Mistake("level", "level needs hierarchy, levels, prefixes or squares", hint)
        if self.levels is not None and self.column is not None:
            yield Mistake("column", "column and level exclude each other")
        for key in self.filled("levels", "prefixes", "squares"):
            stages = getattr(self, key)
            if self.level not in (len(stages), stages[-1] if key == "levels" else len(stages)):
                known = ", ".join([*(self.levels or []), "or a number from 1"])
                yield Mistake("level", f"{key} have no level {self.level!r}", f"known: {known}")


class ReleaseSettings(ProgrammeEntry):
    """[defaults], and the same keys in every table."""

    formats: Annotated[list[Format] | None, Field(min_length=1), Key(once=True)] = None
    where: Annotated[str | None, Key(filter=True)] = None
    weight: str | None = None
    official: Annotated[str | None, Key(filter=True)] = None
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
    breaks: Breaks = "quantiles"
    classes: Annotated[int, Field(ge=2, le=7)] = 5
    show: Shown = "auto"
    atlas: bool = True


#: Keys in sections of a table that name one of its spanning variables.
_NAMES_VARIABLE = (
    ("areas", "variable"),
    ("flows", "origin"),
    ("flows", "destination"),
    ("available", "variable"),
)


class TableEntry(ReleaseSettings):
    """[tables.NAME]: one table to publish."""

    source: Text | None = Field(default=None, alias="from")
    by: Annotated[
        NameList | None,
        Key(needed='add the spanning variables, such as by = ["region", "sex"]', once=True),
    ] = None
    title: Texts = Field(default_factory=dict)
    figures: Stated[dict[str, FigureEntry]] = Field(default_factory=dict)
    parts: Stated[PartsEntry | None] = None
    areas: Stated[AreasEntry | None] = None
    notes: Stated[list[CellNoteEntry]] = Field(default_factory=list)
    value: NameList | None = None
    shadow: Text | None = None
    marks: Annotated[Stated[list[MarkEntry]], MARKS] = Field(default_factory=list)
    known: Text | None = None
    ratios: Stated[dict[str, RatioEntry]] = Field(default_factory=dict)
    flows: Stated[FlowsEntry | None] = None
    available: Stated[AvailableEntry | None] = None
    quantiles: Stated[dict[str, QuantilesEntry]] = Field(default_factory=dict)
    map: Stated[MapEntry] = Field(default_factory=MapEntry.model_construct)

    @property
    def values(self) -> list[str]:
        """The value columns of `value`, or the number of records."""
        return self.value or [COUNT]

    def over(self, defaults: ReleaseSettings) -> TableEntry:
        """This entry with the defaults filled in."""
        given: Mapping[str, Any] = {
            name: getattr(defaults, name)
            for name in ReleaseSettings.model_fields
            if getattr(self, name) is None
        }
        return self.model_copy(update=dict(given))

    @property
    def shown(self) -> list[str]:
        """The figures that are published."""
        return [name for name, figure in self.figures.items() if not figure.hidden]

    def mistakes(self) -> Iterator[Mistake]:
        """Check that named variables and figures belong to the table."""
        by = self.by or []
        if self.figures and not self.shown:
            yield Mistake("figures", "all figures are hidden", "publish at least one figure")
        if len(self.shown) > 1 and FIGURE in by:
            what = f"a table with several figures cannot have a variable called {FIGURE!r}"
            yield Mistake("by", what, "rename the variable")
        for name, figure in self.figures.items():
            yield from self._references(name, figure)
        known = [*by, *([FIGURE] if len(self.shown) > 1 else [])]
        for number, note in enumerate(self.notes):
            if not note.text:
                yield Mistake(("notes", number, "text"), "text is missing")
            for variable, code in note.cells.items():
                place = ("notes", number, "cells", variable)
                bare = variable.removesuffix(".level")
                if bare not in known or (variable != bare and bare in (FIGURE, *note.cells)):
                    yield _not_spanned(place, variable, known)
                elif variable == FIGURE and code not in self.shown:
                    hint = nearest(code, self.shown)
                    yield Mistake(place, f"figure {code!r} not found in the table", hint)
        for section, key in _NAMES_VARIABLE:
            named = getattr(getattr(self, section), key, None)
            if named and named not in by:
                yield _not_spanned((section, key), named, by)
        if self.areas is not None and len(by) == 1 and self.areas.variable in (None, *by):
            what = "a table per area needs a second variable"
            yield Mistake(("areas", "variable"), what, "add it to by")
        for key in self.filled("flows", "available"):
            if self.figures or self.values != [COUNT]:
                yield Mistake(key, f"{key} needs a table of counts alone", "remove its figures")
        for variable in self.quantiles:
            if variable not in by:
                yield _not_spanned(("quantiles", variable), variable, by)
            elif self.figures or self.values != [COUNT] or self.weight:
                what = "quantiles need a table of counts alone"
                yield Mistake(("quantiles", variable), what, "add a table of counts for them")
        if self.parts is not None and self.parts.per and self.parts.per not in by:
            what = f"no table has the spanning variable {self.parts.per!r}"
            yield Mistake(("parts", "per"), what, nearest(self.parts.per, by))

    def _references(self, name: str, figure: FigureEntry) -> Iterator[Mistake]:
        counted = [other for other, entry in self.figures.items() if entry.counted]
        for key in ("part", "whole"):
            other = getattr(figure, key)
            place = ("figures", name, key)
            if other in self.figures and self.figures[other].kind not in (None, *COUNTED):
                what = f"{other!r} is derived from other figures"
                yield Mistake(place, what, f"use counts, sums or means: {', '.join(counted)}")
            elif other is not None and other not in self.figures:
                what, hint = f"figure {other!r} not found in the table", nearest(other, counted)
                yield Mistake(place, what, hint, about=[("figures", other)])
        for key in ("over", "base"):
            for variable in getattr(figure, key) or ():
                if variable not in (self.by or ()):
                    yield _not_spanned(("figures", name, key), variable, self.by or [])


def _not_spanned(place: tuple[str | int, ...], variable: str, by: list[str]) -> Mistake:
    what = f"{variable!r} is not a spanning variable of the table"
    return Mistake(place, what, nearest(variable, by))


def method_settings() -> dict[str, Any]:
    """The form of [protection.NAME], for each method that has settings."""
    return {method.name: method.settings for method in protections() if method.settings is not None}


def _sections_of_methods(value: Any) -> Any:
    """[protection.NAME] in the form of each method."""
    forms: dict[str, Any] = {name: (form | None, None) for name, form in method_settings().items()}
    model = create_model("Sections", __base__=ProgrammeEntry, **forms)
    refuse_unknown(model, value, "unknown method, or a method without settings")
    sections = model.model_validate(value)
    return {name: getattr(sections, name) for name in sections.model_fields_set}


#: Sections that a package of parameters stands for.
FROM_PACKAGE = ("perturbation", "magnitudes", "figures", "parts")


class Document(ProgrammeEntry):
    """A whole programme file."""

    title: Texts = Field(default_factory=dict)
    languages: Annotated[Languages, Key(once=True)] = Field(default=["en"])
    date: Date = None
    workbook: Text | None = None
    atlas: Text | None = None
    data: DataEntry | None = None
    keys: KeysEntry | None = None
    period: Stated[PeriodEntry | None] = None
    sources: Stated[dict[str, SourceEntry]] = Field(default_factory=dict)
    parameters: Stated[ParametersEntry | None] = None
    perturbation: PerturbationEntry | None = None
    magnitudes: Stated[dict[str, MagnitudeEntry]] = Field(default_factory=dict)
    figures: Stated[FiguresEntry | None] = None
    parts: Stated[PartsEntry | None] = None
    suppression: Stated[SuppressionEntry | None] = None
    protection: Annotated[dict[str, Any], BeforeValidator(_sections_of_methods)] = Field(
        default_factory=dict
    )
    rules: Stated[dict[str, RuleSetEntry]] = Field(default_factory=dict)
    values: Stated[dict[str, ValueEntry]] = Field(default_factory=dict)
    relations: dict[str, Text] = Field(default_factory=dict)
    quality: Stated[QualityEntry] = Field(default_factory=QualityEntry.model_construct)
    attacks: Stated[AttacksEntry | None] = None
    slivers: Stated[SliversEntry | None] = None
    release: Stated[SealEntry] = Field(default_factory=SealEntry.model_construct)
    publication: Stated[PublicationEntry] = Field(default_factory=PublicationEntry.model_construct)
    variables: dict[str, VariableEntry] = Field(default_factory=dict)
    defaults: Stated[ReleaseSettings] = Field(default_factory=ReleaseSettings.model_construct)
    tables: dict[str, TableEntry] = Field(default_factory=dict)

    def mistakes(self) -> Iterator[Mistake]:
        """Parameters stand in one place."""
        for section in FROM_PACKAGE if self.parameters is not None else ():
            if section in self.model_fields_set:
                what = (
                    f"[{section}] and [parameters] exclude each other: the package contains "
                    "these parameters"
                )
                yield Mistake(section, what, "remove one of the two")
