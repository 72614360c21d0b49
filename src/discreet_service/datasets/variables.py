"""Variables of a catalogue: codes on levels, each of which divides the records without rest.
Public: nothing here knows which codes occur.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from discreet.arrays import BoolArray, PositionArray
from discreet.classifications import Classification
from discreet.disclosure import Axis


@dataclass(frozen=True, kw_only=True, slots=True)
class CatalogueLevel:
    """A level of a variable: codes that divide the records without rest."""

    number: int  # 1 for the coarsest
    name: str
    codes: int  # How many codes it has


@dataclass(frozen=True, kw_only=True, repr=False)
class CatalogueVariable:
    """A variable that can be asked for.

    >>> place = Classification.from_parents("place", {"N": None, "N1": "N", "N2": "N", "S": None})
    >>> variable = CatalogueVariable(name="place", tree=place, geography=True)
    >>> [(level.name, level.codes) for level in variable.levels]
    [('1', 2), ('2', 3)]
    >>> variable.codes_of(2)
    ('N1', 'N2', 'S')
    """

    name: str
    tree: Classification  # Its classification, which has a code for every record
    geography: bool  # Whether it tells where
    # Names under which the programme crosses it with nothing: it and others are several
    # classifications of one variable, of which a table has one
    joined: tuple[str, ...] = ()

    @cached_property
    def levels(self) -> tuple[CatalogueLevel, ...]:
        """Its levels, coarsest first."""
        names = self.tree.level_names
        return tuple(
            CatalogueLevel(
                number=k, name=names[k - 1] if k <= len(names) else str(k), codes=len(self.cuts[k])
            )
            for k in range(1, len(self.cuts))
        )

    @cached_property
    def axis(self) -> Axis:
        """Its classification as a row of levels, each of which divides the records."""
        return Axis(self.tree.name, self.tree)

    @property
    def cuts(self) -> tuple[PositionArray, ...]:
        """Per level from the total on, the positions of its codes in the tree."""
        return self.axis.cuts

    @cached_property
    def _members(self) -> tuple[frozenset[int], ...]:
        return tuple(frozenset(cut.tolist()) for cut in self.cuts)

    @cached_property
    def level_numbers(self) -> Mapping[str, int]:
        """Each name of a level, and each number as a text, with its number."""
        found = {str(level.number): level.number for level in self.levels}
        return found | {level.name: level.number for level in self.levels}

    @property
    def finest(self) -> int:
        """The number of the finest level."""
        return len(self.cuts) - 1

    def level(self, number: int) -> CatalogueLevel:
        """A level by its number."""
        return self.levels[number - 1]

    def codes_of(self, number: int) -> tuple[str, ...]:
        """The codes of a level, in the order of the classification."""
        return tuple(self.tree.codes[at] for at in self.cuts[number].tolist())

    def on_level(self, at: int, number: int) -> bool:
        """Whether the code at a position stands on a level."""
        return at in self._members[number]

    def coarsest_with(self, positions: Iterable[int]) -> int:
        """The coarsest level on which all of some codes stand; 0 if there is none."""
        wanted = set(positions)
        return next((k for k in range(1, len(self.cuts)) if wanted <= self._members[k]), 0)

    @cached_property
    def _sizes(self) -> PositionArray:
        """Per code, how many codes it and those below it are."""
        sizes = np.ones(len(self.tree), dtype=np.int32)
        for at in range(len(self.tree) - 1, 0, -1):
            sizes[self.tree.parents[at]] += sizes[at]
        return sizes

    @cached_property
    def _walk(self) -> PositionArray:
        """Per code, its place in a walk in which all codes below one follow it."""
        place = np.zeros(len(self.tree), dtype=np.int32)
        free = np.ones(len(self.tree), dtype=np.int32)
        for at in range(1, len(self.tree)):
            above = self.tree.parents[at]
            place[at] = place[above] + free[above]
            free[above] += self._sizes[at]
        return place

    def within(self, positions: Collection[int]) -> BoolArray:
        """Per code of the tree, whether it is one of some codes, or stands below one."""
        marks = np.zeros(len(self.tree) + 1, dtype=np.int64)
        for at in positions:
            marks[self._walk[at]] += 1
            marks[self._walk[at] + self._sizes[at]] -= 1
        return np.asarray((np.cumsum(marks)[:-1] > 0)[self._walk], dtype=np.bool_)

    def above(self, positions: Iterable[int]) -> frozenset[int]:
        """The positions of all codes above some codes, the total included."""
        found: set[int] = set()
        for at in positions:
            up = self.tree.parents[at]
            while up >= 0 and up not in found:
                found.add(up)
                up = self.tree.parents[up]
        return frozenset(found)

    def leaves_within(self, positions: Collection[int]) -> BoolArray:
        """Per code of the tree, whether it is a finest one of some codes."""
        return self.within(positions) & self.tree.is_leaf

    def coarsest_cover(self, leaves: BoolArray) -> tuple[int, tuple[int, ...]]:
        """The coarsest level whose codes make up some finest ones, and these codes."""
        for number, cut in enumerate(self.cuts):
            inside = np.add.reduceat(self._in_walk(leaves), self._walk_starts(cut))
            whole = np.add.reduceat(self._in_walk(self.tree.is_leaf), self._walk_starts(cut))
            order = cut[np.argsort(self._walk[cut], kind="stable")]
            if bool(((inside == 0) | (inside == whole)).all()):
                return number, tuple(sorted(order[inside > 0].tolist()))
        raise AssertionError(self.name)

    def _in_walk(self, marks: BoolArray) -> PositionArray:
        found = np.zeros(len(self.tree), dtype=np.int32)
        found[self._walk] = marks
        return found

    def _walk_starts(self, cut: PositionArray) -> PositionArray:
        """Where the codes of a cut begin in the walk; what lies between is no finest code."""
        return np.sort(self._walk[cut])

    def __repr__(self) -> str:
        return f"<CatalogueVariable {self.name}: {len(self.tree):,} codes>"


def grouped_apart(one: CatalogueVariable, level: int, other: CatalogueVariable, more: int) -> bool:
    """Whether two levels group one column, or one variable of the programme, so that neither is
    finer; of two columns nobody knows that without the records.

    >>> fives, law = (
    ...     CatalogueVariable(
    ...         name="age", tree=Classification.from_intervals("age", bounds), geography=False
    ...     )
    ...     for bounds in ([0, 5, 10, 15, 90], [0, 6, 15, 90])
    ... )
    >>> grouped_apart(fives, 1, law, 1), grouped_apart(fives, 1, fives, 1)
    (True, False)
    """
    if one.tree.source != other.tree.source:
        return not set(one.joined).isdisjoint(other.joined)
    pairs = set(zip(*_side_by_side((one, level), (other, more)), strict=True))
    return len({mine for mine, _ in pairs}) < len(pairs) > len({theirs for _, theirs in pairs})


def _side_by_side(*sides: tuple[CatalogueVariable, int]) -> list[list[str]]:
    """For all values that some levels of variables tell apart, the code on each level."""
    trees = [variable.tree for variable, _ in sides]
    # Below the first limit, and from each limit on; or the finest codes themselves.
    values = [-np.inf, *sorted({bound for tree in trees for bound in tree.bounds or ()})]
    texts = sorted({code for tree in trees if tree.bounds is None for code in tree.leaves})
    found = []
    for variable, level in sides:
        tree, cut = variable.tree, set(variable.cuts[level].tolist())
        leaves, codes = [tree.index[code] for code in tree.leaves], list[str]()
        if tree.bounds is not None:
            places = np.searchsorted(np.array(tree.bounds), values, side="right") - 1
            inside = (places >= 0) & (places < len(tree.bounds) - 1)
            at = [leaves[k] if ok else -1 for k, ok in zip(places.tolist(), inside, strict=True)]
            at += [-1] * len(texts)
        else:
            at = [-1] * len(values) + [tree.index.get(text, -1) for text in texts]
        for place in at:
            while place >= 0 and place not in cut:
                place = tree.parents[place]
            codes.append(tree.codes[place] if place >= 0 else "")
        found.append(codes)
    return found
