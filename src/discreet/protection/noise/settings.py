"""Settings of noise: of counts and of magnitudes by tables, invariant noise, noise of units.

In: values. Out: settings in order. SECRET: they hold the parameters of the noise.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field, ValidationInfo, field_validator, model_validator

from discreet.protection.noise.limits import CHANCE, MOST_DECIMALS, MOST_ROUNDED, P_PERCENT
from discreet.settings import (
    FileText,
    Limit,
    Number,
    Positive,
    SecretSettings,
    SecretText,
    Settings,
    Text,
    refused,
)

if TYPE_CHECKING:
    from discreet.protection.noise.table import PerturbationTable

Share = Annotated[float, Field(gt=0, lt=1)]
Name = Annotated[str, Field(min_length=1)]


class CountNoiseSettings(Settings):
    """Settings for the use of a perturbation table of counts."""

    #: "keep" leaves zeros as they are; "table" takes row 0 for all combinations of codes
    zeros: Literal["keep", "table"] = "keep"
    suppress_below: Annotated[int, Field(ge=0)] | None = None  # perturbed values below are hidden
    decimals: Annotated[int, Field(ge=0, le=MOST_DECIMALS)] = 0  # digits of weighted figures


class PerturbationSettings(CountNoiseSettings, SecretSettings):
    """Settings of the cell-key method for counts."""

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
        """Arguments of `perturb` besides the tables."""
        names = ("zeros", "suppress_below", "official", "decimals", "round_to")
        return {**{name: getattr(self, name) for name in names}, "totals": self.total}


class ContributionSettings(Settings):
    """Contributions that set the scale of noise of sums, and its keys."""

    of: Literal["top", "mean", "range", "sum"] = "top"  # what noise is a share of
    top: Annotated[int, Field(ge=1, le=16)] = 1  # how many of the largest contributions
    #: The weight of the noise of each of them, from 1 downward
    epsilon: Annotated[list[Number], Field(min_length=1)] | None = Field(
        default=None, validate_default=True
    )
    #: "column" gives each value column noise of its own, by keys derived from cell key and column
    #: name; "shared" draws that of all columns by the cell key. One choice for good: noise of both
    #: kinds for one column could be averaged
    keys: Literal["column", "shared"] = "column"
    #: Enters the derived keys, so that the same records have other noise in other periods
    period: Text | None = None
    #: The first contribution uses the cell key itself, as counts do; with shared keys only
    same_key: bool = False
    #: Records of value 0 are part of the cell key. Without them, equal sums of the same values have
    #: equal noise
    zeros_in_key: bool = False
    range_floor: Number = 0.5  # the least range, as a share of the largest value

    @field_validator("top")
    @classmethod
    def _only_of_the_largest(cls, value: int, info: ValidationInfo) -> int:
        if value > 1 and info.data.get("of", "top") != "top":
            raise refused('this needs of = "top"')
        return value

    @field_validator("epsilon")
    @classmethod
    def _one_per_contribution(cls, value: list[Any] | None, info: ValidationInfo) -> Any:
        wanted, weights = info.data.get("top"), value or [1]
        if wanted is not None and len(weights) != wanted:
            hint = "such as epsilon = [1, 0.5] for top = 2"
            raise refused(f"expected {wanted} numbers, one per contribution", hint)
        if weights[0] != 1 or weights[-1] <= 0 or weights != sorted(weights, reverse=True):
            raise refused("epsilon must start with 1, not increase and stay above 0")
        return value

    @field_validator("period")
    @classmethod
    def _periods_have_keys_of_their_own(cls, value: str | None, info: ValidationInfo) -> Any:
        if value and info.data.get("keys") == "shared":
            hint = 'with keys="column" it is part of the derived keys'
            raise refused("shared keys are the same in every period", hint)
        return value

    @field_validator("same_key")
    @classmethod
    def _same_key_of_shared_ones(cls, value: bool, info: ValidationInfo) -> bool:
        if value and info.data.get("keys") == "column":
            hint = 'remove same_key; keys="shared" keeps the values of earlier releases'
            raise refused("independent noise of a column does not use the keys of counts", hint)
        return value

    @field_validator("range_floor")
    @classmethod
    def _floor_of_a_range(cls, value: Any, info: ValidationInfo) -> Any:
        if not 0 <= value <= 1:
            message = "range_floor must be a share of the largest value, from 0 to 1"
            raise refused(message)
        usual = cls.model_fields["range_floor"].default
        if value != usual and info.data.get("of", "range") != "range":
            raise refused('range_floor needs of = "range"', 'remove it, or use of = "range"')
        return value


class MarkedNoiseSettings(ContributionSettings):
    """Settings of noise of sums, with more noise in sensitive cells."""

    mu_c: Limit = 0.0  # added to the size of the noise of a sensitive cell
    mu_c_for: Literal["first", "all"] = "first"  # for which contributions: "all" may cancel out


class MagnitudeNoiseSettings(ContributionSettings):
    """Settings of noise of sums and means, besides tables and strength."""

    publish: Literal["means", "sums"] = "sums"  # which of the two is accurate
    #: How near, in percent, nobody may come to a contribution
    p_percent: Annotated[float, Field(ge=0, lt=100)] | None = None
    chance: Annotated[float, Field(ge=0, le=1)] | None = None  # how often a guess may all the same
    grain: Positive = 1.0  # sums are multiples of this


#: What the strength of noise that falls with size is described by.
FLEX = ("point", "small", "large", "exponent")


class MagnitudeSettings(MagnitudeNoiseSettings, SecretSettings):
    """Settings of the cell-key method for sums or means."""

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
        flex = [name for name in FLEX if getattr(self, name) is not None]
        if (self.share is not None) == bool(flex) or len(flex) not in (0, len(FLEX)):
            raise refused("the strength is a share, or " + ", ".join(FLEX), where="share")
        for name, goes in (
            ("publish", self.publish == "means"),
            ("figure", self.figure == "mean"),
            ("suppress_below", self.suppress_below is not None),
        ):
            if goes and self.ptable is None:
                raise refused("the perturbation table of the counts is required", "ptable", name)
        return self

    def options(self) -> dict[str, Any]:
        """Arguments of `perturb_magnitudes` besides the noise. SECRET."""
        from discreet.protection.noise.table import PerturbationTable

        names = ("publish", "figure", "suppress_below", "grain", "p_percent", "chance")
        stated = {name: getattr(self, name) for name in names if getattr(self, name) is not None}
        if self.ptable is not None:
            stated["ptable"] = PerturbationTable.from_text(self.ptable, name="ptable")
        return stated


class MatrixSettings(SecretSettings):
    """Settings for the use of a transition matrix."""

    alpha: Annotated[float, Field(gt=0, le=1)] = 1.0  # the matrix's share; the rest stays
    normalise: bool = False  # scale rows that were printed rounded


class InvariantSettings(MatrixSettings):
    """Settings of invariant perturbation, which keeps expected frequencies of values."""

    transition: FileText  # the matrix for the counts 1, 2, …: a line of numbers per count
    forbid: list[int] = Field(default_factory=list)  # counts that are never to be printed


class UnitNoiseSettings(SecretSettings):
    """Settings of noise by unit."""

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
            raise refused("must be above the least share", "least must be below most")
        return value
