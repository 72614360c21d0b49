"""Settings of noise: of counts and of magnitudes by tables, invariant noise, noise of units.

In: values. Out: settings in order. SECRET: they hold the parameters of the noise.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field, ValidationInfo, field_validator, model_validator

from discreet.protection.noise.limits import CHANCE, MOST_DECIMALS, MOST_ROUNDED, P_PERCENT
from discreet.settings import (
    FileText,
    Number,
    Positive,
    SecretSettings,
    SecretText,
    Settings,
    Text,
    refused,
)

if TYPE_CHECKING:
    from discreet.protection.noise.magnitude_noise import (
        FlexStrength,
        MagnitudeNoise,
        SimpleStrength,
    )
    from discreet.protection.noise.magnitude_table import MagnitudePerturbationTable
    from discreet.protection.noise.table import PerturbationTable

Share = Annotated[float, Field(gt=0, lt=1)]
Name = Annotated[str, Field(min_length=1)]


class CountNoiseSettings(Settings):
    """How a perturbation table of counts is used."""

    #: "keep" leaves zeros as they are; "table" takes row 0 for all combinations of codes
    zeros: Literal["keep", "table"] = "keep"
    suppress_below: Annotated[int, Field(ge=0)] | None = None  # perturbed values below are hidden
    decimals: Annotated[int, Field(ge=0, le=MOST_DECIMALS)] = 0  # digits of weighted figures


class PerturbationSettings(CountNoiseSettings, SecretSettings):
    """How counts are perturbed by cell key."""

    ptable: SecretText  # the perturbation table, in any of its formats
    ptable_format: Literal["intervals", "argus", "ons", "cumulative", "json"] | None = None
    official: str | None = None  # filter on codes: cells that are published as they are
    #: Variables that `official` names and the cells lack → code of their total
    total: dict[Name, Name] = Field(default_factory=dict)
    round_to: Annotated[int, Field(ge=1, le=MOST_ROUNDED)] = 1  # figures are multiples of this

    def table(self) -> PerturbationTable:
        """The perturbation table. SECRET."""
        from discreet.protection.noise.table import PerturbationTable

        changes_zeros = self.zeros == "table"
        return PerturbationTable.from_text(
            self.ptable, name="ptable", format=self.ptable_format, zeros=changes_zeros
        )

    def options(self) -> dict[str, Any]:
        """What `perturb` takes besides the tables."""
        names = ("zeros", "suppress_below", "official", "decimals", "round_to")
        return {**{name: getattr(self, name) for name in names}, "totals": self.total}


class MagnitudeNoiseSettings(Settings):
    """How sums and means of a value are perturbed, besides the tables and the strength."""

    of: Literal["top", "mean", "range", "sum"] = "top"  # what noise is a share of
    top: Annotated[int, Field(ge=1, le=16)] = 1  # how many of the largest contributions
    #: The weight of the noise of each of them
    epsilon: Annotated[list[Number], Field(min_length=1)] | None = Field(
        default=None, validate_default=True
    )
    publish: Literal["means", "sums"] = "sums"  # which of the two is accurate
    #: Whether each value column has noise of its own
    keys: Literal["column", "shared"] = "column"
    period: Text | None = None  # other noise in other periods
    same_key: bool = False  # the first contribution uses the cell key itself
    zeros_in_key: bool = False  # records of value 0 are part of the cell key
    range_floor: Number = 0.5  # the least range, as a share of the largest value
    #: How near, in percent, nobody may come to a contribution
    p_percent: Annotated[float, Field(ge=0, lt=100)] | None = None
    chance: Annotated[float, Field(ge=0, le=1)] | None = None  # how often a guess may all the same
    grain: Positive = 1.0  # sums are multiples of this

    @field_validator("top")
    @classmethod
    def _only_of_the_largest(cls, value: int, info: ValidationInfo) -> int:
        if value > 1 and info.data.get("of", "top") != "top":
            raise refused('this goes with of = "top" only')
        return value

    @field_validator("epsilon")
    @classmethod
    def _one_per_contribution(cls, value: list[Any] | None, info: ValidationInfo) -> Any:
        wanted = info.data.get("top")
        if wanted is not None and len(value or [1]) != wanted:
            hint = "such as epsilon = [1, 0.5] for top = 2"
            raise refused(f"{wanted} numbers are needed, one per contribution", hint)
        return value

    def noise(
        self,
        table: MagnitudePerturbationTable,
        strength: FlexStrength | SimpleStrength,
        **more: Any,
    ) -> MagnitudeNoise:
        """What `perturb_magnitudes` takes. SECRET."""
        from discreet.protection.noise.magnitude_noise import MagnitudeNoise

        same = self.model_dump(
            include={"of", "top", "keys", "same_key", "zeros_in_key", "range_floor"}
        )
        if self.epsilon is not None:
            same["epsilon"] = tuple(self.epsilon)
        period = self.period or ""
        return MagnitudeNoise(table, strength=strength, period=period, **same, **more)


_FLEX = ("point", "small", "large", "exponent")


class MagnitudeSettings(MagnitudeNoiseSettings, SecretSettings):
    """How sums or means of a value are perturbed by cell key."""

    magnitude_table: SecretText  # the perturbation table for magnitudes
    small_table: SecretText | None = None  # the same for small cells
    share: Annotated[float, Field(gt=0, le=1)] | None = None  # noise as a share of contributions
    point: Annotated[float, Field(gt=0)] | None = None  # or: where that begins to fall,
    small: Annotated[float, Field(gt=0, le=1)] | None = None  # from this for small ones
    large: Annotated[float, Field(gt=0, le=1)] | None = None  # to this for large ones,
    exponent: Annotated[int, Field(ge=1, le=20)] | None = None  # so fast
    figure: Literal["sum", "mean"] = "sum"  # what is shown
    ptable: SecretText | None = None  # the perturbation table of the counts
    suppress_below: Annotated[int, Field(ge=0)] | None = None  # perturbed counts below are hidden

    @model_validator(mode="after")
    def _whole(self) -> MagnitudeSettings:
        flex = [name for name in _FLEX if getattr(self, name) is not None]
        if (self.share is not None) == bool(flex) or len(flex) not in (0, len(_FLEX)):
            raise refused("the strength is a share, or " + ", ".join(_FLEX), where="share")
        for name, goes in (
            ("publish", self.publish == "means"),
            ("figure", self.figure == "mean"),
            ("suppress_below", self.suppress_below is not None),
        ):
            if goes and self.ptable is None:
                raise refused("this needs the perturbation table of the counts", "ptable", name)
        return self

    def made_noise(self) -> MagnitudeNoise:
        """The noise of the column. SECRET."""
        from discreet.protection.noise.magnitude_noise import FlexStrength, SimpleStrength
        from discreet.protection.noise.magnitude_table import MagnitudePerturbationTable

        table = MagnitudePerturbationTable.from_text(self.magnitude_table, name="magnitude_table")
        if self.small_table is not None:
            small = MagnitudePerturbationTable.from_text(
                self.small_table, name="small_table", kind="small"
            )
            table = MagnitudePerturbationTable.joined(table, small)
        if self.share is not None:
            return self.noise(table, SimpleStrength(self.share))
        return self.noise(table, FlexStrength(**self.model_dump(include=set(_FLEX))))

    def options(self) -> dict[str, Any]:
        """What `perturb_magnitudes` takes besides the noise. SECRET."""
        from discreet.protection.noise.table import PerturbationTable

        names = ("publish", "figure", "suppress_below", "grain", "p_percent", "chance")
        stated = {name: getattr(self, name) for name in names if getattr(self, name) is not None}
        if self.ptable is not None:
            stated["ptable"] = PerturbationTable.from_text(self.ptable, name="ptable")
        return stated


class MatrixSettings(SecretSettings):
    """How a transition matrix is used."""

    alpha: Annotated[float, Field(gt=0, le=1)] = 1.0  # the matrix's share; the rest stays
    normalise: bool = False  # scale rows that were printed rounded


class InvariantSettings(MatrixSettings):
    """How counts are perturbed so that each value stands as often as before."""

    transition: FileText  # the matrix for the counts 1, 2, …: a line of numbers per count
    forbid: list[int] = Field(default_factory=list)  # counts that are never to be printed


class UnitNoiseSettings(SecretSettings):
    """How the values of units are moved."""

    unit: Name  # column that says whose a record is
    least: Share = 0.05  # factors are at least so far from 1
    most: Annotated[Share, Field(validate_default=True)] = 0.15  # and at most so far
    #: "falling": factors near `least` are more likely; "even": all are equally likely
    shape: Literal["falling", "even"] = "falling"
    balance: list[Name] = Field(default_factory=list)  # columns of areas that keep their totals
    #: No figure lets anybody come so near a single contribution; 0 looks at none
    p_percent: Annotated[float, Field(ge=0, lt=100)] = P_PERCENT
    chance: Annotated[float, Field(ge=0, le=1)] = CHANCE  # how often the best guess may

    @field_validator("most")
    @classmethod
    def _above_the_least(cls, value: float, info: ValidationInfo) -> float:
        if value <= info.data.get("least", 0.0):
            raise refused("this is not above the least share", "least is smaller than most")
        return value
