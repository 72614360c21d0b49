"""A reader who knows what records can be alike: which sums of them printed sums leave one value.

Written apart from the product: programs over all kinds of records, no kind of which is negative. It
knows nothing of relations, or of cells that are the same.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

import discreet as dc
from tests.helpers.bounded_sums import BoundedSums


class AtomReader:
    """Knows what is printed, and that no combination of codes is negative."""

    def __init__(self, sums: np.ndarray, low: np.ndarray, high: np.ndarray, *, whole: bool) -> None:
        """Cells are sums of combinations and lie between two values; counts are whole."""
        self.whole = whole
        rows, self.row = np.unique(sums, axis=0, return_inverse=True)
        self.row = self.row.ravel()
        self.low, self.high = np.full(len(rows), -np.inf), np.full(len(rows), np.inf)
        np.maximum.at(self.low, self.row, low)
        np.minimum.at(self.high, self.row, high)
        # A combination within an empty cell is empty; those that no cell tells apart are one.
        empty = rows[self.high <= 0].any(axis=0)
        self.sums = np.unique(rows[:, ~empty], axis=1).astype(float)
        ends = np.zeros(self.sums.shape[1]), np.full(self.sums.shape[1], np.inf)
        known = [(np.flatnonzero(row), row[row != 0], *both)
                 for row, *both in zip(self.sums, self.low, self.high, strict=True)]  # fmt: skip
        self._lp = BoundedSums(*ends, known)
        self._mip = BoundedSums(*ends, known, whole=True) if whole else None
        self.seen_low = np.full(len(rows), np.inf)
        self.seen_high = np.full(len(rows), -np.inf)

    def _wish(self, program: BoundedSums, wish: np.ndarray) -> float:
        """The largest value of a sum of combinations; infinite where nothing bounds it."""
        at = np.flatnonzero(wish)
        most = program.farthest(at, wish[at], 1)
        answer = program.solution
        if most < np.inf and (
            not self.whole or np.abs(answer - np.rint(answer)).max(initial=0.0) < 1e-6
        ):
            values = self.sums @ answer
            np.minimum(self.seen_low, values, out=self.seen_low)
            np.maximum(self.seen_high, values, out=self.seen_high)
        return most

    def look_around(self, cells: np.ndarray, times: int = 4) -> None:
        """Move some cells at random: what is seen to move needs no program of its own."""
        draw = np.random.default_rng(39)
        rows = np.unique(self.row[cells])
        for _ in range(times):
            self._wish(self._lp, draw.uniform(-1, 1, len(rows)) @ self.sums[rows])

    def interval(self, cell: int) -> tuple[float, float]:
        """The lowest and the highest value of a cell."""
        at, wish = self.row[cell], self.sums[self.row[cell]]
        low, high = -self._wish(self._lp, -wish), self._wish(self._lp, wish)
        if self.whole:
            low, high = np.ceil(low - 1e-6), np.floor(high + 1e-6)
            if high > low and self.seen_high[at] - self.seen_low[at] < 0.5:
                low, high = -self._wish(self._mip, -wish), self._wish(self._mip, wish)
        return low, high

    def known(self, cells: np.ndarray) -> np.ndarray:
        """Which of some cells can have one value only."""
        if len(cells):
            self.look_around(cells)
        found = []
        for cell in cells:
            at = self.row[cell]
            if self.seen_high[at] - self.seen_low[at] > (0.5 if self.whole else 1e-3):
                found.append(False)
                continue
            low, high = self.interval(cell)
            found.append(high - low < (0.5 if self.whole else 1e-4))
        return np.array(found, dtype=bool)


def known(
    sums: np.ndarray, shown: Sequence[Any], asked: np.ndarray, *, least: float, whole: bool = True
) -> np.ndarray:
    """Which of the asked cells (rows over kinds of records) are known, hidden or not.

    What is shown of each cell is None where it is hidden; then it is this `least` number or more.
    """
    low = np.array([least if value is None else value for value in shown])
    high = np.array([np.inf if value is None else value for value in shown])
    return AtomReader(sums, low, high, whole=whole).known(np.flatnonzero(asked))


def figures(safe: dc.ProtectedTable) -> dict[tuple[str, ...], Any]:
    """What a table shows of each of its cells, zeros included; None where it is hidden."""
    frame = safe.to_polars(complete=True)
    names = [dimension.name for dimension in safe.dimensions]
    return dict(zip(frame.select(names).rows(), frame["value"].to_list(), strict=True))


def codes_of(table: dc.Table) -> list[tuple[str, ...]]:
    """The codes of each cell of a table."""
    return table.to_polars().select([own.name for own in table.dimensions]).rows()


def known_cells(
    kinds: pl.DataFrame,
    tables: Sequence[dc.Table],
    safe: Sequence[dc.ProtectedTable],
    masks: Sequence[np.ndarray],
) -> set[tuple[str, ...]]:
    """Names of the sensitive cells with one whole number only, if no kind of record is negative.

    Each shown figure is a sum of kinds, zeros too; hidden cells are at least one, unless zeros may
    be hidden.
    """
    zeros = any(note.kind == "hidden-zeros" for table in safe for note in table.notes)
    sums, shown, cells, asked = [], [], [], []
    for table, published, mask in zip(tables, safe, masks, strict=True):
        names = [dimension.name for dimension in table.dimensions]
        sensitive = dict(zip(codes_of(table), mask.tolist(), strict=True))
        passed = kinds.select(pl.sql_expr(table.where or "true")).to_series().to_numpy()
        for codes, value in figures(published).items():
            own = {n: code for n, code in zip(names, codes, strict=True) if code != "Total"}
            parts = [(kinds[name] == code).to_numpy() for name, code in own.items()]
            sums.append(np.logical_and.reduce([np.broadcast_to(passed, kinds.height), *parts]))
            shown.append(value)
            where = [table.where] if table.where else []
            cells.append((*sorted(f"{name}={code}" for name, code in own.items()), *where))
            asked.append(sensitive.get(codes, False))
    if not any(asked):
        return set()
    single = known(np.array(sums), shown, np.array(asked), least=1.0 - zeros)
    wanted = [cell for cell, one in zip(cells, asked, strict=True) if one]
    return {cell for cell, one in zip(wanted, single, strict=True) if one}
