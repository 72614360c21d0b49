"""What the risk of records is assessed by, and what an attacker of a release knows.

In: values. Out: settings in order. SECRET: they may hold the perturbation table.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from discreet.settings import Names, SecretSettings, SecretText, Settings, Some, refused

if TYPE_CHECKING:
    from discreet.protection.noise import PerturbationTable

_MOST_SETS = 20_000


class RecordRiskSettings(Settings):
    """Key variables that others know, and thresholds of risk."""

    keys: Some  # variables that others know of a person or firm, together
    #: Column of sampling weights; without them the file is taken for everybody
    weight: str | None = None
    #: Variables that nobody is to learn: how many values they have among those alike
    sensitive: Names = Field(default_factory=list)
    k: Annotated[int, Field(ge=1)] = 3  # combinations of fewer records are counted
    limit: Annotated[float, Field(ge=0, le=1)] = 0.05  # risks above are counted
    #: "own": a missing value is a value like others, which is safe; "any": it may be any value, the
    #: usual measure after local suppression, which understates the risk from one who knows it
    missing: Literal["own", "any"] = "own"
    #: Sets of so many variables at most are searched for special uniques; 0 for none
    special: Annotated[int, Field(ge=0)] = 3
    #: Columns that name nobody, though nearly all their values differ
    harmless: Names = Field(default_factory=list)

    @model_validator(mode="after")
    def _keys_apart(self) -> Self:
        if {*self.sensitive, self.weight} & set(self.keys):
            raise refused("key variables cannot be the weight or sensitive", where="keys")
        number = len(self.keys)
        if sum(math.comb(number, size) for size in range(self.special + 1)) > _MOST_SETS:
            raise refused("too many sets of variables", "name fewer", where="special")
        return self


Knows = Literal["table", "maximum"]


class AttackerSettings(Settings):
    """Prior knowledge of an attacker on the noise."""

    #: The perturbation table, or the largest noise alone. Judge designs by the first: what is
    #: secret comes out
    knows: Knows = "table"


class AttackSettings(AttackerSettings, SecretSettings):
    """Prior knowledge of an attacker of a release."""

    ptable: SecretText | None = None  # the perturbation table
    #: The largest noise; of rounded counts, by how much they differ from the true ones at most
    max_noise: Annotated[int, Field(ge=0)] | None = None

    def options(self) -> dict[str, Any]:
        """Arguments of `attack` besides the release. SECRET."""
        from discreet.protection.noise import PerturbationTable

        ptable: PerturbationTable | None = None
        if self.ptable is not None:
            ptable = PerturbationTable.from_text(self.ptable, name="ptable")
        return {"knows": self.knows, "ptable": ptable, "max_noise": self.max_noise}
