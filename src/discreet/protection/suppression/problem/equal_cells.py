"""Cells that are one: in common of several tables, or always equal. CONFIDENTIAL.

In: tables that may share cells, and relations. Out: a number for every cell – cells at the
same codes of all variables, those a table lacks at their total, under the same filter,
have the same number – and relations over fewer cells, in which a total and its single part
are one cell and no row stands twice.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from discreet.arrays import BoolArray, CellIndex, IntArray, PositionArray, UintArray, starts
from discreet.errors import Problem, SuppressionError, raise_all
from discreet.protection.suppression.problem.system import Confidential, Relations
from discreet.protection.suppression.problem.unknowns import component_labels
from discreet.tables import Dimension, Table

#: A code of a variable.
VariableCode = tuple[str, str]

_TERM = re.compile(
    r"\s*(?:`(?P<quoted>[^`]+)`|(?P<plain>[\w.]+))\s*==\s*"
    r"(?:'(?P<single>[^'\\]*)'|\"(?P<double>[^\"\\]*)\")\s*"
)
_AND = re.compile(r"and\b")


@dataclass(frozen=True, slots=True)
class _Variable:
    """A variable of any of the tables, with the codes that all tables together use."""

    name: str
    codes: tuple[str, ...]
    index: Mapping[str, int]


class CellNames:
    """Gives cells names for messages: ``region=01, sex=m``; totals are left out."""

    def __init__(
        self,
        variables: Sequence[_Variable],
        codes: Sequence[PositionArray],
        filters: Sequence[str],
        before: BoolArray | None = None,
    ) -> None:
        self._variables = tuple(variables)
        self._codes = tuple(codes)
        self._filters = tuple(filters)
        self._before = before

    def __call__(self, at: int) -> str:
        """The name of one cell."""
        places = [part[at] for part in self._codes]
        named = [
            f"{variable.name}={variable.codes[code]}"
            for variable, code in zip(self._variables, places[1:], strict=True)
            if code > 0
        ]
        where = self._filters[places[0]]
        then = self._before is not None and self._before[at]
        whole = (", ".join(named) or "total") + (f" where {where}" if where else "")
        return f"{whole} (as published before)" if then else whole

    def of(self, cells: IntArray, before: BoolArray | None = None) -> CellNames:
        """The names of some of the cells, numbered anew; perhaps with values of `before`."""
        if before is None and self._before is not None:
            before = self._before[cells]
        codes = [part[cells] for part in self._codes]
        return CellNames(self._variables, codes, self._filters, before)


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class LinkedCells(Confidential):
    """The cells of several tables, each of them once (confidential)."""

    number: int  # how many different cells there are
    cells: tuple[IntArray, ...]  # per table, the number of each of its cells
    totals: IntArray  # for each cell, in how many variables it is no finest code
    names: CellNames  # their names
    filters: PositionArray  # for each cell, which filter its records pass


def linked_cells(
    tables: Sequence[Table], same: Mapping[VariableCode, VariableCode] | None = None
) -> LinkedCells:
    """Number the cells of tables so that cells in common have one number.

    Variables are told apart by name, codes by text. A filter that only picks single codes of
    variables, such as ``sex == 'm'``, is the same as these codes. `same` has codes that mean the
    same as codes of another variable: ``{("industry_new", "C"): ("industry_old", "A")}``.
    """
    variables = _variables(tables)
    rests, fixed = _filters(tables, variables)
    filters = sorted(set(rests))
    columns: list[list[PositionArray]] = [[] for _ in range(len(variables) + 1)]
    inner: list[IntArray] = []
    for at, table in enumerate(tables):
        placed = _placed(table, variables, fixed[at])
        for column, part in zip(columns[1:], placed, strict=True):
            column.append(part)
        columns[0].append(np.full(len(table), filters.index(rests[at]), np.int32))
        inner.append(_totals(table))
    codes = [np.concatenate(parts) for parts in columns]
    _translate(codes, variables, same or {})
    sizes = [len(filters), *(len(variable.codes) for variable in variables)]
    keys, _ = CellIndex(tuple(sizes)).joined(codes)
    _, first, numbers = np.unique(keys, return_index=True, return_inverse=True)
    totals = np.full(len(first), np.iinfo(np.int64).max, dtype=np.int64)
    np.minimum.at(totals, numbers, np.concatenate(inner))
    cuts = np.cumsum([len(table) for table in tables])[:-1]
    return LinkedCells(
        number=len(first),
        cells=tuple(part.astype(np.int64) for part in np.split(numbers, cuts)),
        totals=totals,
        names=CellNames(variables, [part[first] for part in codes], filters),
        filters=codes[0][first],
    )


def _variables(tables: Sequence[Table]) -> list[_Variable]:
    """Every variable once; the codes of all tables, total first."""
    codes: dict[str, dict[str, int]] = {}
    problems = []
    for table in tables:
        for dimension in table.dimensions:
            known = codes.setdefault(dimension.name, {dimension.total: 0})
            total = next(iter(known))
            if dimension.total != total:
                message = f"the variable has two totals, {total!r} and {dimension.total!r}"
                hint = "give the classifications one total code, with with_total"
                problems.append(Problem(message, dimension.name, hint))
            for code in dimension.codes[1:]:
                known.setdefault(code, len(known))
    raise_all(SuppressionError, problems, code="totals")
    return [_Variable(name, tuple(known), known) for name, known in codes.items()]


def _placed(
    table: Table, variables: Sequence[_Variable], fixed: Mapping[str, str]
) -> list[PositionArray]:
    """The codes of the cells of one table in every variable; 0 for totals."""
    own = {dimension.name: at for at, dimension in enumerate(table.dimensions)}
    placed = []
    for variable in variables:
        part = np.zeros(len(table), dtype=np.int32)
        if variable.name in own:
            at = own[variable.name]
            texts = table.dimensions[at].codes
            numbers = np.array([variable.index[text] for text in texts], dtype=np.int32)
            part = numbers[table.index[at]]
        if variable.name in fixed:
            code = variable.index[fixed[variable.name]]
            part = np.where(part == 0, np.int32(code), part)
        placed.append(part)
    return placed


def _totals(table: Table) -> IntArray:
    """In how many variables each cell is no finest code."""
    totals = np.zeros(len(table), dtype=np.int64)
    for dimension, part in zip(table.dimensions, table.index, strict=True):
        totals += ~dimension.is_leaf[part]
    return totals


def _filters(
    tables: Sequence[Table], variables: Sequence[_Variable]
) -> tuple[list[str], list[dict[str, str]]]:
    """Per table what is left of its filter, and the codes that its filter picks."""
    known = {variable.name for variable in variables}
    columns: dict[str, tuple[str, frozenset[str]]] = {}
    for table in tables:
        for dimension in table.dimensions:
            columns.update(_columns(dimension, known))
    rests, fixed = [], []
    for table in tables:
        picked: dict[str, str] = {}
        left = []
        for column, code in _terms(table.where):
            name, leaves = columns.get(column, ("", frozenset()))
            if code in leaves and name not in picked:
                picked[name] = code
            else:
                left.append(f"{column} == {code!r}")
        plain = " ".join(table.where.split())
        rests.append(" and ".join(sorted(left)) if picked or left else plain)
        fixed.append(picked)
    return rests, fixed


def _columns(dimension: Dimension, known: set[str]) -> dict[str, tuple[str, frozenset[str]]]:
    """The columns of records that hold the finest codes of a variable."""
    columns = {}
    for tree in dimension.classifications:
        one_column = tree.bounds is None and not (tree.level_columns and tree.column is None)
        if one_column and dimension.name in known:
            columns[tree.source] = (dimension.name, frozenset(tree.leaves))
    return columns


def _terms(where: str) -> list[tuple[str, str]]:
    """Column and code of each condition, if the filter only asks for single codes."""
    terms, at = [], 0
    while match := _TERM.match(where, at):
        code = match["single"] if match["single"] is not None else match["double"]
        terms.append((match["quoted"] or match["plain"], code))
        if match.end() == len(where):
            return terms
        joint = _AND.match(where, match.end())
        if not joint:
            return []
        at = joint.end()
    return []


def _translate(
    codes: Sequence[PositionArray],
    variables: Sequence[_Variable],
    same: Mapping[VariableCode, VariableCode],
) -> None:
    """Put codes that mean the same in the place of each other."""
    names = [variable.name for variable in variables]
    problems = [
        Problem(f"there is no code {code!r}", name)
        for pair in same.items()
        for name, code in pair
        if name not in names or code not in variables[names.index(name)].index
    ]
    raise_all(SuppressionError, problems, code="same")
    for (name, code), (other, meant) in same.items():
        at, to = names.index(name), names.index(other)
        column, target = codes[at + 1], codes[to + 1]
        match = (column == variables[at].index[code]) & (target == 0)
        column[match] = 0
        target[match] = variables[to].index[meant]


def stacked_relations(cells: int, blocks: Sequence[tuple[Relations, IntArray]]) -> Relations:
    """The relations of several tables, each with the numbers of its cells, as one system."""
    result = Relations.of(cells, [])
    for relations, numbers in blocks:
        result = result.joined(relations.renumbered(numbers, cells))
    return tidied_relations(result)


def tidied_relations(relations: Relations) -> Relations:
    """Each cell once in a row, each row once, no empty rows.

    >>> rows = [[(0, -1), (1, 1), (0, 1)], [(0, -1), (2, 1)], [(2, 1), (0, -1)]]
    >>> tidied_relations(Relations.of(3, rows))
    <Relations: 2 over 3 cells>
    """
    order = np.lexsort((relations.cell, relations.row))
    row, cell = relations.row[order], relations.cell[order]
    if not row.size:
        return relations.rows(relations.rhs != 0)
    fresh = np.ones(row.size, dtype=np.bool_)
    fresh[1:] = (row[1:] != row[:-1]) | (cell[1:] != cell[:-1])
    begin = np.flatnonzero(fresh)
    coef = np.add.reduceat(relations.coef[order], begin)
    row, cell = row[begin], cell[begin]
    row, cell, coef = row[coef != 0], cell[coef != 0], coef[coef != 0]
    width = np.bincount(row, minlength=len(relations))
    again = _repeated(row, cell, coef, relations.rhs, width)
    merged = replace(relations, start=starts(width), cell=cell, coef=coef)
    return merged.rows(((width > 0) | (relations.rhs != 0)) & ~again)


def _repeated(
    row: IntArray,
    cell: npt.NDArray[np.int32],
    coef: IntArray,
    rhs: IntArray,
    width: IntArray,
) -> BoolArray:
    """Rows that an earlier one says already. Equal sums of mixed numbers only suggest it."""
    marks = np.zeros(len(rhs), dtype=np.uint64)
    np.add.at(
        marks, row, _mixed(cell.astype(np.uint64) * np.uint64(2**20) + coef.astype(np.uint64))
    )
    marks += _mixed(rhs.astype(np.uint64))
    _, first, group = np.unique(marks, return_index=True, return_inverse=True)
    earlier = first[group]
    suspects = np.flatnonzero((earlier < np.arange(len(rhs))) & (width > 0))
    start = starts(width)
    like = earlier[suspects]
    alike = (width[suspects] == width[like]) & (rhs[suspects] == rhs[like])
    suspects, like = suspects[alike], like[alike]
    sizes = width[suspects]
    within = np.arange(int(sizes.sum())) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    one = np.repeat(start[suspects], sizes) + within
    other = np.repeat(start[like], sizes) + within
    differs = (cell[one] != cell[other]) | (coef[one] != coef[other])
    wrong = np.bincount(
        np.repeat(np.arange(suspects.size), sizes)[differs], minlength=suspects.size
    )
    repeated = np.zeros(len(rhs), dtype=np.bool_)
    repeated[suspects[wrong == 0]] = True
    return repeated


def _mixed(numbers: UintArray) -> UintArray:
    """Numbers whose sums hardly ever agree by chance (the finaliser of splitmix64)."""
    z = numbers + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def with_equal_cells_merged(relations: Relations) -> tuple[IntArray, Relations]:
    """Make one cell of a total and its single part, and of all that equal each other so.

    Returns:
        For each cell its number after folding, and the relations over the new cells.

    >>> chain = Relations.of(4, [[(0, -1), (1, 1)], [(1, -1), (2, 1), (3, 1)]])
    >>> with_equal_cells_merged(chain)
    (array([0, 0, 1, 2]), <Relations: 1 over 3 cells>)
    """
    numbers = np.arange(relations.cells, dtype=np.int64)
    while True:
        width = np.diff(relations.start)
        balanced = np.zeros(len(relations), dtype=np.int64)
        np.add.at(balanced, relations.row, relations.coef)
        pairs = (width == 2) & (balanced == 0) & (relations.rhs == 0)
        if not pairs.any():
            return numbers, relations
        equal = relations.rows(pairs)
        _, fresh = np.unique(component_labels(equal), return_inverse=True)
        numbers = fresh[numbers]
        relations = tidied_relations(relations.renumbered(fresh, int(fresh.max()) + 1))
