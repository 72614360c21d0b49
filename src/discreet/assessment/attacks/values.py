"""Sums of values: what averaging, other columns, earlier periods and insiders tell of them.

In: published figures. Out: `AttackedValues` per universe and figure, `AlikeNoise` for columns that
are blurred alike. The noise of a sum follows its largest contributions, so that finding a sum
within some per cent of the largest one finds a person's or firm's value.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import numpy as np

from discreet.arrays import AnyArray, BoolArray, FloatArray, IntArray
from discreet.assessment.attacks.figures import PublishedFigures
from discreet.assessment.attacks.least_squares import estimated
from discreet.disclosure import LayerKey, PublishedCells, PublishedLayer

#: Within which share of it a largest contribution is taken as found: the p % rule.
_NEAR = 0.10
#: From how many sums on, how far beyond chance and how often noise has to have one sign.
_SUMS, _BEYOND, _OFTEN, _NEARLY = 50, 6.0, 0.6, 0.9


@dataclass(frozen=True, kw_only=True)
class AttackedValues:
    """Result of attacks on the sums of a column."""

    figure: str  # universe and figure
    cells: int  # number of cells that show a sum
    #: Of the layer that other figures help most, by how many independent ones half of its sums are
    #: known, if the noise of each grows with it
    exposure: float
    layer: str  # that layer
    #: Number of shown cells of one contributor, or whose two largest contributions leave less than
    #: 10 % of the largest to others. None without true sums. CONFIDENTIAL
    dominated: int | None = None
    #: How often the largest contribution there is found within 10 % from the published sum, by the
    #: second largest contributor; by anyone if there is one only
    published: float | None = None
    averaged: float | None = None  # the same from all figures together. CONFIDENTIAL both
    #: With noise of units, which more tables do not narrow down: within how many per cent, in place
    #: of 10, the best guess of a reader or of the second largest contributor counts as found
    p_percent: float | None = None
    chance: float | None = None  # and how often it is, by the way factors are drawn. SECRET


@dataclass(frozen=True, kw_only=True)
class AlikeNoise:
    """Two columns, or two periods of one, whose noise has the same sign: it is drawn by one key."""

    first: str  # the one: universe and figure
    second: str  # the other
    sums: int  # number of sums compared
    alike: int  # number of those that differ from their parts in the same direction


def attacked_values(published: PublishedFigures) -> list[AttackedValues]:
    """Results of attacks on each column of sums."""
    return [_attacked(system) for system in published.values.values() if system.layers]


def _attacked(system: PublishedCells) -> AttackedValues:
    cells_of = {} if system.means else estimated(system, relative=True)
    best, where, cells = 1.0, "", 0
    tallies: list[tuple[BoolArray, BoolArray]] = []
    for key, layer in system.layers.items():
        seen = layer.shown & (layer.value != 0)
        cells += int(seen.sum())
        estimate, own = layer.value.astype(np.float64), cells_of.get(key)
        if own is not None and own.noisy.any():
            estimate, exposure = own.estimate, float(np.median(own.exposure[own.noisy]))
            if exposure > best:
                best, where = exposure, system.title(key)
        if layer.true is not None and layer.largest is not None:
            tallies.append(_found(layer, estimate))
    number = published = averaged = None
    if tallies:
        hits = [np.concatenate(item) for item in zip(*tallies, strict=True)]
        number = len(hits[0])
        published, averaged = (float(hit.mean()) if number else 0.0 for hit in hits)
    return AttackedValues(
        figure=system.name, cells=cells, exposure=best, layer=where, dominated=number,
        published=published, averaged=averaged,
    )  # fmt: skip


def _found(layer: PublishedLayer, estimate: FloatArray) -> tuple[BoolArray, BoolArray]:
    """For dominated cells, whether who knows the second largest contribution finds the largest."""
    assert layer.true is not None
    assert layer.largest is not None
    ids, total = layer.true
    at = layer.at(ids)
    padded: AnyArray = np.zeros((len(ids), 2))
    padded[:, : layer.largest.shape[1]] = layer.largest
    first, second = padded.T
    rest = np.abs(total) - first - second
    chosen = (at >= 0) & (first > 0) & (rest < _NEAR * first)
    chosen &= layer.shown[at] & (layer.value[at] != 0) & ~layer.official[at]
    first, second, sign = first[chosen], second[chosen], np.sign(total[chosen])
    hits = [
        np.abs(sign * figures[at[chosen]] - second - first) <= _NEAR * first
        for figures in (layer.value, estimate)
    ]
    return hits[0], hits[1]


# -- columns that are blurred alike -------------------------------------------------------------


def alike_noise(published: PublishedFigures) -> list[AlikeNoise]:
    """Columns of one universe, and periods of one column, whose noise has the same sign.

    A sum less its parts is noise alone. Where noise is drawn by keys of its own for each column and
    period, its sign agrees by chance in half of the sums.
    """
    systems = {key: system for key, system in published.values.items() if not system.means}
    systems |= {(name, ""): published.systems[name] for name in {name for name, _ in systems}}
    differences = {key: _differences(system) for key, system in systems.items()}
    pairs = []
    for one, other in itertools.combinations(sorted(systems), 2):
        if one[0] == other[0] or (one[1] and one[1] == other[1]):
            least = _OFTEN if one[0] == other[0] else _NEARLY
            alike = _alike(differences[one], differences[other], least)
            if alike is not None:
                titles = [
                    ": ".join(filter(None, (name, of or "counts"))) for name, of in (one, other)
                ]
                first, second = sorted(titles)
                sums, number = alike
                pairs.append(AlikeNoise(first=first, second=second, sums=sums, alike=number))
    return sorted(pairs, key=lambda pair: (-pair.alike, pair.first, pair.second))


_Differences = dict[tuple[LayerKey, LayerKey], tuple[IntArray, IntArray, IntArray]]


def _differences(system: PublishedCells) -> _Differences:
    """Per step and whole of which all parts are shown: its number, sum less parts, the sum."""
    differences: _Differences = {}
    for step in system.steps():
        good = (step.sums(~step.fine.shown) == 0) & (step.sums(step.fine.value != 0) > 1)
        good &= step.coarse.shown & ~step.coarse.official
        left = np.rint(step.coarse.value - step.sums(step.fine.value)).astype(np.int64)
        good &= left != 0
        key = (step.fine.key, step.coarse.key)
        differences[key] = step.coarse.ids[good], left[good], step.coarse.value[good]
    return differences


def _alike(one: _Differences, other: _Differences, least: float) -> tuple[int, int] | None:
    """Sums, and those of one sign, if these are far more than by chance; else None."""
    sums = alike = same = 0
    for key in one.keys() & other.keys():
        ids, left, value = one[key]
        ids_there, left_there, value_there = other[key]
        _, at, there = np.intersect1d(ids, ids_there, assume_unique=True, return_indices=True)
        sums += len(at)
        alike += int((np.sign(left[at]) == np.sign(left_there[there])).sum())
        same += int((value[at] == value_there[there]).sum())
    # Sets that are the same have the same sums: that tells nothing of noise.
    if sums < _SUMS or same > 0.1 * sums or alike < least * sums:
        return None
    return (sums, alike) if alike - sums / 2 > _BEYOND * math.sqrt(sums) / 2 else None
