"""What the releases of several periods give away together, put into words.

In: protected tables by universe and period, and the perturbation table. Out: `PeriodReport`: who
keeps his key, as the figures tell; cells proven to hold other units than a period before; how
well counts that stay are known from all periods. SECRET; its rates name no cell.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np

from discreet.assessment.attacks.figures import PublishedFigures
from discreet.assessment.attacks.least_squares import estimated
from discreet.assessment.attacks.odds import NoiseOdds, averaging_success
from discreet.assessment.attacks.periods import KeyOption, PeriodPair
from discreet.assessment.attacks.report import exceeded_limits
from discreet.confidential import SecretValues
from discreet.disclosure import LayerKey, PublishedCells
from discreet.errors import PerturbationError
from discreet.protection.noise import PerturbationTable
from discreet.tables import ProtectedTable

_SHOWN = 3
_TWO = 2
_EITHER: tuple[KeyOption, KeyOption] = ("same", "period")


@dataclass(frozen=True, kw_only=True)
class ComparedPeriods:
    """Two periods with the same tables, held against each other."""

    universe: str  # the universe of the tables
    first: str  # the earlier period
    second: str  # the later one
    #: Who has other keys in the later: "same", "period" or "changed"; "kept" where the figures tell
    #: that keys stay, and not whether changed units have new ones
    keys: KeyOption | Literal["kept"]
    cells: int  # number of cells of which one period shows more than zero
    equal: int  # how many of them show the same in both
    #: How many surely hold other units than before, or, unless keys are "same" or "period",
    #: somebody who came, left or changed
    proven: int
    told: int  # how many of these are of the finest layer: all codes of that somebody
    examples: tuple[str, ...]  # some of the latter


@dataclass(frozen=True, kw_only=True, repr=False)
class PeriodReport(SecretValues):
    """Report on attacks over several periods. SECRET."""

    pairs: list[ComparedPeriods]  # each period and the next
    #: Per universe, how often a count that does not change is expected to be found from all
    #: crossings of all periods, in the layer where most is found
    average: Mapping[str, float]

    def rates(self) -> dict[str, float | int | None]:
        """The main figures, none of a single cell.

        - kept: number of pairs of periods in which units kept their keys
        - proven: number of cells in which somebody is proven to have come, left or changed
        - told: number of these that tell all codes of the tables
        - average: how often a count that does not change is expected to be found
        """
        return {
            "kept": sum(pair.keys != "period" for pair in self.pairs),
            "proven": sum(pair.proven for pair in self.pairs),
            "told": sum(pair.told for pair in self.pairs),
            "average": max(self.average.values(), default=None),
        }

    def exceeded(self, limits: Mapping[str, float]) -> list[str]:
        """The rates above their limits, in words."""
        return exceeded_limits(self.rates(), limits)

    def described(self) -> dict[str, Any]:
        """Everything as plain values, for JSON. SECRET."""
        pairs = [asdict(pair) for pair in self.pairs]
        return {"rates": self.rates(), "pairs": pairs, "average": dict(self.average)}

    def text(self) -> str:
        """The findings in words. SECRET."""
        lines = []
        for pair in self.pairs:
            named = f"{pair.universe}, " if pair.universe else ""
            lines.append(
                f"{named}{pair.first} and {pair.second}: {_KEPT[pair.keys]}; {pair.equal:,} "
                f"of {pair.cells:,} values are equal. In {pair.proven:,} cells a unit certainly "
                f"{_HAPPENED[pair.keys]}; {pair.told:,} of these cells show all categories of "
                "the unit."
            )
            lines += [f"  a unit {_HAPPENED[pair.keys]} in {cell}" for cell in pair.examples]
        for name, share in self.average.items():
            named = f"{name}: counts" if name else "Counts"
            lines.append(
                f"{named} that do not change: the mean over all tables and periods is expected "
                f"to reveal {100 * share:.0f} % in the worst case."
            )
        return "\n".join(lines)


_KEPT = {
    "same": "units keep their keys",
    "period": "new keys in each period",
    "changed": "changed units have new keys",
    "kept": "keys stay",
}
_HAPPENED = dict.fromkeys(("same", "period"), "came or left")
_HAPPENED |= dict.fromkeys(("changed", "kept"), "came, left or changed")


def attacked_periods(
    universes: Mapping[str, Mapping[str, Sequence[ProtectedTable]]],
    ptable: PerturbationTable,
    option: KeyOption | None = None,
    *,
    averaged: bool = True,
) -> PeriodReport:
    """Attack the tables of several periods together; averages take most of the time."""
    odds, pairs, average = NoiseOdds.of(ptable), [], {}
    for universe, periods in universes.items():
        if len(periods) < _TWO:
            message, hint = "only one period has tables of these units", "name two or more periods"
            raise PerturbationError(message, code="attack", where=universe or "periods", hint=hint)
        systems = list(PublishedFigures.of(periods).systems.values())
        own = []
        for one, two in itertools.pairwise(systems):
            # The pair under the option that is stated, or that explains its figures better.
            options = _EITHER if option is None else (option,)
            tried = [PeriodPair(one, two, odds.chances, item) for item in options]
            pair = max(tried, key=lambda item: item.fit)
            own.append(_compared(universe, pair, stated=option is not None))
        pairs += own
        together = all(item.keys == "period" for item in own)
        if averaged:
            average[universe] = _averaged(systems, odds.variance, together=together)
    return PeriodReport(pairs=pairs, average=average)


def _compared(universe: str, pair: PeriodPair, *, stated: bool) -> ComparedPeriods:
    if not pair.layers:
        message, hint = "the two periods share no table", "name releases of the same programme"
        where = f"{pair.first.name}, {pair.second.name}"
        raise PerturbationError(message, code="attack", where=where, hint=hint)
    cells = equal = proven = certain = 0
    examples: list[str] = []
    for key, layer in pair.layers.items():
        shown = (layer.before != 0) | (layer.after != 0)
        cells, equal = (
            cells + int(shown.sum()),
            equal + int((shown & (layer.before == layer.after)).sum()),
        )
        surely = pair.proven(key, touched=True)
        proven += int(surely.sum())
        if not any(set(key) < set(other) for other in pair.layers):
            certain += int(surely.sum())
            first = np.flatnonzero(surely)[: _SHOWN - len(examples)]
            examples += [_named(pair, key, at) for at in first.tolist()]
    return ComparedPeriods(
        universe=universe, first=pair.first.name, second=pair.second.name,
        keys="kept" if pair.option == "same" and not stated else pair.option,
        cells=cells, equal=equal, proven=proven, told=certain, examples=tuple(examples),
    )  # fmt: skip


def _named(pair: PeriodPair, key: LayerKey, at: int) -> str:
    cell = pair.layers[key].ids[at]
    for system in (pair.first, pair.second):
        layer = system.layers[key]
        place = int(layer.at(np.array([cell]))[0])
        if place >= 0:
            return system.cell_name(layer, place)
    return ""


def _averaged(systems: Sequence[PublishedCells], variance: float, *, together: bool) -> float:
    """How often the best estimate finds a count, from all periods or the best one."""
    exposures: dict[LayerKey, list[float]] = {}
    for system in systems:
        for key, cells in estimated(system).items():
            if cells.noisy.any():
                exposures.setdefault(key, []).append(float(cells.exposure[cells.noisy].mean()))
    most = max((sum(e) if together else max(e) for e in exposures.values()), default=0.0)
    return averaging_success(variance, most) if most else 1.0
