"""`Overall`: the tallies of all tables of a release added up, and what may be said in public.

In: a `QualityLog`. Out: sums by size class, table part and kind of figure, CONFIDENTIAL; and
`QualityStatement`s, public: bounds that hold for all tables together. Three things keep parameters
in: steps of 5 points (halves for the mean deviation); no bound that says "never" or "always", as
"none changed by 4 or more" would name the maximum noise; and nothing about fewer than 1,000 cells.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np

from discreet.arrays import IntArray
from discreet.assessment.probabilities import exact_sum
from discreet.assessment.release_quality.log import QualityLog, Shown, TableQuality
from discreet.assessment.release_quality.pairs import TOTAL
from discreet.assessment.release_quality.tallies import DEVIATION_CLASSES, SIZE_CLASSES, Noise
from discreet.assessment.words import number, words_of
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
        parts = []
        for rows in (self._noise_rows, self._other_rows):
            keep = np.ones(len(rows), dtype=np.bool_)
            for column, wanted in ((0, depth), (1, size_class)):
                keep &= True if wanted is None else rows[:, column] == wanted
            parts.append(rows[keep])
        return Noise.of(*parts)

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
        """Signs of wrong record keys: "constant", "count-alone"."""
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
                for _, at, size in rows.tolist():
                    cells[at] += size
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
        """Numbers of shown tables by variable and its finest level. Public."""
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


#: Statements are made about at least so many cells.
SUPPORT = 1_000

_STEP = 5

Bound = Literal["below", "at least", "at most"]


@dataclass(frozen=True, slots=True)
class QualityStatement:
    """One statement about a whole release. Public."""

    code: str  # stable name
    bound: Bound  # how the value bounds the true figure
    value: float  # the bound
    unit: str = ""  # "%" or nothing, for units counted

    def text(self, language: str = "en") -> str:
        """The statement in words.

        >>> QualityStatement("at-most-1", "at least", 65, "%").text("en")
        'At least 65 % of counts are unchanged or changed by 1.'
        """
        return words_of("statements", language)[self.code].format(number(self.value, language))

    def described(self) -> dict[str, Any]:
        """The statement as JSON takes it."""
        return {
            "code": self.code,
            "bound": self.bound,
            "value": self.value,
            "unit": self.unit,
            "text": {language: self.text(language) for language in ("en", "de")},
        }


def statements(overall: Overall) -> list[QualityStatement]:
    """The statements that can be made about a release.

    A statement that would say nothing ("at least 0 %") is left out.
    """
    listed = []
    noise = overall.noise()
    total = noise.total
    if total >= SUPPORT:
        well = 100 * noise.within(1) // total
        shares: dict[str, tuple[Bound, int]] = {
            "at-most-1": ("at least", min(well // _STEP * _STEP, 100 - _STEP)),  # never all
            "at-least-3": ("at most", _at_most(noise.beyond(3), total)),
            "at-least-4": ("at most", _at_most(noise.beyond(4), total)),
        }
        deviation = (2 * noise.absolute // total + 1) / 2
        listed.append(QualityStatement("mean-absolute-deviation", "below", deviation))
        listed += [
            QualityStatement(code, bound, share, "%")
            for code, (bound, share) in shares.items()
            if 0 < share < 100
        ]
    pairs = overall.brackets().values()
    bracketed, shown = sum(pair[0] for pair in pairs), sum(pair[1] for pair in pairs)
    share = _at_most(bracketed, shown) if shown else 100
    if bracketed and shown >= SUPPORT and share < 100:
        listed.append(QualityStatement("bracketed", "at most", share, "%"))
    compared, _, _, largest = overall.sums()
    if compared >= SUPPORT:
        listed.append(QualityStatement("sums", "at most", _rounded_up(largest)))
    return listed


def _at_most(part: int, whole: int) -> int:
    """The share in per cent, rounded up; never "none"."""
    return max(-(-(100 // _STEP) * part // whole) * _STEP, _STEP)


def _rounded_up(value: int) -> int:
    """The next of 10, 20, 50, 100, 200, 500, …

    >>> [_rounded_up(value) for value in (0, 11, 50, 51, 250)]
    [10, 20, 50, 100, 500]
    """
    power = 10
    while True:
        for step in (1, 2, 5):
            if value <= step * power:
                return step * power
        power *= 10
