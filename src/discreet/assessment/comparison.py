"""Two perturbation tables, or a table and what was made of it, side by side: `compare`.

In: two perturbation tables. Out: `Comparison`. SECRET, like the tables. All
differences are computed exactly before they become floats. In: a `Table` and its
`ProtectedTable`. Out: `TableComparison`, CONFIDENTIAL.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from discreet.assessment.probabilities import NoiseChances
from discreet.assessment.table_comparison import TableComparison, compare_tables
from discreet.assessment.words import number, percent, words_of
from discreet.errors import TableError
from discreet.protection.noise import PerturbationTable, moments
from discreet.tables import ProtectedTable, Table

if TYPE_CHECKING:
    import polars as pl

_NoiseUnits = list[tuple[int, int]]


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Comparison:
    """How two perturbation tables differ. SECRET."""

    #: Per original count i: `largest` and `distance` (the largest difference of a probability, and
    #: the total variation distance), `mean` and `variance` (second less first), `same_keys` (share
    #: of keys with the same noise)
    rows: pl.DataFrame
    same_distribution: bool  # whether all probabilities are equal
    same_noise: bool  # whether every key gets the same noise
    largest: float  # the largest difference of any probability
    #: The last row of either table; shorter ones use their own rule beyond it
    n_max: tuple[int, int]
    grids: tuple[int | None, int | None]  # the key grid each can be used with; None for any

    def text(self, language: str = "en") -> str:
        """The main differences in plain words. SECRET."""
        words = words_of("comparison", language)
        if self.same_noise:
            word = words["same"]
        elif self.same_distribution:
            keys = min(self.rows["same_keys"].to_list())
            word = words["moved"].format(keys=percent(keys, language))
        else:
            worst = self.rows.sort(["largest", "i"], descending=[True, False]).row(0, named=True)
            word = words["other"].format(
                largest=percent(worst["largest"], language),
                row=worst["i"],
                mean=_span(self.rows["mean"], language),
                variance=_span(self.rows["variance"], language),
            )
        if self.grids[0] != self.grids[1]:
            shown = [words["any"] if grid is None else str(grid) for grid in self.grids]
            word += " " + words["grids"].format(first=shown[0], second=shown[1])
        return word

    def described(self) -> dict[str, Any]:
        """The comparison for programs. SECRET."""
        left = {name: getattr(self, name) for name in self.__dataclass_fields__ if name != "rows"}
        return {**left, "rows": self.rows.to_dicts()}

    def __repr__(self) -> str:
        return "<Comparison: secret>"


@overload
def compare(first: PerturbationTable, second: PerturbationTable) -> Comparison: ...


@overload
def compare(first: Table, second: ProtectedTable) -> TableComparison: ...


def compare(
    first: PerturbationTable | Table, second: PerturbationTable | ProtectedTable
) -> Comparison | TableComparison:
    """Set a table beside what was made of it, or compare two perturbation tables row by row.

    What comes out is CONFIDENTIAL (of perturbation tables: SECRET). It prints as its name only;
    `show()` shows true beside published figures in a notebook, `measures()` and `text()` give the
    measures, `to_polars()` the cells.

    Args:
        first: A `Table`; or a perturbation table.
        second: The `ProtectedTable` made of it; or another perturbation table, of any format
            and key grid.

    >>> import polars as pl
    >>> from discreet.protection.noise import perturb
    >>> cells = pl.DataFrame({"sex": ["Total", "m", "w"], "n": [5, 3, 2], "key": [0.8, 0.5, 0.9]})
    >>> table = Table.from_cells(cells, by=["sex"], count="n", cell_key="key")
    >>> ptable = PerturbationTable.from_rows({0: {0: 1}, 1: {-1: 0.25, 0: 0.5, 1: 0.25}})
    >>> comparison = compare(table, perturb(table, ptable))
    >>> comparison, comparison.measures()["at_most_1"]
    (<TableComparison table (confidential): 3 cells>, 1.0)
    >>> other = PerturbationTable.from_rows({0: {0: 1}, 1: {-1: 0.3, 0: 0.4, 1: 0.3}})
    >>> round(compare(ptable, other).largest, 9), compare(ptable, ptable).same_noise
    (0.1, True)
    """
    if isinstance(first, PerturbationTable) and isinstance(second, PerturbationTable):
        return _row_by_row(first, second)
    if isinstance(first, Table) and isinstance(second, ProtectedTable):
        return compare_tables(first, second)
    raise TableError(
        f"a {type(first).__name__} and a {type(second).__name__} cannot be compared",
        code="compare",
        hint="give a Table and the ProtectedTable made of it, in this order",
    )


def _row_by_row(first: PerturbationTable, second: PerturbationTable) -> Comparison:
    """How two perturbation tables differ."""
    tables = [ptable.with_closed("left") for ptable in (first, second)]
    scale = math.lcm(*(table.content.scale for table in tables))
    counts = np.arange(max(table.n_max for table in tables) + 1, dtype=np.int64)
    laid_out = [_rows(table, counts, scale) for table in tables]
    rows = []
    exact = []
    for count, (ours, theirs) in enumerate(zip(*laid_out, strict=True)):
        before, after = _widths(ours), _widths(theirs)
        changes = [abs(after.get(at, 0) - before.get(at, 0)) for at in {*before, *after}]
        same = Fraction(_same_keys(ours, theirs), scale)
        (mean, variance), (new_mean, new_variance) = _moments(ours, scale), _moments(theirs, scale)
        exact.append((max(changes), same))
        rows.append(
            {
                "i": count,
                "largest": max(changes) / scale,
                "distance": sum(changes) / (2 * scale),
                "mean": float(new_mean - mean),
                "variance": float(new_variance - variance),
                "same_keys": float(same),
            }
        )
    return _comparison(rows, exact, scale, (first, second))


def _comparison(
    rows: list[dict[str, float]],
    exact: list[tuple[int, Fraction]],
    scale: int,
    tables: tuple[PerturbationTable, PerturbationTable],
) -> Comparison:
    import polars as pl

    grids = [None if table.key_grid is None else table.key_grid.size for table in tables]
    return Comparison(
        rows=pl.DataFrame(rows),
        same_distribution=all(change == 0 for change, _ in exact),
        same_noise=all(same == 1 for _, same in exact),
        largest=max(change for change, _ in exact) / scale,
        n_max=(tables[0].n_max, tables[1].n_max),
        grids=(grids[0], grids[1]),
    )


def _rows(ptable: PerturbationTable, counts: Any, scale: int) -> list[_NoiseUnits]:
    """(upper bound, noise) of the row of each count, on the common scale."""
    factor = scale // ptable.content.scale
    stated = [
        [(bound * factor, noise) for bound, noise in zip(upper, values, strict=True)]
        for _, upper, values in ptable.content.rows()
    ]
    return [stated[row] for row in NoiseChances.of(ptable).rows_of(counts).tolist()]


def _widths(row: _NoiseUnits) -> dict[int, int]:
    widths: dict[int, int] = {}
    below = 0
    for bound, noise in row:
        widths[noise] = widths.get(noise, 0) + bound - below
        below = bound
    return widths


def _same_keys(ours: _NoiseUnits, theirs: _NoiseUnits) -> int:
    """The number of keys with the same noise, from one bound of either row to the next."""
    same = below = at = other = 0
    while at < len(ours) and other < len(theirs):
        bound = min(ours[at][0], theirs[other][0])
        if ours[at][1] == theirs[other][1]:
            same += bound - below
        below = bound
        at += ours[at][0] == bound
        other += theirs[other][0] == bound
    return same


def _moments(row: _NoiseUnits, scale: int) -> tuple[Fraction, Fraction]:
    return moments({noise: Fraction(width, scale) for noise, width in _widths(row).items()})


def _span(values: Any, language: str) -> str:
    low, high = min(values.to_list()), max(values.to_list())
    texts = [number(value, language, 4) for value in (low, high)]
    return f"{texts[0]} … {texts[1]}"
