"""What a publication gives away: all attacks carried out, and put into words.

In: protected tables by universe, what the attacker knows, and for assessment the true tables.
Out: `AttackReport`. SECRET: it tells how well attacks work; CONFIDENTIAL with true tables. Its
`rates` name no cell.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from discreet.arrays import FloatArray
from discreet.assessment.attacks.attributes import group_disclosures
from discreet.assessment.attacks.bounds import NoiseRange, bounded, likeliest, resolved
from discreet.assessment.attacks.equality import near_twins
from discreet.assessment.attacks.figures import PublishedFigures
from discreet.assessment.attacks.least_squares import EstimatedCells, estimated, filled
from discreet.assessment.attacks.listings import AttackListings
from discreet.assessment.attacks.odds import NoiseOdds, averaging_success
from discreet.assessment.attacks.parameters import found_parameters, shared_noise
from discreet.assessment.attacks.results import (
    AttackedUniverse,
    AttackResults,
    AveragedLayer,
    BoundedCells,
)
from discreet.assessment.attacks.settings import Knows
from discreet.assessment.attacks.values import alike_noise, attacked_values
from discreet.disclosure import LayerKey, PublishedCells
from discreet.errors import PerturbationError
from discreet.protection.noise import PerturbationTable
from discreet.tables import ProtectedTable, Table

#: With more exposure than this, a cell follows from figures without noise.
_EXACT = 1e4
#: Counts this likely are taken as found out by one sum.
_SURE = 0.95


@dataclass(frozen=True, kw_only=True, repr=False)
class AttackReport(AttackResults):
    """What all attacks found, in figures and in words. SECRET; CONFIDENTIAL with true tables."""

    def text(self) -> str:
        """The verdict, each attack, and the findings in words, with what would help. SECRET."""
        outcomes = self.outcomes()
        lines = [self.sentence(outcomes), *(f"  {one.line()}" for one in outcomes)]
        lines += self.gap_lines()
        for own in AttackListings(self, "en").all_of_them():
            lines += own.lines("en")
        return "\n".join(lines)

    def __repr__(self) -> str:
        return "<AttackReport: secret>"


def attacked(
    universes: Mapping[str, Sequence[ProtectedTable]] | PublishedFigures,
    *,
    knows: Knows = "table",
    ptable: PerturbationTable | None = None,
    max_noise: int | None = None,
    truth: Mapping[str, Sequence[Table | None]] | None = None,
    limits: Mapping[str, float] | None = None,
) -> AttackReport:
    """Carry out all attacks on tables of counts.

    >>> from discreet.publication.examples import census_example
    >>> attacked({"": [census_example()]}, knows="maximum", max_noise=2).rates()["twins"]
    0
    """
    if knows not in ("table", "maximum"):
        hint = 'use knows="table" or knows="maximum"'
        raise PerturbationError(
            f"unknown prior knowledge {knows!r}", code="attack", where="knows", hint=hint
        )
    published = (
        universes
        if isinstance(universes, PublishedFigures)
        else PublishedFigures.of(universes, truth)
    )
    odds = None if ptable is None else NoiseOdds.of(ptable)
    known = None
    if ptable is not None and knows == "table":
        known = NoiseRange.of_table(ptable)
    elif odds is not None or max_noise is not None:
        own = 0 if odds is None else int(np.abs(odds.chances.noise).max())
        known = NoiseRange.of_maximum(own if max_noise is None else max_noise)
    return AttackReport(
        universes=[_universe(system, odds, known) for system in published.systems.values()],
        twins=near_twins(published),
        shared=shared_noise(published),
        values=attacked_values(published),
        alike=alike_noise(published),
        bare=list(published.bare),
        knows=knows,
        limits=limits or {},
        gaps=published.gaps,
    )


def _universe(
    system: PublishedCells, odds: NoiseOdds | None, known: NoiseRange | None
) -> AttackedUniverse:
    parameters = found_parameters(system)
    variance = parameters.variance if odds is None else odds.variance
    staying = parameters.staying if odds is None else odds.staying
    layers = [
        _layer(system, item, variance, staying)
        for item in best_estimates(system, variance).values()
    ]
    return AttackedUniverse(
        name=system.name,
        layers=sorted(
            (layer for layer in layers if layer.cells),
            key=lambda each: (-each.exposure, each.layer),
        ),
        bounds=None if known is None else _bounds(system, known),
        parameters=parameters,
        groups=group_disclosures(system),
        contradictions=(system.contradictions, system.contradicting),
        left_out=system.left_out,
        variance=variance if np.isfinite(variance) else 0.0,
        regular=parameters.constant or parameters.unlike(variance),
        growth=_growth(system),
    )


def best_estimates(system: PublishedCells, variance: float) -> dict[LayerKey, EstimatedCells]:
    """The estimates of all cells; against true counts, those that find most of three ways.

    An attacker may take zeros for small counts that were changed, for true zeros, or for figures
    like all others.
    """
    cells = estimated(system, variance)
    judged = [key for key, own in cells.items() if own.layer.true is not None]
    if not judged:
        return cells
    ways = [cells, estimated(system, variance, zeros="true", leverages=False)]
    whole = filled(system)
    ways += [] if whole is None else [estimated(whole, variance, zeros="noisy", leverages=False)]
    estimates = [
        {key: way[key].estimate[way[key].layer.at(own.layer.ids)] for key, own in cells.items()}
        for way in ways
    ]

    def right(way: Mapping[LayerKey, FloatArray]) -> int:
        hits = 0
        for key in judged:
            layer = cells[key].layer
            hit = np.rint(way[key]) == layer.truth(layer.ids)
            hits += int(hit[cells[key].noisy].sum())
        return hits

    best = max(estimates, key=right)  # the first of those that find as many
    return {key: replace(own, estimate=best[key]) for key, own in cells.items()}


def _growth(system: PublishedCells) -> list[tuple[str, float]]:
    """What the layers that each table shows first add to the exposure of the total."""
    added: dict[str, float] = {}
    for layer in system.layers.values():
        occupied = int(np.count_nonzero(layer.value))
        if layer.tables and occupied:
            added[layer.tables[0]] = added.get(layer.tables[0], 0.0) + 1 / occupied
    return list(added.items())


def _layer(
    system: PublishedCells, counts: EstimatedCells, variance: float, staying: float
) -> AveragedLayer:
    """Averaging, of an attacker who takes the published figure where that is likelier right."""
    layer = counts.layer
    seen = counts.noisy
    exposure, hit, unchanged, expected = counts.exposure[seen], None, None, None
    estimate = counts.estimate[seen]
    if np.isfinite(variance) and seen.any():
        every, back = np.unique(exposure, return_inverse=True)
        chances = np.array([averaging_success(variance, one) for one in every.tolist()])[back]
        if np.isfinite(staying):
            estimate = np.where(chances < staying, layer.value[seen], estimate)
            chances = np.maximum(chances, staying)
        expected = float(chances.mean())
    if layer.true is not None and seen.any():
        true = layer.truth(layer.ids[seen])
        hit = float((np.rint(estimate) == true).mean())
        unchanged = float((layer.value[seen] == true).mean())
    return AveragedLayer(
        layer=system.title(layer.key),
        variables=tuple(dict.fromkeys(system.axes[axis].variable for axis, _ in layer.key)),
        cells=int(seen.sum()),
        exposure=float(exposure.max(initial=0.0)),
        mean_exposure=float(exposure.mean()) if seen.any() else 0.0,
        exact=int((exposure > _EXACT).sum()),
        noisy_exposure=float(exposure[exposure <= _EXACT].max(initial=0.0)),
        expected=expected,
        found=hit,
        unchanged=unchanged,
    )


def _bounds(system: PublishedCells, known: NoiseRange) -> BoundedCells:
    bounds = resolved(system, bounded(system, known), known)
    cells = determined = small = narrow = 0
    for key, layer in system.layers.items():
        low, high = bounds.low[key], bounds.high[key]
        seen = ((layer.value != 0) | ~layer.shown) & ~layer.official & (low <= high)
        cells += int(seen.sum())
        determined += int((seen & (low == high)).sum())
        small += int((seen & (low >= 1) & (high <= 2)).sum())
        narrow += int((seen & (high - low <= 2)).sum())
    likely = right = None
    if known.chances is not None:
        likely, hits, judged = 0, 0, False
        for step in system.steps():
            one = likeliest(step, known.chances)
            if one is None:
                continue
            sure = one.chance >= _SURE
            likely += int(sure.sum())
            if one.layer.true is not None:
                judged = True
                true = one.layer.truth(one.layer.ids[one.cells[sure]])
                hits += int((true == one.count[sure]).sum())
        right = hits / likely if judged and likely else None
    return BoundedCells(
        cells=cells,
        determined=determined,
        one_or_two=small,
        narrow=narrow,
        contradicted=bounds.contradicted,
        likely=likely,
        right=right,
    )
