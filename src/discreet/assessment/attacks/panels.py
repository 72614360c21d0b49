"""What the tables of several periods give away together, and how often attacks on them succeed.

In: protected tables by universe and period, and the perturbation table; or the records of some
periods, with identifiers (CONFIDENTIAL). Out: `PeriodReport`, SECRET: who keeps his key, as the
figures tell; cells proven to hold other units than a period before; how well counts that stay are
known from all periods. And `AttackSuccess` per attack on a panel whose truth is known: all tables
that the variables span are made and protected under one option of keys, attacked as a reader
would, and held against the records. Rates name no unit and no cell.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np
import polars as pl

from discreet.arrays import BoolArray, IntArray, find_sorted
from discreet.assessment.attacks.figures import PublishedFigures
from discreet.assessment.attacks.parameters import NoiseOdds, averaging_success, estimated
from discreet.assessment.attacks.periods import (
    ChangeRates,
    Codes,
    KeyOption,
    PeriodPair,
    guessed_units,
    period_pairs,
    smoothed_counts,
)
from discreet.assessment.attacks.report import exceeded_limits
from discreet.assessment.probabilities import NoiseChances
from discreet.confidential import SecretValues
from discreet.disclosure import LayerKey, PublishedCells
from discreet.errors import PerturbationError
from discreet.keygrid import KeyGrid
from discreet.microdata import PeriodOption, Secret, with_period_keys
from discreet.protection.noise import PerturbationTable, perturb
from discreet.tables import ProtectedTable
from discreet.tabulation import tabulate

#: What an attacker takes as sure.
_SURE = 0.95
#: The quantile of 95 % intervals.
_NORMAL = 1.959964


@dataclass(frozen=True, kw_only=True)
class AttackSuccess:
    """Success rate of an attack.

    Args:
        attack: What it looks for.
        cases: In how many cases.
        alone: In what share of them one period alone finds it; None where it cannot.
        found: In what share of them the periods together do.
        low: The lower end of the 95 % interval of that share (Wilson).
        high: The upper end.
        sure: Of how many cases the attacker is at least 95 % sure, or, of cells, certain.
        right: What share of these is as thought; None if there are none.
    """

    attack: str
    cases: int
    alone: float | None
    found: float
    low: float
    high: float
    sure: int
    right: float | None


def wilson(hits: int, cases: int) -> tuple[float, float]:
    """The 95 % interval of a share (Wilson).

    >>> [round(end, 3) for end in wilson(8, 10)]
    [0.49, 0.943]
    """
    if not cases:
        return 0.0, 1.0
    share, spread = hits / cases, _NORMAL**2 / cases
    middle = (share + spread / 2) / (1 + spread)
    half = (_NORMAL / (1 + spread)) * ((share * (1 - share) + spread / 4) / cases) ** 0.5
    return max(0.0, middle - half), min(1.0, middle + half)


def attacked_panel(
    years: Mapping[str, pl.DataFrame],
    *,
    id: str,  # noqa: A002 - the word users know
    by: Sequence[str],
    unknown: Sequence[str],
    ptable: PerturbationTable,
    option: PeriodOption,
    secret: Secret | str,
) -> list[AttackSuccess]:
    """Attack the tables of a panel under one option of keys, and count the successes.

    Args:
        years: The records of each period, in order. CONFIDENTIAL.
        id: The column that identifies units.
        by: The variables of the tables, columns of codes; all their crossings are published.
        unknown: Those of them that an insider wants to find out; he knows the others.
        ptable: The perturbation table, which attackers know.
        option: Who has other keys in a later period.
        secret: The secret of the record keys.
    """
    known = [name for name in by if name not in unknown]
    if len(years) < 2 or not known or not unknown or not set(unknown) <= set(by):
        message = "give two or more periods, known and unknown variables, all of them in the tables"
        raise PerturbationError(message, code="attack", where="years")
    panel = _Panel(years, id, list(by), known, list(unknown))
    chances = NoiseChances.of(ptable)
    published = panel.published(ptable, option, secret)
    pairs = list(period_pairs(published, chances, option))
    successes = [_changed_cells(panel, pairs, *kind) for kind in _KINDS]
    successes += [_units(panel, pairs, event, quiet=quiet) for quiet in (False, True)
              for event in ("left", "come", "changed")]  # fmt: skip
    successes += _counts(panel, published, chances, option, pairs)
    return successes


class _Panel:
    """Records of some periods, and what happened between them. CONFIDENTIAL."""

    def __init__(
        self,
        years: Mapping[str, pl.DataFrame],
        identifier: str,
        by: list[str],
        known: list[str],
        unknown: list[str],
    ) -> None:
        self.years = {
            name: frame.select(pl.col(identifier).alias("unit"), pl.col(by).cast(pl.String))
            for name, frame in years.items()
        }
        self.by, self.known, self.unknown = by, known, unknown

    def published(
        self, ptable: PerturbationTable, option: PeriodOption, secret: Secret | str
    ) -> PublishedFigures:
        """The protected table of each period, with all its margins."""
        tables, previous = {}, None
        for name, frame in self.years.items():
            more: dict[str, Any] = {}
            if option == "changed":
                more = {"watched": self.by, "previous": previous, "first": previous is None}
            previous = with_period_keys(
                frame, id="unit", secret=secret, period=name, option=option,
                grid=KeyGrid(), **more,
            )  # fmt: skip
            table = tabulate(previous, by=self.by, record_key="record_key")
            tables[name] = [perturb(table, ptable)]
        return PublishedFigures.of(tables)

    def both(self, first: str, second: str) -> pl.DataFrame:
        """The units of two periods with their codes in either, if they are there."""
        old, new = self.years[first], self.years[second]
        both = old.join(new, on="unit", how="full", coalesce=True, suffix=" after")
        differs = [pl.col(n).ne_missing(pl.col(f"{n} after")) for n in self.by]
        return both.with_columns(pl.any_horizontal(differs).alias("changed")).sort("unit")

    def changed(
        self, codes: Codes, keys: Iterable[LayerKey], pair: tuple[str, str], *, touched: bool
    ) -> Iterator[tuple[LayerKey, IntArray]]:
        """Per layer, its cells that hold other units in the second of two periods.

        Or, if `touched`, that hold somebody who came, left or changed in anything.
        """
        both = self.both(*pair)
        before, after = (
            codes.positions(both.select(pl.col(f"{n}{suffix}").alias(n) for n in self.by))
            for suffix in ("", " after")
        )
        for key in keys:
            cells = np.stack([codes.cells(key, side) for side in (before, after)])
            moved = both["changed"].to_numpy() if touched else cells[0] != cells[1]
            every = np.unique(cells[:, moved])
            yield key, every[every >= 0]

    def events(self, first: str, second: str, event: str, *, quiet: bool) -> pl.DataFrame:
        """Units that left, came, or changed in what is known; what is unknown stays.

        If `quiet`, nothing else happened in the groups of known codes that a unit is in.
        """
        both = self.both(first, second)
        first_known = self.known[0]
        there = {
            "left": pl.col(f"{first_known} after").is_null(),
            "come": pl.col(first_known).is_null(),
            "changed": pl.any_horizontal(pl.col(n) != pl.col(f"{n} after") for n in self.known)
            & pl.all_horizontal(pl.col(n) == pl.col(f"{n} after") for n in self.unknown),
        }
        events = both.filter(there[event].fill_null(value=False))
        if not quiet:
            return events
        changed = both.filter("changed")
        sides = [
            changed.select("unit", *(pl.col(f"{n}{suffix}").alias(n) for n in self.known))
            for suffix in ("", " after")
        ]
        rows = pl.concat(sides).drop_nulls(first_known)
        loud = rows.filter(pl.col("unit").n_unique().over(self.known) > 1)
        return events.join(loud, on="unit", how="anti", maintain_order="left")


_Pairs = Sequence[tuple[str, str, PeriodPair]]


def _success(
    attack: str, hits: int, cases: int, sure: int, right: float, alone: float | None = None
) -> AttackSuccess:
    """The success of an attack that is sure of some cases, of which so many are right."""
    low, high = wilson(hits, cases)
    return AttackSuccess(
        attack=attack, cases=cases, alone=alone, found=hits / max(cases, 1), low=low, high=high,
        sure=sure, right=right / sure if sure else None,
    )  # fmt: skip


def _guesses(attack: str, every: Iterable[tuple[BoolArray, BoolArray, BoolArray]]) -> AttackSuccess:
    """The success of guesses: which are right, right by one period alone, and sure."""
    none = (np.zeros(0, dtype=np.bool_),) * 3
    hits, alone, sure = map(np.concatenate, zip(none, *every, strict=True))
    share = float(alone.mean()) if len(alone) else None
    return _success(
        attack, int(hits.sum()), len(hits), int(sure.sum()), int(hits[sure].sum()), share
    )


#: What is proven of cells; whether by changes of any kind; whether of the finest layer only.
_KINDS = (
    ("cells whose units provably changed", False, False),
    ("cells in which a unit provably changed", True, False),
    ("the same for cells by all variables", True, True),
)


def _changed_cells(
    panel: _Panel, pairs: _Pairs, attack: str, touched: bool, finest: bool
) -> AttackSuccess:
    """Cells whose set of units changed: how many are proven, and how many wrongly.

    Or, if `touched`, that hold somebody who came, left or changed in anything the tables tell.
    """
    proven, false, changed = 0, 0, 0
    for first, second, pair in pairs:
        longest = max(map(len, pair.layers))
        keys = [key for key in pair.layers if len(key) == longest or not finest]
        for key, others in panel.changed(Codes(pair.first), keys, (first, second), touched=touched):
            certain = pair.layers[key].ids[pair.proven(key, touched=touched)]
            right = int(np.isin(certain, others).sum())
            proven, changed = proven + right, changed + len(others)
            false += len(certain) - right
    return _success(attack, proven, changed, proven + false, proven)


def _units(panel: _Panel, pairs: _Pairs, event: str, *, quiet: bool) -> AttackSuccess:
    """What is unknown of units that an insider knows to have left, come, or changed."""
    every = []
    for first, second, pair in pairs:
        events = panel.events(first, second, event, quiet=quiet)
        if events.is_empty():
            continue
        before = events.select(panel.known)
        after = events.select(pl.col(f"{name} after").alias(name) for name in panel.known)
        guess = guessed_units(pair, before, after, panel.unknown, quiet=quiet)
        there = "" if event != "come" else " after"
        true = events.select(pl.col(f"{name}{there}").alias(name) for name in panel.unknown)
        at = true.join(
            guess.values.with_row_index("at"), on=panel.unknown, how="left", maintain_order="left"
        )["at"].to_numpy()
        alone = np.argmax(guess.prior, axis=1) == at
        best, sure = np.argmax(guess.posterior, axis=1), guess.posterior.max(axis=1) >= _SURE
        every.append((best == at, alone, sure))
    name = f"unit known to have {event}" + (", without other changes" if quiet else "")
    return _guesses(name, every)


def _counts(
    panel: _Panel,
    published: PublishedFigures,
    chances: NoiseChances,
    option: PeriodOption,
    pairs: _Pairs,
) -> Iterator[AttackSuccess]:
    """True counts of the last period: of cells known to have stayed, and of all."""
    systems = list(published.systems.values())
    names, codes = list(published.systems), Codes(systems[-1])
    #: Per layer which guesses are right, which are so by the last period alone, which are sure
    stayed, every = (list[tuple[BoolArray, BoolArray, BoolArray]]() for _ in range(2))
    keys, changed = list(systems[-1].layers), dict[LayerKey, list[IntArray]]()
    for pair in itertools.pairwise(names):
        for key, cells in panel.changed(codes, keys, pair, touched=False):
            changed.setdefault(key, []).append(cells)
    units = codes.positions(panel.years[names[-1]].select(panel.by))
    for key in keys:
        ids, counts = np.unique(codes.cells(key, units), return_counts=True)
        still = ChangeRates(moving=0.0)
        for judged, rates in ((stayed, still), (every, pairs[-1][2].layers[key].rates)):
            last = smoothed_counts(systems[-1:], key, chances, option, rates)
            smoothed = smoothed_counts(systems, key, chances, option, rates)
            true = np.append(counts, 0)[find_sorted(ids, smoothed.ids)]
            rows = np.ones(len(smoothed.ids), dtype=np.bool_)
            if judged is stayed:
                rows = ~np.isin(smoothed.ids, np.concatenate(changed[key]))
            hits = smoothed.count == true, last.count == true, smoothed.chance >= _SURE
            judged.append((hits[0][rows], hits[1][rows], hits[2][rows]))
    yield _guesses("count of a cell known to be unchanged", stayed)
    yield _guesses("count of any cell", every)


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
        cells += int(shown.sum())
        equal += int((shown & (layer.before == layer.after)).sum())
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
    for system in (pair.first, pair.second):
        layer = system.layers[key]
        (place,) = layer.at(pair.layers[key].ids[at : at + 1]).tolist()
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
