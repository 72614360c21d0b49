"""Figures of a design: what the library says of its quality, its risk, and of attacks.

In: a `DesignWish`. Out: the library's own assessments, each made when it is first asked for, and
kept for the designs looked at last. SECRET.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

from discreet.assessment import (
    DisclosureRisk,
    NoiseOdds,
    Quality,
    disclosure_risk,
    evaluate,
    expected_quality,
)
from discreet.protection.noise import PerturbationTable
from discreet_service.studio.design_wishes import DesignWish

#: Counts that quality is told of in one figure: each equally often, as the documentation does.
COUNTS: Sequence[int] = tuple(range(1, 101))
#: Counts at which curves have their points.
CURVE_COUNTS: Sequence[int] = (
    *range(1, 13),
    *(14, 17, 20, 25, 30, 40, 50, 70, 100, 140, 200, 300, 500, 700, 1000),
)
#: Averaging that succeeds no more often is borne.
BORNE = 0.6
_KEPT = 64


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class AssessedDesign:
    """A design with what the library says of it. SECRET."""

    table: PerturbationTable  # The perturbation table
    wish: DesignWish | None = None  # What it is to be like; None if it was made elsewhere

    @property
    def is_example(self) -> bool:
        """Whether its order is one to look at, which is drawn anew when it is saved."""
        return self.wish is not None and self.wish.order != "plain"

    @property
    def never(self) -> tuple[int, ...]:
        """The counts that are published of no count, as far as it has rows."""
        reached = self.table.transition_matrix().max(axis=0)
        return tuple(at for at in range(1, self.table.n_max + 1) if not reached[at])

    @cached_property
    def quality(self) -> Quality:
        """What it does to counts from 1 to 100, each equally often."""
        return expected_quality(self.table, COUNTS)

    @cached_property
    def curve(self) -> Quality:
        """The same at the places of a curve."""
        return expected_quality(self.table, CURVE_COUNTS)

    @cached_property
    def risk(self) -> DisclosureRisk:
        """What a sum with its two parts tells who knows the largest noise."""
        return disclosure_risk(self.table)

    @cached_property
    def odds(self) -> NoiseOdds:
        """How likely attacks by averaging succeed."""
        return NoiseOdds.of(self.table)

    @cached_property
    def rows(self) -> list[dict[str, Any]]:
        """Figures of each row, by original count."""
        return evaluate(self.table).to_dicts()

    def averaged(self, exposures: Sequence[float]) -> list[tuple[float, float]]:
        """How likely averaging finds a count, in per cent, by exposure."""
        return [(exposure, 100 * self.odds.averaged(exposure)) for exposure in exposures]

    def origins(self) -> list[tuple[float, float]]:
        """Published value, and how likely it was a 1 or a 2, in per cent."""
        told = self.risk.small.drop_nulls("from_1_or_2")
        return [(float(value), 100 * share)
                for value, share in told.select("value", "from_1_or_2").iter_rows()]  # fmt: skip

    def found(self) -> list[tuple[float, float]]:
        """Original count of a part, and how likely a sum determines it; where it can."""
        counts = self.risk.by_count.select("count", "part").iter_rows()
        return [(float(count), share) for count, share in counts if share > 0]

    def errors(self) -> list[tuple[float, float]]:
        """Original count, and the expected relative error in per cent."""
        iter_rows = self.curve.by_count.select("count", "relative_error").iter_rows()
        return [(float(count), 100 * error) for count, error in iter_rows]

    def key_figures(self) -> Mapping[str, float]:
        """The main figures by name; shares between 0 and 1."""
        last, quality, risk = self.rows[-1], self.quality, self.risk
        return {
            "variance": last["variance"],
            "stay": last["stay"],
            "deviation": quality.mean_absolute_deviation,
            "at_most_1": quality.at_most_1,
            "at_least_3": quality.at_least_3,
            "at_least_4": quality.at_least_4,
            "any_original": risk.any_original,
            "large": risk.large,
            "origin": max((share for _, share in self.origins()), default=math.nan) / 100,
            "borne": self.odds.tolerated(BORNE),
        }

    def __repr__(self) -> str:
        return "<AssessedDesign: secret>"


@lru_cache(maxsize=_KEPT)
def assessed(wish: DesignWish) -> AssessedDesign:
    """A design with its figures; an error says why there is none.

    >>> from decimal import Decimal
    >>> assessed(DesignWish(max_noise=1, variance=Decimal("0.5"))).key_figures()["variance"]
    0.5
    """
    return AssessedDesign(wish=wish, table=wish.table())
