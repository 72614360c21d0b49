"""An attacker written apart: what published tables with blanks tell, by linear programs.

In: cells by their codes, which codes make up which, values shown, bounds known beforehand;
or the text of a `.jj` file. Out: between which values each blank lies, and which sensitive
cells are open. Nothing here is shared with `discreet.protection.suppression`.
"""

from __future__ import annotations

import gzip
import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import numpy as np

from tests.helpers.bounded_sums import BoundedSums

Cell = Hashable
#: A sum of cells with their coefficients, and what it is equal to.
Sum = tuple[Mapping[Cell, int], float]
#: code → the code it is a part of; None for the total. One dictionary per breakdown.
Tree = Mapping[str, str | None]
#: Values that attackers set no bound to are no larger than this in their programs.
ENDLESS = 1e10


@dataclass(frozen=True)
class Demand:
    """What must stay possible for a sensitive cell of this true value."""

    value: float
    lower: float = 0.0
    upper: float = 0.0
    sliding: float = 0.0
    least: float = 1.0

    def width(self) -> float:
        """A cell without any level must at least not be known exactly."""
        return self.sliding if self.lower or self.upper or self.sliding else self.least

    def met_by(self, low: float, high: float) -> bool:
        """Whether values from `low` to `high` are uncertainty enough."""
        slack = 1e-5 * self.least + 1e-8 * abs(self.value)
        far = high >= self.value + self.upper - slack and low <= self.value - self.lower + slack
        return far and high - low >= self.width() - slack


