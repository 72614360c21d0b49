"""`ShownSets`: what follows from figures of sets that are known by their members. CONFIDENTIAL.

In: shown sets as unions of atoms – records that are in the same sets – and whom the records are
about. Out: figures of a few units that are whole-number combinations of those of shown sets, found
by elimination modulo a prime. Atoms of many units are eliminated first: what is left is all that
follows of the others, whatever the number of sets that it takes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from discreet.arrays import BoolArray, IntArray

_PRIME = 2**31 - 1
#: Combinations with larger coefficients are no figures that anybody works out.
_LARGEST = 8
#: More rows that are left are not put together by twos.
_PAIRED = 200
#: Steps of an elimination; more are not done.
_STEPS = 4e9


class TooManySetsError(Exception):
    """There are more sets than are looked at together."""


@dataclass(frozen=True, repr=False, eq=False)
class SmallFigure:
    """A figure of a few units that others give (confidential)."""

    atoms: IntArray  # whom it is about
    sets: IntArray  # the sets that it is worked out from
    factors: IntArray  # and by what each counts

    @property
    def key(self) -> bytes:
        """The same for the same atoms."""
        return self.atoms.tobytes()


class ShownSets:
    """Sets whose counts or sums are shown, as unions of atoms (confidential).

    Args:
        members: For each set its atoms.
        atom_of: The atom of each record; atoms that nobody is in are possible all the same.
        owners: Whom each record is about, from 0.
        atoms: How many there are.

    >>> sets = ShownSets([[0, 1, 2], [0, 1], [3]], np.repeat([0, 1, 2, 3], [40, 30, 2, 9]),
    ...                  np.arange(81), 4)
    >>> [(one.atoms.tolist(), one.sets.tolist(), one.factors.tolist()) for one in sets.few(3)]
    [([2], [0, 1], [1, -1])]
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
        order = np.argsort(atom_of, kind="stable")
        ends = np.searchsorted(atom_of[order], np.arange(atoms), side="right")
        self._units = np.split(owners[order], ends[:-1])
        self.cases = np.array([len(np.unique(one)) for one in self._units], dtype=np.int64)
        # In a set that is shown as empty is nobody, as everyone sees.
        empty = ~(self.shown & (self.cases > 0)).any(axis=1)
        self.possible: BoolArray = ~self.shown[empty].any(axis=0)

    def few(self, least: int, signed: bool = False) -> list[SmallFigure]:
        """Figures of fewer units than the least, but of some, each by the fewest sets.

        Args:
            least: So many units are enough.
            signed: Whether differences between units tell something, as of sums; with counts
                they do not.
        """
        distinct, first = np.unique(self.shown, axis=0, return_index=True)
        large = self.cases >= least
        order = np.concatenate(
            [np.flatnonzero(large & self.possible), np.flatnonzero(~large & self.possible)]
        )
        rows, ways = _reduced(distinct[:, order].astype(np.int64), int(large[order].sum()))
        figures: dict[bytes, SmallFigure] = {}
        for row, way in _candidates(rows, ways, signed):
            atoms = np.sort(order[np.flatnonzero(row)])
            units = np.unique(np.concatenate([self._units[at] for at in atoms.tolist()]))
            if 0 < len(units) < least:
                own = atoms[self.cases[atoms] > 0]
                used = np.flatnonzero(way)
                sign = 1 if row.sum() > 0 else -1
                figure = self._short(own) or SmallFigure(own, first[used], sign * way[used])
                figures.setdefault(figure.key, figure)
        return list(figures.values())

    def _short(self, atoms: IntArray) -> SmallFigure | None:
        """A figure as the difference of two sets, if it is one."""
        wanted = np.zeros(self.shown.shape[1], dtype=np.bool_)
        wanted[atoms] = True
        occurring = self.cases > 0
        holding = np.flatnonzero((self.shown & wanted)[:, atoms].all(axis=1))
        for whole in holding.tolist():
            rest = self.shown[whole] & ~wanted & occurring
            same = ((self.shown & occurring) == rest).all(axis=1)
            if rest.any() and same.any():
                return SmallFigure(atoms, np.array([whole, int(same.argmax())]), np.array([1, -1]))
        return None

    def __repr__(self) -> str:
        return f"<ShownSets (confidential): {len(self.shown)}>"


def _reduced(rows: IntArray, large: int) -> tuple[IntArray, IntArray]:
    """Rows that are zero in the first columns, each as combination of all; in reduced form."""
    if float(len(rows)) * min(rows.shape) * (rows.shape[1] + len(rows)) > _STEPS:
        raise TooManySetsError
    matrix = np.concatenate([rows, np.eye(len(rows), dtype=np.int64)], axis=1)
    done = 0
    left = 0  # rows that are gone with the large atoms
    for column in range(rows.shape[1]):
        if column == large:
            left = done
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
        done += 1
        if done == len(matrix):
            break
    else:
        column = rows.shape[1]
    left = done if column < large else left
    kept = matrix[left:done]
    signed = np.where(kept > _PRIME // 2, kept - _PRIME, kept)
    return signed[:, : rows.shape[1]], signed[:, rows.shape[1] :]


def _candidates(
    rows: IntArray, ways: IntArray, signed: bool
) -> Iterator[tuple[IntArray, IntArray]]:
    """Rows, their sums and differences, as far as they are figures of sets."""
    for row, way in zip(rows, ways, strict=True):
        if _is_figure(row, signed):
            yield row, way
    if len(rows) > _PAIRED:
        return
    for at, (row, way) in enumerate(zip(rows, ways, strict=True)):
        for sign in (1, -1):
            for other in np.flatnonzero(_figures(row + sign * rows[:at], signed)).tolist():
                yield row + sign * rows[other], way + sign * ways[other]


def _is_figure(row: IntArray, signed: bool) -> bool:
    return bool(_figures(row[None], signed)[0])


def _figures(rows: IntArray, signed: bool) -> BoolArray:
    if signed:
        small: BoolArray = (np.abs(rows) <= _LARGEST).all(axis=1)
        return small
    positive = ((rows == 0) | (rows == 1)).all(axis=1)
    negative = ((rows == 0) | (rows == -1)).all(axis=1)
    return np.asarray((positive | negative) & (rows != 0).any(axis=1), dtype=np.bool_)
