"""The noise of sums, cell by cell: keys, noise and how far it can be expected to go.

In: true cell values, their contributions and keys, and the secret noise. Out: each step,
the perturbed values, and the standard deviation of the noise that each cell could have
got. CONFIDENTIAL throughout. Every cell is computed on its own, with the same operations
in the same order, so the result does not depend on where.

By default the keys are derived from the cell key for the value column, anew for each of
its contributions. Shared keys are the cell key's own, as in the reference method: there
those of second and later contributions follow from it, by integers only. On grids of 10^p
keys the decimal digits of the cell key, from the first after the point to the last that
is not zero, are rotated to the left by one more digit for every contribution. On any
other grid of M keys, the key is multiplied once more for each of them, modulo M, by the
whole number next above M·(√5 − 1)/2 that shares no factor with M.

Standard deviations are over all cell keys: interpolated noise comes from two rows and
one key, so both rows are laid over each other; contributions have keys of their own and
count as independent; that noise stops at zero is left out. For the errors of key figures,
`PerturbedSums` says for any place on the key grid what noise each cell would have with it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import gcd, isqrt
from typing import Any, Literal, TypeVar

import numpy as np
import numpy.typing as npt

from discreet.arrays import BoolArray, FloatArray, IntArray, quotient
from discreet.errors import PerturbationError
from discreet.keygrid import KeyGrid
from discreet.microdata import derived_keys
from discreet.protection.noise.counts import ProtectedCounts, drawn_counts
from discreet.protection.noise.intervals import Intervals, count_deviations, look_up
from discreet.protection.noise.limits import CHANCE, P_PERCENT, check_gate, plain_number
from discreet.protection.noise.magnitude_noise import MagnitudeNoise
from discreet.protection.noise.magnitude_table import Kind, MagnitudePart
from discreet.protection.noise.table import PerturbationTable
from discreet.tables import CELL_KEY, Contributions, Draw, GateReport, correlation

Column = TypeVar("Column", npt.NDArray[np.float64], npt.NDArray[np.int64], npt.NDArray[np.bool_])

_BITS = 13  # a key below 2^50 times 2^13 stays within 63 bits


def noise_keys(
    key: IntArray, grid: KeyGrid, number: int, *, same_key: bool = False
) -> list[IntArray]:
    """The keys of `number` contributions to each cell.

    >>> key = np.array([123_450_000_000_000, 120_000_000_000])
    >>> [keys.tolist() for keys in noise_keys(key, KeyGrid(), 2, same_key=True)]
    [[123450000000000, 120000000000], [234510000000000, 1200000000000]]
    """
    key = np.asarray(key, dtype=np.int64)
    first = 0 if same_key else 1
    digits = len(str(grid.size)) - 1
    if grid.size == 10**digits:
        return [_rotated(key, digits, first + at) for at in range(number)]
    factor, keys = _factor(grid.size), key
    all_keys = []
    for step in range(first + number):
        if step >= first:
            all_keys.append(keys)
        keys = _product(keys, factor, grid.size)
    return all_keys


def _rotated(key: IntArray, digits: int, by: int) -> IntArray:
    """Each key with its written digits rotated to the left."""
    if by == 0:
        return key
    written = key.copy()
    width = np.full(key.shape, digits, dtype=np.int64)
    for _ in range(digits - 1):
        ends_in_zero = written % 10 == 0
        written[ends_in_zero] //= 10
        width[ends_in_zero] -= 1
    power = np.array([10**place for place in range(digits + 1)], dtype=np.int64)
    shift = by % width
    high, low = np.divmod(written, power[width - shift])
    return np.asarray((low * power[shift] + high) * power[digits - width], dtype=np.int64)


def _factor(size: int) -> int:
    factor = (isqrt(5 * size * size) - size) // 2 + 1
    while gcd(factor, size) > 1:
        factor += 1
    return factor % size


def _product(key: IntArray, factor: int, size: int) -> IntArray:
    """Keys times factor modulo size, without leaving 64 bits."""
    pieces = []
    while factor:
        factor, piece = divmod(factor, 1 << _BITS)
        pieces.append(piece)
    product = np.zeros(key.shape, dtype=np.int64)
    for piece in reversed(pieces):
        shifted = product * np.int64(1 << _BITS) % np.int64(size)
        product = (shifted + key * np.int64(piece) % np.int64(size)) % np.int64(size)
    return product


def column_keys(
    contributions: Contributions, noise: MagnitudeNoise, grid: KeyGrid
) -> list[IntArray]:
    """The keys of a value column's noise, one per contribution. SECRET.

    They come from the records whose values make the sum, so that the same values have the
    same noise in whatever table they are added up.
    """
    key = contributions.key if noise.zeros_in_key else contributions.nonzero_key
    assert key is not None  # tables with a grid have both
    if noise.keys == "shared":
        return noise_keys(key, grid, noise.top, same_key=noise.same_key)
    return [
        derived_keys(key, grid, noise.purpose(contributions.column, number))
        for number in range(1, noise.top + 1)
    ]


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class MagnitudeCells:
    """Inputs of the noise of each cell. CONFIDENTIAL."""

    value: FloatArray  # True cell values
    #: What the noise is taken from, cells × number; NaN where a cell has fewer
    contributions: FloatArray
    keys: Sequence[IntArray]  # one key per contribution
    odd: BoolArray  # cells with an odd number of records
    sensitive: BoolArray  # cells marked for more protection

    def at(self, cells: IntArray) -> MagnitudeCells:
        """Some of these cells, without their keys."""
        names = ("value", "contributions", "odd", "sensitive")
        return MagnitudeCells(keys=(), **{name: getattr(self, name)[cells] for name in names})


def cells_of(
    contributions: Contributions, noise: MagnitudeNoise, grid: KeyGrid, sensitive: BoolArray
) -> MagnitudeCells:
    """Take from a value column what its noise depends on."""
    # Where records of value 0 are no part of the key, they must not choose the row either.
    counted = (
        contributions.count
        if noise.zeros_in_key or noise.keys == "shared"
        else contributions.nonzero
    )
    return MagnitudeCells(
        value=contributions.total,
        contributions=_taken(contributions, noise),
        keys=column_keys(contributions, noise, grid),
        odd=counted % 2 == 1,
        sensitive=sensitive,
    )


def _taken(contributions: Contributions, noise: MagnitudeNoise) -> FloatArray:
    """What a unit of noise is a share of, cells × number."""
    if noise.of == "top":
        top = contributions.top[:, : noise.top]
        return (
            top
            if contributions.top_weight is None
            else top * contributions.top_weight[:, : noise.top]
        )
    if noise.of == "sum":
        taken = contributions.total
    elif noise.of == "mean":
        size = (
            contributions.count.astype(np.float64)
            if contributions.weight is None
            else contributions.weight
        )
        taken = quotient(contributions.total, size)
    else:
        # Values that are all equal, or nearly so, would be shown: their noise is that of
        # the value itself, or of a share of the largest.
        least = noise.range_floor * np.maximum(
            np.abs(contributions.low), np.abs(contributions.high)
        )
        apart = np.maximum(contributions.high - contributions.low, least)
        taken = np.where(contributions.high == contributions.low, contributions.high, apart)
    return taken[:, np.newaxis]


def units_of_noise(cells: MagnitudeCells, noise: MagnitudeNoise, epsilon: Any = None) -> FloatArray:
    """Value of one unit of table noise, cells × contributions; at most the cell value."""
    weights = np.asarray(noise.weights if epsilon is None else epsilon, dtype=np.float64)
    size = np.where(np.isnan(cells.contributions), 0.0, np.abs(cells.contributions))
    units = size * noise.strength.multipliers(size) * weights
    small = _small(cells, noise)
    if small.any():  # a single noise of fixed variance
        units[small] = 0.0
        units[small, 0] = 1.0
    return np.asarray(np.minimum(units, np.abs(cells.value)[:, np.newaxis]))


def _small(cells: MagnitudeCells, noise: MagnitudeNoise) -> BoolArray:
    return np.asarray(np.abs(cells.contributions[:, 0]) < noise.separation)


def kinds_of(cells: MagnitudeCells, noise: MagnitudeNoise) -> list[tuple[Kind, BoolArray]]:
    """Which cells use which part of the perturbation table."""
    small = _small(cells, noise)
    ordinary: list[tuple[Kind, BoolArray]] = [("all", ~small)]
    if noise.parity:
        ordinary = [("even", ~small & ~cells.odd), ("odd", ~small & cells.odd)]
    return [*ordinary, ("small", small)] if noise.separation else ordinary


_Groups = list[tuple[MagnitudePart, IntArray]]


def _groups(cells: MagnitudeCells, noise: MagnitudeNoise) -> _Groups:
    return [(noise.part(kind), np.flatnonzero(which)) for kind, which in kinds_of(cells, noise)]


def perturbed(
    cells: MagnitudeCells, noise: MagnitudeNoise, grid: KeyGrid, units: FloatArray | None = None
) -> FloatArray:
    """Perturbed cell values."""
    if units is None:
        units = units_of_noise(cells, noise)
    groups = _groups(cells, noise)
    value = cells.value.astype(np.float64)
    for number, key in enumerate(cells.keys):
        unit, size = units[:, number], np.abs(value)
        more = np.where(cells.sensitive & (unit > 0), noise.more(number), 0.0)
        shifts, ratio = np.zeros(len(size)), quotient(size, unit)
        for part, which in groups:
            shifts[which] = table_noise(part, ratio[which], key[which], grid)
        shifts = np.where(shifts < 0, shifts - more, shifts + more)
        # Noise moves a value towards zero or away from it, and never beyond zero.
        value = value + np.sign(value) * np.maximum(unit * shifts, -size)
    return value


def drawn_noise(cells: MagnitudeCells, noise: MagnitudeNoise, grid: KeyGrid, number: int) -> Draw:
    """The noise that one contribution brings to each cell, for any place on the key grid."""
    unit, groups = units_of_noise(cells, noise)[:, number], _groups(cells, noise)
    ratio = quotient(np.abs(cells.value), unit)
    more = np.where(cells.sensitive & (unit > 0), noise.more(number), 0.0)
    placed = [(part, which, between(part, ratio[which])) for part, which in groups]
    unit = np.sign(cells.value) * unit

    def drawn(at: float) -> FloatArray:
        shifts = np.zeros(len(unit))
        for part, which, (below, above, way) in placed:  # all cells have the same key
            row = np.arange(len(part.classes), dtype=np.int64)
            key = np.full_like(row, int(at * grid.size))
            shift = look_up(part.content, row, key, grid) / part.step
            shifts[which] = (1 - way) * shift.take(below) + way * shift.take(above)
        return unit * np.where(shifts < 0, shifts - more, shifts + more)

    return drawn


def between(part: MagnitudePart, ratio: FloatArray) -> tuple[IntArray, IntArray, FloatArray]:
    """The rows below and above each ratio, and how far it lies on the way between them."""
    classes = np.asarray(part.classes, dtype=np.int64)
    below = np.searchsorted(classes, ratio, side="right") - 1
    above = np.minimum(below + 1, len(classes) - 1)
    width = np.maximum(classes[above] - classes[below], 1)
    way = np.where(above > below, (ratio - classes[below]) / width, 0.0)
    return below.astype(np.int64), above.astype(np.int64), way


def table_noise(part: MagnitudePart, ratio: FloatArray, key: IntArray, grid: KeyGrid) -> FloatArray:
    """Noise of the perturbation table at each ratio, interpolated between its rows."""
    below, above, way = between(part, ratio)
    lower = look_up(part.content, below, key, grid) / part.step
    inner = np.flatnonzero(way > 0)
    if not inner.size:
        return lower
    upper = look_up(part.content, above[inner], key[inner], grid) / part.step
    share = way[inner]
    lower[inner] = (1 - share) * lower[inner] + share * upper
    return lower


def magnitude_deviations(cells: MagnitudeCells, noise: MagnitudeNoise) -> FloatArray:
    """The standard deviation of each cell's noise."""
    units = units_of_noise(cells, noise)
    size = np.abs(cells.value)
    variance = np.zeros(len(size), dtype=np.float64)
    groups = kinds_of(cells, noise)
    for number in range(units.shape[1]):
        unit = units[:, number]
        ratio = quotient(size, unit)
        for kind, which in groups:
            for mu_c, marked in ((0.0, ~cells.sensitive), (noise.more(number), cells.sensitive)):
                at = np.flatnonzero(which & marked & (unit > 0))
                variances = _variances(noise.part(kind), ratio[at], mu_c)
                variance[at] += unit[at] * unit[at] * variances
    return np.sqrt(variance)


