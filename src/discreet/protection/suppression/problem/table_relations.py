"""Relations of a table, and its values in whole units that fulfil them. CONFIDENTIAL.

In: the cells of a table as positions of their codes, and their values. Out: `Relations` –
every total is the sum of its parts, on every level – and whole numbers that fit all of
them, with the differences from what was given. Cells that do not occur are zeros that
everyone knows and stand in no relation. Messages name cells, never values.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from discreet.arrays import BoolArray, CellIndex, IntArray, PositionArray, find_sorted, starts
from discreet.errors import Problem, SuppressionError, raise_all
from discreet.protection.suppression.problem.system import Relations
from discreet.tables import Dimension, Parts, Table, level_numbers


def relations_of(dimensions: Sequence[Dimension], index: Sequence[PositionArray]) -> Relations:
    """The relations of one table: per variable, per parent code, per breakdown.

    A parent without children among the cells stands in no relation as a total; if it
    occurs, so does at least one child, unless the table lacks the part of the children.
    """
    size = len(index[0]) if index else 1
    grid = CellIndex.of(dimensions).require(error=SuppressionError)
    flat = grid.numbers(index, size)
    order = np.argsort(flat, kind="stable")
    known = flat[order]
    ways = zip(dimensions, index, grid.strides, strict=True)
    return _joined(size, [_one_way(way, flat, known, order) for way in ways])


def _one_way(
    way: tuple[Dimension, PositionArray, int], flat: IntArray, known: IntArray, order: IntArray
) -> tuple[IntArray, IntArray]:
    """The relations along one variable: per entry a row number and a cell; totals first."""
    dimension, part, stride = way
    child = np.flatnonzero(part > 0)
    code = part[child]
    parent = flat[child] + (dimension.parents[code].astype(np.int64) - code) * stride
    at = find_sorted(known, parent)
    present = at >= 0
    child, code, total = child[present], code[present], order[at[present]]
    breakdowns = len(dimension.classifications)
    group = total * breakdowns + dimension.breakdown[code]
    rows, row = np.unique(group, return_inverse=True)
    cells = np.concatenate([rows // breakdowns, child])
    numbers = np.concatenate([np.arange(rows.size), row])
    sort = np.argsort(numbers, kind="stable")
    return numbers[sort].astype(np.int64), cells[sort].astype(np.int64)


def _joined(cells: int, blocks: Sequence[tuple[IntArray, IntArray]]) -> Relations:
    numbers, entries, coefs = [], [], []
    before = 0
    for row, cell in blocks:
        first = np.ones(row.size, dtype=np.bool_)
        first[1:] = row[1:] != row[:-1]
        coefs.append(np.where(first, -1, 1))
        numbers.append(row + before)
        entries.append(cell)
        before += int(row[-1]) + 1 if row.size else 0
    nothing = np.zeros(0, dtype=np.int64)
    row = np.concatenate([nothing, *numbers])
    return Relations(
        cells=cells,
        start=starts(np.bincount(row, minlength=before)),
        cell=np.concatenate([nothing, *entries]).astype(np.int32),
        coef=np.concatenate([nothing, *coefs]).astype(np.int64),
        rhs=np.zeros(before, dtype=np.int64),
    )


def recomputed_totals(relations: Relations, value: IntArray) -> IntArray:
    """Values with every total added up anew from its parts, finest first.

    Rows have one total (coefficient -1) and parts (1); a total of several takes the first.

    >>> links = Relations.of(3, [[(0, -1), (1, 1), (2, 1)]])
    >>> recomputed_totals(links, np.array([6, 2, 3]))
    array([5, 2, 3])
    """
    result = value.copy()
    totals, negative = relations.totals, relations.coef < 0
    first = np.full(relations.cells, -1, dtype=np.int64)
    rows = np.flatnonzero(totals >= 0)[::-1]
    first[totals[rows]] = rows
    for _ in range(len(relations) + 1):
        sums = np.zeros(len(relations), dtype=np.int64)
        np.add.at(sums, relations.row[~negative], result[relations.cell[~negative]])
        changed = np.where(first >= 0, sums[first] - relations.rhs[first], result)
        if np.array_equal(changed, result):
            return result
        result = changed
    raise SuppressionError(
        "totals and parts refer to each other in a circle", code="relations", where="relations"
    )


CellNamer = Callable[[int], str]

_LARGEST = 2.0**53
_SHOWN = 20


def refuse_cells(
    cells: Sequence[int] | IntArray, names: CellNamer, what: str, code: str, hint: str
) -> None:
    """Raise one error that names all the cells, if there are any."""
    problems = [Problem(what, names(int(at)), hint) for at in cells]
    many = "{:,} cells: " + what.replace("{", "{{").replace("}", "}}")
    raise_all(SuppressionError, problems, code=code, many=many, where="", most=_SHOWN)


def units_of(table: Table, value: str | None, decimals: int) -> IntArray:
    """The values of a table in whole units of the last published decimal."""
    if value is None:
        units: IntArray = table.count * 10**decimals
        return units
    column = table.weight if value == "weight" else table.sums.get(value)
    if column is None:
        frame = ", ".join([*table.sums, *(["weight"] if table.weight is not None else [])])
        message = f"the table has no sums of {value!r}"
        hint = f"found: {frame}" if frame else f"tabulate with values=[{value!r}]"
        raise SuppressionError(message, code="missing-value", where=table.name, hint=hint)
    whole = np.rint(column * float(10**decimals))
    if not np.isfinite(whole).all() or (np.abs(whole) >= _LARGEST).any():
        message = "values are too large, or not numbers, for so many decimals"
        hint = "publish fewer decimals, or values in thousands"
        raise SuppressionError(message, code="values", where=f"{table.name}, {value}", hint=hint)
    return whole.astype(np.int64)


# -- relations of one table ---------------------------------------------------


def table_relations(table: Table, occupied: BoolArray) -> tuple[Relations, BoolArray]:
    """The relations among the occupied cells of a table.

    Rows of totals whose parts the table does not have all stand for nothing and are
    left out.

    Returns:
        Relations over the occupied cells, and which of these lack parts that they
        should have: totals without any part among the cells.
    """
    index = [part[occupied] for part in table.index]
    size = int(occupied.sum())
    if not index:
        return Relations.of(size, []), np.zeros(size, dtype=np.bool_)
    relations = relations_of(table.dimensions, index)
    total = relations.cell[relations.start[:-1]]
    child = relations.cell[relations.start[:-1] + 1]
    keep = np.zeros(len(relations), dtype=np.bool_)
    lone = np.zeros(size, dtype=np.bool_)
    for at, dimension in enumerate(table.dimensions):
        moving = index[at][total] != index[at][child]
        for breakdown in range(len(dimension.classifications)):
            whole = _has_parts(table, index, at, breakdown)
            own = moving & (dimension.breakdown[index[at][child]] == breakdown)
            keep |= own & whole[total]
            summed = np.zeros(size, dtype=np.bool_)
            summed[total[own]] = True
            lone |= whole & ~summed
    return relations.rows(keep), lone


def _has_parts(
    table: Table, index: Sequence[npt.NDArray[np.int32]], at: int, breakdown: int
) -> BoolArray:
    """Which cells are totals along one variable all of whose parts the table can have."""
    dimension = table.dimensions[at]
    children = np.flatnonzero(dimension.breakdown == breakdown)
    children = children[children > 0]
    parent = dimension.parents[children]
    above = np.zeros(len(dimension), dtype=np.bool_)
    above[parent] = True
    whole: BoolArray = above[index[at]]
    if table.parts is None:
        return whole
    level = level_numbers(dimension)[children]
    for number in np.unique(level).tolist():
        having = np.zeros(len(dimension), dtype=np.bool_)
        having[parent[level == number]] = True
        there = _part_there(table.dimensions, index, at, number, table.parts)
        whole &= ~having[index[at]] | there
    return whole


def _part_there(
    dimensions: Sequence[Dimension],
    index: Sequence[npt.NDArray[np.int32]],
    at: int,
    level: int,
    parts: Parts,
) -> BoolArray:
    """Whether the table has the part of each cell with another level of one variable."""
    mask = np.zeros(len(index[0]), dtype=np.bool_)
    for part in parts:
        if part[at] != level:
            continue
        match = np.ones(len(index[0]), dtype=np.bool_)
        for other, dimension in enumerate(dimensions):
            if other != at:
                match &= level_numbers(dimension)[index[other]] == part[other]
        mask |= match
    return mask


# -- values of all tables -----------------------------------------------------


def shared_values(
    number: int,
    cells: Sequence[IntArray],
    values: Sequence[IntArray],
    *,
    rounding: int,
    repair: bool,
    names: CellNamer,
) -> IntArray:
    """One value for each cell; tables that share it must agree, but for rounding."""
    cell, value = np.concatenate(list(cells)), np.concatenate(list(values))
    repeated, first = np.unique(cell, return_index=True)
    shared = np.zeros(number, dtype=np.int64)
    shared[repeated] = value[first]
    apart = np.unique(cell[np.abs(value - shared[cell]) > rounding])
    if not repair:
        message = "tables give this cell different values"
        hint = "make them from the same records, or ask for the repair of values"
        refuse_cells(apart, names, message, "contradiction", hint)
    return shared


def additive_values(
    relations: Relations, value: IntArray, *, rounding: int, repair: bool, names: CellNamer
) -> tuple[IntArray, Relations, int]:
    """Whole values that fit the relations, these, and how many totals were put right.

    Totals are added up anew from their parts. Where linked tables add one total up from parts
    that were rounded apart, the small rest stands in the relation. `rounding` is 1 if the
    values given were rounded to units, 0 if they are exact; put right, with `repair`, are
    totals that are farther from the sum of their parts.
    """
    width = np.diff(relations.start)
    off = 2 * np.abs(relations.residuals(value)) > rounding * width
    totals = _totals(relations)
    wrong = np.unique(totals[off])
    hint = "correct the cells, or ask for totals to be added up anew (repair=True)"
    if not repair:
        refuse_cells(wrong, names, "the parts do not add up to the total", "additivity", hint)
    if not relations.residuals(value).any():
        return value, relations, 0
    result = recomputed_totals(relations, value)
    rest = relations.residuals(result)
    spread = recomputed_totals(relations, np.ones(len(value), dtype=np.int64))
    allowed = np.zeros(len(relations), dtype=np.int64)
    np.add.at(allowed, relations.row, rounding * np.abs(relations.coef) * spread[relations.cell])
    message = "the total is the sum of different parts, and these sums differ"
    hint = "correct the cells: adding up anew cannot decide which parts are right"
    refuse_cells(
        np.unique(totals[2 * np.abs(rest) > allowed]), names, message, "contradiction", hint
    )
    return result, replace(relations, rhs=rest), len(wrong)


def _totals(relations: Relations) -> IntArray:
    """The total of each row; its first cell if it has none."""
    totals = relations.totals.copy()
    lacking = np.flatnonzero((totals < 0) & (np.diff(relations.start) > 0))
    totals[lacking] = relations.cell[relations.start[lacking]]
    return totals
