"""What an attacker of a release knows.

In: values. Out: settings in order. SECRET: they may hold the perturbation table.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field

from discreet.settings import SecretSettings, SecretText, Settings

if TYPE_CHECKING:
    from discreet.protection.noise import PerturbationTable

Knows = Literal["table", "maximum"]


class AttackerSettings(Settings):
    """What an attacker knows of the noise."""

    #: The perturbation table, or the largest noise alone. Judge designs by the first: what is
    #: secret comes out
    knows: Knows = "table"


class AttackSettings(AttackerSettings, SecretSettings):
    """What an attacker of a release knows."""

    ptable: SecretText | None = None  # the perturbation table
    #: The largest noise; of rounded counts, by how much they differ from the true ones at most
    max_noise: Annotated[int, Field(ge=0)] | None = None

    def options(self) -> dict[str, Any]:
        """What `attack` takes besides the release. SECRET."""
        from discreet.protection.noise import PerturbationTable

        ptable: PerturbationTable | None = None
        if self.ptable is not None:
            ptable = PerturbationTable.from_text(self.ptable, name="ptable")
        return {"knows": self.knows, "ptable": ptable, "max_noise": self.max_noise}
