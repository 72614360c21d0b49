"""`AttackResults`: what all attacks found, as figures. SECRET; CONFIDENTIAL with true tables.

In: what each attack found. Out: rates that name no cell, one verdict with its limits, and
everything as plain values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from discreet.assessment.attacks.attributes import GroupDisclosures
from discreet.assessment.attacks.equality import NearTwins
from discreet.assessment.attacks.figures import BareFigures
from discreet.assessment.attacks.outcomes import (
    AttackOutcome,
    outcomes_of,
    verdict_of,
    verdict_sentence,
)
from discreet.assessment.attacks.parameters import FoundParameters, SharedNoise
from discreet.assessment.attacks.values import AlikeNoise, AttackedValues
from discreet.assessment.words import number
from discreet.disclosure import DisclosureVerdict, Gap, Judged
from discreet.errors import PerturbationError

#: Layers with fewer cells are not called the worst.
_ENOUGH = 20
#: Exposure per variance up to which 60 % of the best estimates are right.
_TOLERATED = 2.83


@dataclass(frozen=True, kw_only=True)
class AveragedLayer:
    """What averaging does to the cells of a layer."""

    layer: str  # its variables and levels
    variables: tuple[str, ...]
    cells: int  # number of cells that show a count
    exposure: float  # the largest exposure of a cell; the mean stands beside it
    mean_exposure: float
    exact: int  # number of cells that figures without noise tell, whatever the noise of others
    noisy_exposure: float  # the largest exposure of the others
    #: How often the best estimate is expected to be the true count; None if the variance of the
    #: noise is not known
    expected: float | None
    found: float | None  # how often it is. CONFIDENTIAL
    #: How often the published figure itself is: the level of chance. CONFIDENTIAL
    unchanged: float | None


@dataclass(frozen=True, kw_only=True)
class BoundedCells:
    """What bounds leave open."""

    cells: int  # number of cells
    determined: int  # number of those that can be one count only
    one_or_two: int  # number of those that are surely 1 or 2
    narrow: int  # number of those with at most three counts
    contradicted: int  # number of those that fit no count: the noise is larger than assumed
    #: Number of parts of small sums that one sum makes 95 % sure; None unless the whole table is
    #: known
    likely: int | None
    right: float | None  # share of these that are as thought. CONFIDENTIAL


@dataclass(frozen=True, kw_only=True, repr=False)
class AttackedUniverse:
    """The attacks on the tables of one universe."""

    name: str  # the universe
    layers: list[AveragedLayer]  # averaging, per layer, the most exposed first
    bounds: BoundedCells | None  # what bounds leave open; None if nothing is known of the noise
    parameters: FoundParameters  # what can be found out about the noise
    groups: list[GroupDisclosures]  # rows that tell a category
    #: Cells that two tables show with different figures, and where first
    contradictions: tuple[int, str]
    left_out: list[str]  # tables that hold no counts
    variance: float  # the variance of the noise, found or known. SECRET
    regular: bool  # whether the noise does not look drawn by record keys
    #: Per table in order, by how much it adds to the exposure of the total
    growth: list[tuple[str, float]]

    @property
    def needed(self) -> float:
        """The variance with which averaging is expected to succeed in 60 % at most. SECRET."""
        return max((layer.noisy_exposure for layer in self.layers), default=0.0) / _TOLERATED

    @property
    def exposure_kept(self) -> float:
        """The exposure up to which it succeeds in 60 % at most. SECRET."""
        return _TOLERATED * self.variance


@dataclass(frozen=True, kw_only=True, repr=False)
class AttackResults(Judged):
    """What all attacks found. SECRET; CONFIDENTIAL with true tables.

    Args:
        universes: Per universe.
        twins: Sets that differ by few records.
        shared: Universes whose figures carry the same noise.
        values: What is found out of sums, per universe and figure.
        alike: Columns or periods whose noise has the same sign.
        bare: Figures that tell by themselves.
        knows: What the attacker knew.
        limits: What single attacks may find, by their rates; of all others nothing may be found.
        gaps: What attacks do not examine, since names and codes do not tell it.
    """

    universes: list[AttackedUniverse]
    twins: list[NearTwins]
    shared: list[SharedNoise]
    values: list[AttackedValues]
    alike: list[AlikeNoise]
    bare: list[BareFigures]
    knows: str
    limits: Mapping[str, float] = field(default_factory=dict)
    gaps: Sequence[Gap] = ()

    def rates(self) -> dict[str, float | int | None]:
        """The main figures, none of a single cell.

        - average: how often averaging finds the true count in the worst layer (as expected,
          without true tables)
        - exposure: the largest exposure of a cell
        - determined: number of cells that can be one count only
        - twins: number of pairs of sets that differ by few records
        - groups: number of rows that tell a category
        - contradictions: number of cells that two tables show with different figures
        - shared: number of pairs of universes with one noise: their differences are exact
        - official: number of official sums of at most three parts, which tell their noise
        - regular: number of universes whose noise does not look drawn by record keys
        - alike: number of pairs of columns, or periods, whose noise has the same sign
        - values: how often the largest of few contributions to a sum is found within 10 %, in the
          worst column; unknown without true tables
        - whole: number of shares of everything: all records have it
        - uncounted: number of figures shown beside a hidden count
        """
        layers = [layer for one in self.universes for layer in one.layers]
        large = [layer for layer in layers if layer.cells >= _ENOUGH] or layers
        hits = [item.expected if item.found is None else item.found for item in large]
        known = [hit for hit in hits if hit is not None]
        bounds = [one.bounds for one in self.universes if one.bounds is not None]
        return {
            "average": max(known, default=None),
            "exposure": max((layer.exposure for layer in layers), default=0.0),
            "determined": sum(bound.determined for bound in bounds) if bounds else None,
            "twins": len(self.twins),
            "groups": sum(group.single for one in self.universes for group in one.groups),
            "contradictions": sum(one.contradictions[0] for one in self.universes),
            "shared": len(self.shared),
            "official": sum(one.parameters.official for one in self.universes),
            "regular": sum(one.regular for one in self.universes),
            "alike": len(self.alike),
            "values": max(
                (max(value.published or 0.0, value.averaged or 0.0) for value in self.values
                 if value.dominated is not None), default=None if self.values else 0.0,
            ),
            "whole": sum(item.whole for item in self.bare),
            "uncounted": sum(item.uncounted for item in self.bare),
        }  # fmt: skip

    def outcomes(self) -> list[AttackOutcome]:
        """What each attack found, and which reader can carry it out."""
        return outcomes_of(self.rates(), self.limits)

    @property
    def judgement(self) -> DisclosureVerdict:
        """One verdict on all attacks; what a single attack may find says `AttackOutcome`."""
        return self.judged(self.outcomes())

    def judged(self, outcomes: list[AttackOutcome]) -> DisclosureVerdict:
        """One verdict on some of the attacks; tables that they leave out are not examined."""
        left_out = [name for one in self.universes for name in one.left_out]
        return verdict_of(outcomes, left_out, self.gaps)

    def sentence(self, outcomes: list[AttackOutcome], language: str = "en") -> str:
        """The verdict on some of the attacks in words, with their limits."""
        return verdict_sentence(self.judged(outcomes), language, outcomes)

    def gap_lines(self, language: str = "en") -> list[str]:
        """What no attack examines, with what to do about it, in words."""
        return DisclosureVerdict.of((), self.gaps).lines(language)

    def exceeded(self, limits: Mapping[str, float] | None = None) -> list[str]:
        """The rates above limits, in words; above its own, or not examined, if none are named.

        Raises:
            PerturbationError: There is no such rate, or it could not be worked out.
        """
        if limits is None:
            return [line for one in self.outcomes() if (line := one.failure())]
        return exceeded_limits(self.rates(), limits)

    def described(self) -> dict[str, Any]:
        """Everything as plain values, for JSON. SECRET."""
        return {
            "verdict": self.verdict,
            "attacks": [one.described() for one in self.outcomes()],
            "not_examined": [gap.described() for gap in self.judgement.gaps],
            "knows": self.knows,
            "limits": dict(self.limits),
            "rates": self.rates(),
            "twins": [asdict(twin) for twin in self.twins],
            "shared": [asdict(pair) for pair in self.shared],
            "values": [asdict(value) for value in self.values],
            "alike": [asdict(pair) for pair in self.alike],
            "bare": [asdict(item) for item in self.bare],
            "universes": [
                {
                    "universe": one.name,
                    "layers": [asdict(layer) for layer in one.layers],
                    "bounds": None if one.bounds is None else asdict(one.bounds),
                    "parameters": asdict(one.parameters, dict_factory=_known),
                    "groups": [asdict(group) for group in one.groups],
                    "contradictions": one.contradictions[0],
                    "left_out": one.left_out,
                }
                for one in self.universes
            ],
        }

    def __repr__(self) -> str:
        return "<AttackResults: secret>"


def exceeded_limits(
    rates: Mapping[str, float | int | None], limits: Mapping[str, float]
) -> list[str]:
    """The rates above their limits, in words.

    Raises:
        PerturbationError: There is no such rate, or it could not be worked out.
    """
    exceeded = []
    for name, limit in limits.items():
        rate = rates.get(name)
        if rate is None:
            message = f"unknown rate {name!r}"
            if name in rates:
                message = f"{name} cannot be computed without the noise parameters"
            hint = f"rates: {', '.join(rates)}"
            raise PerturbationError(message, code="attack", where="fail-over", hint=hint)
        if rate > limit:
            exceeded.append(f"{name} is {number(rate, 'en')}, above {number(limit, 'en')}")
    return exceeded


def _known(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Values by name; None for what is not known, which JSON has no number for."""
    return {
        name: None if isinstance(value, float) and not np.isfinite(value) else value
        for name, value in pairs
    }
