"""`ShownSets`: what follows from figures of sets that are known by their members. CONFIDENTIAL.

In: shown sets as unions of atoms – records that are in the same sets – and whom the records are
about. Out: figures of a few units that are combinations of those of shown sets. Which sets follow
is known by fingerprints: random weights of parts – atoms of the same sets – that add up to nothing
in every shown set. Looked at are intersections and differences of shown sets, pairs
of small parts, and what is left of all once parts of many units are eliminated.

`RecordAtoms` are sets of records that are in the same cells of every table: combinations of codes
that readers must take for possible, whether or not somebody is there. Where variables are related
(nested, overlapping, or rarely together) only combinations that occur are possible; where there are
too many, those that occur, too, which takes readers to know more than they do.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from discreet.arrays import BoolArray, FloatArray, IntArray, starts
from discreet.disclosure.code_pairs import among_pairs, combined
from discreet.solver import column_values, is_optimal, loaded_solver

_PRIME = 2**31 - 1
_SEED = 1986
#: Combinations with larger coefficients are no figures that anybody works out.
_LARGEST = 8
#: More rows that are left are not put together by twos, and more sets are not intersected.
_PAIRED, _INTERSECTED = 200, 30_000
#: So many intersections, the smallest, are intersected once more.
_HELD, _ENTRIES = 4_000, 10_000_000
#: Steps of an elimination; where it takes more, intersections and pairs alone are looked at, and
#: not all is known.
_STEPS = 3e8
#: More sets, or more sets times atoms, are not looked at together.
_MOST, _LARGE = 1_500, 200_000_000
#: Eigenvalues below this share of the largest one are nothing but rounding.
_SAME = 1e-10
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
        if len(members) * atoms > _LARGE:
            raise TooManySetsError
        self.shown = np.zeros((len(members), atoms), dtype=np.bool_)
        for at, one in enumerate(members):
            self.shown[at, np.asarray(one, dtype=np.int64)] = True
        # In a set that is shown as empty is nobody, as everyone sees.
        occurring = np.bincount(atom_of, minlength=atoms) > 0
        empty = ~(self.shown & occurring).any(axis=1)
        self._possible = np.flatnonzero(~self.shown[empty].any(axis=0))
        # Atoms of the same sets stay together in all that follows.
        first, self._part_of = _distinct_rows(self.shown[:, self._possible].T)
        columns = self.shown[:, self._possible[first]]
        self._parts: BoolArray = columns
        self._distinct = columns[_distinct_rows(columns)[0]]
        place = np.full(atoms, -1, dtype=np.int64)
        place[self._possible] = self._part_of
        pairs = np.unique(np.stack([place[atom_of], owners]), axis=1)
        first = np.searchsorted(pairs[0], np.arange(1, columns.shape[1]))
        self._units = np.split(pairs[1], first)
        self._cases = np.bincount(pairs[0], minlength=columns.shape[1]).astype(np.int64)
        #: In so many parts is a unit at most.
        self._spread = int(np.bincount(pairs[1]).max(initial=1))

    @property
    def eliminated(self) -> bool:
        """Whether combinations of any number of sets are looked at, not of two alone."""
        rows, width = self._distinct.shape
        return bool(float(rows) * min(rows, width) * len(self._cases) <= _STEPS)

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
        first, _ = _distinct_rows(every & (self._cases > 0))
        figures = []
        for one in every[np.sort(first)]:
            units = [self._units[at] for at in np.flatnonzero(one).tolist()]
            if units and 0 < len(np.unique(np.concatenate(units))) < least:
                figures.append(one)
        few = np.zeros((len(figures), self.shown.shape[1]), dtype=np.bool_)
        few[:, self._possible] = np.array(figures).reshape(len(figures), len(self._cases))[
            :, self._part_of
        ]
        return few

    def follows(self, sets: BoolArray) -> BoolArray:
        """Of which sets the figure is a combination of shown ones."""
        order = np.argsort(self._part_of, kind="stable")
        size = np.bincount(self._part_of)
        held = np.add.reduceat(
            sets[:, self._possible[order]].astype(np.int64), np.cumsum(size) - size, axis=1
        )
        whole: BoolArray = ((held == 0) | (held == size)).all(axis=1)
        whole[whole] = self._adds_up(held[whole] > 0)
        return whole

    def reason(self, figure: BoolArray) -> list[tuple[int, float]]:
        """The shown sets that a figure is worked out from, and by what each counts: few and small.

        Nothing if it is more than a sum and difference of sets.
        """
        wanted = np.zeros(len(self._cases))
        wanted[self._part_of[figure[self._possible]]] = 1.0
        some, width = self._cases > 0, len(self._parts)
        part, number = np.nonzero(self._parts.T)
        count = np.bincount(part, minlength=len(wanted))
        both = np.split(number, np.cumsum(count)[:-1])
        columns = np.concatenate([np.concatenate([one, one + width]) for one in both])
        signs = np.concatenate([np.repeat([1.0, -1.0], len(one)) for one in both])
        low: FloatArray = np.where(some, wanted, 0.0)
        high: FloatArray = np.where(some, wanted, 1.0)
        solver = loaded_solver(
            (starts(2 * count), columns.astype(np.int64), signs),
            np.zeros(2 * width),
            np.full(2 * width, np.inf),
            cost=np.tile(1.0 + (self._parts @ self._cases) / (self._cases.sum() + 1.0), 2),
            rows=(low, high),
        )
        solver.run()
        if not is_optimal(solver):
            return []
        values = column_values(solver)
        by = values[:width] - values[width:]
        return [(int(at), round(float(by[at]), 6)) for at in np.flatnonzero(np.abs(by) > _NEAR)]

    def _follow(self, sets: BoolArray) -> BoolArray:
        return sets[self._adds_up(sets)]

    def _adds_up(self, sets: BoolArray) -> BoolArray:
        """For which sets of parts the fingerprints add up to nothing."""
        sums = np.abs(sets.astype(np.float64) @ self._fingerprints)
        return np.asarray((sums < _NEAR).all(axis=1), dtype=np.bool_)

    @cached_property
    def _order(self) -> IntArray:
        """The parts, those of many units first."""
        return np.argsort(-self._cases, kind="stable").astype(np.int64)

    @cached_property
    def _reduced(self) -> tuple[IntArray, IntArray]:
        """The shown sets in reduced form, columns in order, and the column that leads each row."""
        matrix = self._distinct[:, self._order].astype(np.int64)
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
    def _fingerprints(self) -> FloatArray:
        """Two random weights of each part; those of every shown set add up to nothing."""
        sets = self._distinct.astype(np.float64)
        if len(sets) > _MOST:
            raise TooManySetsError
        common, axes = np.linalg.eigh(sets @ sets.T)
        axes = axes[:, common > _SAME * common.max(initial=1.0)]
        common = common[common > _SAME * common.max(initial=1.0)]
        weights = np.random.default_rng(_SEED).normal(size=(sets.shape[1], 2))
        for _ in range(3):  # once would do, but for rounding
            weights -= sets.T @ (axes @ ((axes.T @ (sets @ weights)) / common[:, None]))
        return weights

    def _left(self, least: int, signed: bool) -> BoolArray:
        """Combinations without parts of many units; their sums and differences by twos."""
        if not self.eliminated:
            return np.zeros((0, len(self._cases)), dtype=np.bool_)
        rows, leading = self._reduced
        left = rows[self._cases[self._order[leading]] < least]
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
        sets = np.zeros((int(kept.sum()), len(self._cases)), dtype=np.bool_)
        sets[:, self._order] = together[kept] != 0
        return sets

    def _pairs(self, least: int) -> BoolArray:
        """Two small parts that may follow together."""
        small = np.flatnonzero((self._cases > 0) & (self._cases < least))
        weight = self._fingerprints[small, 0]
        order = np.argsort(weight, kind="stable")
        place = np.searchsorted(weight[order], -weight - _NEAR)
        other = order[np.minimum(place, max(len(order) - 1, 0))] if len(order) else order
        sets = np.zeros((len(small), len(self._cases)), dtype=np.bool_)
        sets[np.arange(len(small)), small] = True
        sets[np.arange(len(small)), small[other]] = True
        return sets

    def _intersections(self, least: int) -> Iterator[BoolArray]:
        """What two and three shown sets have in common, and one has that others have not."""
        most = least * self._spread
        most_held = min(_HELD, _ENTRIES // max(len(self._cases), 1))
        held, weights = self._distinct, (self._distinct * self._cases).astype(np.float64).T
        for _ in range(2):
            common = held.astype(np.float64) @ weights
            apart = (held @ self._cases)[:, None] - common
            for number, inside in ((common, True), (apart, False)):
                few = np.argwhere((number > 0.5) & (number < most - 0.5))[:_INTERSECTED]
                other = self._distinct[few[:, 1]]
                yield held[few[:, 0]] & (other if inside else ~other)
            some = np.argwhere(np.triu(common, 1) > 0.5)
            some = some[np.argsort(common[some[:, 0], some[:, 1]], kind="stable")[:most_held]]
            held = held[some[:, 0]] & self._distinct[some[:, 1]]
            held = held[_distinct_rows(held)[0]]


def _distinct_rows(rows: BoolArray) -> tuple[IntArray, IntArray]:
    """The first of equal rows, in order of rows, and for each row which of these it is equal to."""
    rows = np.column_stack([rows, np.ones(len(rows), dtype=np.bool_)])
    packed = np.ascontiguousarray(np.packbits(rows, axis=1))
    marks = packed.view(f"V{packed.shape[1]}").ravel()
    _, first, equal_to = np.unique(marks, return_index=True, return_inverse=True)
    return first.astype(np.int64), equal_to.ravel().astype(np.int64)


#: More combinations are not made; those that occur stand for them.
_MOST_ATOMS = 2_000
#: A combination that would occur so often by chance, and does not, tells that variables are
#: related.
EXPECTED = 5.0


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class RecordAtoms:
    """Atoms of records (confidential)."""

    codes: IntArray  # of each variable, that of each atom
    inside: BoolArray  # of each table, whether it has each atom
    of_record: IntArray  # the atom of each record
    count: IntArray  # how many records each has

    @classmethod
    def of(
        cls,
        codes: IntArray,
        unknown: IntArray,
        inside: BoolArray,
        classes: Collection[int] = (),
    ) -> RecordAtoms:
        """The atoms of some records.

        Args:
            codes: Of each variable, that of each record, from 0.
            unknown: Of each variable, the code of records of which it is not known.
            inside: Of each table, whether it has each record.
            classes: Variables whose codes are classes of values, ascending. Nobody sees in which
                of them a cell has no record.

        >>> sex, age = np.arange(40) % 2, np.arange(40) // 20
        >>> every = np.ones((1, 40), dtype=np.bool_)
        >>> atoms = RecordAtoms.of(np.stack([sex, age]), np.array([2, 2]), every)
        >>> atoms.codes.tolist(), atoms.count.tolist()
        ([[0, 0, 1, 1], [0, 1, 0, 1]], [10, 10, 10, 10])
        """
        sets, set_of = np.unique(inside, axis=0, return_inverse=True)
        rows = np.concatenate([codes, sets.astype(np.int64)])
        occurring, number_of, numbers = _joined(rows)
        possible = _combinations(occurring, numbers, unknown, classes)
        atoms = occurring if possible is None else possible
        known = {tuple(one): at for at, one in enumerate(atoms.T.tolist())}
        place = np.array([known[tuple(one)] for one in occurring.T.tolist()], dtype=np.int64)
        of_record = place[number_of]
        return cls(
            codes=atoms[: len(codes)],
            inside=atoms[len(codes) + set_of.ravel()] == 1,
            of_record=of_record,
            count=np.bincount(of_record, minlength=atoms.shape[1]).astype(np.int64),
        )


def go_together(first: IntArray, second: IntArray) -> bool:
    """Whether it is known which codes of two variables go together, from those of records.

    >>> land = np.repeat([0, 1], 20)
    >>> go_together(np.arange(40) // 10, land), go_together(np.arange(40) % 2, land)
    (True, False)
    """
    width = int(second.max(initial=-1)) + 1
    height = int(first.max(initial=-1)) + 1
    pairs = np.bincount(first * width + second, minlength=height * width)
    return _is_related(pairs.reshape(height, width).astype(np.int64))


def _is_related(pairs: IntArray) -> bool:
    pairs = pairs[pairs.sum(axis=1) > 0][:, pairs.sum(axis=0) > 0]
    if min(pairs.shape, default=0) < 2:
        return False
    nested = ((pairs > 0).sum(axis=1) == 1).all() or ((pairs > 0).sum(axis=0) == 1).all()
    expected = pairs.sum(axis=1, keepdims=True) * pairs.sum(axis=0, keepdims=True) / pairs.sum()
    return bool(nested or ((pairs == 0) & (expected >= EXPECTED)).any())


def _joined(rows: IntArray) -> tuple[IntArray, IntArray, IntArray]:
    """The combinations of values that columns have, that of each column, and how often each is."""
    _, first, number_of, times = np.unique(
        combined(list(rows)), return_index=True, return_inverse=True, return_counts=True
    )
    return rows[:, first], number_of.ravel().astype(np.int64), times.astype(np.int64)


def _combinations(
    occurring: IntArray, numbers: IntArray, unknown: IntArray, classes: Collection[int]
) -> IntArray | None:
    """All combinations of categories that must be taken for possible; None if too many.

    Who is in a table is known of every combination of categories. Of each variable one category
    stands for records of which no table says what they are: the unknown ones.
    """
    variables = len(unknown)
    allowed = {}
    for a, b in itertools.combinations(range(len(occurring)), 2):
        pairs = np.zeros((occurring[a].max() + 1, occurring[b].max() + 1), dtype=np.int64)
        np.add.at(pairs, (occurring[a], occurring[b]), numbers)
        if a in classes and b not in classes:
            allowed[a, b] = _may_be(pairs, unknown[a])
        elif b in classes and a not in classes:
            allowed[a, b] = _may_be(pairs.T, unknown[b]).T
        elif b >= variables or _is_related(pairs):
            allowed[a, b] = pairs > 0
    filters = [*_filters(occurring, numbers, unknown, classes)]
    combinations = np.unique(occurring[0])[None, :]
    for at in range(1, len(occurring)):
        more = np.unique(occurring[at])
        if combinations.shape[1] * len(more) > 50 * _MOST_ATOMS:
            return None
        old = np.repeat(combinations, len(more), axis=1)
        new = np.tile(more, combinations.shape[1])
        fits = np.ones(len(new), dtype=np.bool_)
        for before in range(at):
            if (before, at) in allowed:
                fits &= allowed[before, at][old[before], new]
        combinations = np.concatenate([old, new[None, :]])[:, fits]
        for columns, inside in filters:
            if max(columns[-1], inside) == at:
                combinations = combinations[:, _fitting(combinations, occurring, columns, inside)]
        if combinations.shape[1] > _MOST_ATOMS:
            return None
    return combinations


def _may_be(pairs: IntArray, unknown: int) -> BoolArray:
    """Which classes of values and codes may go together: also those that only chance leaves out."""
    possible = pairs > 0
    expected = pairs.sum(axis=1, keepdims=True) * pairs.sum(axis=0) / pairs.sum()
    for own, chance in zip(possible[:unknown].T, expected[:unknown].T, strict=True):
        run = np.cumsum(own)
        own |= np.bincount(run, chance * ~own)[run] < EXPECTED
    return possible


def _filters(
    occurring: IntArray, numbers: IntArray, unknown: IntArray, classes: Collection[int]
) -> Iterator[tuple[list[int], int]]:
    """Variables that tell together who is in a table, and which table.

    Two of them, as in a condition on both, or all of them if they say it of everybody; of records
    of which they are not known nothing is asked.
    """
    every = list(range(len(unknown)))
    some = [[at] for at in every] + [[a, b] for a, b in itertools.combinations(every, 2)]
    for columns in [*some, *([every] if len(every) > 2 else [])]:
        known = (occurring[columns] != unknown[columns][:, None]).all(axis=0)
        if not known.any():
            continue
        joint = _joined(occurring[columns][:, known])[1]
        for inside in range(len(every), len(occurring)):
            own = occurring[inside, known]
            pairs = np.zeros((joint.max() + 1, own.max() + 1), dtype=np.int64)
            np.add.at(pairs, (joint, own), numbers[known])
            two = len(columns) == 2 and not set(columns) & set(classes)
            if (two and _is_related(pairs)) or ((pairs > 0).sum(axis=1) == 1).all():
                yield columns, inside


def _fitting(
    combinations: IntArray, occurring: IntArray, columns: Sequence[int], inside: int
) -> BoolArray:
    """Combinations that are in a table as those of the same categories are, if there are any."""
    both = combined([*np.concatenate([occurring[columns], combinations[columns]], axis=1)])
    known, wanted = np.split(both, [occurring.shape[1]])
    return among_pairs(known, occurring[inside], wanted, combinations[inside])
