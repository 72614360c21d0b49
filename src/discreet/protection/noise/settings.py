"""What noise can be told: counts by a perturbation table, invariant noise, noise of units.

In: values. Out: settings in order. SECRET: they hold the parameters of the noise.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field, ValidationInfo, field_validator

from discreet.settings import FileText, SecretSettings, SecretText, refused

if TYPE_CHECKING:
    from discreet.protection.noise.table import PerturbationTable

#: More digits than a double holds would say nothing.
MOST_DECIMALS = 15
#: Figures are rounded to multiples of at most this.
MOST_ROUNDED = 1_000_000

Share = Annotated[float, Field(gt=0, lt=1)]
Name = Annotated[str, Field(min_length=1)]


class PerturbationSettings(SecretSettings):
    """How counts are perturbed by cell key."""

    ptable: SecretText  # the perturbation table, in any of its formats
    ptable_format: Literal["intervals", "argus", "ons", "cumulative", "json"] | None = None
    #: "keep" leaves zeros as they are; "table" takes row 0 for all combinations of codes
    zeros: Literal["keep", "table"] = "keep"
    suppress_below: Annotated[int, Field(ge=0)] | None = None  # perturbed values below are hidden
    official: str | None = None  # filter on codes: cells that are published as they are
    #: Variables that `official` names and the cells lack → code of their total
    total: dict[Name, Name] = Field(default_factory=dict)
    decimals: Annotated[int, Field(ge=0, le=MOST_DECIMALS)] = 0  # digits of weighted figures
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


class InvariantSettings(SecretSettings):
    """How counts are perturbed so that each value stands as often as before."""

    transition: FileText  # the matrix for the counts 1, 2, …: a line of numbers per count
    alpha: Annotated[float, Field(gt=0, le=1)] = 1.0  # the matrix's share; the rest stays
    forbid: list[int] = Field(default_factory=list)  # counts that are never to be printed
    normalise: bool = False  # scale rows that were printed rounded


class UnitNoiseSettings(SecretSettings):
    """How the values of units are moved."""

    unit: Name  # column that says whose a record is
    least: Share = 0.05  # factors are at least so far from 1
    most: Share = 0.15  # and at most so far
    #: "falling": factors near `least` are more likely; "even": all are equally likely
    shape: Literal["falling", "even"] = "falling"
    balance: list[Name] = Field(default_factory=list)  # columns of areas that keep their totals

    @field_validator("most")
    @classmethod
    def _above_the_least(cls, value: float, info: ValidationInfo) -> float:
        if value <= info.data.get("least", 0.0):
            raise refused("this is not above the least share", "least is smaller than most")
        return value
