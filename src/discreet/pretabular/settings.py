"""What methods on records can be told: their options, their defaults and what goes together.

In: values of a programme, a command, a form, a call. Out: settings in order. Which columns identify
a record, and the secret of draws, are no settings: they come with the records.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import BeforeValidator, Field, WithJsonSchema, model_validator

from discreet.pretabular.matrices import Invariant, PramMatrix
from discreet.settings import (
    FILE,
    LINES,
    FileContent,
    NameList,
    Names,
    SecretSettings,
    Settings,
    Some,
    Text,
    name_list,
    refused,
)

MOST_KEYS = 12
#: The column of record keys, if none is named.
KEY = "record_key"


def _together(value: Any) -> Any:
    """Names of variables that change together are joined by a plus sign."""
    if not isinstance(value, Mapping):
        return value
    return {"+".join(name) if isinstance(name, tuple) else name: matrix
            for name, matrix in value.items()}  # fmt: skip


#: How codes of a variable are drawn anew.
Matrix = Invariant | PramMatrix
Share = Annotated[float, Field(gt=0, le=1)]
#: A `Classification`, or a file of one.
Tree = Annotated[
    Any,
    FILE,
    BeforeValidator(lambda value: Path(value) if isinstance(value, str) else value),
    WithJsonSchema({"type": "string"}),
]


def _table(value: Any) -> Any:
    return Path(value) if isinstance(value, str) and value and "\n" not in value else value


#: Published tables, the text of a CSV file of cells, or such a file.
PublishedCells = Annotated[
    Any, FileContent(secret=False), BeforeValidator(_table), WithJsonSchema({"type": "string"})
]


class RecordSettings(SecretSettings):
    """Settings of a method on records, and its other inputs."""

    identified: ClassVar[bool] = False  # whether columns have to identify a record
    drawn: ClassVar[bool] = False  # whether it draws from a secret

    def promise(self) -> tuple[Sequence[str], int]:
        """Variables of which every combination occurs so many times afterwards."""
        return (), 0

    def files(self) -> dict[str, Path]:
        """The files that are named, by setting."""
        named = {name: getattr(self, name) for name in type(self).model_fields}
        return {name: value for name, value in named.items() if isinstance(value, Path)}


class SwapSettings(RecordSettings):
    """Which households exchange their areas."""

    drawn: ClassVar[bool] = True

    household: Text  # the column that identifies the household
    areas: Some  # columns of areas, the coarsest first
    risk: Some  # variables by which a person is rare in an area
    #: Variables in which partners are alike; where some of the entries are lists, each entry is a
    #: profile, and later ones are tried when earlier ones find no partner
    similar: Annotated[list[str | list[str]], BeforeValidator(name_list), Field(min_length=1)]
    #: Who is like fewer persons of an area, with oneself, is swapped out of it
    k: Annotated[int, Field(ge=0)]
    rate: Annotated[float, Field(ge=0, le=1)]  # share of households that are swapped at least
    #: Variables in which partners are alike in every profile
    same: Names = Field(default_factory=list)
    carry_along: Names = Field(default_factory=list)  # columns of places that go with the areas

    @property
    def moved(self) -> list[str]:
        """The columns that are exchanged."""
        return [*self.areas, *self.carry_along]

    @property
    def profiles(self) -> list[list[str]]:
        """The variables of each profile; a list of names only is one."""
        names = [entry for entry in self.similar if isinstance(entry, str)]
        profiles = [[entry] if isinstance(entry, str) else entry for entry in self.similar]
        if len(names) == len(self.similar):
            profiles = [names]
        return [[*dict.fromkeys([*profile, *self.same])] for profile in profiles]

    @model_validator(mode="after")
    def _each_column_once(self) -> Self:
        used = {
            self.household,
            *self.risk,
            *(name for profile in self.profiles for name in profile),
        }
        if len(set(self.moved)) != len(self.moved) or used & set(self.moved):
            raise refused("name each area variable exactly once", where="areas")
        if not all(self.profiles):
            raise refused("name one or more variables", where="similar")
        return self


class RankSwapSettings(RecordSettings):
    """Which records exchange values of nearly the same rank."""

    identified: ClassVar[bool] = True
    drawn: ClassVar[bool] = True

    variables: Some  # columns of numbers
    #: How far apart partners stand in order, as a share of the values of their stratum
    window: Share
    strata: Names = Field(default_factory=list)  # variables in which partners are alike


class PermuteSettings(RecordSettings):
    """Which records exchange values with others that are alike."""

    identified: ClassVar[bool] = True
    drawn: ClassVar[bool] = True

    variables: Some  # columns whose values move together
    share: Share  # share of the records that take part, each drawn by itself
    within: Names = Field(default_factory=list)  # variables in which those who exchange are alike


class PramSettings(RecordSettings):
    """By which matrices codes are drawn anew."""

    identified: ClassVar[bool] = True
    drawn: ClassVar[bool] = True

    #: The matrix of each variable; several, joined by a plus sign, change into combinations that
    #: occur, so that every rule which held before holds after
    variables: Annotated[dict[str, Matrix], BeforeValidator(_together)]
    #: Variables; codes change within a stratum, invariant matrices are made for each
    strata: Names = Field(default_factory=list)
    exact: bool = False  # whether invariant matrices keep frequencies exactly, not on average

    @property
    def sets(self) -> list[tuple[str, ...]]:
        """The variables that change together."""
        return [tuple(name.split("+")) for name in self.variables]

    @model_validator(mode="after")
    def _each_variable_once(self) -> Self:
        names = [name for names_ in self.sets for name in names_]
        if not names or len(set(names)) != len(names):
            raise refused("name one or more variables, each once", where="variables")
        if set(names) & set(self.strata):
            raise refused(
                "a variable that changes cannot be an identifier or a stratum", where="variables"
            )
        if self.exact and not all(isinstance(m, Invariant) for m in self.variables.values()):
            raise refused("exact needs invariant matrices", where="exact")
        return self


class MicroaggregateSettings(RecordSettings):
    """Settings of microaggregation."""

    identified: ClassVar[bool] = True

    variables: Some  # columns of numbers without missing values
    k: Annotated[int, Field(ge=2)] = 3  # fewest records of a group
    #: "mdav" groups by all variables together; "sorted" by each on its own, with the least sum of
    #: squares
    method: Literal["mdav", "sorted"] = "mdav"
    strata: Names = Field(default_factory=list)  # variables; groups lie within a stratum

    def promise(self) -> tuple[Sequence[str], int]:
        """Groups by all variables together leave no rare combination."""
        return (self.variables, self.k) if self.method == "mdav" else ((), 0)


class LocalSuppressionSettings(RecordSettings):
    """Which values are left out."""

    identified: ClassVar[bool] = True

    #: Variables that others know of a person or firm, together
    keys: Annotated[NameList, Field(max_length=MOST_KEYS)]
    k: Annotated[int, Field(ge=2)] = 3  # fewest records with one combination
    #: Keys in the order in which they matter, the first most; those not named matter less, and the
    #: less the more codes they have
    importance: Names = Field(default_factory=list)

    @model_validator(mode="after")
    def _keys_that_matter(self) -> Self:
        named = set(self.importance)
        if named - set(self.keys) or len(named) < len(self.importance):
            raise refused("importance must list key variables, each once", where="importance")
        return self

    def promise(self) -> tuple[Sequence[str], int]:
        """Every combination of keys."""
        return self.keys, self.k


class RecodeSettings(RecordSettings):
    """Settings of recoding: by a level of a tree, by intervals, or by a list."""

    variable: Text  # the column
    classification: Tree = None  # the code tree, or a file of it
    level: int | None = None  # the level of the tree that the new codes are of, 1 for the coarsest
    #: Lower ends of groups of a number, the last one open
    intervals: Annotated[list[float], BeforeValidator(name_list)] = Field(default_factory=list)
    codes: dict[str, str] | None = None  # old code → new code; all that occur

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        tree = self.classification is not None
        ways = (bool(self.intervals), self.codes is not None, tree)
        if sum(ways) != 1 or (self.level is None) == tree:
            raise refused("state one of: a classification with a level, intervals, codes")
        return self


class CodedEndSettings(RecordSettings):
    """Which values are replaced by one."""

    side: ClassVar[str]  # the setting that names the end

    variable: Text  # a column of numbers
    #: The share of values that are replaced at most
    share: Annotated[float, Field(gt=0, lt=1)] | None = None
    mean: bool = False  # replace them by their mean, which keeps totals, instead of the end

    @property
    def end(self) -> float | None:
        """The value from which on others are replaced."""
        end: float | None = getattr(self, self.side)
        return end

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        if (self.end is None) == (self.share is None):
            raise refused("state a limit, or a share between 0 and 1")
        return self


class TopCodeSettings(CodedEndSettings):
    """Which of the largest values are replaced."""

    side: ClassVar[str] = "above"

    above: float | None = None  # values above this one are replaced


class BottomCodeSettings(CodedEndSettings):
    """Which of the smallest values are replaced."""

    side: ClassVar[str] = "below"

    below: float | None = None  # values below this one are replaced


class RoundValuesSettings(RecordSettings):
    """Settings of rounding."""

    variables: Some  # columns of numbers
    #: Numbers become multiples of this, such as 10 or 0.5
    base: Annotated[float, Field(gt=0, allow_inf_nan=False)]


class DropIdentifiersSettings(RecordSettings):
    """Which columns name someone."""

    direct: Names  # columns that are left out: names, addresses, numbers, free texts, exact dates
    #: Columns that look as if they named someone, and do not
    harmless: Names = Field(default_factory=list)


class SafeSettings(RecordSettings):
    """Which combinations of codes occur often enough (SAFE)."""

    drawn: ClassVar[bool] = True

    variables: Some  # what combinations are made of
    #: The variables of each control table; the number of records is controlled too
    controls: Annotated[list[Names], Field(min_length=1)]
    at_least: Annotated[int, Field(ge=2)] = 3  # how often a combination occurs, if it does
    by: Names = Field(default_factory=list)  # strata: each is changed by itself
    #: Conditions, such as "age < 15 and status == 'married'", of what cannot occur; it is never
    #: filled, and an error where it occurs
    structural_zeros: Annotated[Names, LINES] = Field(default_factory=list)
    fill: bool = False  # whether combinations that do not occur may be filled
    record_key: str = KEY  # column of record keys, if there is one; copies get keys of their own
    grid: int | str = 10**15  # the grid of the keys
    #: For up to so many combinations the optimum is searched for by a solver
    exact_up_to: int = 5_000

    @model_validator(mode="after")
    def _tables_of_variables(self) -> Self:
        if len(set(self.variables)) != len(self.variables) or set(self.variables) & set(self.by):
            message = "name one or more variables, each once, and no key or stratum"
            raise refused(message, where="variables")
        if not all(set(table) <= set(self.variables) for table in self.controls):
            raise refused("control tables must use the variables", where="controls")
        return self

    def promise(self) -> tuple[Sequence[str], int]:
        """Every combination."""
        return self.variables, self.at_least


class CalibrateSettings(RecordSettings):
    """Which totals the weights of a sample meet, and how far they may move."""

    totals: PublishedCells  # the totals, with the codes of the records
    #: Columns of starting weights, each calibrated alike, such as "weight" and "replicate_*";
    #: all weights start at 1 in the new column "weight" if empty
    weight: Names = Field(default_factory=list)
    #: Between starting and calibrated weights: "raking" keeps them positive, "linear" is that of
    #: the regression estimator (GREG)
    distance: Literal["raking", "linear"] = "raking"
    #: Bounds of calibrated weights relative to starting weights that were scaled to the total
    least: Annotated[float, Field(ge=0, lt=1)] = 0.2
    most: Annotated[float, Field(gt=1)] = 5.0
    count: Text = "value"  # the column of totals
    tables: Names = Field(default_factory=list)  # tables of a release that are used; all if empty
    #: How far totals may contradict each other: a share of the whole
    tolerance: Annotated[float, Field(ge=0, lt=1)] = 0.0


class StructureSettings(Settings):
    """Settings of structure files."""

    #: How many are made up; the default tells nothing of the original
    records: Annotated[int, Field(ge=1)] = 1_000
    #: Variable that says whose record it is, where units have several
    unit: str | None = None
    #: Fewest units that a code, an end, a form or a pattern that is taken over has
    threshold: Annotated[int, Field(ge=3)] = 10
    #: In fewer than so many variables a made-up record may have values that together are those of
    #: few original units; as few as can be had if None
    agree: Annotated[int, Field(ge=1)] | None = None
    #: Variables of which every code, its label and the true ends may be known
    public: Names = Field(default_factory=list)
    #: Variables of which the distribution is taken over, roughly
    shares: Names = Field(default_factory=list)
    #: Sets of variables of which only such values are combined as `threshold` units have
    together: list[Names] = Field(default_factory=list)


#: Every method that a step can be.
METHODS: Mapping[str, type[RecordSettings]] = MappingProxyType(
    {
        "bottom_code": BottomCodeSettings,
        "calibrate": CalibrateSettings,
        "drop_identifiers": DropIdentifiersSettings,
        "local_suppression": LocalSuppressionSettings,
        "microaggregate": MicroaggregateSettings,
        "permute": PermuteSettings,
        "pram": PramSettings,
        "rank_swap": RankSwapSettings,
        "recode": RecodeSettings,
        "round_values": RoundValuesSettings,
        "safe": SafeSettings,
        "swap": SwapSettings,
        "top_code": TopCodeSettings,
    }
)
