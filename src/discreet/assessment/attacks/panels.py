"""How often attacks over periods succeed, on a panel whose truth is known. CONFIDENTIAL.

In: the records of some periods, with identifiers, and the perturbation table. All tables that the
variables span are made and protected under one option of keys, attacked as a reader would, and
held against the records. Out: `AttackSuccess` per attack: rates, which name no unit.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from discreet.arrays import AnyArray, BoolArray, find_sorted, set_sums
from discreet.assessment.attacks.figures import PublishedFigures
from discreet.assessment.attacks.periods import (
    ChangeRates,
    Codes,
    PeriodPair,
    guessed_units,
    period_pairs,
    smoothed_counts,
)
from discreet.assessment.probabilities import NoiseChances
from discreet.disclosure import LayerKey
from discreet.errors import PerturbationError
from discreet.keygrid import KeyGrid
from discreet.microdata import PeriodOption, Secret, with_period_keys
from discreet.protection.noise import PerturbationTable, perturb
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

    def marks(self, frame: pl.DataFrame) -> AnyArray:
        """A number for each unit with its codes, so that sets have sums of numbers."""
        return frame.select(pl.struct("unit", *self.by).hash(1)).to_series().to_numpy()

    def sets(self, codes: Codes, key: LayerKey, name: str, *, units: bool) -> dict[int, int]:
        """Per cell of a layer a number of its set of units; with what else is told of them."""
        frame = self.years[name]
        cells = codes.cells(key, codes.positions(frame.select(self.by)))
        assert cells is not None
        marks = frame["unit"].hash(1).to_numpy() if units else self.marks(frame)
        return _sums(cells, marks)

    def events(self, first: str, second: str, event: str, *, quiet: bool) -> pl.DataFrame:
        """Units that left, came, or changed in what is known; what is unknown stays."""
        old, new = self.years[first], self.years[second]
        both = old.join(new, on="unit", how="full", coalesce=True, suffix=" after")
        first_known = self.known[0]
        there = {
            "left": pl.col(f"{first_known} after").is_null(),
            "come": pl.col(first_known).is_null(),
            "changed": pl.any_horizontal(pl.col(n) != pl.col(f"{n} after") for n in self.known)
            & pl.all_horizontal(pl.col(n) == pl.col(f"{n} after") for n in self.unknown),
        }
        frame = both.filter(there[event].fill_null(value=False)).sort("unit")
        return (
            frame.filter(pl.Series(self._quiet(frame, old, new), dtype=pl.Boolean))
            if quiet
            else frame
        )

    def _quiet(self, joined: pl.DataFrame, old: pl.DataFrame, new: pl.DataFrame) -> BoolArray:
        """Whether nothing else happened in the groups of known codes that a unit is in."""
        sums = [self._groups(frame) for frame in (old, new)]
        alone = np.ones(joined.height, dtype=np.bool_)
        for suffix, side in (("", 0), (" after", 1)):
            names = [f"{name}{suffix}" for name in self.known]
            there = joined[names[0]].is_not_null().to_numpy()
            own = joined.select("unit", *[pl.col(f"{n}{suffix}").alias(n) for n in self.by])
            mark, group = self.marks(own), own.select(self._group()).to_series()
            totals = [
                group.replace_strict(item, default=0, return_dtype=pl.UInt64).to_numpy()
                for item in sums
            ]
            rest = totals[side] - mark  # whole numbers that wrap
            alone &= ~there | (rest == totals[1 - side])
        return alone

    def _group(self) -> pl.Expr:
        return pl.concat_str([pl.col(n).fill_null("") for n in self.known], separator="\x1f")

    def _groups(self, frame: pl.DataFrame) -> dict[str, int]:
        groups = frame.select(self._group()).to_series().to_numpy().astype(str)
        return _sums(groups, self.marks(frame))


def _sums(places: AnyArray, marks: AnyArray) -> dict[Any, int]:
    """Per cell or group a number of its set of units."""
    every, back = np.unique(places, return_inverse=True)
    return dict(zip(every.tolist(), set_sums(back, marks, len(every)).tolist(), strict=True))


_Pairs = Sequence[tuple[str, str, PeriodPair]]


def _success(
    attack: str, hits: BoolArray, alone: BoolArray | None, sure: BoolArray
) -> AttackSuccess:
    cases = len(hits)
    low, high = wilson(int(hits.sum()), cases)
    return AttackSuccess(
        attack=attack,
        cases=cases,
        alone=None if alone is None or not cases else float(alone.mean()),
        found=float(hits.mean()) if cases else 0.0,
        low=low,
        high=high,
        sure=int(sure.sum()),
        right=float(hits[sure].mean()) if sure.any() else None,
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
        codes = Codes(pair.first)
        longest = max(map(len, pair.layers))
        for key, layer in pair.layers.items():
            if finest and len(key) < longest:
                continue
            sets = [panel.sets(codes, key, name, units=not touched) for name in (first, second)]
            others = {at for at in sets[0] | sets[1] if sets[0].get(at) != sets[1].get(at)}
            certain = layer.ids[pair.proven(key, touched=touched)].tolist()
            right = sum(at in others for at in certain)
            proven, changed = proven + right, changed + len(others)
            false += len(certain) - right
    low, high = wilson(proven, changed)
    claims = proven + false
    return AttackSuccess(
        attack=attack, cases=changed, alone=None,
        found=proven / max(changed, 1), low=low, high=high, sure=claims,
        right=proven / claims if claims else None,
    )  # fmt: skip


def _units(panel: _Panel, pairs: _Pairs, event: str, *, quiet: bool) -> AttackSuccess:
    """What is unknown of units that an insider knows to have left, come, or changed."""
    hits, alone, sure = [], [], []
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
        hits.append(guess.best == at)
        alone.append(np.argmax(guess.prior, axis=1) == at)
        sure.append(guess.sureness >= _SURE)
    name = f"unit known to have {event}" + (", without other changes" if quiet else "")
    none = [np.zeros(0, dtype=np.bool_)]
    return _success(name, *(np.concatenate(item or none) for item in (hits, alone, sure)))


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
    for key in systems[-1].layers:
        sets = [panel.sets(codes, key, name, units=True) for name in names]
        cells = codes.cells(key, codes.positions(panel.years[names[-1]].select(panel.by)))
        assert cells is not None
        ids, counts = np.unique(cells, return_counts=True)
        still = ChangeRates(moving=0.0)
        for judged, rates in ((stayed, still), (every, pairs[-1][2].layers[key].rates)):
            last = smoothed_counts(systems[-1:], key, chances, option, rates)
            smoothed = smoothed_counts(systems, key, chances, option, rates)
            true = np.append(counts, 0)[find_sorted(ids, smoothed.ids)]
            rows = np.ones(len(smoothed.ids), dtype=np.bool_)
            if judged is stayed:
                alike = [len({own.get(at) for own in sets}) == 1 for at in smoothed.ids.tolist()]
                rows = np.array(alike, dtype=np.bool_)
            hits = smoothed.count == true, last.count == true, smoothed.chance >= _SURE
            judged.append((hits[0][rows], hits[1][rows], hits[2][rows]))
    for attack, judged in (("count of a cell known to be unchanged", stayed),
                           ("count of any cell", every)):  # fmt: skip
        yield _success(attack, *(np.concatenate(own) for own in zip(*judged, strict=True)))
