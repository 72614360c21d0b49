"""A reader who knows which values add up: a linear program written apart from the library.

In: published tables of several values, and relations between these. Out: which sensitive cells
the reader knows more closely than their protection levels allow. Beyond what is published he
knows the sums along every variable, the relations, and whether values can be negative.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

import discreet as dc
from tests.helpers.bounded_sums import BoundedSums

TOTAL = "Total"
#: All variables of the tables.
NAMES = ("region", "branch", "size")
Cell = tuple[str, ...]


class Reader:
    """All cells of all values as unknowns, with everything that is published."""

    def __init__(self) -> None:
        self.number: dict[tuple[str, Cell], int] = {}
        self.bounds: dict[int, tuple[float, float]] = {}
        self.rows: list[tuple[dict[int, float], float, float]] = []

    def at(self, value: str, cell: Mapping[str, str]) -> int:
        key = (value, tuple(sorted((k, v) for k, v in cell.items() if v != TOTAL)))
        return self.number.setdefault(key, len(self.number))

    def read(
        self, value: str, published: pl.DataFrame, by: Sequence[str], signed: bool, digits: int
    ) -> None:
        """A published table: every listed cell, and the sums along each variable."""
        shown = {row[: len(by)]: row[len(by)] for row in published.select(*by, "value").rows()}
        for cell, figure in shown.items():
            at = self.at(value, dict(zip(by, cell, strict=True)))
            half = 0.5 * 10.0**-digits if digits else 0.0
            free = (-np.inf if signed else 0.0, np.inf)
            told = free if figure is None else (figure - half, figure + half)
            old = self.bounds.get(at, free)
            self.bounds[at] = (max(told[0], old[0]), min(told[1], old[1]))
        for place in range(len(by)):
            groups: dict[Cell, list[Cell]] = {}
            for cell in shown:
                if cell[place] != TOTAL:
                    total = (*cell[:place], TOTAL, *cell[place + 1 :])
                    groups.setdefault(total, []).append(cell)
            for total, parts in groups.items():
                row = {self.at(value, dict(zip(by, part, strict=True))): 1.0 for part in parts}
                row[self.at(value, dict(zip(by, total, strict=True)))] = -1.0
                self.rows.append((row, 0.0, 0.0))

    def relate(
        self,
        coefs: Mapping[str, int],
        cells: Iterable[Cell],
        by: Sequence[str],
        room: Mapping[Cell, float] | None = None,
    ) -> None:
        """What adds up in cells, but for what each leaves open."""
        for cell in cells:
            places = {
                value: self.number.get(
                    (value, tuple(sorted(p for p in zip(by, cell, strict=True) if p[1] != TOTAL)))
                )
                for value in coefs
            }
            known = {value: at for value, at in places.items() if at is not None}
            if len(known) == len(coefs):
                row = {at: float(coefs[value]) for value, at in known.items()}
                self.rows.append((row, 0.0, (room or {}).get(cell, 0.0)))

    def intervals(self, wanted: Sequence[int], slack: float) -> dict[int, tuple[float, float]]:
        low, high = np.array([self.bounds[at] for at in range(len(self.number))]).T.copy()
        sums = [
            (list(row), list(row.values()), rhs - off, rhs + off)
            for row, rhs, room in self.rows
            for off in [room + slack * len(row)]
        ]
        program = BoundedSums(low, high, sums)
        return {at: program.interval([at]) for at in wanted}


def opened(
    published: Sequence[tuple[str, dc.ProtectedTable | pl.DataFrame, dc.Table, Any]],
    relations: Sequence[Mapping[str, int]],
    *,
    slack: float = 0.0,
    signed: Sequence[str] = (),
    rooms: Sequence[float] | None = None,
) -> list[tuple[str, Cell]]:
    """Sensitive cells that the reader knows more closely than their levels allow.

    By so much each record may miss each of the relations: `rooms`.
    """
    reader = Reader()
    records: dict[Cell, float] = {}
    cells: dict[Cell, None] = {}
    names = NAMES
    for value, safe, table, _ in published:
        by = [dimension.name for dimension in table.dimensions]
        for codes, count in zip(table.to_polars().select(*by).rows(), table.count, strict=True):
            named = dict(zip(by, codes, strict=True))
            records[tuple(named.get(name, TOTAL) for name in NAMES)] = float(count)
        frame = safe if isinstance(safe, pl.DataFrame) else safe.to_polars()
        digits = 0 if isinstance(safe, pl.DataFrame) else safe.figure_decimals()
        reader.read(value, frame, by, value in signed, digits if slack else 0)
        for row in frame.select(*by).rows():
            codes = dict(zip(by, row, strict=True))
            cells[tuple(codes.get(name, TOTAL) for name in names)] = None
    for coefs, room in zip(relations, rooms or [0.0] * len(relations), strict=True):
        reader.relate(coefs, cells, names, {cell: room * n for cell, n in records.items()})
    found = []
    wanted: dict[int, tuple[str, Cell, float, float, float, float]] = {}
    for value, _safe, table, asked in published:
        by = [dimension.name for dimension in table.dimensions]
        column = table.count if value == "count" else table.sums[value]
        codes = table.to_polars().select(*by).rows()
        for at in np.flatnonzero(asked.sensitive).tolist():
            place = reader.at(value, dict(zip(by, codes[at], strict=True)))
            levels = (asked.lower[at], asked.upper[at], asked.sliding[at])
            wanted[place] = (value, codes[at], float(column[at]), *map(float, levels))
    for place, (low, high) in reader.intervals(list(wanted), slack).items():
        value, cell, true, lower, upper, sliding = wanted[place]
        if value not in signed:
            lower = min(lower, true)
        exact = high - low < 0.5 * 10.0**-2
        close = low > true - lower + 1e-4 or high < true + upper - 1e-4
        if exact or close or high - low < sliding - 1e-4:
            found.append((value, cell))
    return found
