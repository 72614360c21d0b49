"""Attacks over periods: what the same tables of several years tell of those who stay, come and go.

In: published figures whose universes are the periods, in order; what the attacker knows of the
noise, of keys and of a unit. Out: chances that a set of records changed, of the attributes of a
unit whose arrival, departure or move is known, and of the counts of cells that stayed. SECRET.

With keys that stay, a figure that differs proves that the set behind it changed (equality over
time). With keys of each period, figures differ anyway, and every period is one more estimate of
what did not change (averaging over time). One likelihood has both: the two figures of a cell
under the noise of the perturbation table, other units coming and going at rates that the tables
tell themselves.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
import polars as pl
from scipy.special import ive

from discreet.arrays import BoolArray, CellIndex, FloatArray, IntArray, find_sorted
from discreet.assessment.attacks.figures import PublishedFigures
from discreet.assessment.probabilities import NoiseChances
from discreet.disclosure import LayerKey, PublishedCells, PublishedLayer
from discreet.errors import PerturbationError

#: Who has other keys in a later period: nobody, everybody, those who changed.
KeyOption = Literal["same", "period", "changed"]

#: Beyond this count all counts are taken as equally likely beforehand.
_SMALL = 30
#: A cell gains units as if it held so many more, so that empty ones can.
_EMPTY = 0.1
#: Rates that are tried: events per unit and period.
_RATES = (0.0, 0.005, 0.01, 0.02, 0.04, 0.08, 0.15, 0.3, 0.5)
_ROUNDS = 40
_AT_ONCE = 4_000
_NEVER = 1e-12
#: The share of a coarser layer counts as so many units of a finer one.
_BACKED = 2.0
_TELLING = 20
#: Layers share units: all evidence together counts for less than each by itself.
_TOGETHER = 0.6


@dataclass(frozen=True, kw_only=True)
class ChangeRates:
    """Rates of units that come, leave or get another key, per unit and period."""

    moving: float
    rekeying: float = 0.0


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class PairedLayer:
    """The figures of a layer in two periods, and in those beside them."""

    ids: IntArray  # the cells that any period lists, ascending; others show zero
    figures: IntArray  # what they show, a row for each period
    place: int  # the row of the first of the two periods
    noisy: BoolArray  # whether all are shown, with noise
    prior: FloatArray  # how likely each count up to 30 is, as the figures of both tell
    rates: ChangeRates  # how often units come and go there
    fit: float  # how well these explain the figures, as a log

    @property
    def before(self) -> IntArray:
        """Figures of the cells in the first period."""
        figures: IntArray = self.figures[self.place]
        return figures

    @property
    def after(self) -> IntArray:
        """Figures of the cells in the second period."""
        figures: IntArray = self.figures[self.place + 1]
        return figures

    def at(self, ids: IntArray) -> tuple[IntArray, BoolArray]:
        """The figures of cells, a row for each period, and whether they carry noise."""
        at = find_sorted(self.ids, ids)
        there = at >= 0
        return np.where(there, self.figures[:, at], 0), np.where(there, self.noisy[at], True)


class PeriodPair:
    """Two periods with the same tables, as one who compares them sees them. SECRET."""

    def __init__(
        self,
        first: PublishedCells,
        second: PublishedCells,
        chances: NoiseChances,
        option: KeyOption,
        beside: tuple[Sequence[PublishedCells], Sequence[PublishedCells]] = ((), ()),
    ) -> None:
        if option not in get_args(KeyOption):
            message, hint = f"unknown key option {option!r}", "use same, period or changed"
            raise PerturbationError(message, code="attack", where="option", hint=hint)
        self.first, self.second, self.chances, self.option = first, second, chances, option
        systems, place = [*beside[0], first, second, *beside[1]], len(beside[0])
        common = [key for key in first.layers if all(key in system.layers for system in systems)]
        self.layers = {
            key: self._paired([system.layers[key] for system in systems], place) for key in common
        }

    def _paired(self, layers: Sequence[PublishedLayer], place: int) -> PairedLayer:
        ids = np.unique(np.concatenate([item.ids for item in layers]))
        values, shown, official = map(
            np.stack, zip(*(layer.figures(ids) for layer in layers), strict=True)
        )
        figures, noisy = values.astype(np.int64), (shown & ~official).all(axis=0)
        both = figures[place : place + 2]
        rows, cells = noisy & (both != 0).any(axis=0), CellIndex(layers[0].sizes).size
        prior = count_prior(list(both[:, noisy]), cells, self.chances)
        pairs, number = np.unique(both[:, rows], axis=1, return_counts=True)
        tried = [
            ChangeRates(moving=moving, rekeying=other)
            for moving in _RATES[1:]
            for other in (_RATES if self.option == "changed" else (0.0,))
        ]
        likely = [
            float(number @ np.log(np.maximum(self._chances(pairs, prior, [rates]), _NEVER)))
            for rates in tried
        ]
        best = int(np.argmax(likely))
        return PairedLayer(
            ids=ids, figures=figures, place=place, noisy=noisy, prior=prior,
            rates=tried[best], fit=likely[best],
        )  # fmt: skip

    def _chances(
        self,
        figures: IntArray,
        prior: FloatArray,
        rates: Sequence[ChangeRates],
        step: int | None = None,
        place: int = 0,
    ) -> FloatArray:
        """How likely the figures of each cell are; see `series_chances`."""
        other = {"same": bool(step), "changed": step is not None, "period": True}[self.option]
        chances: FloatArray = series_chances(
            self.chances, figures, prior, rates,
            step=step, place=place, kept=self.option != "period", other=other,
        ).sum(axis=1)  # fmt: skip
        return chances

    @property
    def fit(self) -> float:
        """Log-likelihood of all figures under this option."""
        return sum(layer.fit for layer in self.layers.values())

    def proven(self, key: LayerKey, *, touched: bool = False) -> BoolArray:
        """Which cells of a layer surely hold another set of units: no set shows both figures.

        With keys that stay these are all whose figures differ: there are no false alarms. With
        new keys of changed units, these are the `touched` ones: somebody in them changed.
        """
        layer = self.layers[key]
        if self.option == "same" or (touched and self.option == "changed"):
            other: BoolArray = layer.noisy & (layer.before != layer.after)
            return other
        pairs, back = np.unique(np.stack([layer.before, layer.after]), axis=1, return_inverse=True)
        noise, width = self.chances.noise, len(self.chances.noise)
        counts = pairs[0, :, None] - noise
        gap = pairs[1, :, None] - counts - noise[0]
        rows = self.chances.rows_of(np.maximum(counts, 0))
        again = self.chances.share[rows, np.clip(gap, 0, width - 1)]
        fits = (gap >= 0) & (gap < width) & (again > 0)
        possible = (fits & (_noise_of(self.chances, counts) > 0)).any(axis=1)
        surely: BoolArray = layer.noisy & ~possible[back.ravel()]
        return surely

    def odds(
        self, key: LayerKey, cells: IntArray, steps: Sequence[int], *, quiet: bool
    ) -> tuple[FloatArray, FloatArray]:
        """Log odds that a unit came or left, and the number of others that did."""
        layer = self.layers[key]
        rows = np.flatnonzero(cells >= 0)
        every, back = np.unique(cells[rows], return_inverse=True)
        figures, noisy = layer.at(every)
        rates = [layer.rates] * (len(figures) - 1)
        if quiet:
            rates[layer.place] = ChangeRates(moving=0.0)
        without = np.log(np.maximum(self._chances(figures, layer.prior, rates), _NEVER))
        odds, others = np.zeros((2, len(steps), len(cells)))
        held = figures[layer.place : layer.place + 2].mean(axis=0) + _EMPTY
        for at, step in enumerate(steps):
            chance = self._chances(figures, layer.prior, rates, step, layer.place)
            ratio = np.log(np.maximum(chance, _NEVER)) - without
            odds[at, rows] = np.where(noisy, ratio, 0.0)[back]
            rate = layer.rates.moving / 2 if step else layer.rates.rekeying
            others[at, rows] = (held * rate)[back]
        return odds, others


# -- chances of figures -----------------------------------------------------------------------


def count_prior(figures: Sequence[IntArray], cells: int, chances: NoiseChances) -> FloatArray:
    """Estimated probabilities of the counts 0 to 30 in a layer; 30 includes larger ones."""
    largest = int(np.abs(chances.noise).max())
    shown = np.concatenate(figures)
    seen = np.bincount(shown[shown <= _SMALL], minlength=_SMALL + 1).astype(np.float64)
    seen[0] += max(len(figures) * cells - len(shown), 0)
    counts = np.arange(_SMALL + largest + 1)
    wide = np.zeros((len(counts), _SMALL + 1))
    for at, noise in enumerate(chances.noise):
        to = counts + int(noise)
        fits = (to >= 0) & (to <= _SMALL)
        wide[counts[fits], to[fits]] = chances.share[chances.rows_of(counts[fits]), at]
    prior = np.full(len(counts), 1.0 / len(counts))
    for _ in range(_ROUNDS):
        expected = np.maximum(prior @ wide, _NEVER)
        prior = prior * (wide @ (seen / expected))
        prior /= max(float(prior.sum()), _NEVER)
    small = prior[: _SMALL + 1]
    # Counts beyond are smooth: the mean of those before.
    small[-1] = small[_SMALL - largest : _SMALL].mean()
    chance: FloatArray = np.maximum(small, _NEVER)
    return chance


def _occupied(chances: NoiseChances, figures: IntArray, prior: FloatArray) -> FloatArray:
    """How likely cells with some figures hold a record."""
    counts = figures[:, None] - chances.noise
    weight = _noise_of(chances, counts) * _prior_of(prior, counts)
    some = (weight * (counts > 0)).sum(axis=1)
    share: FloatArray = some / np.maximum(weight.sum(axis=1), _NEVER)
    return share


def _noise_of(chances: NoiseChances, counts: IntArray) -> FloatArray:
    """Per figure and noise, the chance of that noise for the count that it leaves."""
    rows = chances.rows_of(np.maximum(counts, 0))
    shares = chances.share[rows, np.arange(len(chances.noise))]
    chance: FloatArray = np.where(counts >= 0, shares, 0.0)
    return chance


def _prior_of(prior: FloatArray, counts: IntArray) -> FloatArray:
    chance: FloatArray = np.where(counts >= 0, prior[np.clip(counts, 0, _SMALL)], 0.0)
    return chance


def series_chances(
    chances: NoiseChances,
    figures: IntArray,
    prior: FloatArray,
    rates: Sequence[ChangeRates],
    *,
    step: int | None = None,
    place: int = 0,
    kept: bool,
    other: bool = False,
) -> FloatArray:
    """How likely figures of cells in consecutive periods are, by cell and noise of the last."""
    if figures.shape[1] > _AT_ONCE:
        how: dict[str, Any] = {"step": step, "place": place, "kept": kept, "other": other}
        some = np.split(figures, range(_AT_ONCE, figures.shape[1], _AT_ONCE), axis=1)
        return np.concatenate([series_chances(chances, f, prior, rates, **how) for f in some])
    there = [
        step is not None and (step < 1 if at <= place else step > -1) for at in range(len(figures))
    ]
    count = figures[0][:, None] - chances.noise
    likelihood = _noise_of(chances, count) * _prior_of(prior, count) * (count >= there[0])
    alike = np.eye(len(chances.noise))
    for at, (last, figure) in enumerate(itertools.pairwise(figures)):
        then, own = figure[:, None] - chances.noise, (step or 0) * (at == place)
        change = then[:, None, :] - count[:, :, None] - own
        others, noise = count - there[at], _noise_of(chances, then)[:, None, :]
        # How likely others change counts so, others being as many as stated; and that nobody
        # comes, goes or gets another key.
        many, rate, far = np.maximum(others, 0), rates[at], np.abs(change)
        every, back = np.unique(many, return_inverse=True)
        # As many come as go: the difference of two Poisson numbers.
        intensity = rate.moving * (every[:, None] + _EMPTY)
        moves = ive(np.arange(far.max(initial=0) + 1), intensity)
        follows = moves[back.reshape(many.shape)[..., None], far] * noise
        if kept and not (other and at == place):
            staying = np.exp(-rate.moving * (many + _EMPTY) - rate.rekeying * many)
            keep = staying[:, :, None] * (change == 0)
            follows += keep * (alike * (figure == last)[:, None, None] - noise)
        follows *= (then >= there[at + 1])[:, None, :]
        likelihood = (likelihood[:, :, None] * follows).sum(axis=1)
        count = then
    likely: FloatArray = likelihood
    return likely


# -- units that somebody knows ------------------------------------------------------------------


@dataclass(frozen=True, repr=False, eq=False)
class GuessedUnits:
    """Guesses of an attacker on unknown attributes of units. SECRET."""

    values: pl.DataFrame  # the combinations of codes that are possible
    prior: FloatArray  # per unit and combination, how likely it is by one period alone
    posterior: FloatArray  # the same by both periods


class Codes:
    """Positions of units in the layers of a system, by their codes."""

    def __init__(self, system: PublishedCells) -> None:
        self.system = system
        self.names = [axis.tree.name for axis in system.axes]

    def leaves(self, name: str) -> list[str]:
        """The finest codes of a classification."""
        return self.system.axes[self._number(name)].codes()

    def _number(self, name: str) -> int:
        if name not in self.names:
            message = f"no table has the spanning variable {name!r}"
            hint = f"classifications: {', '.join(self.names)}"
            raise PerturbationError(message, code="attack", where=name, hint=hint)
        return self.names.index(name)

    def positions(self, units: pl.DataFrame) -> dict[int, IntArray]:
        """Per classification, the place of each unit among its finest codes; -1 for null."""
        positions = {}
        for name in units.columns:
            known = {code: at for at, code in enumerate(self.leaves(name))}
            codes = units[name].cast(pl.String).to_list()
            lost = sorted({code for code in codes if code is not None and code not in known})
            if lost:
                message = (
                    f"{len(lost):,} codes of {name!r} are not on the finest level of the tables"
                )
                raise PerturbationError(
                    message, code="attack", where=name, hint=f"such as {lost[0]}"
                )
            places = [-1 if code is None else known[code] for code in codes]
            positions[self._number(name)] = np.array(places, dtype=np.int64)
        return positions

    def cells(self, key: LayerKey, positions: Mapping[int, IntArray]) -> IntArray:
        """Per unit its cell of a layer, -1 for units that are not there."""
        there = np.all([own >= 0 for own in positions.values()], axis=0)
        places = [
            self.system.axes[axis].up(-1, cut)[np.maximum(positions[axis], 0)] for axis, cut in key
        ]
        numbers = CellIndex(self.system.sizes(key)).numbers(places, len(there))
        return np.where(there, numbers, -1)


def guessed_units(
    pair: PeriodPair,
    before: pl.DataFrame,
    after: pl.DataFrame,
    unknown: Sequence[str],
    *,
    quiet: bool = False,
) -> GuessedUnits:
    """Guess attributes of units of which it is known that they came, left, moved or changed.

    All crossings of all tables are taken together. What is unknown does not change.
    """
    if before.columns != after.columns or before.height != after.height or not before.width:
        message, hint = "both periods need the same columns, with one row per unit", ""
        raise PerturbationError(message, code="attack", where="after", hint=hint)
    codes = Codes(pair.first)
    values = pl.DataFrame({name: codes.leaves(name) for name in unknown[:1]})
    for name in unknown[1:]:
        values = values.join(pl.DataFrame({name: codes.leaves(name)}), how="cross")
    units, many = before.height, values.height
    tried = {at: np.tile(own, units) for at, own in codes.positions(values).items()}
    sides = [
        {at: np.repeat(own, many) for at, own in codes.positions(known).items()} | tried
        for known in (before, after)
    ]
    searched = tried.keys()
    knows = sides[0].keys() - searched
    cells: _SideCells = {
        key: (codes.cells(key, sides[0]), codes.cells(key, sides[1]))
        for key in pair.layers
        if all(axis in sides[0] for axis, _ in key)
    }
    total = np.zeros(units * many)
    for step in (-1, 1, 0):  # in all layers, the cells that a unit leaves, comes to, and stays in
        touched = {
            key: np.where((old != new) == (step != 0), new if step > 0 else old, -1)
            for key, (old, new) in cells.items()
        }
        total += _lattice(pair, touched, step, (knows, searched), quiet=quiet)
    share = _expected(pair, cells, searched, many)
    prior = share * np.exp(_presence(pair, cells, searched).reshape(units, many))
    prior /= prior.sum(axis=1, keepdims=True)
    logs = total.reshape(units, many) + np.log(share)
    posterior = np.exp(logs - logs.max(axis=1, keepdims=True))
    return GuessedUnits(values, prior, posterior / posterior.sum(axis=1, keepdims=True))


#: The cell of each unit before and after, by layer.
_SideCells = Mapping[LayerKey, tuple[IntArray, IntArray]]
_Axes = Set[int]


def _lattice(
    pair: PeriodPair,
    cells: Mapping[LayerKey, IntArray],
    own_step: int,
    axes: tuple[_Axes, _Axes],
    *,
    quiet: bool,
) -> FloatArray:
    """How much likelier all figures are with the unit in these cells, as logs.

    A cell and those it lies in are touched together, by others as well. So the unit is held
    against others who share some of its codes: they touch all layers of these codes.
    """
    knows, searched = axes
    named = {key: {axis for axis, _ in key} for key in cells}
    keys = [key for key, own in named.items() if own & searched and (not quiet or knows <= own)]
    if not keys:
        return np.zeros(len(next(iter(cells.values()))))
    events = (-1, 1, 0) if pair.option == "changed" else (-1, 1)
    steps = [own_step, *(step for step in events if step != own_step)]
    pairs = [pair.odds(key, cells[key], steps, quiet=quiet) for key in keys]
    # Of each layer, which ones are as coarse or coarser: whoever shares its codes touches them.
    within = np.array([[set(a) <= set(b) for a in keys] for b in keys])
    fresh = ~_repeated(pair, [(key, cells[key]) for key in keys], within)
    odds = np.stack([ratio for ratio, _ in pairs]) * fresh[:, None, :]
    own: FloatArray = odds[:, 0].sum(axis=0)
    if quiet or own_step not in events:
        return own
    others = np.stack([ratio for _, ratio in pairs])
    shared = np.einsum("st,tkh->skh", within.astype(np.float64), odds)
    weight = 1 - np.exp(-others)
    none = np.exp(-others.sum(axis=(0, 1)))
    most = np.maximum(shared.max(axis=(0, 1)), 0.0)
    by_others = (weight * np.exp(shared - most)).sum(axis=(0, 1)) + none * np.exp(-most)
    log_odds: FloatArray = _TOGETHER * (own - np.log(by_others) - most)
    return log_odds


def _presence(pair: PeriodPair, sides: _SideCells, searched: _Axes) -> FloatArray:
    """How much likelier the figures of one period are with the unit in its cells, as logs."""
    logs, cells = [], []
    for key, (before, after) in sides.items():
        if not {axis for axis, _ in key} & searched:
            continue
        own, layer = np.where(before >= 0, before, after), pair.layers[key]
        figures = layer.at(own)[0][layer.place + (not (before >= 0).any())]
        shown, back = np.unique(figures, return_inverse=True)
        prior = 1 - layer.prior[0] / layer.prior.sum()
        some = _occupied(pair.chances, shown, layer.prior) / max(prior, _NEVER)
        logs.append(np.log(np.maximum(some, _NEVER))[back])
        cells.append((key, own))
    within = np.array([[set(a) <= set(b) for a, _ in cells] for b, _ in cells])
    fresh = ~_repeated(pair, cells, within)
    total: FloatArray = (np.stack(logs) * fresh).sum(axis=0)
    return total


def _repeated(
    pair: PeriodPair, cells: Sequence[tuple[LayerKey, IntArray]], within: BoolArray
) -> BoolArray:
    """Which cells show what a finer one shows: the same set of records, and nothing new."""
    figures = []
    for key, own in cells:
        figures.append(np.where(own >= 0, pair.layers[key].at(own)[0], -1))
    shown = np.stack(figures)
    mask = np.zeros((len(shown), shown.shape[-1]), dtype=np.bool_)
    for fine, coarse in np.argwhere(within & ~within.T):
        mask[coarse] |= (shown[coarse] == shown[fine]).all(axis=0)
    return mask


def _expected(pair: PeriodPair, sides: _SideCells, searched: _Axes, many: int) -> FloatArray:
    """How likely combinations are without any comparison: by the figures of one period.

    Shares of coarser layers stand in where those of finer ones rest on few units.
    """
    units = len(next(iter(sides.values()))[0]) // many
    share = np.full((units, many), 1.0 / many)
    for key in sorted(sides, key=lambda each: (len(each), each)):
        layer, (before, after) = pair.layers[key], sides[key]
        if not searched <= {axis for axis, _ in key} or layer.before.mean() < _TELLING:
            continue
        figure = layer.at(np.where(before >= 0, before, after))[0][layer.place]
        share = figure.reshape(-1, many) + _BACKED * share
        share /= share.sum(axis=1, keepdims=True)
    return share


# -- counts that stay ----------------------------------------------------------------------------


@dataclass(frozen=True, repr=False, eq=False)
class SmoothedCounts:
    """Counts of the last period as figures of all periods tell them. SECRET."""

    ids: IntArray  # the cells of a layer
    count: IntArray  # per cell the likeliest count
    chance: FloatArray  # how likely it is


def smoothed_counts(
    systems: Sequence[PublishedCells],
    key: LayerKey,
    chances: NoiseChances,
    option: KeyOption,
    rates: ChangeRates,
) -> SmoothedCounts:
    """The counts of the last of some periods, from the figures of all of them."""
    layers = [system.layers[key] for system in systems]
    ids = layers[-1].ids[layers[-1].shown & ~layers[-1].official & (layers[-1].value != 0)]
    figures = [layer.figures(ids)[0] for layer in layers]
    prior = count_prior([layer.value for layer in layers], CellIndex(layers[0].sizes).size, chances)
    every = [rates] * (len(figures) - 1)
    chance = series_chances(chances, np.stack(figures), prior, every, kept=option != "period")
    count = figures[-1][:, None] - chances.noise
    chance = chance / np.maximum(chance.sum(axis=1, keepdims=True), _NEVER)
    best = np.argmax(chance, axis=1)
    rows = np.arange(len(ids))
    return SmoothedCounts(ids, count[rows, best], chance[rows, best])


def period_pairs(
    published: PublishedFigures, chances: NoiseChances, option: KeyOption
) -> Iterator[tuple[str, str, PeriodPair]]:
    """Each period of a published with the next one, beside all others."""
    names, systems = list(published.systems), list(published.systems.values())
    for at, (first, second) in enumerate(itertools.pairwise(names)):
        one, two, *later = systems[at:]
        yield first, second, PeriodPair(one, two, chances, option, (systems[:at], later))