@dataclass
class Attacker:
    """Knows what is shown and how cells add up; asks how far blanks can lie apart."""

    shown: Mapping[Cell, float]
    blanks: Mapping[Cell, tuple[float, float]]
    sums: Sequence[Sum]
    whole: bool = False  # whether he knows that values are whole numbers
    _number: dict[Cell, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._number = {cell: at for at, cell in enumerate(self.blanks)}
        bounds = np.array(list(self.blanks.values()), dtype=float).reshape(-1, 2)
        # What the solver sees has an end everywhere, beyond all that levels ask for.
        bounds = np.clip(bounds, -ENDLESS, ENDLESS)
        #: The solver works in numbers that are not far from one.
        self._unit = max(1.0, float(np.abs(bounds).max(initial=0.0)) / 1e6)
        self._low, self._high = bounds.T / self._unit
        starts, columns, coefs, rests = [0], [], [], []
        for cells, equal in self.sums:
            entries = [(self._number[c], k) for c, k in cells.items() if c in self._number]
            known = sum(k * self.shown[c] for c, k in cells.items() if c not in self._number)
            if not entries:
                assert math.isclose(known, equal, abs_tol=0.01 * len(cells)), "shown cells differ"
                continue
            columns += [at for at, _ in entries]
            coefs += [k for _, k in entries]
            starts.append(len(columns))
            rests.append((equal - known) / self._unit)
        self._rows = (np.array(starts), np.array(columns, dtype=int), np.array(coefs, dtype=float))
        self._rests = np.array(rests)
        parts = zip(pairwise(starts), rests, strict=True)
        sums = [(columns[a:b], coefs[a:b], rest, rest) for (a, b), rest in parts]
        self._program = BoundedSums(self._low, self._high, sums, whole=self.whole)
        self.seen_low = np.full(len(bounds), np.inf)
        self.seen_high = np.full(len(bounds), -np.inf)

    def farthest(self, wish: Mapping[Cell, int], sense: int) -> float:
        """The largest (1) or smallest (-1) value of a sum of blanks, given all that is known."""
        at = [self._number[cell] for cell in wish]
        far = self._program.farthest(at, [*wish.values()], sense)
        assert math.isfinite(far), "the attack ended without bounds"
        self._check(self._program.solution)
        found = self._program.solution * self._unit
        np.minimum(self.seen_low, found, out=self.seen_low)
        np.maximum(self.seen_high, found, out=self.seen_high)
        return far * self._unit

    def _check(self, found: np.ndarray) -> None:
        """Whether a solution fits all that is known; else it says nothing."""
        starts, columns, coefs = self._rows
        if len(self._rests):
            totals = np.add.reduceat(coefs * found[columns], starts[:-1])
            assert np.abs(totals - self._rests).max() <= 1e-5
            assert (self._low - found).max() <= 1e-5
            assert (found - self._high).max() <= 1e-5

    def interval(self, cell: Cell) -> tuple[float, float]:
        """Between which values a cell lies."""
        if cell in self.shown:
            return self.shown[cell], self.shown[cell]
        return self.farthest({cell: 1}, -1), self.farthest({cell: 1}, 1)

    def open_cells(self, demands: Mapping[Cell, Demand]) -> list[Cell]:
        """The sensitive cells that are not protected; what is seen on the way counts for all."""
        found = []
        for cell, demand in demands.items():
            at = self._number.get(cell)
            if at is None:
                found.append(cell)
                continue
            if demand.met_by(float(self.seen_low[at]), float(self.seen_high[at])):
                continue
            if not demand.met_by(*self.interval(cell)):
                found.append(cell)
        return found


# -- tables by their codes -----------------------------------------------------


def named(variables: Sequence[str], codes: Sequence[str], total: str = "Total") -> Cell:
    """A cell by the codes that are no totals: the same cell in all tables that have it."""
    return frozenset(pair for pair in zip(variables, codes, strict=True) if pair[1] != total)


def sums_over(
    cells: Iterable[Sequence[str]], trees: Mapping[str, Sequence[Tree]], total: str = "Total"
) -> list[Sum]:
    """Each total of a table with its parts, variable by variable; only cells that are there.

    Args:
        cells: The cells of a table, one code per variable.
        trees: For each variable of the table, its breakdowns.
        total: The code of totals.
    """
    variables = list(trees)
    there = set(map(tuple, cells))
    parts: dict[tuple[int, int, tuple[str, ...]], dict[Cell, int]] = {}
    for cell in sorted(there):
        for at, variable in enumerate(variables):
            for which, tree in enumerate(trees[variable]):
                above = tree.get(cell[at])
                if above is not None:
                    whole = (*cell[:at], above, *cell[at + 1 :])
                    group = parts.setdefault((at, which, whole), {})
                    group[named(variables, cell, total)] = 1
    found: list[Sum] = []
    for (_, _, whole), cells_of in parts.items():
        assert whole in there, "a total is not there"
        found.append(({named(variables, whole, total): -1, **cells_of}, 0.0))
    return found


def equal_cells(sums: Iterable[Sum]) -> dict[Cell, Cell]:
    """For each cell one that stands for it: totals of a single part are that part."""
    leader: dict[Cell, Cell] = {}

    def root(cell: Cell) -> Cell:
        while leader.setdefault(cell, cell) != cell:
            cell = leader[cell]
        return cell

    for cells, equal in sums:
        if len(cells) == 2 and equal == 0 and sorted(cells.values()) == [-1, 1]:
            one, other = (root(cell) for cell in cells)
            leader[one] = other
    return {cell: root(cell) for cell in list(leader)}


# -- problems as text ------------------------------------------------------------


@dataclass
class Listed:
    """A `.jj` file as it stands: cells by number, sums, levels."""

    values: list[float]
    costs: list[int]
    marks: list[str]
    bounds: list[tuple[float, float]]
    demands: dict[Cell, Demand]
    sums: list[Sum]

    @classmethod
    def read(cls, path: Path) -> Listed:
        """From the file, packed or not."""
        data = path.read_bytes()
        text = (gzip.decompress(data) if path.suffix == ".gz" else data).decode()
        lines = iter(line.split() for line in text.splitlines() if line.strip())
        next(lines)
        cells = [next(lines) for _ in range(int(next(lines)[0]))]
        sums: list[Sum] = []
        for _ in range(int(next(lines)[0])):
            words = next(lines)
            numbers = [word.strip("()") for word in words[3:]]
            pairs = zip(numbers[::2], numbers[1::2], strict=True)
            sums.append(({int(cell): int(coef) for cell, coef in pairs}, float(words[0])))
        digits = max(len(word.partition(".")[2].rstrip("0")) for c in cells for word in c[6:])
        least = 10.0 ** -max(
            digits, *(len(cell[1].partition(".")[2].rstrip("0")) for cell in cells)
        )
        demands: dict[Cell, Demand] = {
            int(cell[0]): Demand(
                float(cell[1]), *(float(level) for level in cell[6:9]), least=least
            )
            for cell in cells
            if cell[3] == "u"
        }
        return cls(
            values=[float(cell[1]) for cell in cells],
            costs=[int(float(cell[2])) for cell in cells],
            marks=[cell[3] for cell in cells],
            bounds=[(float(cell[4]), float(cell[5])) for cell in cells],
            demands=demands,
            sums=sums,
        )

    def attacker(self, hidden: Iterable[int]) -> Attacker:
        """Who knows the values of all cells but the hidden ones."""
        blanks = {int(cell): self.bounds[int(cell)] for cell in hidden}
        shown = {at: value for at, value in enumerate(self.values) if at not in blanks}
        return Attacker(shown=shown, blanks=blanks, sums=self.sums)

    def open_cells(self, hidden: Iterable[int]) -> list[Cell]:
        """Sensitive cells that hidden cells leave open."""
        return self.attacker(hidden).open_cells(self.demands)

    def cost_of(self, hidden: Iterable[int]) -> int:
        """What the hidden cells cost that are not sensitive."""
        return sum(self.costs[int(at)] for at in hidden if self.marks[int(at)] != "u")
