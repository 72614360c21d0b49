"""`LeastSquares`: the best linear estimates of figures with noise, from all that adds up. SECRET.

In: relations among cells, published figures, and how noisy each of them is. Out: estimates by least
squares, and the leverage of every figure. Exposure is 1 / leverage: by how many independent figures
a reader knows a cell. Without data, `LayerExposure` has it from sizes of classifications, as if no
cell were empty.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import product
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from discreet.arrays import BoolArray, FloatArray, IntArray, starts
from discreet.compiled import compiled
from discreet.disclosure.relations import Relations, component_labels

AnyInts: TypeAlias = npt.NDArray[np.signedinteger[Any]]
#: Figures without noise count as known by so many.
KNOWN = 1e6
#: Conjugate gradients end here, relative to the first residual, in small and in large systems; or
#: after so many steps.
_NEAR, _NEAR_ENOUGH, _STEPS = 1e-10, 1e-3, 500
#: A little give in every relation: figures that contradict each other must not stop the search.
_GIVE = 1e-9
#: And at least so much in relations scaled to one, where they are solved at once.
_RIDGE = 1e-10
#: Systems of more cells need not be solved as near.
_LARGE = 2_000
#: Leverages are exact where so many products of relations can differ from zero; elsewhere those of
#: so many cells that count most, of a quarter in the largest systems.
_EXACT, _FEW = 2_000_000, 64
#: A relation of which others leave so little says nothing more.
_REDUNDANT = 1e-8
#: Cells whose leverages are computed side by side.
_BESIDE = 1_000
#: Probes for systems of at most so many entries. Chance moves them by more than the share at which
#: they end.
_PROBES = ((2_000_000, 64), (20_000_000, 16))
_FEWEST_PROBES, _ROUGHLY = 4, 1e-2
#: Numbers that are held at once for columns side by side.
_AT_ONCE = 20_000_000
#: Relations with hidden figures are kept while these have so many entries.
_HIDDEN = 50_000
_SEED = 20_311


class LeastSquares:
    """Least squares over figures with independent noise.

    Relations are held by their entries: `row` and `cell` of each, and its coefficient. Cells of one
    set carry the same noise and count once: those that a relation of two makes equal and that show
    the same.

    Args:
        row: The relation of each entry.
        cell: Its cell.
        coefficient: Its coefficient.
        figure: The published figure of each cell.
        variance: The variance of its noise; 0 for what is known, infinite for what is hidden.
        missing: What the true figures of each relation add up to; zero if None.
        give: The variance of that; zero if None.

    >>> total, parts = [0, 0, 0], [0, 1, 2]
    >>> found = LeastSquares(np.array(total), np.array(parts), np.array([-1, 1, 1]),
    ...                   np.array([10.0, 6.0, 7.0]), np.ones(3))
    >>> found.figures.round(6).tolist(), (1 / found.leverages()).round(6).tolist()
    ([11.0, 5.0, 6.0], [1.5, 1.5, 1.5])
    """

    def __init__(
        self,
        row: AnyInts,
        cell: AnyInts,
        coefficient: npt.NDArray[Any],
        figure: FloatArray,
        variance: FloatArray,
        missing: FloatArray | None = None,
        give: FloatArray | None = None,
    ) -> None:
        self._figure = figure
        self.noisy = (variance > 0) & np.isfinite(variance)
        stated = 0 if missing is None or give is None else len(missing)
        if not np.isfinite(variance).all():
            row, cell, coefficient = _without_hidden(row, cell, coefficient, ~np.isfinite(variance))
        rows = max(int(row.max(initial=-1)) + 1, stated)
        rest, slack = np.zeros(rows), np.full(rows, _GIVE)
        if missing is not None and give is not None:
            rest[:stated], slack[:stated] = missing, np.maximum(give, _GIVE)
        # Exact figures are put in.
        uncertain = self.noisy[cell]
        exact = ~uncertain
        rest -= np.bincount(row[exact], coefficient[exact] * figure[cell[exact]], rows)
        row, cell, coefficient = row[uncertain], cell[uncertain], coefficient[uncertain]
        set_of = _equal_sets(row, cell, coefficient, figure, variance, rows)
        sets = np.flatnonzero((set_of == np.arange(len(figure))) & self.noisy)
        number = np.full(len(figure), -1, dtype=np.int64)
        number[sets] = np.arange(len(sets))
        self._number = np.where(self.noisy, number[set_of], -1)
        self._spread = np.sqrt(variance[sets])
        self._published = figure[sets]
        # What is left of a relation if its cells are one set says nothing, or something wrong.
        own = self._number[cell]
        row, own, coefficient = _once(row, own, coefficient, len(sets))
        least, most = np.full(rows, len(sets)), np.full(rows, -1)
        np.minimum.at(least, row, own)
        np.maximum.at(most, row, own)
        several = (least < most) & (np.bincount(row, minlength=rows) > 1)
        kept = several[row]
        row = (np.cumsum(several) - 1)[row[kept]]
        order = np.argsort(row, kind="stable")
        row, self._cell = row[order], own[kept][order].astype(np.int32)
        self._start = starts(np.bincount(row, minlength=int(several.sum())))
        value = coefficient[kept][order] * self._spread[self._cell]
        scale = 1 / np.sqrt(np.bincount(row, value**2, int(several.sum())) + slack[several])
        # Each relation is scaled to one, with what it may be off.
        self._value = value * scale[row]
        self._rest = rest[several] * scale
        self._slack = slack[several] * scale**2

    @cached_property
    def figures(self) -> FloatArray:
        """The estimate of each cell; what is not noisy stays as it is."""
        estimate = self._figure.copy()
        if len(self._rest) and len(self._published):
            spread = self._spread[:, np.newaxis]
            shown = self._published[:, np.newaxis] / spread
            away = self._ruled_out(shown, self._rest[:, np.newaxis])
            best = ((shown - away) * spread)[:, 0]
        else:
            best = self._published
        estimate[self.noisy] = best[self._number[self.noisy]]
        return estimate

    def leverages(self, kinds: IntArray | None = None) -> FloatArray:
        """Share of its own noise in each estimate (leverage); 1 / `KNOWN` for known figures.

        Exact where relations have few cells in common, as in most releases. Elsewhere it is exact
        for the cells of the smallest kinds and for those that count most; for others, random
        projections tell it up to a relative error of √(2 / number of projections), less as far as
        cells of a kind are alike.

        Args:
            kinds: The kind of each cell, such as its layer.
        """
        size = len(self._published)
        kinds = np.zeros(len(self._figure), dtype=np.int64) if kinds is None else kinds
        kind = np.zeros(size, dtype=np.int64)
        kind[self._number[self.noisy][::-1]] = kinds[self.noisy][::-1]
        if not len(self._rest):
            leverage = np.ones(size)
        elif int((np.bincount(self._cell).astype(np.int64) ** 2).sum()) <= _EXACT:
            leverage = self._factored()
        else:
            leverage = self._probed(kind)
            # The highest exposure is that of these: too few would let it seem low.
            few = _FEW if len(self._cell) <= _PROBES[-1][0] else _FEW // 4
            often = np.bincount(kind)
            small = np.argsort(often[kind], kind="stable")[: few // 2]
            order = np.argsort(leverage, kind="stable")[:few]
            chosen = np.concatenate([small, order[~np.isin(order, small)][: few // 2]])
            exact = self._exact(chosen)
            leverage = np.maximum(leverage, exact.min())  # less by chance only
            leverage[chosen] = exact
        result = np.full(len(self._figure), 1 / KNOWN)
        result[self.noisy] = np.clip(leverage, 1 / KNOWN, 1.0)[self._number[self.noisy]]
        return result

    def _factored(self) -> FloatArray:
        """The leverages of all sets, from a sparse factor of the products of relations."""
        from scipy.linalg import solve_triangular
        from scipy.sparse import csr_array, diags_array, tril
        from scipy.sparse.linalg import splu

        size, rows = len(self._published), len(self._rest)
        leverage = np.ones(size)
        by_row = csr_array((self._value, self._cell, self._start), shape=(rows, size))
        entries, slack = by_row.tocsc(), diags_array(np.maximum(self._slack, _RIDGE))
        factor = splu(
            (entries @ entries.T + slack).tocsc(),
            permc_spec="MMD_AT_PLUS_A",
            diag_pivot_thresh=0.0,
            options={"SymmetricMode": True},
        )
        pivots, lower = factor.U.diagonal(), tril(factor.L, -1, format="csc")
        place = factor.perm_r[entries.indices]
        # The last relations have something in common with nearly all others: they are held dense.
        left = np.arange(rows, 0, -1)
        full = lower.indptr[-1] - lower.indptr[:-1] >= left * (left - 1) / 4
        sparse = int(np.argmax(full))
        kept = pivots[sparse:] > _REDUNDANT
        last = lower[sparse:, sparse:].toarray()[np.ix_(kept, kept)]
        for at in range(0, size, _BESIDE):
            own = slice(at, at + _BESIDE)
            own_rows = entries.indptr[at : at + _BESIDE + 1]
            rest = np.zeros((rows - sparse, len(own_rows) - 1))
            _forward(lower.indptr, lower.indices, lower.data, pivots, own_rows, place, entries.data,
                     leverage[own], rest)  # fmt: skip
            rest = solve_triangular(
                last, rest[kept], lower=True, unit_diagonal=True, check_finite=False
            )
            leverage[own] -= (rest**2 / pivots[sparse:][kept, np.newaxis]).sum(axis=0)
        return leverage.round(9)  # alike on every processor

    def _exact(self, cells: IntArray) -> FloatArray:
        """The leverages of some sets, one solution for each."""
        size, leverage = len(self._published), np.ones(len(cells))
        for at in self._chunks(len(cells)):
            own = cells[at]
            unit = np.zeros((size, len(own)))
            unit[own, np.arange(len(own))] = 1.0
            leverage[at] -= self._ruled_out(unit)[own, np.arange(len(own))]
        return leverage

    def _probed(self, kind: IntArray) -> FloatArray:
        """The leverages of all sets, by squares of projected random numbers."""
        size, entries = len(self._published), len(self._cell)
        probes = next((k for most, k in _PROBES if entries <= most), _FEWEST_PROBES)
        draw, squares = np.random.default_rng(_SEED), np.zeros(size)
        for at in self._chunks(probes):
            numbers = draw.standard_normal((size, at.stop - at.start))
            ruled_out = self._ruled_out(numbers, near=_ROUGHLY)
            squares += ((numbers - ruled_out) ** 2).sum(axis=1)
        leverage = squares / probes
        # Cells of a kind differ by chance; what they differ beyond it is kept.
        number = np.maximum(np.bincount(kind), 1)
        mean = np.bincount(kind, leverage) / number
        spread = np.bincount(kind, (leverage - mean[kind]) ** 2) / number
        chance = 2 / probes * np.bincount(kind, leverage**2) / number / (1 + 2 / probes)
        share = np.clip(1 - chance / np.maximum(spread, 1e-300), 0.0, 1.0)
        return mean[kind] + share[kind] * (leverage - mean[kind])

    def _chunks(self, columns: int) -> list[slice]:
        width = max(1, min(64, _AT_ONCE // (len(self._published) + len(self._rest) + 1)))
        return [slice(at, min(at + width, columns)) for at in range(0, columns, width)]

    def _ruled_out(
        self, columns: FloatArray, rest: FloatArray | float = 0.0, near: float = _NEAR_ENOUGH
    ) -> FloatArray:
        """What relations rule out of each column: the least change after which all hold.

        Conjugate gradients, where each step corrects one relation after the other, and back: what a
        total says reaches the finest cells at once (Björck and Elfving 1979).
        """
        entries, root = (self._start, self._cell, self._value), np.sqrt(self._slack)
        off = np.empty((len(root), columns.shape[1]))
        _added(*entries, columns, off)
        # For each column, the change of cells, and of what relations may be off.
        shapes = columns.shape, off.shape
        change, change_off = (np.zeros(shape) for shape in shapes)
        left, left_off = (np.zeros(shape) for shape in shapes)
        _corrected(*entries, root, off - rest, left, left_off)
        step, step_off = left.copy(), left_off.copy()
        nothing = np.zeros_like(off)
        square = _products(left, left) + _products(left_off, left_off)
        enough = (_NEAR if len(self._published) <= _LARGE else near) ** 2 * square
        for _ in range(_STEPS):
            if (square <= enough).all():
                break
            after, after_off = step.copy(), step_off.copy()
            _corrected(*entries, root, nothing, after, after_off)
            np.subtract(step, after, out=after)
            np.subtract(step_off, after_off, out=after_off)
            length = _products(step, after) + _products(step_off, after_off)
            share = square / np.maximum(length, 1e-300)
            change += share * step
            change_off += share * step_off
            left -= share * after
            left_off -= share * after_off
            before = square
            square = _products(left, left) + _products(left_off, left_off)
            for one, own in ((step, left), (step_off, left_off)):
                one *= square / np.maximum(before, 1e-300)
                one += own
        return change


def _products(one: FloatArray, other: FloatArray) -> FloatArray:
    """The product of each column with the other's."""
    products: FloatArray = np.einsum("ij,ij->j", one, other)
    return products


