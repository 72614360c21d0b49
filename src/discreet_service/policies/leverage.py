"""Exposure by leverage: how well least squares over all that was answered know each count.

In: the perturbed figures of all answers, as anybody may see them; no true count and no key. Where
they are zero little is left to estimate: fewer figures share what a sum says, and exposure is
larger than sizes of classifications tell.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from discreet.arrays import (
    BoolArray,
    CellIndex,
    FloatArray,
    IntArray,
    find_sorted,
    starts,
)
from discreet.disclosure import LeastSquares
from discreet_service.policies.asked import AskedTable, Shape, boxes_of
from discreet_service.policies.evidence import Evidence, LayerFigures, Levels
from discreet_service.policies.exposure import (
    MostExposed,
    ReleasedLayers,
    limit_of,
)

#: Answers that have more cells together are not examined, by sizes of classifications alone.
MOST_CELLS = 500_000
#: Nor are those with more figures above zero.
MOST_FIGURES = 50_000
#: The mean square of counts that were changed to zero, in terms of their mean, and the variance of
#: noise, as attackers take them who do not know it.
_LARGER, _USUAL = 2.0, 2.0
#: Limits are kept up to so much.
_CLOSE = 1 + 1e-6


@dataclass(kw_only=True, repr=False)
class ShownFigures:
    """All figures that were shown of one data version and unit, each once.

    A part of a level counts as the level, as it does where parts are hidden: what follows from a
    part and the total besides follows from the whole. Areas count with those beside them.
    """

    every: bool = True  # Whether with parts that answers hide: they may have been shown before
    _layers: dict[Levels, LayerFigures] = field(default_factory=dict)
    _shapes: list[Shape] = field(default_factory=list)
    _read: int = 0
    _exposure: dict[Levels, FloatArray] = field(default_factory=dict)  # Worked out when needed

    def measured(
        self,
        asked: AskedTable,
        released: ReleasedLayers,
        evidence: Evidence,
        everywhere: float,
        levels: Mapping[str, float],
    ) -> MostExposed | None:
        """The counts that are most exposed for their limit: of a table, or further by it.

        None if there are too many cells to be examined.
        """
        self._shapes += map(evidence.whole, released.shapes[len(self._shapes) :])
        new = evidence.whole(asked.shape)
        boxes = dict.fromkeys(box for shape in (*self._shapes, new) for box in boxes_of(shape))
        if sum(math.prod(axis.shown for axis in box) for box in boxes) > MOST_CELLS:
            return None
        for shape in self._shapes[self._read :]:
            more = evidence.layer_figures(shape, every=self.every)
            self._layers, self._exposure = _joined(self._layers, more), {}
            self._read += 1
        own = _joined({}, evidence.layer_figures(new, every=self.every or asked.programme))
        layers = _joined(self._layers, own.values())
        worst = MostExposed(exposure=0.0, limit=1.0, target=())
        if _size(layers) == _size(self._layers):  # nothing that was not shown before
            return worst
        if sum(int(layer.noisy.sum()) for layer in layers.values()) > MOST_FIGURES:
            return None
        for key, exposure in _exposures(layers, evidence).items():
            box, cells = layers[key].box, layers[key].cells
            limit = limit_of(box, everywhere, levels)
            counted = np.zeros(len(cells), dtype=np.bool_)
            if key in own:
                counted = find_sorted(own[key].cells, cells) >= 0
            over = exposure > limit * _CLOSE
            if (over & ~counted).any():
                # Of other counts, those that were below their limit without this table.
                self._exposure = self._exposure or _exposures(self._layers, evidence)
                at = find_sorted(self._layers[key].cells, cells)
                counted |= over & (self._exposure[key][at] <= limit * _CLOSE)
            if counted.any():
                target = tuple(f"{axis.variable} {axis.level}" for axis in box)
                most = float(exposure[counted].max()) / _CLOSE
                this = MostExposed(exposure=most, limit=limit, target=target)
                worst = max(worst, this, key=lambda one: one.share)
        return worst


def _size(layers: Mapping[Levels, LayerFigures]) -> int:
    return sum(len(layer.cells) for layer in layers.values())


def _joined(
    layers: Mapping[Levels, LayerFigures], more: Iterable[LayerFigures]
) -> dict[Levels, LayerFigures]:
    """Layers with more of their cells, each once."""
    joined = dict(layers)
    for layer in more:
        known = joined.get(layer.key)
        if known is None:
            joined[layer.key] = layer
            continue
        cells, first = np.unique(np.concatenate([known.cells, layer.cells]), return_index=True)
        if len(cells) > len(known.cells):
            figures = np.concatenate([known.figures, layer.figures])[first]
            noisy = np.concatenate([known.noisy, layer.noisy])[first]
            joined[layer.key] = known._replace(cells=cells, figures=figures, noisy=noisy)
    return joined


def _exposures(
    layers: Mapping[Levels, LayerFigures], evidence: Evidence
) -> dict[Levels, FloatArray]:
    """By how many independent figures each cell of each layer is known; 0 for exact ones."""
    if not layers:
        return {}
    related = _Relations(layers, evidence)
    entries = row, cell, sign = related.entries()
    noisy, figures = np.concatenate(related.noisy), np.concatenate(related.figures)
    kinds = np.repeat(np.arange(len(related.keys)), np.diff(related.first))
    # Small counts may have been changed to zero: what sums miss says how large they are on average.
    rows, zero = int(row.max(initial=-1)) + 1, (~noisy & (figures == 0))[cell]
    side, untouched = np.zeros(rows, dtype=np.int64), np.ones(rows, dtype=np.bool_)
    side[row[sign > 0]] = kinds[cell[sign > 0]]
    untouched[row[zero & (sign < 0)]] = False
    sums = np.bincount(row, sign * figures[cell], rows)
    zeros = np.bincount(row[zero & (sign > 0)], minlength=rows) * untouched
    missed = np.maximum(np.bincount(side, -sums * (zeros > 0), len(related.keys)), 0)
    mean = missed / np.maximum(np.bincount(side, zeros, len(related.keys)), 1)
    of_zeros = mean[kinds[cell[zero]]]
    missing: FloatArray = -np.bincount(row[zero], sign[zero] * of_zeros, rows).astype(np.float64)
    give = np.bincount(row[zero], _LARGER / _USUAL * of_zeros, rows).astype(np.float64)
    squares = LeastSquares(*entries, figures, noisy.astype(np.float64), missing, give)
    exposure = np.where(noisy, 1 / squares.leverages(kinds), 0.0)
    return dict(zip(related.keys, np.split(exposure, related.first[1:-1]), strict=True))


class _Relations:
    """What adds up among the cells of layers: all sides that make up the same records are equal.

    Layers of which no coarser one was shown can still have counts in common: those on the levels
    that both have, which nobody was given.
    """

    def __init__(self, layers: Mapping[Levels, LayerFigures], evidence: Evidence) -> None:
        # The finest layers first, whoever was answered first.
        self.keys = sorted(layers, key=lambda key: (-sum(cut for _, cut in key), key))
        shown = [layers[key] for key in self.keys]
        self.noisy = [layer.noisy.copy() for layer in shown]
        self.figures = [layer.figures for layer in shown]
        self.first = starts([len(layer.cells) for layer in shown])
        names = sorted({name for key in self.keys for name, _ in key})
        self._axes = [evidence.axis(name) for name in names]
        cuts = [[dict(key).get(name, 0) for name in names] for key in self.keys]
        self._cuts = np.array(cuts, dtype=np.int64).reshape(len(cuts), len(names))
        grids = [self._grid(own) for own in self._cuts]
        each = list(zip(grids, shown, strict=True))
        self._codes = [grid.positions(layer.cells) for grid, layer in each]
        self._whole = np.array([grid.size == len(layer.cells) for grid, layer in each])

    def _grid(self, cuts: IntArray) -> CellIndex:
        each = zip(self._axes, cuts.tolist(), strict=True)
        return CellIndex(tuple(len(axis.cuts[cut]) for axis, cut in each))

    def entries(self) -> tuple[IntArray, IntArray, IntArray]:
        """The relation of each entry, its cell and its coefficient."""
        pairs = np.minimum(self._cuts[:, np.newaxis], self._cuts[np.newaxis])
        common = np.unique(pairs.reshape(len(self.keys) ** 2, self._cuts.shape[1]), axis=0)
        entries, number = [np.zeros((3, 0), dtype=np.int64)], 0
        for cuts in common[np.argsort(-common.sum(axis=1), kind="stable")]:
            for row, cell, sign in self._of_counts(cuts):
                entries.append(np.stack([row + number, cell, sign]))
                number += int(row.max(initial=-1)) + 1
        row, cell, sign = np.concatenate(entries, axis=1)
        return row, cell, sign

    def _of_counts(self, cuts: IntArray) -> Iterator[tuple[IntArray, IntArray, IntArray]]:
        """What makes up the counts on some levels, shown or not: each side against the coarsest."""
        finer = np.flatnonzero((self._cuts >= cuts).all(axis=1))
        within: BoolArray = np.all(self._cuts[finer][:, np.newaxis] >= self._cuts[finer], axis=2)
        shown = (self._cuts[finer] == cuts).all(axis=1)
        np.fill_diagonal(within, False)
        within[:, shown] = False
        # Sides that make up those of a layer between say nothing more.
        further = (within & self._whole[finer]).any(axis=1)
        finer, shown, within = finer[~further], shown[~further], within[~further][:, ~further]
        if len(finer) < 2:
            return
        numbers = [self._numbers(layer, cuts) for layer in finer.tolist()]
        counts = np.unique(np.concatenate(numbers))
        places = [np.searchsorted(counts, own) for own in numbers]
        full = np.array(
            [np.bincount(place, minlength=len(counts)) == self._parts(layer, cuts, counts)
             for place, layer in zip(places, finer.tolist(), strict=True)]
        )  # fmt: skip
        above = np.zeros(len(counts), dtype=np.bool_)
        for layer, place in zip(finer.tolist(), places, strict=True):
            above[place[self.noisy[layer]]] = True
        for layer in finer[shown].tolist():
            # A count that shows zero though a part of it does not is none.
            self.noisy[layer] |= (self.figures[layer] == 0) & above[places[-1]]
        sides = full & ~(within[:, :, np.newaxis] & full).any(axis=1)
        coarsest = len(finer) - 1 - np.argmax(sides[::-1], axis=0)
        for at in range(len(finer)):
            chosen = sides[at] & (coarsest != at)
            parts = [self._cells(finer[at], places[at], chosen, 1)]
            for other in np.unique(coarsest[chosen]).tolist():
                against = chosen & (coarsest == other)
                parts.append(self._cells(finer[other], places[other], against, -1))
            row, cell, sign = np.concatenate(parts, axis=1)
            yield row, cell, sign

    def _cells(self, layer: int, place: IntArray, chosen: BoolArray, sign: int) -> IntArray:
        """Counts, the cells of a layer that make them up, and their sign."""
        own = np.flatnonzero(chosen[place])
        return np.stack([place[own], self.first[layer] + own, np.full(len(own), sign)])

    def _numbers(self, layer: int, cuts: IntArray) -> IntArray:
        """Per cell of a layer the count on coarser levels that it is a part of."""
        steps = zip(self._axes, self._cuts[layer].tolist(), cuts.tolist(), strict=True)
        ups = [axis.up(fine, coarse) for axis, fine, coarse in steps]
        codes = [up[code] for up, code in zip(ups, self._codes[layer], strict=True)]
        return self._grid(cuts).numbers(codes, len(self.noisy[layer]))

    def _parts(self, layer: int, cuts: IntArray, counts: IntArray) -> IntArray:
        """Of how many cells of a layer each count consists."""
        parts = np.ones(len(counts), dtype=np.int64)
        steps = zip(self._axes, self._cuts[layer].tolist(), cuts.tolist(), strict=True)
        for step, code in zip(steps, self._grid(cuts).positions(counts), strict=True):
            parts *= np.bincount(step[0].up(*step[1:]))[code]
        return parts
