"""`Blanks`: between which values anyone can bound the hidden cells of what is published.

Tables with blanks from anywhere, whoever hid some of their cells: no true value is needed.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from discreet.arrays import BoolArray, FloatArray, IntArray
from discreet.classifications import Classification
from discreet.disclosure.named_cells import relations_of
from discreet.disclosure.relations import Relations, component_labels
from discreet.disclosure.verdicts import DisclosureVerdict, Gap, Judged
from discreet.errors import SuppressionError
from discreet.solver import column_values, loaded_solver
from discreet.tables import CellStatus, Dimension, ProtectedTable, Table

if TYPE_CHECKING:
    import polars as pl

#: The solver's tolerance, in numbers near one.
_FINE = 1e-9
#: Whether zeros may be hidden, too ("partners"), or not.
KnownZeros: TypeAlias = Literal["fixed", "partners"]

#: Kind of the remark that zeros may be hidden among the others.
ZEROS_HIDDEN = "hidden-zeros"


def zeros_of(published: Sequence[ProtectedTable]) -> KnownZeros:
    """Whether published tables say that zeros may be hidden ("partners") or not ("fixed")."""
    hidden = any(note.kind == ZEROS_HIDDEN for table in published for note in table.notes)
    return "partners" if hidden else "fixed"


#: Bounds so near to a whole unit are that unit.
_NEAR = 1e-3

#: Bounds no farther than this from a solution are worked out anew from there, in units.
_CLOSE = 2.0**20

#: The solver's tolerance for what is worked out anew.
_COARSE = 1e-7


def published_intervals(
    relations: Relations,
    value: IntArray,
    hidden: BoolArray,
    *,
    negative: bool | BoolArray = False,
    rounding: float = 0.0,
    smallest: float = 0.0,
) -> tuple[FloatArray, FloatArray]:
    """Intervals of hidden cells that everyone can compute from the others.

    Values of hidden cells are not looked at. A published value may be off by so many units:
    0.5 where each was rounded on its own, 0 where totals are sums of what is printed. It is
    off by the same in all its relations. No hidden value is below `smallest` where none is
    negative: 1 unit where zeros are shown. Gives the lowest and highest value of each hidden
    cell in whole units, rounded outwards, infinite where nothing bounds them.

    >>> sums = Relations.of(4, [[(0, -1), (1, 1), (2, 1), (3, 1)]])
    >>> shown, hidden = np.array([10, 4, 0, 0]), np.array([False, False, True, True])
    >>> published_intervals(sums, shown, hidden)
    (array([0., 0.]), array([6., 6.]))
    """
    known = ~hidden[relations.cell]
    rest = relations.rhs.astype(np.float64)
    np.add.at(rest, relations.row[known], -(relations.coef * value[relations.cell])[known])
    # Hidden cells as values, and, where these were rounded, shown ones as what they are off by.
    least = np.where(hidden, smallest, -np.minimum(rounding, np.maximum(value, 0)))
    least = np.where(negative, np.where(hidden, -np.inf, -rounding), least)
    most = np.where(hidden, np.inf, rounding)
    unknown = np.ones(len(hidden), dtype=np.bool_) if rounding else hidden
    among, cells = relations.among(unknown)
    touched = np.bincount(relations.row[unknown[relations.cell]], minlength=len(relations)) > 0
    rest, least, most, wanted = rest[touched], least[cells], most[cells], hidden[cells]
    low, high = least.copy(), most.copy()
    label = component_labels(among)
    for block in np.unique(label[among.cell[wanted[among.cell]]]):
        mine = label == block
        rows = mine[among.cell[among.start[:-1]]]
        part, at = among.among(mine)
        chosen = np.flatnonzero(wanted[at])
        bounds = _bounded(part, rest[rows], (least[at], most[at]), chosen)
        low[at[chosen]], high[at[chosen]] = bounds
    return np.floor(low[wanted] + _NEAR), np.ceil(high[wanted] - _NEAR)


def _bounded(
    relations: Relations, rest: FloatArray, bounds: tuple[FloatArray, FloatArray], chosen: IntArray
) -> tuple[FloatArray, FloatArray]:
    """Two linear programs for each of some cells of a block; two more where numbers are large."""
    large = np.abs(rest).max(initial=0.0) > _CLOSE
    size = float(max(1.0, np.median(np.abs(rest)))) if large else 1.0
    low, high, some = _extremes(relations, rest, bounds, chosen, size)
    if some is None or max(np.abs(rest).max(initial=0.0), np.abs(some).max()) <= _CLOSE:
        return low, high
    # One unit beside a million of millions is lost to the solver: look from near by.
    some = np.rint(some)
    left = rest - np.bincount(
        relations.row, relations.coef * some[relations.cell], minlength=len(relations)
    )
    near = (np.maximum(bounds[0] - some, -_CLOSE), np.minimum(bounds[1] - some, _CLOSE))
    down, up, _ = _extremes(relations, left, near, chosen, 1.0)
    start = some[chosen]
    low = np.where(down > -_CLOSE / 2, start + down, low)
    return low, np.where(up < _CLOSE / 2, start + up, high)


def _extremes(
    relations: Relations,
    rest: FloatArray,
    bounds: tuple[FloatArray, FloatArray],
    chosen: IntArray,
    size: float,
) -> tuple[FloatArray, FloatArray, FloatArray | None]:
    """Smallest and largest value of some cells, and a solution if one is at hand.

    All numbers are divided by a size.
    """
    import highspy

    solver = loaded_solver(
        relations.matrix, bounds[0] / size, bounds[1] / size, rows=(rest / size, rest / size),
        primal_feasibility_tolerance=_FINE if size == 1.0 else _COARSE,
    )  # fmt: skip
    status = highspy.HighsModelStatus
    ends, some = np.empty((2, chosen.size)), None
    for side, sense in enumerate((1.0, -1.0)):
        for place, cell in enumerate(chosen.tolist()):
            solver.changeColCost(cell, sense)
            solver.run()
            answer = solver.getModelStatus()
            if answer == status.kUnknown:  # by rounding, from where the last one ended
                solver.clearSolver()
                solver.run()
                answer = solver.getModelStatus()
            finite = answer == status.kOptimal
            unbounded = answer in (status.kUnbounded, status.kUnboundedOrInfeasible)
            if finite:
                ends[side, place] = solver.getInfo().objective_function_value * sense * size
                some = column_values(solver) * size
            solver.changeColCost(cell, 0.0)
            if unbounded:  # unless nothing fits at all, which a run without a wish tells
                ends[side, place] = -sense * np.inf
                solver.run()
                unbounded = solver.getModelStatus() != status.kInfeasible
            if not finite and not unbounded:
                message = "no values of the suppressed cells fit the published ones"
                hint = "say how far values are rounded, or whether they can be negative"
                raise SuppressionError(message, code="additivity", hint=hint)
    return ends[0], ends[1], some


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Blanks(Judged):
    """The hidden cells of a published table, each with its interval.

    Its verdict is never "safe": a published table does not say which cells are sensitive.

    Args:
        dimensions: The spanning variables.
        index: Per spanning variable, the position of each hidden cell's code.
        low: The smallest value that fits everything published.
        high: The largest; infinite where nothing bounds it.
        exact: Cells that anyone can compute.
        seconds: How long it took.
    """

    dimensions: tuple[Dimension, ...]
    index: tuple[npt.NDArray[np.int32], ...]
    low: FloatArray
    high: FloatArray
    exact: BoolArray
    seconds: float

    def __len__(self) -> int:
        return len(self.low)

    @property
    def judgement(self) -> DisclosureVerdict:
        """Findings on hidden cells, with gaps that the table alone leaves."""
        several = [one.name for one in self.dimensions if len(one.classifications) > 1]
        gaps = [Gap("levels", number=len(self))]
        if several:
            gaps.append(Gap("breakdowns", ", ".join(several), len(several)))
        return DisclosureVerdict.of(self.names(), gaps)

    def names(self) -> list[str]:
        """Names of the cells that anyone can compute."""
        names = []
        for at in np.flatnonzero(self.exact):
            pairs = zip(self.dimensions, self.index, strict=True)
            codes = [
                f"{dimension.name}={dimension.codes[part[at]]}"
                for dimension, part in pairs
                if part[at]
            ]
            names.append(", ".join(codes) or "total")
        return names

    def to_polars(self) -> pl.DataFrame:
        """The hidden cells: codes, low, high, exact; no bound is null."""
        import polars as pl

        columns: dict[str, Any] = {
            dimension.name: pl.Series(dimension.codes, dtype=pl.String).gather(part)
            for dimension, part in zip(self.dimensions, self.index, strict=True)
        }
        for name, bound in (("low", self.low), ("high", self.high)):
            columns[name] = pl.Series(np.where(np.isfinite(bound), bound, np.nan)).fill_nan(None)
        return pl.DataFrame({**columns, "exact": self.exact})

    def described(self) -> dict[str, Any]:
        """The verdict as plain values, for JSON."""
        return {
            "hidden": len(self),
            "exact": int(self.exact.sum()),
            "exact_cells": self.names(),
            "seconds": round(self.seconds, 3),
            **self.judgement.described(),
        }

    def text(self) -> str:
        """The verdict in words."""
        lines = [
            f"{len(self):,} cells are suppressed; readers can compute {int(self.exact.sum()):,}."
        ]
        lines += [f"  {name}" for name in self.names()[:20]]
        return "\n".join([*lines, *self.judgement.lines()])

    def __repr__(self) -> str:
        return f"<Blanks: {len(self):,} hidden cells>"


def audit_published(
    published: Any,
    by: Sequence[str | Classification | Sequence[Classification]] | None = None,
    *,
    value: str = "value",
    decimals: int = 0,
    negative: bool = False,
    rounding: float = 0.0,
    zero_cells: KnownZeros = "fixed",
) -> Blanks:
    """Work out between which values the hidden cells of a published table lie.

    Args:
        published: A `ProtectedTable`, or a frame with one row per cell, null in the hidden
            ones. Cells that are not listed are zero.
        by: The spanning variables of a frame: names or classifications.
        value: Its column of values.
        decimals: Digits after the decimal point that are published.
        negative: Whether values may be below 0.
        rounding: By how many units of the last digit a published value may be off: 0.5
            where each was rounded on its own.
        zero_cells: "partners" if zeros may be hidden as well; else a hidden value is taken
            to be one unit or more, unless the table itself says or shows otherwise.

    >>> import polars as pl
    >>> frame = pl.DataFrame({"sex": ["Total", "m", "w", "d"], "value": [18, 9, 7, None]})
    >>> audit_published(frame, ["sex"]).to_polars().rows()
    [('d', 2.0, 2.0, True)]
    """
    began = time.monotonic()
    if isinstance(published, ProtectedTable):
        if published.several_figures or any(not figure.summed for figure in published.figures):
            message = "only counts and sums add up; this table has other figures"
            raise SuppressionError(message, code="figures", where=published.name)
        places, shown, status = published.cells()
        units = np.rint(shown * 10.0**decimals).astype(np.int64)
        cells: _CellArrays = (
            published.dimensions, places, units, status == CellStatus.suppressed,
        )  # fmt: skip
    else:
        cells = _of_frame(published, by, value, decimals)
    dimensions, index, units, hidden = cells
    relations = relations_of(dimensions, index)
    zeros = zeros_of([published]) if isinstance(published, ProtectedTable) else zero_cells
    smallest = 0.0 if "partners" in (zeros, zero_cells) else max(0.0, 1.0 - rounding)
    how: dict[str, Any] = {"negative": negative, "rounding": rounding}
    try:
        low, high = published_intervals(relations, units, hidden, smallest=smallest, **how)
    except SuppressionError:
        if negative or not smallest:
            raise
        # Some hidden cell must be zero for the published ones to add up.
        low, high = published_intervals(relations, units, hidden, **how)
    scale = 10.0**decimals
    return Blanks(
        dimensions=tuple(dimensions),
        index=tuple(part[hidden] for part in index),
        low=low / scale,
        high=high / scale,
        exact=low == high,
        seconds=time.monotonic() - began,
    )


_CellArrays = tuple[Sequence[Dimension], Sequence[npt.NDArray[np.int32]], IntArray, BoolArray]


def _of_frame(frame: Any, by: Any, value: str, decimals: int) -> _CellArrays:
    """Cells of a frame; a count stands in for the values while codes are read."""
    import polars as pl

    from discreet.tables import to_polars

    cells = to_polars(frame)
    if by is None or value not in cells.columns:
        message = "name the spanning variables and the column of values"
        hint = f"columns found: {', '.join(cells.columns)}"
        raise SuppressionError(message, code="missing-column", where=value, hint=hint)
    if not cells[value].dtype.is_numeric():
        message = "the column of values is not numeric; suppressed cells are null"
        raise SuppressionError(message, code="values", where=value)
    ordered = cells.with_row_index("discreet row", offset=1)
    table = Table.from_cells(ordered, by=by, count="discreet row")
    numbers = cells[value].cast(pl.Float64).gather(table.count - 1)
    hidden = numbers.is_null().to_numpy()
    units = np.rint(numbers.fill_null(0.0).to_numpy() * 10.0**decimals).astype(np.int64)
    return table.dimensions, table.index, units, hidden