def _once(
    row: AnyInts, own: AnyInts, coefficient: npt.NDArray[Any], sets: int
) -> tuple[AnyInts, AnyInts, npt.NDArray[Any]]:
    """Entries with each set once in a relation; what cancels out is not in it."""
    place = row.astype(np.int64) * max(sets, 1) + own
    order = np.argsort(place, kind="stable")
    same = place[order][1:] == place[order][:-1]
    if not same.any():
        return row, own, coefficient
    first = np.concatenate([[True], ~same])
    sums = np.add.reduceat(coefficient[order].astype(np.float64), np.flatnonzero(first))
    at = order[first][sums != 0]
    return row[at], own[at], sums[sums != 0]


@compiled(nogil=True)
def _added(start: Any, cell: Any, value: Any, columns: Any, sums: Any) -> None:
    """The sum of each relation."""
    sums[:] = 0.0
    for row in range(len(start) - 1):
        for at in range(start[row], start[row + 1]):
            for column in range(columns.shape[1]):
                sums[row, column] += value[at] * columns[cell[at], column]


@compiled(nogil=True)
def _corrected(
    start: Any, cell: Any, value: Any, root: Any, sums: Any, change: Any, off: Any
) -> None:
    """Change the cells of one relation after the other so that it holds, to the last and back."""
    rows = len(start) - 1
    for at in range(2 * rows):
        row = min(at, 2 * rows - 1 - at)
        for column in range(change.shape[1]):
            lacking = sums[row, column] - root[row] * off[row, column]
            for entry in range(start[row], start[row + 1]):
                lacking -= value[entry] * change[cell[entry], column]
            for entry in range(start[row], start[row + 1]):
                change[cell[entry], column] += value[entry] * lacking
            off[row, column] += root[row] * lacking


