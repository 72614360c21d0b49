"""`Overall`: the tallies of all tables of a release, added up. CONFIDENTIAL.

In: a `QualityLog`. Out: sums by size class, by kind of table part and by kind of figure;
and, from what is published anyway, how tables are shown and how far they add up.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from functools import cached_property

import numpy as np

from discreet.arrays import IntArray
from discreet.assessment.probabilities import exact_sum
from discreet.assessment.release_quality.log import QualityLog, Shown, TableQuality
from discreet.assessment.release_quality.pairs import TOTAL
from discreet.assessment.release_quality.tallies import DEVIATION_CLASSES, SIZE_CLASSES, Noise
from discreet.tables import CellStatus

#: States in which a cell shows a number other than zero.
_NUMBERS = (CellStatus.published, CellStatus.bracketed, CellStatus.official)


#: The size class from which counts are large.
_LARGE = SIZE_CLASSES.index(10)
#: From so many cells, or pairs, on an alarm is given …
_FEWEST = 30
#: … where this share of them has the same noise.
_ALIKE = 0.9


class Overall:
    """All tables of a release together (confidential)."""

    def __init__(self, log: QualityLog) -> None:
        self.tables = log.tables

    # -- counts ------------------------------------------------------------------

    @cached_property
    def _noise_rows(self) -> IntArray:
        """Rows (depth, size class, noise, cells) over all tables."""
        return _with_depth((table, table.counts.noise) for table in self.tables.values())

    @cached_property
    def _other_rows(self) -> IntArray:
        """Rows (depth, size class, suppressed, official, to zero, relative)."""
        return _with_depth((table, table.counts.others) for table in self.tables.values())

    def noise(self, *, size_class: int | None = None, depth: int | None = None) -> Noise:
        """The noise of all counts, or of some."""
        rows = _filtered(self._noise_rows, depth, size_class)
        others = _filtered(self._other_rows, depth, size_class)
        return Noise.of(rows, others)

    @property
    def depths(self) -> list[int]:
        """Numbers of variables that are not at their total, as far as they occur."""
        return [int(depth) for depth in np.unique(self._noise_rows[:, 0])]

    @property
    def size_classes(self) -> range:
        """The numbers of the size classes."""
        return range(len(SIZE_CLASSES))

    def set_aside(self) -> dict[str, int]:
        """Numbers of cells with records that are not assessed, and changes from and to zero."""
        sums = [exact_sum(self._other_rows[:, at]) for at in (2, 3, 4)]
        numbers = dict(zip(("suppressed", "official", "changed_to_zero"), sums, strict=True))
        zeros = sum(table.counts.zeros_changed for table in self.tables.values())
        return {**numbers, "zeros_changed": zeros}

    def alarms(self) -> list[str]:
        """What noise with proper record keys would not do: "constant", "count-alone"."""
        large = Counter[int]()
        for size_class in self.size_classes[_LARGE:]:
            large.update(self.noise(size_class=size_class).cells)
        if large.total() >= _FEWEST and max(large.values()) >= _ALIKE * large.total():
            return ["constant"]
        pairs, alike = (sum(table.twins[at] for table in self.tables.values()) for at in (0, 1))
        return ["count-alone"] if pairs >= _FEWEST and alike >= _ALIKE * pairs else []

    # -- figures -----------------------------------------------------------------

    def deviations(self) -> dict[str, list[int]]:
        """Kind of figure → number of cells per class of relative deviation."""
        deviations: dict[str, list[int]] = {}
        for table in self.tables.values():
            for name, rows in table.deviations.items():
                kind = table.figures.get(name, name)
                cells = deviations.setdefault(kind, [0] * (len(DEVIATION_CLASSES) + 1))
                for _, at, number in rows.tolist():
                    cells[at] += number
        return dict(sorted(deviations.items()))

    def brackets(self) -> dict[str, tuple[int, int]]:
        """Kind of figure → cells in brackets, and cells that show a number. Public."""
        brackets: dict[str, list[int]] = {}
        for table in self.tables.values():
            kinds = list(table.figures.values())
            for figure, _, status, cells in table.states.tolist():
                pair = brackets.setdefault(kinds[figure], [0, 0])
                pair[0] += cells * (status == CellStatus.bracketed)
                pair[1] += cells * (status in _NUMBERS)
        return {kind: (pair[0], pair[1]) for kind, pair in sorted(brackets.items()) if pair[1]}

    # -- tables ------------------------------------------------------------------

    @property
    def grid_cells(self) -> int:
        """Number of cells of all tables. Public."""
        return sum(table.grid_cells for table in self.tables.values())

    @property
    def suppressed_cells(self) -> int:
        """Number of suppressed cells, single ones and those of parts. Public."""
        return sum(table.cells_in(CellStatus.suppressed) for table in self.tables.values())

    def shown(self) -> dict[Shown, int]:
        """Number of tables that are shown completely, in part or not at all. Public."""
        counts = Counter(table.shown for table in self.tables.values())
        states: tuple[Shown, ...] = ("complete", "thinned", "blocked")
        return {state: counts[state] for state in states}

    def shown_by_level(self) -> dict[tuple[str, str], dict[Shown, int]]:
        """The same by variable and its finest level in the table. Public."""
        counts: dict[tuple[str, str], dict[Shown, int]] = {}
        for table in self.tables.values():
            for variable, level in table.variables.items():
                if level != TOTAL:
                    none: dict[Shown, int] = {"complete": 0, "thinned": 0, "blocked": 0}
                    counts.setdefault((variable, level), none)[table.shown] += 1
        return dict(sorted(counts.items()))

    def reasons(self) -> dict[str, int]:
        """Reason → number of parts suppressed for it."""
        reasons: Counter[str] = Counter()
        for table in self.tables.values():
            reasons.update(table.reasons)
        return dict(sorted(reasons.items()))

    def sums(self) -> tuple[int, int, int, int]:
        """Totals compared with their parts, that differ, sum of |difference|, largest. Public."""
        rows = [row for table in self.tables.values() for row in table.sums.tolist()]
        compared, differing, absolute = (sum(row[at] for row in rows) for at in (1, 2, 3))
        return compared, differing, absolute, max((row[4] for row in rows), default=0)

    def __repr__(self) -> str:
        return f"<Overall (confidential): {len(self.tables)} tables>"


def _with_depth(tables: Iterable[tuple[TableQuality, IntArray]]) -> IntArray:
    """Rows of all tables, the number of the part replaced by that of its broken-down variables."""
    pieces = []
    for table, rows in tables:
        depth = np.array([0 if p is None else p.depth for p in table.parts], dtype=np.int64)
        piece = rows.copy()
        piece[:, 0] = depth[rows[:, 0]]
        pieces.append(piece)
    return np.concatenate(pieces) if pieces else np.zeros((0, 6), dtype=np.int64)


def _filtered(rows: IntArray, depth: int | None, size_class: int | None) -> IntArray:
    keep = np.ones(len(rows), dtype=np.bool_)
    if depth is not None:
        keep &= rows[:, 0] == depth
    if size_class is not None:
        keep &= rows[:, 1] == size_class
    return rows[keep]
