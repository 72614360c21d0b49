"""Unique cells: the cells of several tables as one set, each of them once. CONFIDENTIAL.

In: tables that may share cells. Out: a number for every cell; cells that are the same
number of the same things – all variables at the same codes, those a table lacks at their
total, under the same filter – have the same number.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from discreet.errors import Problem, SuppressionError
from discreet.tables import Dimension, Table

__all__ = ["CellNames", "Linked", "link"]

IntArray = npt.NDArray[np.int64]
CodeArray = npt.NDArray[np.int32]
BoolArray = npt.NDArray[np.bool_]
#: A code of a variable.
Code = tuple[str, str]

_TERM = re.compile(
    r"\s*(?:`(?P<quoted>[^`]+)`|(?P<plain>[\w.]+))\s*==\s*"
    r"(?:'(?P<single>[^'\\]*)'|\"(?P<double>[^\"\\]*)\")\s*"
)
_AND = re.compile(r"and\b")
_WIDE = 2**62


@dataclass(frozen=True, slots=True)
class _Variable:
    """A variable of any of the tables, with the codes that all tables together use."""

    name: str
    codes: tuple[str, ...]
    index: Mapping[str, int]


class CellNames:
    """Gives cells names for messages: ``region=01, sex=m``; totals are left out."""

    def __init__(
        self, variables: Sequence[_Variable], codes: Sequence[CodeArray], filters: Sequence[str]
    ) -> None:
        self._variables = tuple(variables)
        self._codes = tuple(codes)
        self._filters = tuple(filters)

    def __call__(self, at: int) -> str:
        """The name of one cell."""
        places = [part[at] for part in self._codes]
        named = [
            f"{variable.name}={variable.codes[code]}"
            for variable, code in zip(self._variables, places[1:], strict=True)
            if code > 0
        ]
        where = self._filters[places[0]]
        return (", ".join(named) or "total") + (f" where {where}" if where else "")

    def of(self, cells: IntArray) -> CellNames:
        """The names of some of the cells, numbered anew."""
        return CellNames(self._variables, [part[cells] for part in self._codes], self._filters)


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Linked:
    """The cells of several tables, each of them once (confidential).

    Args:
        number: How many different cells there are.
        cells: Per table, the number of each of its cells.
        totals: For each cell, in how many variables it is no finest code.
        names: Their names.
    """

    number: int
    cells: tuple[IntArray, ...]
    totals: IntArray
    names: CellNames

    def __repr__(self) -> str:
        return f"<Linked (confidential): {self.number:,} cells of {len(self.cells)} tables>"


def link(tables: Sequence[Table], same: Mapping[Code, Code] | None = None) -> Linked:
    """Number the cells of tables so that cells in common have one number.

    Variables are told apart by name, codes by text. A filter that only picks single
    codes of variables, such as ``sex == 'm'``, is the same as these codes.

    Args:
        tables: The tables.
        same: Codes that mean the same as codes of another variable, as pairs of
            variable and code: ``{("industry_new", "C"): ("industry_old", "A")}``.
    """
    variables = _variables(tables)
    rests, fixed = _filters(tables, variables)
    filters = sorted(set(rests))
    columns: list[list[CodeArray]] = [[] for _ in range(len(variables) + 1)]
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
    _, first, numbers = np.unique(_keys(codes, sizes), return_index=True, return_inverse=True)
    totals = np.full(len(first), np.iinfo(np.int64).max, dtype=np.int64)
    np.minimum.at(totals, numbers, np.concatenate(inner))
    cuts = np.cumsum([len(table) for table in tables])[:-1]
    return Linked(
        number=len(first),
        cells=tuple(part.astype(np.int64) for part in np.split(numbers, cuts)),
        totals=totals,
        names=CellNames(variables, [part[first] for part in codes], filters),
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
                what = f"the variable has two totals, {total!r} and {dimension.total!r}"
                hint = "give the classifications one total code, with with_total"
                problems.append(Problem(what, dimension.name, hint))
            for code in dimension.codes[1:]:
                known.setdefault(code, len(known))
    if problems:
        raise SuppressionError(
            problems[0].what,
            code="totals",
            where=problems[0].where,
            hint=problems[0].hint,
            problems=problems,
        )
    return [_Variable(name, tuple(known), known) for name, known in codes.items()]


def _placed(
    table: Table, variables: Sequence[_Variable], fixed: Mapping[str, str]
) -> list[CodeArray]:
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
    found = {}
    for tree in dimension.classifications:
        one_column = tree.bounds is None and not (tree.level_columns and tree.column is None)
        if one_column and dimension.name in known:
            found[tree.source] = (dimension.name, frozenset(tree.leaves))
    return found


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
    codes: Sequence[CodeArray], variables: Sequence[_Variable], same: Mapping[Code, Code]
) -> None:
    """Put codes that mean the same in the place of each other."""
    names = [variable.name for variable in variables]
    problems = [
        Problem(f"there is no code {code!r}", name)
        for pair in same.items()
        for name, code in pair
        if name not in names or code not in variables[names.index(name)].index
    ]
    if problems:
        raise SuppressionError(
            problems[0].what, code="same", where=problems[0].where, problems=problems
        )
    for (name, code), (other, meant) in same.items():
        at, to = names.index(name), names.index(other)
        column, target = codes[at + 1], codes[to + 1]
        match = (column == variables[at].index[code]) & (target == 0)
        column[match] = 0
        target[match] = variables[to].index[meant]


def _keys(codes: Sequence[CodeArray], sizes: Sequence[int]) -> IntArray:
    """One number per combination of codes, in the order of the codes."""
    key = np.zeros(len(codes[0]), dtype=np.int64)
    width = 1
    for part, size in zip(codes, sizes, strict=True):
        if width * size >= _WIDE:
            found, key = np.unique(key, return_inverse=True)
            width = len(found)
        key = key * size + part
        width *= size
    return key
