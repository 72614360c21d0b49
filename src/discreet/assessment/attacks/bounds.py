"""Bounds: what a count can be at all, given the noise and everything that adds up to it.

In: published cells, and what an attacker knows of the noise: `NoiseRange`. Out: for every cell the
smallest and the largest count that fit all sums of all tables, for some doubtful ones by linear
programs; for sums with few parts, how likely each count is; and `Reconstruction`: for each
combination of the other variables of a small area between which numbers its records lie in every
solution, and the solution nearest to the figures.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from discreet.arrays import CellIndex, FloatArray, IntArray, quotient, starts
from discreet.assessment.probabilities import NoiseChances
from discreet.confidential import SecretValues
from discreet.disclosure import (
    LayerKey,
    LayerStep,
    PublishedCells,
    PublishedLayer,
    Relations,
    make_whole,
)
from discreet.errors import PerturbationError
from discreet.protection.noise import PerturbationTable
from discreet.solver import column_values, is_optimal, loaded_solver

#: Nothing is larger.
_MOST = np.int64(2**53)
#: Bounds are handed on along all sums so often, unless nothing changes any more.
_ROUNDS = 50
#: Linear programs are of so many cells at most, for so many cells with at most so many counts.
_CELLS, _DOUBTFUL, _WIDE = 1_000, 100, 3
#: Sums of so many parts at most are looked at by their likelihood, some at a time.
_PARTS, _CHUNK = 6, 50_000


@dataclass(frozen=True, repr=False, eq=False)
class NoiseRange(SecretValues):
    """Which counts a published figure can stand for. SECRET if made of a perturbation table."""

    low: IntArray  # by published figure, the smallest count; figures beyond move with the last
    high: IntArray  # the largest
    chances: NoiseChances | None = None  # the whole table, if the attacker knows it

    @classmethod
    def of_maximum(cls, largest: int) -> NoiseRange:
        """That of one who knows the largest noise, and that zeros stay zero.

        >>> NoiseRange.of_maximum(2).high[:4].tolist()
        [2, 3, 4, 5]
        """
        if largest < 0:
            message = "the largest noise must be a whole number of at least 0"
            raise PerturbationError(message, code="attack", where="max_noise")
        shown = np.arange(2 * largest + 2, dtype=np.int64)
        low = np.maximum(shown - largest, np.minimum(shown, 1))
        return cls(low, shown + largest)

    @classmethod
    def of_table(cls, ptable: PerturbationTable) -> NoiseRange:
        """That of one who knows the whole table."""
        chances = NoiseChances.of(ptable)
        noise = chances.noise
        last = chances.n_max + int(np.ptp(noise)) + 1
        count = np.arange(last + int(np.abs(noise).max()) + 1)
        possible = chances.units[chances.rows_of(count)] > 0
        shown = count[:, None] + noise[None, :]
        low = np.full(last + 1, _MOST)
        high = np.full(last + 1, -1, dtype=np.int64)
        fits = possible & (shown >= 0) & (shown <= last)
        number = np.broadcast_to(count[:, None], shown.shape)[fits]
        np.minimum.at(low, shown[fits], number)
        np.maximum.at(high, shown[fits], number)
        never = high < 0  # published by nobody who uses this table
        low[never], high[never] = np.arange(last + 1)[never], np.arange(last + 1)[never]
        return cls(low, high, chances)

    def of(self, layer: PublishedLayer) -> tuple[IntArray, IntArray]:
        """The bounds of each cell by what it shows itself."""
        at = np.minimum(layer.value, len(self.low) - 1)
        ends = [np.where(layer.shown, self.low[at] + layer.value - at, 0)]
        ends.append(np.where(layer.shown, self.high[at] + layer.value - at, _MOST))
        low, high = (np.where(layer.official, layer.value, end) for end in ends)
        return low, high


#: Per layer, the smallest and the largest count of each cell. Where no count is left, the noise is
#: larger than assumed, or the tables are not of the same records and keys.
CountBounds: TypeAlias = dict[LayerKey, tuple[IntArray, IntArray]]


def bounded(system: PublishedCells, known: NoiseRange) -> CountBounds:
    """The bounds of all cells of a universe, from all sums until nothing changes."""
    bounds = {key: known.of(layer) for key, layer in system.layers.items()}
    steps = list(system.steps())
    for _ in range(_ROUNDS):
        changed = False
        for step in steps:
            changed |= _narrowed(step, bounds, int(known.high[0]))
        if not changed:
            break
    return bounds


def _narrowed(step: LayerStep, bounds: CountBounds, zero: int) -> bool:
    """Hand bounds on between wholes and their parts; whether any changed."""
    low, high = bounds[step.fine.key]
    over, under = bounds[step.coarse.key]
    inside, place = step.inside, step.place
    least, most = low[inside], np.minimum(high[inside], _MOST)
    # Sums are exact up to the most that is looked at.
    sum_low = np.minimum(step.sums(low), _MOST).astype(np.int64)
    sum_high = np.minimum(step.sums(np.minimum(high, _MOST)), _MOST).astype(np.int64)
    sum_high = np.minimum(sum_high + step.unlisted * zero, _MOST)
    new_over, new_under = np.maximum(over, sum_low), np.minimum(under, sum_high)
    free = sum_high[place] < _MOST
    part_high = np.minimum(most, new_under[place] - (sum_low[place] - least))
    part_low = np.where(free, np.maximum(least, new_over[place] - (sum_high[place] - most)), least)
    changed = bool(
        (new_over > over).any()
        or (new_under < under).any()
        or (part_high < most).any()
        or (part_low > least).any()
    )
    over[:], under[:] = np.minimum(new_over, _MOST), np.maximum(new_under, -1)
    # Figures that contradict each other must not drive bounds out of all numbers.
    low[inside], high[inside] = np.minimum(part_low, _MOST), np.maximum(part_high, -1)
    return changed


def resolved(system: PublishedCells, found: CountBounds, known: NoiseRange) -> CountBounds:
    """These bounds, narrowed for doubtful cells by linear programs over all sums.

    The programs hold the layers with fewest cells, and fractions: no bound is too narrow.
    """
    first: dict[LayerKey, int] = {}
    size = 0
    for key in sorted(system.layers, key=lambda each: (len(system.layers[each]), each)):
        if size + len(system.layers[key]) > _CELLS:
            break
        first[key] = size
        size += len(system.layers[key])
    if not first:
        return found
    low, high = (np.concatenate([found[key][side] for key in first]) for side in (0, 1))
    doubtful = np.flatnonzero((low < high) & (high - low < _WIDE))
    if len(doubtful):
        solver = _sums_of(system, first, low, high, int(known.high[0]))
        for cell in doubtful[np.argsort((high - low)[doubtful], kind="stable")][:_DOUBTFUL]:
            low[cell], high[cell] = _extremes(solver, int(cell), int(low[cell]), int(high[cell]))
            solver.changeColBounds(int(cell), float(low[cell]), float(high[cell]))
    own = {key: slice(at, at + len(system.layers[key])) for key, at in first.items()}
    return found | {key: (low[at], high[at]) for key, at in own.items()}


def _sums_of(
    system: PublishedCells, first: dict[LayerKey, int], low: IntArray, high: IntArray, zero: int
) -> Any:
    """A program with all sums between some layers, whose cells are numbered from these places."""
    rows, cells, coefs, rest = ([np.zeros(0, dtype=np.int64)] for _ in range(4))
    number = 0
    for step in system.steps():
        if step.fine.key in first and step.coarse.key in first:
            whole = np.arange(len(step.coarse))
            rows += [number + step.place, number + whole]
            cells += [first[step.fine.key] + step.inside, first[step.coarse.key] + whole]
            coefs += [np.full(len(step.place), -1), np.ones_like(whole)]
            rest.append(step.unlisted * zero)
            number += len(whole)
    entries = (np.concatenate(own) for own in (rows, cells, coefs))
    matrix = Relations.of_entries(len(low), number, *entries).matrix
    limits = np.zeros(number), np.concatenate(rest).astype(np.float64)
    most = np.where(high < _MOST, high, np.inf)
    return loaded_solver(matrix, low.astype(np.float64), most, rows=limits)


def _extremes(solver: Any, cell: int, low: int, high: int) -> tuple[int, int]:
    """The smallest and the largest whole number that a cell can be in a program."""
    ends = [low, high]
    for side, sign in enumerate((1.0, -1.0)):
        solver.changeColCost(cell, sign)
        solver.run()
        if is_optimal(solver):
            value = float(column_values(solver)[cell])
            ends[side] = math.floor(value + 1e-6) if side else math.ceil(value - 1e-6)
    solver.changeColCost(cell, 0.0)
    return max(low, ends[0]), min(high, ends[1])


def likeliest(
    step: LayerStep, chances: NoiseChances
) -> tuple[IntArray, IntArray, FloatArray] | None:
    """The likeliest counts of parts, given all figures of one sum and the whole table.

    Gives cells of the finer layer, the likeliest count of each, and how likely it is. All counts
    count as equally likely beforehand. Only sums whose parts are all listed and shown are looked
    at.
    """
    fine, coarse = step.fine, step.coarse
    number = step.number
    complete = step.sums(~fine.shown | fine.official) == 0
    good = complete & coarse.shown & (step.unlisted == 0) & (number > 1) & (number <= _PARTS)
    order = step.inside[np.argsort(step.place, kind="stable")]
    first = starts(number)
    posteriors: list[tuple[IntArray, IntArray, FloatArray]] = []
    for parts in range(2, _PARTS + 1):
        wholes = np.flatnonzero(good & (number == parts))
        for at in range(0, len(wholes), _CHUNK):
            chosen = wholes[at : at + _CHUNK]
            cells = order[first[chosen][:, None] + np.arange(parts)]
            whole = (coarse.value[chosen], coarse.official[chosen])
            posteriors.append((cells.ravel(), *_posterior(fine.value[cells], whole, chances)))
    if not posteriors:
        return None
    cells, count, chance = (np.concatenate(item) for item in zip(*posteriors, strict=True))
    return cells, count, chance


def _posterior(
    shown: IntArray, whole: tuple[IntArray, Any], chances: NoiseChances
) -> tuple[IntArray, FloatArray]:
    """The likeliest count of each part, and its probability; flat, sum by sum."""
    lowest, width = int(chances.noise[0]), len(chances.noise)
    # The probability of each figure if the count is shown − largest noise + k, k = 0, 1, …
    count = (shown - lowest - (width - 1))[..., None] + np.arange(width)
    share = chances.share[chances.rows_of(np.maximum(count, 0)), width - 1 - np.arange(width)]
    part = np.where(count >= 0, share, 0.0)
    sums, number = shown.shape
    value, official = whole
    wide = number * (width - 1) + 1
    # What the parts may sum to, from the smallest: shown minus the largest noise, each.
    base = (shown - lowest - (width - 1)).sum(axis=1)
    total = base[:, None] + np.arange(wide)
    noise = value[:, None] - total - lowest
    inside = (noise >= 0) & (noise < width) & (total >= 0)
    row = chances.rows_of(np.maximum(total, 0))
    fits = np.where(inside, chances.share[row, np.clip(noise, 0, width - 1)], 0.0)
    fits = np.where(official[:, None], total == value[:, None], fits)
    counts = np.zeros((sums, number), dtype=np.int64)
    best = np.zeros((sums, number))
    for at in range(number):
        others = np.ones((sums, 1))  # what all other parts sum to
        for other in np.delete(part, at, axis=1).swapaxes(0, 1):
            joined = np.zeros((sums, others.shape[1] + width - 1))
            for k in range(width):
                joined[:, k : k + others.shape[1]] += others * other[:, k : k + 1]
            others = joined
        windows = sliding_window_view(fits, others.shape[1], axis=1)
        chance = part[:, at] * np.einsum("sr,skr->sk", others, windows)
        top = chance.argmax(axis=1)
        counts[:, at] = shown[:, at] - lowest - (width - 1) + top
        best[:, at] = quotient(chance.max(axis=1), chance.sum(axis=1))
    return counts.ravel(), best.ravel()


#: More combinations are not searched; none has more records.
_MOST_COMBINATIONS, _LARGEST = 5_000, float(2**31)


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Reconstruction:
    """Reconstructed records of an area. CONFIDENTIAL if they are real."""

    variables: tuple[str, ...]  # the variables of the combinations
    codes: tuple[tuple[str, ...], ...]  # per variable, the codes of its finest cut
    low: IntArray  # per combination, the smallest number of records in any solution
    high: IntArray  # the largest
    nearest: IntArray  # the numbers that fit the figures best

    @property
    def certain(self) -> int:
        """Number of records that are in every solution."""
        return int(self.low.sum())

    def right(self, true: IntArray) -> float:
        """The share of records that the nearest solution has right. CONFIDENTIAL."""
        return float(np.minimum(self.nearest, true).sum() / max(int(true.sum()), 1))

    def __repr__(self) -> str:
        return f"<Reconstruction of {', '.join(self.variables)}>"


def reconstruct(
    system: PublishedCells, variable: str, code: str, known: NoiseRange, *, bounds: bool = True
) -> Reconstruction:
    """Reconstruct the records with a code, such as those of a small area.

    Args:
        system: The publication.
        variable: The variable of the area.
        code: Its code.
        known: What is known of the noise.
        bounds: Whether to work out what is in every solution, too: two programs for each
            combination.
    """
    homes = [
        (number, cut)
        for number, axis in enumerate(system.axes)
        if axis.variable == variable and code in axis.tree.codes
        for cut in range(1, len(axis.cuts))
        if code in axis.codes(cut)
    ]
    keys = [key for key in system.layers if any(home in key for home in homes)]
    others = sorted({axis for key in keys for axis, _ in key} - {axis for axis, _ in homes})
    grid = CellIndex(tuple(len(system.axes[axis].cuts[-1]) for axis in others))
    # Each figure about the code: the combinations it sums, its bounds, and what it shows.
    figures: list[tuple[IntArray, int, int, int]] = []
    every = grid.every() if grid.size <= _MOST_COMBINATIONS else []
    for key in keys if grid.size <= _MOST_COMBINATIONS else ():
        layer = replace(system.layers[key])
        places = [
            np.full(grid.size, system.axes[axis].codes(cut).index(code))
            if (axis, cut) in homes
            else system.axes[axis].up(-1, cut)[every[others.index(axis)]]
            for axis, cut in key
        ]
        ids, back = np.unique(layer.grid.numbers(places, grid.size), return_inverse=True)
        layer.extend(ids)
        low, high = known.of(layer)
        sums = np.split(np.argsort(back, kind="stable"), np.cumsum(np.bincount(back))[:-1])
        figures += [
            (cells, int(low[at]), int(high[at]), int(layer.value[at]))
            for cells, at in zip(sums, layer.at(ids).tolist(), strict=True)
            if layer.shown[at]
        ]
    if grid.size > _MOST_COMBINATIONS or not figures:
        message = f"too many combinations: {grid.size:,}"
        if grid.size <= _MOST_COMBINATIONS:
            message = "no published value concerns this code"
        raise PerturbationError(
            f"the records cannot be reconstructed: {message}",
            code="attack",
            where=f"{variable}={code}",
        )
    cells = [own for own, *_ in figures]
    low, high, shown = np.array([own for _, *own in figures], dtype=np.float64).T
    nearest = _nearest(grid.size, cells, low, high, shown)
    ends = np.zeros((2, grid.size), dtype=np.int64)
    if bounds:
        ends = _ends(grid.size, cells, low, high)
    return Reconstruction(
        variables=tuple(system.axes[axis].variable for axis in others),
        codes=tuple(tuple(system.axes[axis].codes()) for axis in others),
        low=ends[0],
        high=ends[1],
        nearest=nearest,
    )


def _nearest(
    number: int, cells: list[IntArray], low: FloatArray, high: FloatArray, shown: FloatArray
) -> IntArray:
    """Whole numbers with the least sum of distances between figures and counts."""
    # Of each figure the sum, and the sum less and plus the distance to what it shows.
    far = np.arange(number, number + len(cells)).reshape(-1, 1)
    entries = [(own, own, at, own, at) for own, at in zip(cells, far, strict=True)]
    ones = [np.ones(len(own)) for own in cells]
    coefs = [np.concatenate([one, one, [-1.0], one, [1.0]]) for one in ones]
    none = np.full(len(cells), _LARGEST)
    solver = loaded_solver(
        (
            starts(np.array([(len(own), len(own) + 1, len(own) + 1) for own in cells]).ravel()),
            np.concatenate([np.concatenate(own) for own in entries]),
            np.concatenate(coefs),
        ),
        np.zeros(number + len(cells)),
        np.full(number + len(cells), _LARGEST),
        cost=np.repeat([0.0, 1.0], [number, len(cells)]),
        rows=(np.stack([low, -none, shown], 1).ravel(), np.stack([high, shown, none], 1).ravel()),
        mip_rel_gap=0.0,
        mip_max_nodes=2_000,
    )
    solver.setOptionValue("presolve", "choose")
    make_whole(solver, np.arange(number))
    return np.rint(_solved(solver)[:number]).astype(np.int64)


def _ends(number: int, cells: list[IntArray], low: FloatArray, high: FloatArray) -> IntArray:
    """The smallest and largest number of each combination, with fractions: never too narrow."""
    flat = np.concatenate(cells)
    matrix = starts(list(map(len, cells))), flat, np.ones(len(flat))
    most = np.full(number, _LARGEST)
    solver = loaded_solver(matrix, np.zeros(number), most, rows=(low, high))
    ends = [_extremes(solver, at, 0, int(_LARGEST)) for at in range(number)]
    return np.array(ends, dtype=np.int64).reshape(-1, 2).T


def _solved(solver: Any) -> FloatArray:
    solver.run()
    if not is_optimal(solver):
        raise PerturbationError(
            "no record counts fit the published values: the noise is larger than assumed, or "
            "the values come from different records",
            code="attack",
            where="reconstruct",
        )
    return column_values(solver)