def _variances(part: MagnitudePart, ratio: FloatArray, mu_c: float) -> FloatArray:
    """The variance of the table noise at each ratio."""
    below, above, way = between(part, ratio)
    variance = np.zeros(len(ratio), dtype=np.float64)
    for row in np.unique(below).tolist():
        here = below == row
        for whole in (True, False):  # on the row itself, or between it and the next
            at = np.flatnonzero(here & ((way == 0) == whole))
            if at.size:
                other = row if whole else int(above[at[0]])
                share = np.zeros(1) if whole else way[at]
                variance[at] = _variance(part, row, other, share, mu_c)
    return variance


def _variance(
    part: MagnitudePart, below: int, above: int, way: FloatArray, mu_c: float
) -> FloatArray:
    """The variance of noise between two rows, interval by interval of the key."""
    mean = np.zeros(len(way), dtype=np.float64)
    square = np.zeros(len(way), dtype=np.float64)
    for width, low, high in _overlaid(part.content, below, above):
        value = ((1 - way) * low + way * high) / part.step
        value = np.where(value < 0, value - mu_c, value + mu_c)
        share = width / part.content.scale
        mean += share * value
        square += share * value * value
    return np.maximum(square - mean * mean, 0.0)


def _overlaid(content: Intervals, below: int, above: int) -> list[tuple[int, int, int]]:
    """Width and both noises of each interval of the key on which neither row changes."""
    upper, noise = content.upper, content.noise
    rows = [slice(int(content.starts[row]), int(content.starts[row + 1])) for row in (below, above)]
    bounds = np.unique(np.concatenate([upper[row] for row in rows]))
    widths = np.diff(bounds, prepend=0)
    low, high = (noise[row][np.searchsorted(upper[row], bounds)] for row in rows)
    return list(zip(widths.tolist(), low.tolist(), high.tolist(), strict=True))


