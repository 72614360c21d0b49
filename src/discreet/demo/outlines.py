"""The boundaries of the invented country: a border for each municipality, district and state.

In: the map. Out: `Boundaries` in metres of the European grid. Each settlement lies in a field of
its own; borders are the edges of fields, bent at random, the same on both sides. Nothing here
is confidential.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from discreet.arrays import FloatArray
from discreet.demo.draws import Stream
from discreet.demo.geography import Geography
from discreet.publication import Boundaries

#: A border bends at most by this part of the side of a field …
_BEND = 0.2
#: … at so many points of each edge.
_POINTS = 4
_STREAM = 2**64 - 2
_METRES = 100

_Vertex = tuple[int, int]


def outlines_of(place: Geography) -> Boundaries:
    """The boundaries of all areas, on all levels.

    >>> len(outlines_of(Geography.of(20_000, seed=2026)))
    91
    """
    settled, pitch = place.settlement_municipality, int(place.settlement_extent.max()) + 2
    corner = place.settlement_east.min(), place.settlement_north.min()
    columns = (place.settlement_east - corner[0]) // pitch
    rows = (place.settlement_north - corner[1]) // pitch
    borders = _Borders(place.seed, (int(columns.max()), int(rows.max())))
    district = place.municipality_district[settled]
    outlines = []
    for codes, of in (
        (place.states, place.district_state[district]),
        (place.districts, district),
        (place.municipalities, settled),
    ):
        for number, code in enumerate(codes):
            mine = of == number
            fields = set(zip(columns[mine].tolist(), rows[mine].tolist(), strict=True))
            rings = [(borders.bent(ring) * pitch + corner) * _METRES for ring in _rings(fields)]
            outlines.append((code, _polygons(rings)))
    return Boundaries.of_polygons(outlines, "EPSG:3035")


class _Borders:
    """Where the edges of fields run."""

    def __init__(self, seed: int, last: _Vertex) -> None:
        stream, self._size = Stream(seed, _STREAM), (last[0] + 2, last[1] + 2)
        self._shifts = (stream.unit(2 * math.prod(self._size)) - 0.5).reshape(*self._size, 2)
        shape = (*self._size, 2, _POINTS)
        self._bends = (stream.unit(math.prod(shape)) - 0.5).reshape(shape)

    def bent(self, ring: Sequence[_Vertex]) -> FloatArray:
        """A ring with its vertices moved and its edges bent, whichever way it turns."""
        parts = [self._edge(*edge) for edge in pairwise(ring)]
        return np.concatenate([*parts, parts[0][:1]])

    def _edge(self, start: _Vertex, end: _Vertex) -> FloatArray:
        """An edge but for its end."""
        low, high = min(start, end), max(start, end)
        steps = np.linspace(0, 1, _POINTS + 2)[1:-1, np.newaxis]
        first, last = (np.array(at) + self._shifts[at] * _BEND for at in (low, high))
        across = np.array([high[1] - low[1], high[0] - low[0]])  # an edge runs along one axis
        bends = self._bends[low][int(high[1] > low[1])][:, np.newaxis] * across * _BEND
        points = np.concatenate([[first], first + (last - first) * steps + bends, [last]])
        return points[:-1] if start == low else points[::-1][:-1]


def _rings(fields: set[_Vertex]) -> list[list[_Vertex]]:
    """The rings around fields: outer ones against the clock, holes with it."""
    onward: dict[_Vertex, list[_Vertex]] = {}
    for x, y in sorted(fields):
        around = [(x, y), (x + 1, y), (x + 1, y + 1), (x, y + 1)]
        beside = [(x, y - 1), (x + 1, y), (x, y + 1), (x - 1, y)]
        for k, other in enumerate(beside):
            if other not in fields:
                onward.setdefault(around[k], []).append(around[(k + 1) % 4])
    rings = []
    while onward:
        ring = [next(iter(onward))]
        while len(ring) < 2 or ring[-1] != ring[0]:
            at = ring[-1]
            before = ring[-2] if len(ring) > 1 else at
            turn = (at[0] - before[0], at[1] - before[1])
            # Where fields touch at a corner only, the ring stays with its own field.
            left = (at[0] - turn[1], at[1] + turn[0])
            ways = onward[at]
            step = left if left in ways else ways[0]
            ways.remove(step)
            if not ways:
                del onward[at]
            ring.append(step)
        rings.append(ring)
    return rings


def _polygons(rings: Sequence[FloatArray]) -> list[list[FloatArray]]:
    """Outer rings, each with the holes that lie in its box."""
    outer = [[ring] for ring in rings if _size(ring) > 0]
    for hole in (ring for ring in rings if _size(ring) <= 0):
        around = [
            item
            for item in outer
            if (item[0].min(axis=0) <= hole.min(axis=0)).all()
            and (item[0].max(axis=0) >= hole.max(axis=0)).all()
        ]
        min(around, key=lambda each: _size(each[0])).append(hole)
    return outer


def _size(ring: FloatArray) -> float:
    own = ring - ring[0]
    return float((own[:-1, 0] * own[1:, 1] - own[1:, 0] * own[:-1, 1]).sum())