@compiled(nogil=True)
def _forward(
    start: Any, row: Any, factor: Any, pivots: Any,
    first: Any, place: Any, value: Any, leverage: Any, rest: Any,
) -> None:  # fmt: skip
    """Take what the sparse part of a factor rules out from leverages; leave what comes after it."""
    sparse = len(pivots) - len(rest)
    work = np.zeros(len(pivots))
    for cell in range(len(leverage)):
        least = sparse
        for at in range(first[cell], first[cell + 1]):
            work[place[at]] += value[at]
            least = min(least, place[at])
        for column in range(least, sparse):
            share = work[column]
            if share != 0.0:
                leverage[cell] -= share * share / pivots[column]
                for at in range(start[column], start[column + 1]):
                    work[row[at]] -= factor[at] * share
                work[column] = 0.0
        rest[:, cell] = work[sparse:]
        work[sparse:] = 0.0


def _equal_sets(
    row: AnyInts,
    cell: AnyInts,
    coefficient: npt.NDArray[Any],
    figure: FloatArray,
    variance: FloatArray,
    rows: int,
) -> IntArray:
    """For each cell the first one of its set.

    A total with a single part is that part. Where both show the same figure, the noise is one.
    """
    pair = np.bincount(row, minlength=rows) == 2
    pair &= np.bincount(row, coefficient, rows) == 0
    entries = np.flatnonzero(pair[row])
    entries = entries[np.argsort(row[entries], kind="stable")]
    one, other = cell[entries[::2]], cell[entries[1::2]]
    same = (figure[one] == figure[other]) & (variance[one] == variance[other])
    one, other = one[same], other[same]
    return component_labels(Relations.of_pairs(len(figure), np.stack([one, other], axis=1)))


