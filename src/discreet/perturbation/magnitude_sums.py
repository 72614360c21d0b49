"""Perturbed sums and means of a value column, beside what they are made of. CONFIDENTIAL.

In: a confidential `Table` with contributions, the secret noise and the perturbation
table of counts. Out: for each cell its perturbed sum and mean, such that neither
contradicts the published count or gives the true one away.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, Literal, TypeVar

import numpy as np
import numpy.typing as npt

from discreet.errors import PerturbationError, Problem
from discreet.perturbation.counts import ProtectedCounts, protect_counts
from discreet.perturbation.magnitude_cells import MagnitudeCells, cells_of, perturbed
from discreet.perturbation.magnitude_noise import MagnitudeNoise
from discreet.perturbation.strength import plain_number
from discreet.perturbation.table import PerturbationTable
from discreet.tables import Table

__all__ = ["Publish", "Sums", "Treatment", "contributors", "magnitude_sums", "quotient"]

#: Which of the two is accurate; the other follows from it and the perturbed count.
Publish = Literal["sums", "means"]

Column = TypeVar("Column", npt.NDArray[np.float64], npt.NDArray[np.int64])
Coded = tuple[str, Problem]

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]


@dataclass(frozen=True, repr=False, eq=False)
class Treatment:
    """What is done to the sums of a value column; see `perturb_magnitudes`. CONFIDENTIAL."""

    publish: Publish = "sums"
    ptable: PerturbationTable | None = None
    sensitive: BoolArray | None = None
    suppress_below: float | None = None
    official: Any = None
    totals: Mapping[str, str] | None = None
    grain: float = 1.0
    count_decimals: int | None = None

    def __post_init__(self) -> None:
        number = plain_number(self.grain)
        if number is None or number <= 0:
            _raise([("grain", Problem("the grain is a number above 0, such as 0.01", "grain"))])
        object.__setattr__(self, "grain", number)


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Sums:
    """The perturbed sums of a value column. CONFIDENTIAL.

    Args:
        index: Per spanning variable, the position of each cell's code.
        total: True sums.
        noisy: True sums and their noise.
        number: True (weighted) number of records with a value.
        counts: The protected count of these records; None if it is not known.
        how: What is done to them.
        cells: What the noise of each of the table's own cells depends on.
        own: Where those are among all cells.
    """

    index: tuple[npt.NDArray[np.int32], ...]
    total: FloatArray
    noisy: FloatArray
    number: FloatArray
    counts: ProtectedCounts | None
    how: Treatment
    cells: MagnitudeCells
    own: IntArray

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

    def undefined(self) -> BoolArray:
        """Where there is no mean: nobody is counted."""
        assert self.counts is not None
        return np.asarray(self.counts.value == 0)

    def suppressed(self) -> BoolArray:
        """Which cells are not published, for their count is not."""
        if self.counts is None:
            return np.zeros(len(self.noisy), dtype=np.bool_)
        return self.counts.suppressed


def quotient(part: FloatArray, whole: FloatArray) -> FloatArray:
    """Part / whole; 0 where there is no whole."""
    found = np.zeros(len(part), dtype=np.float64)
    np.divide(part, whole, out=found, where=whole != 0)
    return found


def contributors(table: Table, value: str) -> Table:
    """The table of counts of the records that have a value. CONFIDENTIAL."""
    _raise(_problems(table, None, value))
    made = table.contributions[value]
    return replace(
        table, count=made.count, cell_key=made.key, weight=made.weight, sums={}, contributions={}
    )


def magnitude_sums(table: Table, noise: MagnitudeNoise, value: str, how: Treatment) -> Sums:
    """Perturb the sums of a value column."""
    _check_kinds(table, noise, how)
    _raise(chain(_problems(table, noise, value), _treatment_problems(table, how)))
    made, grid = table.contributions[value], table.grid
    assert grid is not None
    marked = np.zeros(len(table), dtype=np.bool_)
    if how.sensitive is not None:
        marked = np.asarray(how.sensitive)
    cells = cells_of(made, noise, grid, marked)
    noisy, _ = perturbed(cells, noise, grid)
    counts, index, own = None, table.index, np.arange(len(table), dtype=np.int64)
    if how.ptable is not None:
        counts = protect_counts(
            contributors(table, value),
            how.ptable,
            suppress_below=how.suppress_below,
            official=how.official,
            totals=how.totals,
            decimals=how.count_decimals,
        )
        index = counts.cells.index
        own = _places(table, index, len(counts.value))
    size = len(own) if counts is None else len(counts.value)
    number = made.count if made.weight is None else made.weight
    return Sums(
        index=index,
        total=_spread(made.total, own, size),
        noisy=_spread(noisy, own, size),
        number=_spread(number.astype(np.float64), own, size),
        counts=counts,
        how=how,
        cells=cells,
        own=own,
    )


def _check_kinds(table: object, noise: object, how: Treatment) -> None:
    wanted: list[tuple[str, object, type]] = [
        ("table", table, Table),
        ("noise", noise, MagnitudeNoise),
    ]
    if how.ptable is not None:
        wanted.append(("ptable", how.ptable, PerturbationTable))
    problems = [
        ("argument", Problem(f"a {kind.__name__} is needed, not a {type(given).__name__}", name))
        for name, given, kind in wanted
        if not isinstance(given, kind)
    ]
    if how.publish not in ("sums", "means"):
        problems.append(("publish", Problem('publish is "sums" or "means"', "publish")))
    _raise(problems)


def _problems(table: Table, noise: MagnitudeNoise | None, value: str) -> Iterator[Coded]:
    """What the table lacks."""
    if table.grid is None:
        hint = 'tabulate with record_key="…"'
        yield "no-cell-keys", Problem("the table has no cell keys", table.name, hint)
    made = table.contributions.get(value)
    if made is None:
        what = f"the table holds no contributions to {value!r}"
        hint = f'tabulate with values=["{value}"] and contributions=1'
        yield "contributions", Problem(what, table.name, hint)
    elif table.grid is not None and (made.key is None or made.nonzero_key is None):
        what = f"there are no cell keys of the records with a value of {value!r}"
        yield "no-cell-keys", Problem(what, table.name)
    elif noise is not None and noise.of == "top" and made.k < noise.top:
        what = f"the noise looks at {noise.top} contributions, the table holds {made.k}"
        hint = f"tabulate with contributions={noise.top}"
        yield "contributions", Problem(what, f"{table.name}, {value}", hint)


def _treatment_problems(table: Table, how: Treatment) -> Iterator[Coded]:
    """What does not fit the table, or what else is asked for."""
    marked = None if how.sensitive is None else np.asarray(how.sensitive)
    if marked is not None and (marked.dtype != np.bool_ or marked.shape != (len(table),)):
        what = f"one boolean for each of the {len(table):,} cells is needed"
        yield "sensitive", Problem(what, f"{table.name}, sensitive")
    hint = "give the perturbation table of the counts: ptable=…"
    if how.ptable is None and how.publish == "means":
        what = "accurate means need the perturbed number of records"
        yield "ptable", Problem(what, table.name, hint)
    if how.ptable is None and how.suppress_below is not None:
        what = "suppress_below looks at the perturbed number of records"
        yield "ptable", Problem(what, table.name, hint)


def _places(table: Table, index: tuple[npt.NDArray[np.int32], ...], size: int) -> Any:
    """Where the table's cells are among those of the counts, which may be a whole grid."""
    if index is table.index:
        return np.arange(size, dtype=np.int64)
    flat = []
    for columns, length in ((index, size), (table.index, len(table))):
        number = np.zeros(length, dtype=np.int64)
        for dimension, part in zip(table.dimensions, columns, strict=True):
            number = number * len(dimension) + part
        flat.append(number)
    return np.searchsorted(flat[0], flat[1])


def _spread(column: Column, own: IntArray, size: int) -> Column:
    whole = np.zeros(size, dtype=column.dtype)
    whole[own] = column
    return whole


def _raise(problems: Iterable[Coded]) -> None:
    """Raise one error for all problems; do nothing when there is none."""
    found = list(problems)
    if not found:
        return
    several = len(found) > 1
    code, first = found[0]
    raise PerturbationError(
        f"{len(found)} problems with a magnitude table" if several else first.what,
        code=code,
        where="" if several else first.where,
        hint="" if several else first.hint,
        problems=[problem for _, problem in found] if several else (),
    )
