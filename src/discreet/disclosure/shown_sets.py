"""`ShownSets`: what follows from figures of sets that are known by their members. CONFIDENTIAL.

In: shown sets as unions of atoms – records that are in the same sets – and whom the records are
about. Out: figures of a few units that are combinations of those of shown sets. Which sets follow
is known by fingerprints: random weights of atoms that add up to nothing in every shown set, modulo
a prime; other sets have none of that. Looked at are intersections and differences of shown sets,
pairs of small atoms, and what is left of all once atoms of many units are eliminated.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

import numpy as np

from discreet.arrays import BoolArray, FloatArray, IntArray, starts
from discreet.solver import column_values, is_optimal, loaded_solver

_PRIME = 2**31 - 1
_SEED = 1986
#: Combinations with larger coefficients are no figures that anybody works out.
_LARGEST = 8
#: More rows that are left are not put together by twos, and more sets are not intersected.
_PAIRED, _INTERSECTED = 200, 30_000
#: So many intersections, the smallest, are intersected once more.
_HELD = 4_000
#: Steps of an elimination; more are not done.
_STEPS = 4e9
_NEAR = 1e-6


class TooManySetsError(Exception):
    """There are more sets than are looked at together."""


class ShownSets:
    """Sets whose counts or sums are shown, as unions of atoms (confidential).

    Args:
        members: For each set its atoms.
        atom_of: The atom of each record; atoms that nobody is in are possible all the same.
        owners: Whom each record is about, from 0.
        atoms: How many there are.

    >>> sets = ShownSets([[0, 1, 2], [0, 1], [3]], np.repeat([0, 1, 2, 3], [40, 30, 2, 9]),
    ...                  np.arange(81), 4)
    >>> (figure,) = sets.few(3)
    >>> np.flatnonzero(figure).tolist(), sets.reason(figure)
    ([2], [(0, 1.0), (1, -1.0)])
    """

    def __init__(
        self,
        members: Sequence[Sequence[int] | IntArray],
        atom_of: IntArray,
        owners: IntArray,
        atoms: int,
    ) -> None:
        self.shown = np.zeros((len(members), atoms), dtype=np.bool_)
        for at, one in enumerate(members):
            self.shown[at, np.asarray(one, dtype=np.int64)] = True
        pairs = np.unique(np.stack([atom_of, owners]), axis=1)
        self._units = np.split(pairs[1], np.searchsorted(pairs[0], np.arange(1, atoms)))
        self.cases = np.bincount(pairs[0], minlength=atoms).astype(np.int64)
        #: In so many atoms is a unit at most.
        self._spread = int(np.bincount(pairs[1]).max(initial=1))
        # In a set that is shown as empty is nobody, as everyone sees.
        empty = ~(self.shown & (self.cases > 0)).any(axis=1)
        self.possible: BoolArray = ~self.shown[empty].any(axis=0)
        self.distinct: BoolArray = np.unique(self.shown & self.possible, axis=0)

    def few(self, least: int, signed: bool = False) -> BoolArray:
        """Figures of fewer units than the least, but of some: for each whom it is about.

        Args:
            least: So many units are enough.
            signed: Whether differences between units tell something, as of sums; with counts
                they do not.
        """
        parts = [self._left(least, signed), self._follow(self._pairs(least))]
        parts += [self._follow(one) for one in self._intersections(least)]
        every = np.concatenate(parts)
        _, first = np.unique(every & (self.cases > 0), axis=0, return_index=True)
        figures = [one for one in every[np.sort(first)] if self._are_few(one, least)]
        return np.array(figures, dtype=np.bool_).reshape(-1, len(self.cases))

    def follows(self, sets: BoolArray) -> BoolArray:
        """Of which sets the figure is a combination of shown ones."""
        follows: BoolArray = np.asarray(
            (sets.astype(np.int64) @ self._fingerprints % _PRIME == 0).all(axis=1), dtype=np.bool_
        )
        return follows

    def reason(self, figure: BoolArray) -> list[tuple[int, float]]:
        """The shown sets that a figure is worked out from, and by what each counts: the fewest.

        Nothing if it is more than a sum and difference of sets.
        """
        occurring = np.flatnonzero(self.possible)
        sets = self.shown[:, occurring]
        atom, number = np.nonzero(sets.T)
        width = len(sets)
        count = np.bincount(atom, minlength=len(occurring))
        both = np.split(number, np.cumsum(count)[:-1])
        columns = np.concatenate([np.concatenate([one, one + width]) for one in both])
        signs = np.concatenate([np.repeat([1.0, -1.0], len(one)) for one in both])
        wanted = (figure & (self.cases > 0))[occurring].astype(np.float64)
        some = self.cases[occurring] > 0
        low: FloatArray = np.where(some, wanted, np.minimum(wanted, 0.0))
        high: FloatArray = np.where(some, wanted, 1.0)
        solver = loaded_solver(
            (starts(2 * count), columns.astype(np.int64), signs),
            np.zeros(2 * width),
            np.full(2 * width, np.inf),
            cost=np.ones(2 * width),
            rows=(low, high),
        )
        solver.run()
        if not is_optimal(solver):
            return []
        values = column_values(solver)
        by = values[:width] - values[width:]
        return [(int(at), round(float(by[at]), 6)) for at in np.flatnonzero(np.abs(by) > _NEAR)]

    def _are_few(self, figure: BoolArray, least: int) -> bool:
        units = [self._units[at] for at in np.flatnonzero(figure).tolist()]
        return bool(units) and 0 < len(np.unique(np.concatenate(units))) < least

    def _follow(self, sets: BoolArray) -> BoolArray:
        return sets[self.follows(sets)]

    @cached_property
    def _order(self) -> IntArray:
        """Possible atoms, those of many units first."""
        possible = np.flatnonzero(self.possible)
        return possible[np.argsort(-self.cases[possible], kind="stable")].astype(np.int64)

    @cached_property
    def _reduced(self) -> tuple[IntArray, IntArray]:
        """The shown sets in reduced form, columns in order, and the column that leads each row."""
        matrix = self.distinct[:, self._order].astype(np.int64)
        if float(len(matrix)) * min(matrix.shape) * matrix.shape[1] > _STEPS:
            raise TooManySetsError
        leading: list[int] = []
        for column in range(matrix.shape[1]):
            done = len(leading)
            usable = np.flatnonzero(matrix[done:, column])
            if not usable.size:
                continue
            pivot = done + int(usable[0])
            matrix[[done, pivot]] = matrix[[pivot, done]]
            matrix[done] = matrix[done] * pow(int(matrix[done, column]), -1, _PRIME) % _PRIME
            others = np.flatnonzero(matrix[:, column])
            others = others[others != done]
            factor = matrix[others, column][:, None]
            matrix[others] = (matrix[others] - factor * matrix[done] % _PRIME) % _PRIME
            leading.append(column)
            if len(leading) == len(matrix):
                break
        return matrix[: len(leading)], np.array(leading, dtype=np.int64)

    @cached_property
    def _fingerprints(self) -> IntArray:
        """Two weights of each atom; those of every shown set add up to nothing."""
        rows, leading = self._reduced
        weights = np.random.default_rng(_SEED).integers(1, _PRIME, (rows.shape[1], 2))
        weights[leading] = 0
        for at in range(2):
            weights[leading, at] = -(rows * weights[:, at] % _PRIME).sum(axis=1) % _PRIME
        fingerprints = np.zeros((len(self.cases), 2), dtype=np.int64)
        fingerprints[self._order] = weights
        return fingerprints

    def _left(self, least: int, signed: bool) -> BoolArray:
        """Combinations without atoms of many units; their sums and differences by twos."""
        rows, leading = self._reduced
        left = rows[self.cases[self._order[leading]] < least]
        left = np.where(left > _PRIME // 2, left - _PRIME, left)
        every = [left]
        if len(left) <= _PAIRED:
            for at in range(len(left)):
                every += [left[at] + left[:at], left[at] - left[:at]]
        together = np.concatenate(every)
        if signed:
            kept = (np.abs(together) <= _LARGEST).all(axis=1)
        else:
            kept = (np.abs(together) <= 1).all(axis=1)
            kept &= np.abs(together.sum(axis=1)) == np.abs(together).sum(axis=1)
        sets = np.zeros((int(kept.sum()), len(self.cases)), dtype=np.bool_)
        sets[:, self._order] = together[kept] != 0
        return sets

    def _pairs(self, least: int) -> BoolArray:
        """Two small atoms that follow together."""
        small = np.flatnonzero((self.cases > 0) & (self.cases < least) & self.possible)
        weight = self._fingerprints[small, 0]
        order = np.argsort(weight, kind="stable")
        place = np.searchsorted(weight[order], (_PRIME - weight) % _PRIME)
        other = order[np.minimum(place, max(len(order) - 1, 0))] if len(order) else order
        sets = np.zeros((len(small), len(self.cases)), dtype=np.bool_)
        sets[np.arange(len(small)), small] = True
        sets[np.arange(len(small)), small[other]] = True
        return sets

    def _intersections(self, least: int) -> Iterator[BoolArray]:
        """What two and three shown sets have in common, and one has that others have not."""
        most = least * self._spread
        held, weights = self.distinct, (self.distinct * self.cases).astype(np.float64).T
        for _ in range(2):
            common = held.astype(np.float64) @ weights
            apart = (held @ self.cases)[:, None] - common
            for number, inside in ((common, True), (apart, False)):
                few = np.argwhere((number > 0.5) & (number < most - 0.5))[:_INTERSECTED]
                other = self.distinct[few[:, 1]]
                yield held[few[:, 0]] & (other if inside else ~other & self.possible)
            some = np.argwhere(np.triu(common, 1) > 0.5)
            some = some[np.argsort(common[some[:, 0], some[:, 1]], kind="stable")[:_HELD]]
            held = np.unique(held[some[:, 0]] & self.distinct[some[:, 1]], axis=0)

    def __repr__(self) -> str:
        return f"<ShownSets (confidential): {len(self.shown)}>"