def _without_hidden(
    row: AnyInts, cell: AnyInts, coefficient: npt.NDArray[Any], hidden: BoolArray
) -> tuple[AnyInts, AnyInts, npt.NDArray[Any]]:
    """Relations among figures that are shown: each hidden one is put into all others it is in."""
    rows = int(row.max(initial=-1)) + 1
    touched = np.zeros(rows, dtype=np.bool_)
    touched[row[hidden[cell]]] = True
    chosen = touched[row]
    kept = row[~chosen], cell[~chosen], coefficient[~chosen]
    if not chosen.any() or int(chosen.sum()) > _HIDDEN:
        return kept
    held: dict[int, dict[int, float]] = {}
    having: dict[int, set[int]] = {}
    for r, c, factor in zip(
        row[chosen].tolist(), cell[chosen].tolist(), coefficient[chosen].tolist(), strict=True
    ):
        held.setdefault(r, {})[c] = held.get(r, {}).get(c, 0.0) + float(factor)
        if hidden[c]:
            having.setdefault(c, set()).add(r)
    entries = int(chosen.sum())
    for c in sorted(having, key=lambda own: (len(having[own]), own)):
        own = sorted((r for r in having[c] if held.get(r, {}).get(c)), key=lambda r: len(held[r]))
        if not own or entries > 10 * _HIDDEN:
            continue
        pivot = held.pop(own[0])
        for r in own[1:]:
            share = held[r][c] / pivot[c]
            for at, factor in pivot.items():
                value = held[r].get(at, 0.0) - share * factor
                held[r][at] = value
                entries += 1
                if hidden[at]:
                    having.setdefault(at, set()).add(r)
            held[r] = {at: value for at, value in held[r].items() if abs(value) > 1e-9}
    left = [own for own in held.values() if own and not any(hidden[at] for at in own)]
    more = [(r, at, value) for r, own in enumerate(left, rows) for at, value in own.items()]
    fresh = np.array(more, dtype=np.float64).reshape(-1, 3)
    return (
        np.concatenate([kept[0], fresh[:, 0].astype(np.int64)]),
        np.concatenate([kept[1], fresh[:, 1].astype(np.int64)]),
        np.concatenate([kept[2].astype(np.float64), fresh[:, 2]]),
    )


