"""Areas of two systems, or classes of two groupings, whose symmetric difference is 1 to k - 1
records, for custodians. CONFIDENTIAL. Levels of one classification are not compared.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.arrays import IntArray
from discreet.errors import Problem, raise_all
from discreet_service.policies.document import PolicyError

#: Stands for records that lie in no area of a system.
_NOWHERE = -1


@dataclass(frozen=True, kw_only=True, repr=False, slots=True)
class AreaLevel:
    """A level of a system: a partition of the records, or of some of them. CONFIDENTIAL."""

    system: str  # The classification; its levels are nested
    name: str  # The level
    labels: tuple[str, ...]  # Its codes
    codes: IntArray  # For each record the position of its code, -1 for none

    def within(self, place: AreaLevel) -> AreaLevel:
        """The codes of this level in each area of another, as far as there are records."""
        both = (self.codes != _NOWHERE) & (place.codes != _NOWHERE)
        numbers = np.where(both, place.codes * len(self.labels) + self.codes, _NOWHERE)
        there, codes = np.unique(numbers, return_inverse=True)
        areas, classes = np.divmod(there[there >= 0], max(len(self.labels), 1))
        labels = tuple(
            f"{place.labels[area]}, {self.labels[code]}"
            for area, code in zip(areas.tolist(), classes.tolist(), strict=True)
        )
        codes = codes.astype(np.int64) - (len(there) - len(labels))
        name = f"{self.name} by {place.title}"
        return AreaLevel(system=self.system, name=name, labels=labels, codes=codes)

    @property
    def title(self) -> str:
        """System and level."""
        return f"{self.system} {self.name}"


@dataclass(frozen=True, kw_only=True, slots=True, order=True)
class AreaDifference:
    """Two areas that hold nearly the same records. CONFIDENTIAL."""

    first: str  # System and level of the one
    first_code: str
    second: str  # System and level of the other
    second_code: str
    records: int  # How many records are in one of them only

    def __repr__(self) -> str:
        return f"<AreaDifference {self.first} {self.first_code} ~ {self.second} {self.second_code}>"


@dataclass(frozen=True, kw_only=True, repr=False, slots=True)
class AreaReport:
    """Small differences between systems of areas. CONFIDENTIAL: for the custodian."""

    least: int  # Areas differ by so many records at least
    atoms: int  # How many finest intersections there are
    differences: tuple[AreaDifference, ...]  # Pairs that differ by fewer, sorted
    small: tuple[tuple[str, str], ...]  # Areas of 1 to least - 1 records: title and code

    @property
    def levels(self) -> Mapping[str, int]:
        """For each level, in how many pairs it is: without it these are gone."""
        counted = Counter(itertools.chain(*((one.first, one.second) for one in self.differences)))
        return dict(counted.most_common())

    @property
    def merges(self) -> tuple[tuple[str, str], ...]:
        """Areas to merge with a neighbour, few of them: then no listed pair is left.

        Each time the area that is in most pairs; merged areas are to be looked at again.
        """
        open_pairs: list[tuple[tuple[str, str], tuple[str, str]]] = [
            ((one.first, one.first_code), (one.second, one.second_code)) for one in self.differences
        ]
        counted = Counter(itertools.chain.from_iterable(open_pairs))
        of_area: dict[tuple[str, str], list[int]] = {}
        for at, pair in enumerate(open_pairs):
            for area in pair:
                of_area.setdefault(area, []).append(at)
        gone, found = [False] * len(open_pairs), []
        for area in sorted(of_area, key=lambda each: (-counted[each], each)):
            left = [at for at in of_area[area] if not gone[at]]
            if left:
                found.append(area)
                for at in left:
                    gone[at] = True
        return tuple(found)

    def document(self) -> dict[str, Any]:
        """The report as JSON takes it. CONFIDENTIAL."""
        return {
            "least": self.least,
            "atoms": self.atoms,
            "differences": [
                [one.first, one.first_code, one.second, one.second_code, one.records]
                for one in self.differences
            ],
            "levels": dict(self.levels),
            "merges": [list(one) for one in self.merges],
            "small": [list(one) for one in self.small],
        }

    def __repr__(self) -> str:
        return "<AreaReport (confidential)>"


def area_differences(levels: Sequence[AreaLevel], *, least: int) -> AreaReport:
    """All pairs of areas of two systems that differ by 1 to `least` - 1 records.

    >>> def level(system: str, name: str, labels: str, first: int) -> AreaLevel:
    ...     codes = np.repeat([0, 1], [first, 39 - first])
    ...     return AreaLevel(system=system, name=name, labels=tuple(labels), codes=codes)
    >>> square, place = level("grid", "1km", "ab", 20), level("places", "town", "XY", 21)
    >>> report = area_differences([square, place], least=5)
    >>> [(one.first_code, one.second_code, one.records) for one in report.differences]
    [('a', 'X', 1), ('b', 'Y', 1)]
    """
    problems = []
    if least < 2:
        problems.append(Problem("least must be at least 2", "least"))
    if len({len(level.codes) for level in levels}) > 1:
        problems.append(Problem("levels use different records", "levels"))
    if len({level.title for level in levels}) < len(levels):
        problems.append(Problem("a level occurs twice", "levels"))
    raise_all(PolicyError, problems, code="policy-areas")
    codes, records = _atoms(levels)
    sizes = [
        _counts(own, records, len(level.labels)) for own, level in zip(codes, levels, strict=True)
    ]
    differences: list[AreaDifference] = []
    for one, other in itertools.combinations(range(len(levels)), 2):
        if levels[one].system != levels[other].system:
            pair = (levels[one], levels[other])
            parts = (codes[one], codes[other]), (sizes[one], sizes[other])
            differences += _near_pairs(pair, *parts, records, least)
    small = [
        (level.title, level.labels[at])
        for level, own in zip(levels, sizes, strict=True)
        for at in np.flatnonzero((own > 0) & (own < least)).tolist()
    ]
    return AreaReport(
        least=least, atoms=len(records), differences=tuple(sorted(differences)), small=tuple(small)
    )


def _atoms(levels: Sequence[AreaLevel]) -> tuple[list[IntArray], IntArray]:
    if not levels:
        return [], np.zeros(0, dtype=np.int64)
    number = np.zeros(len(levels[0].codes), dtype=np.int64)
    for level in levels:
        width = len(level.labels) + 1
        # Numbered anew each time, so that products stay small.
        _, number = np.unique(number * width + level.codes + 1, return_inverse=True)
    _, first, records = np.unique(number, return_index=True, return_counts=True)
    return [level.codes[first] for level in levels], records.astype(np.int64)


def _counts(codes: IntArray, records: IntArray, size: int) -> IntArray:
    there = codes != _NOWHERE
    return np.bincount(codes[there], weights=records[there], minlength=size).astype(np.int64)


def _near_pairs(
    levels: tuple[AreaLevel, AreaLevel],
    codes: tuple[IntArray, IntArray],
    sizes: tuple[IntArray, IntArray],
    records: IntArray,
    least: int,
) -> Iterator[AreaDifference]:
    """Pairs with common records: their difference is both without what they share, twice."""
    both = (codes[0] != _NOWHERE) & (codes[1] != _NOWHERE)
    width = len(levels[1].labels)
    pairs, place = np.unique(codes[0][both] * width + codes[1][both], return_inverse=True)
    shared = np.bincount(place, weights=records[both], minlength=len(pairs)).astype(np.int64)
    first, second = np.divmod(pairs, max(width, 1))
    apart = sizes[0][first] + sizes[1][second] - 2 * shared
    for at in np.flatnonzero((apart > 0) & (apart < least)).tolist():
        yield AreaDifference(
            first=levels[0].title,
            first_code=levels[0].labels[int(first[at])],
            second=levels[1].title,
            second_code=levels[1].labels[int(second[at])],
            records=int(apart[at]),
        )