#: Which of the two is accurate; the other follows from it and the perturbed count.
Publish = Literal["sums", "means"]


@dataclass(frozen=True, repr=False, eq=False)
class SumTreatment:
    """Treatment of the sums of a value column; see `perturb_magnitudes`. CONFIDENTIAL."""

    publish: Publish = "sums"
    ptable: PerturbationTable | None = None
    sensitive: BoolArray | None = None
    suppress_below: float | None = None
    official: Any = None
    totals: Mapping[str, str] | None = None
    grain: float = 1.0
    count_decimals: int | None = 0
    #: No figure may let anybody come so near a single contribution: cells of one or a dominating
    #: contribution are suppressed where it does. 0 suppresses none
    p_percent: float = P_PERCENT
    chance: float = CHANCE  # how often the best guess may come as near all the same
    #: A boolean per cell: those held against it; None for those of the p % rule
    gated: BoolArray | None = None

    def __post_init__(self) -> None:
        check_gate(self.p_percent, self.chance)
        number = plain_number(self.grain)
        if number is None or number <= 0:
            message = "the grain must be above 0, such as 0.01"
            raise PerturbationError(message, code="grain", where="grain")
        object.__setattr__(self, "grain", number)


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class PerturbedSums:
    """The perturbed sums of a value column, and the noise they could have. CONFIDENTIAL."""

    column: str  # the value column
    noise: MagnitudeNoise
    grid: KeyGrid  # the key grid
    how: SumTreatment  # what is done to them
    #: Per spanning variable, the position of each cell's code
    index: tuple[npt.NDArray[np.int32], ...]
    cells: MagnitudeCells  # what the noise of each of the table's own cells depends on
    own: IntArray  # where those are among all cells
    total: FloatArray  # True sums
    noisy: FloatArray  # True sums and their noise
    deviation: FloatArray  # the standard deviation of each sum's own noise
    number: FloatArray  # True (weighted) number of records with a value
    counts: ProtectedCounts | None  # the protected count of these records; None if it is not known
    hidden: BoolArray  # cells that the gate of the column hides
    gate: GateReport | None = None  # what it did; None where it is off

    def sums(self) -> FloatArray:
        """The sums to publish: 0 wherever the count is.

        Without the grain, a mean times the true count would often be a whole number, and
        times any other number it would not.
        """
        value = self.noisy
        if self.counts is not None:
            count = self.counts.value.astype(np.float64)
            if self.how.publish == "means":
                value = value * quotient(count, self.number)
            value = np.where(count == 0, 0.0, value)
        return np.asarray(np.rint(value / self.how.grain) * self.how.grain + 0.0)  # no −0

    def means(self) -> FloatArray:
        """The means to publish: published sum / perturbed count; 0 where there is none."""
        assert self.counts is not None
        return quotient(self.sums(), self.counts.value.astype(np.float64))

    def suppressed(self) -> BoolArray:
        """Which cells are not published: their count is not, or the gate hides them."""
        return self.hidden if self.counts is None else self.hidden | self.counts.suppressed

    def possible(self, *, mean: bool) -> tuple[FloatArray, dict[str, Draw]]:
        """The standard deviation of sums or means, and the noise behind it, key by key.

        The figure that is accurate has its own noise only; the other follows from it and the
        count, and has that of the count, too.
        """
        deviation, size = self.deviation, np.abs(self.number)
        divided = quotient(np.ones(len(size)), size) if mean else np.ones(len(size))
        draws = self._of_sums(divided)
        if self.counts is not None and self.how.publish != ("means" if mean else "sums"):
            sign = -1 if mean else 1
            deviation = self._with_counts(deviation, sign)
            factor = sign * divided * quotient(self.total, size)
            draws = added(draws, self._of_counts(factor))
        return quotient(deviation, size) if mean else deviation, draws

    def _of_sums(self, factor: FloatArray) -> dict[str, Draw]:
        """The noise of sums, times a factor, by the names of its keys."""
        draws = {}
        for number in range(len(self.cells.keys)):
            name = self.noise.purpose(self.column, number + 1)
            if self.noise.keys == "shared":
                step = number + (0 if self.noise.same_key else 1)
                name = f"{CELL_KEY}, step {step}" if step else CELL_KEY
            draws[name] = self._of_contribution(number, factor)
        return draws

    def _of_contribution(self, number: int, factor: FloatArray) -> Draw:
        draw = drawn_noise(self.cells, self.noise, self.grid, number)
        return lambda at: spread(draw(at), self.own, len(factor)) * factor

    def _counted(self) -> tuple[ProtectedCounts, PerturbationTable, FloatArray]:
        """The counts, their perturbation table, and the standard deviations of their noise."""
        counts, ptable = self.counts, self.how.ptable
        assert counts is not None
        assert ptable is not None
        cells = counts.cells
        deviation = count_deviations(ptable.content, counts.number) * cells.mean_weight()
        still = cells.official | (cells.count == 0)
        return counts, ptable, np.asarray(np.where(still, 0.0, deviation))

    def _of_counts(self, factor: FloatArray) -> dict[str, Draw]:
        """The noise of counts of records with a value, times a factor."""
        counts, ptable, deviation = self._counted()
        weight = np.where(deviation > 0, counts.cells.mean_weight(), 0.0)

        def drawn(at: float) -> FloatArray:
            return drawn_counts(ptable, counts.number, at, self.grid) * weight * factor

        # Keys without the records of value zero may be others.
        name = CELL_KEY if self.noise.zeros_in_key else f"{CELL_KEY} of the values of {self.column}"
        return {name: drawn}

    def _with_counts(self, deviation: FloatArray, sign: int) -> FloatArray:
        """The deviation of sums that carry the noise of the count, too.

        The relative error of the count adds to that of the sum as the delta method has it.
        Both noises are independent, unless they are drawn by one key of the same records.
        """
        follows = self.total * quotient(self._counted()[2], self.number)
        square = deviation * deviation + follows * follows
        if self.noise.same_key and self.noise.zeros_in_key:
            one = np.ones(len(self.total), dtype=np.float64)
            at = np.arange(len(self.total), dtype=np.int64)
            together = correlation(self._of_sums(one), self._of_counts(one), (at, at))
            square += sign * 2.0 * together * deviation * follows
        return np.asarray(np.sqrt(np.maximum(square, 0.0)), dtype=np.float64)


def spread(column: Column, own: IntArray, size: int) -> Column:
    """A column of the table's own cells for all of so many: zero for the others."""
    whole = np.zeros(size, dtype=column.dtype)
    whole[own] = column
    return whole


def added(one: dict[str, Draw], other: dict[str, Draw]) -> dict[str, Draw]:
    """The noise of a figure that carries both."""

    def both(name: str) -> Callable[[float], FloatArray]:
        draws = [draws[name] for draws in (one, other) if name in draws]
        return draws[0] if len(draws) == 1 else lambda at: draws[0](at) + draws[1](at)

    return {name: both(name) for name in {**one, **other}}