class LayerExposure:
    """Exposure from the sizes of classifications alone, as layer after layer is published.

    A layer is all cells on one level of some axes. Levels of an axis lie in each other. The
    formula is exact for all sets of layers where no cell is empty and parts are of one size. Empty
    cells raise exposure, but where they leave a total one part, which adds no figure.

    Args:
        sizes: For each axis the number of codes of each level below the total.

    >>> table = LayerExposure({"sex": [2], "age": [3]})
    >>> for layer in ({}, {"sex": 1}, {"age": 1}, {"sex": 1, "age": 1}):
    ...     table.add(layer)
    >>> table.exposures().round(6).tolist()
    [2.0, 2.0, 2.0, 2.0]
    """

    def __init__(self, sizes: Mapping[str, Sequence[float]]) -> None:
        self.sizes = dict(sizes)
        self._effects: dict[frozenset[tuple[str, int]], int] = {}
        self._freedom: list[float] = []
        self._cells: list[float] = []
        self._of_layer: list[list[int]] = []

    def add(self, layer: Mapping[str, int]) -> None:
        """Publish a layer: per axis its level, from 1 on; axes that are not named are totals."""
        own = []
        for levels in product(*(range(level + 1) for level in layer.values())):
            chosen = [(axis, at) for axis, at in zip(layer, levels, strict=True) if at]
            effect = frozenset(chosen)
            if effect not in self._effects:
                self._effects[effect] = len(self._effects)
                steps = [self._codes(axis, at) - self._codes(axis, at - 1) for axis, at in chosen]
                self._freedom.append(float(np.prod(steps)))
            own.append(self._effects[effect])
        self._of_layer.append(own)
        self._cells.append(float(np.prod([self._codes(*one) for one in layer.items()])))

    def _codes(self, axis: str, level: int) -> float:
        return self.sizes[axis][level - 1] if level else 1.0

    def exposures(self) -> FloatArray:
        """The exposure of the cells of every layer that was added."""
        effects = np.concatenate([np.array(own, dtype=np.int64) for own in self._of_layer])
        width = [len(own) for own in self._of_layer]
        cells = np.array(self._cells)
        told = np.bincount(effects, np.repeat(1 / cells, width), len(self._freedom))
        kept = (np.array(self._freedom) / told)[effects]
        exposures: FloatArray = cells**2 / np.add.reduceat(kept, starts(width)[:-1])
        return exposures
