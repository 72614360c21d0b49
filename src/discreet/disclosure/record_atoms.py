"""`RecordAtoms`: sets of records that are in the same cells of every table. CONFIDENTIAL.

In: codes of records, and which tables they are in. Out: atoms – combinations of codes that readers
must take for possible, whether or not somebody is there. Where variables are related (nested,
overlapping, or rarely together) only combinations that occur are possible; where there are too
many, those that occur, too, which takes readers to know more than they do.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from discreet.arrays import BoolArray, IntArray

#: More combinations are not made; those that occur stand for them.
_MOST = 2_000
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
    def of(cls, codes: IntArray, unknown: IntArray, inside: BoolArray) -> RecordAtoms:
        """The atoms of some records.

        Args:
            codes: Of each variable, that of each record, from 0.
            unknown: Of each variable, the code of records of which it is not known.
            inside: Of each table, whether it has each record.

        >>> sex, age = np.arange(40) % 2, np.arange(40) // 20
        >>> every = np.ones((1, 40), dtype=np.bool_)
        >>> atoms = RecordAtoms.of(np.stack([sex, age]), np.array([2, 2]), every)
        >>> atoms.codes.tolist(), atoms.count.tolist()
        ([[0, 0, 1, 1], [0, 1, 0, 1]], [10, 10, 10, 10])
        """
        sets, set_of = np.unique(inside, axis=0, return_inverse=True)
        rows = np.concatenate([codes, sets.astype(np.int64)])
        occurring, number_of, numbers = _joined(rows)
        possible = _combinations(occurring, numbers, unknown)
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

    def __repr__(self) -> str:
        return f"<RecordAtoms (confidential): {len(self.count)}>"


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
    """The combinations of values that columns have, that of each column, and how often each is.

    Values are whole numbers from 0.
    """
    number_of = np.zeros(rows.shape[1], dtype=np.int64)
    first = np.zeros(0, dtype=np.int64)
    for row in rows:
        together = number_of * (int(row.max(initial=0)) + 1) + row
        _, first, number_of = np.unique(together, return_index=True, return_inverse=True)
        number_of = number_of.ravel().astype(np.int64)
    return rows[:, first], number_of, np.bincount(number_of).astype(np.int64)


def _combinations(occurring: IntArray, numbers: IntArray, unknown: IntArray) -> IntArray | None:
    """All combinations of categories that must be taken for possible; None if too many.

    Who is in a table is known of every combination of categories. Of each variable one category
    stands for records of which no table says what they are: the unknown ones.
    """
    variables = len(unknown)
    allowed = {}
    for a, b in itertools.combinations(range(len(occurring)), 2):
        pairs = np.zeros((occurring[a].max() + 1, occurring[b].max() + 1), dtype=np.int64)
        np.add.at(pairs, (occurring[a], occurring[b]), numbers)
        if b >= variables or _is_related(pairs):
            allowed[a, b] = pairs > 0
    filters = [*_filters(occurring, numbers, unknown)]
    combinations = np.unique(occurring[0])[None, :]
    for at in range(1, len(occurring)):
        more = np.unique(occurring[at])
        if combinations.shape[1] * len(more) > 50 * _MOST:
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
        if combinations.shape[1] > _MOST:
            return None
    return combinations


def _filters(
    occurring: IntArray, numbers: IntArray, unknown: IntArray
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
            if (len(columns) == 2 and _is_related(pairs)) or ((pairs > 0).sum(axis=1) == 1).all():
                yield columns, inside


def _fitting(
    combinations: IntArray, occurring: IntArray, columns: Sequence[int], inside: int
) -> BoolArray:
    """Combinations that are in a table as those of the same categories are, if there are any."""
    known: dict[tuple[int, ...], set[int]] = {}
    for one, at in zip(occurring[columns].T.tolist(), occurring[inside].tolist(), strict=True):
        known.setdefault(tuple(one), set()).add(at)
    pairs = zip(combinations[columns].T.tolist(), combinations[inside].tolist(), strict=True)
    return np.array([at in known.get(tuple(one), (at,)) for one, at in pairs], dtype=np.bool_)
