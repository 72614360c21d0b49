"""Averaging: estimates of a count from every crossing that divides it anew.

In: a `System`. Out: for each published cell its exposure – by how many independent figures
it can be estimated – and the estimate from all of them. Nothing but published figures is used.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from discreet.arrays import BoolArray, FloatArray, IntArray
from discreet.assessment.attacks.catalogue import Layer, LayerKey, System, coarser

#: What a figure without noise counts as many of.
_EXACT = 1e6
#: Grids of at most so many places per cell are counted without sorting.
_DENSE = 8


@dataclass(frozen=True, repr=False, eq=False)
class AveragedCounts:
    """What averaging finds out about the cells of a layer."""

    layer: Layer
    exposure: FloatArray  # per cell, the sum of 1/c over all crossings of c figures; 1 from itself
    estimate: FloatArray  # the weighted mean of all crossings
    crossings: IntArray  # how many there are, itself included


@dataclass(frozen=True, eq=False)
class RolledUp:
    """A layer rolled up: per coarser cell, what its parts show together."""

    key: LayerKey  # per variable of the finest layer, its axis and the cut it is rolled up to
    sizes: tuple[int, ...]  # number of codes per variable
    ids: IntArray  # the cells
    total: IntArray  # sum of the figures
    noisy: IntArray  # number of figures with noise of their own
    whole: BoolArray  # whether all parts are shown
    split: IntArray  # per variable, bit k: whether going up in variable k joined several figures


def averaged(system: System) -> dict[LayerKey, AveragedCounts]:
    """The estimates of all cells of a universe."""
    weights = {key: np.zeros(len(layer)) for key, layer in system.layers.items()}
    sums = {key: np.zeros(len(layer)) for key, layer in system.layers.items()}
    crossings = {key: np.zeros(len(layer), dtype=np.int64) for key, layer in system.layers.items()}
    for key, layer in system.layers.items():
        own = layer.shown & ((layer.value != 0) | layer.official)
        weight = np.where(layer.official, _EXACT, 1.0) * own
        weights[key] += weight
        sums[key] += weight * layer.value
        crossings[key] += own
        for rolled, needed in rolled_up(system, layer):
            named = tuple(item for item in rolled.key if item[1] > 0)
            coarse = system.layers.get(named)
            if coarse is None:
                continue
            at = coarse.at(rolled.ids)
            new = rolled.whole & (at >= 0) & ((rolled.split & needed) == needed)
            exact = rolled.noisy == 0
            new &= (rolled.total != 0) | ~exact
            weight = np.where(exact, _EXACT, 1.0 / np.maximum(rolled.noisy, 1))[new]
            weights[named][at[new]] += weight
            sums[named][at[new]] += weight * rolled.total[new]
            crossings[named][at[new]] += 1
    return {
        key: AveragedCounts(
            layer,
            weights[key],
            np.divide(sums[key], weights[key], out=np.zeros(len(layer)), where=weights[key] > 0),
            crossings[key],
        )
        for key, layer in system.layers.items()
    }


def rolled_up(system: System, layer: Layer) -> Iterator[tuple[RolledUp, int]]:
    """A layer on all coarser cuts, each with the variables that it went up in, as bits.

    A crossing tells nothing new if going up in one of these variables joins no two figures: the
    figures are then those of a coarser crossing. Where that is not published, all are new.
    """
    start = RolledUp(
        key=layer.key,
        sizes=layer.sizes,
        ids=layer.ids,
        total=np.where(layer.shown, layer.value, 0),
        noisy=(layer.shown & (layer.value != 0) & ~layer.official).astype(np.int64),
        whole=layer.shown.copy(),
        split=_split(system, layer),
    )
    waiting = [(start, 0, 0)]
    while waiting:
        rolled, first, needed = waiting.pop()
        for at in range(first, len(rolled.key)):
            if rolled.key[at][1]:
                up = _one_up(system, rolled, at)
                bits = needed | (1 << at)
                yield up, bits
                waiting.append((up, at, bits))


def _split(system: System, layer: Layer) -> IntArray:
    """Per cell and variable, whether going up once in it joins the cell's figure with others."""
    marks = np.zeros(len(layer), dtype=np.int64)
    counted = (layer.value != 0).astype(np.int64)
    for at, (axis, cut) in enumerate(layer.key):
        above = (*layer.key[:at], *([(axis, cut - 1)] if cut > 1 else []), *layer.key[at + 1 :])
        if above not in system.layers:
            marks |= 1 << at
            continue
        ids = coarser(layer.ids, layer.sizes, at, system.axes[axis], cut)
        _, place = np.unique(ids, return_inverse=True)
        number = np.bincount(place, weights=counted)
        marks |= np.where((number[place] > 1) & (counted > 0), 1 << at, 0)
    return marks


def _one_up(system: System, rolled: RolledUp, at: int) -> RolledUp:
    """The cells of one cut coarser in one variable."""
    axis, cut = rolled.key[at]
    ids = coarser(rolled.ids, rolled.sizes, at, system.axes[axis], cut)
    size = len(system.axes[axis].cuts[cut - 1])
    key = (*rolled.key[:at], (axis, cut - 1), *rolled.key[at + 1 :])
    sizes = (*rolled.sizes[:at], size, *rolled.sizes[at + 1 :])
    grid = math.prod(sizes)
    if grid <= _DENSE * len(ids):
        return _counted_up(rolled, key, sizes, ids, grid)
    order = np.argsort(ids, kind="stable")
    ids = ids[order]
    starts = np.flatnonzero(np.diff(ids, prepend=-1))
    return RolledUp(
        key=key,
        sizes=sizes,
        ids=ids[starts],
        total=np.add.reduceat(rolled.total[order], starts),
        noisy=np.add.reduceat(rolled.noisy[order], starts),
        whole=np.logical_and.reduceat(rolled.whole[order], starts),
        split=np.bitwise_or.reduceat(rolled.split[order], starts),
    )


def _counted_up(
    rolled: RolledUp, key: LayerKey, sizes: tuple[int, ...], ids: IntArray, grid: int
) -> RolledUp:
    """The same by a place for every cell of the grid, where most of them occur."""
    there = np.flatnonzero(np.bincount(ids, minlength=grid))
    split = np.zeros(grid, dtype=np.int64)
    np.bitwise_or.at(split, ids, rolled.split)
    hidden = np.bincount(ids, weights=~rolled.whole, minlength=grid)
    # Sums of figures stay far below 2^53, where doubles hold every whole number.
    total = np.bincount(ids, weights=rolled.total, minlength=grid)
    noisy = np.bincount(ids, weights=rolled.noisy, minlength=grid)
    return RolledUp(
        key=key,
        sizes=sizes,
        ids=there.astype(np.int64),
        total=total[there].astype(np.int64),
        noisy=noisy[there].astype(np.int64),
        whole=hidden[there] == 0,
        split=split[there],
    )
