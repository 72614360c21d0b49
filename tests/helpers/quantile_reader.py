"""A reader of quantiles, written apart from the library: what counts and quantiles tell together.

He knows which codes there are, cuts wages at every quantile that is out, and takes each combination
of codes and classes of wages for possible. Where no two wages are the same he knows how many are up
to a quantile and how many are below it; otherwise only how many at least, and at most. Harm is a
group of fewer persons than the minimum, a record at a quantile counting to those up to it, of which
a linear program leaves one number only.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, product

import numpy as np

from tests.helpers.bounded_sums import BoundedSums

#: Programs that are solved at most, of groups that do not follow by adding up alone.
_SOLVED = 12
_NEAR = 1e-7


@dataclass(frozen=True)
class Quantile:
    """A quantile that is out."""

    codes: np.ndarray  # which combinations of codes it is of
    value: float
    share: int  # in percent
    number: float  # of how many


@dataclass
class QuantileReader:
    """Somebody who reads all counts and quantiles that are out, to say which groups they open."""

    atoms: dict[str, np.ndarray]  # the codes of every combination
    place: np.ndarray  # of each person the combination, to say what is small
    wage: np.ndarray
    distinct: bool  # whether no two wages are the same
    least: int

    def opened(
        self, counts: Sequence[tuple[np.ndarray, float]], quantiles: Sequence[Quantile]
    ) -> Iterator[bytes]:
        """The persons of each small group that he knows the number of."""
        if not quantiles:
            return
        cuts = np.unique([one.value + side for one in quantiles for side in (-_NEAR, _NEAR)])
        size, combos = len(cuts) + 1, len(next(iter(self.atoms.values())))
        person = self.place * size + np.searchsorted(cuts, self.wage)
        rows, low, high = [], [], []

        def know(codes: np.ndarray, up_to: float, least: float, most: float) -> None:
            rows.append(np.outer(codes, np.append(cuts, np.inf) <= up_to + 1e-12).ravel())
            low.append(least)
            high.append(most)

        for codes, value in counts:
            know(codes, np.inf, value, value)
        whole = list(range(len(rows)))
        for one in quantiles:
            reach = round(one.number * one.share / 100, 9)
            up_to, below = math.ceil(reach), math.floor(reach)
            whole.append(len(rows))
            know(one.codes, one.value + _NEAR, up_to, up_to if self.distinct else np.inf)
            know(one.codes, one.value - _NEAR, below if self.distinct else 0, below)
        sets = np.array(rows)
        part_of, parts, atoms = _parts(sets, combos * size)
        truth = np.bincount(part_of[person], minlength=len(atoms))
        same = np.array(low) == np.array(high)
        nobody = parts[same & (np.array(high) == 0)].any(axis=0)
        equal = parts[same][:, ~nobody].astype(float)
        basis, weight, _ = np.linalg.svd(equal.T, full_matrices=False)
        basis = basis[:, weight > 1e-9 * weight.max(initial=1)]
        sums = [
            (np.flatnonzero(row), 1, *ends) for row, *ends in zip(parts, low, high, strict=True)
        ]
        program = BoundedSums(np.zeros(len(atoms)), np.where(nobody, 0.0, np.inf), sums)
        solved = 0
        groups = [
            *((one, one) for one in self._differences(parts[whole], truth)),
            *self._crossings(cuts, size, part_of, atoms),
        ]
        for inside, touched in _once(groups):
            sure = inside | (touched & nobody)
            number = truth[touched].sum()
            if not 0 < number < self.least or truth[touched & ~sure].any():
                continue
            wish = sure[~nobody].astype(float)
            follows = np.abs(basis @ (basis.T @ wish) - wish).max(initial=0.0) < 1e-6
            follows &= not (touched & ~sure).any()
            if not follows and solved < _SOLVED:
                solved += 1
                fewest = program.farthest(np.flatnonzero(sure), 1, -1)
                most = program.farthest(np.flatnonzero(touched), 1, 1)
                follows = fewest > number - 0.999 + 1e-6 and most < number + 0.999 - 1e-6
            if follows:
                yield np.flatnonzero(touched[part_of[person]]).tobytes()

    def _differences(self, sets: np.ndarray, truth: np.ndarray) -> Iterator[np.ndarray]:
        common = (sets * truth) @ sets.T.astype(np.int64)
        apart = np.diag(common)[:, None] - common
        for number, other in ((common, sets), (apart, ~sets)):
            for a, b in np.argwhere((number > 0) & (number < self.least)).tolist():
                yield sets[a] & other[b]

    def _crossings(
        self, cuts: np.ndarray, size: int, part_of: np.ndarray, atoms: np.ndarray
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Cells of two variables, up to a quantile or between two that follow each other."""
        ends = [*range(1, size, 2), size - 1]
        place = part_of.reshape(-1, size)
        for width in (0, 1, 2):
            for names in combinations(("region", "area", "sex", "age", "job"), width):
                values = [np.unique(self.atoms[name]).tolist() for name in names]
                for codes in product(*values):
                    cell = np.all(
                        [np.ones(len(place), bool)]
                        + [
                            self.atoms[name] == code
                            for name, code in zip(names, codes, strict=True)
                        ],
                        axis=0,
                    )
                    held = np.zeros((size, len(atoms)), dtype=np.int64)
                    np.add.at(held, (np.tile(np.arange(size), cell.sum()), place[cell].ravel()), 1)
                    total = np.vstack([np.zeros(len(atoms), dtype=np.int64), held.cumsum(axis=0)])
                    for before, end in zip([-1, *ends], ends, strict=False):
                        for start in {0, before + 1}:
                            number = total[end + 1] - total[start]
                            yield number == atoms, number > 0


def _once(
    groups: Sequence[tuple[np.ndarray, np.ndarray]],
) -> list[tuple[np.ndarray, np.ndarray]]:
    return list({a.tobytes() + b.tobytes(): (a, b) for a, b in groups}.values())


def _parts(sets: np.ndarray, number: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Atoms of the same sets as one: of each atom its part, the sets as parts, atoms of each."""
    draw = np.random.default_rng(1).integers(1, 2**62, len(sets))
    marks = (draw[:, None] * sets).sum(axis=0)
    _, first, part_of, size = np.unique(
        marks, return_index=True, return_inverse=True, return_counts=True
    )
    return part_of.ravel(), sets[:, first], size
